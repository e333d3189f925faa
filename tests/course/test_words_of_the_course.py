"""The engine grades tensors and knows no subject: no word of this course stands anywhere in it.

Everything that people read or write counts: names, strings, docstrings, comments, pages.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

READ = {".py", ".html", ".css", ".js"}
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# The course's subject. A word also counts as a part of a longer name: `num_heads`, `HeadCount`.
SUBJECT = {"attention", "attend", "attends", "attn", "causal", "embedding", "head", "heads"}
SUBJECT |= {"qkv", "queries", "query", "sequence", "sequences", "token", "tokens", "transformer"}
# Words of the course with another meaning in Python, torch or pages.
ORDINARY = {
    *("b", "d", "p", "x"),  # letters
    *("dim", "dropout", "training"),  # torch's own
    *("inputs", "values"),  # what every function takes, what every dict has
    *("base", "cache", "context", "mask", "window"),  # of a name, of files, of `with`, of truth
    *("batches", "generator", "ids", "positions", "targets"),  # of text, of torch, of users, of `=`
    *("key", "keys", "sort_keys"),  # of dicts, of a keyboard
    "Sequence",  # the type of collections.abc
    *("MultiheadAttention", "scaled_dot_product_attention"),  # torch's own, used to warm up
}
# Operations of torch's core, counted by the names that torch gives them.
TORCH = "_scaled_dot_product_"
ORDINARY_THERE = {
    ("instructor/gradebook.py", "query"),  # a database's
    ("judging/remarks.py", "softmax"),  # torch's own operation: what makes rows sum to 1
    ("messages/remarks.py", "softmax"),  # the same
    ("runner/edits.py", "softmax"),  # the same, tried where it may be missing
    ("runner/changes.py", "SequenceMatcher"),  # of Python's difflib
    ("attempts/first_effects.py", "SequenceMatcher"),
    ("practice/variants.py", "NodeTransformer"),  # of Python's ast
    ("practice/variants.py", "softmax"),  # torch's own operation
    ("judging/submitted_text.py", "softmax"),
    ("messages/checks.py", "optimizer"),  # torch's own
    ("messages/errors.py", "Embedding"),  # torch's own class
    ("cli/audits.py", "attention"),  # the command for attention code of any origin
    ("cli/audits.py", "causal_attention"),
    ("cli/shared.py", "attention"),
    *(
        ("instructor/commit_dates.py", word) for word in ("HEAD", "head", "head_of", "heads")
    ),  # git's
    ("runner/warm.py", "softmax"),  # the same, called once
    ("author/proofs/mutants.py", "softmax"),  # the same, in the place of its siblings
    ("instructor/report/page.html", "head"),  # a page's
    ("instructor/report/page.html", "rotate"),  # a style's
    ("instructor/report/learner.html", "head"),
    ("instructor/channel_run.py", "v1"),  # a version of a format
    ("views/lessons.html", "head"),  # the same
    ("views/lessons.css", "rotate"),  # a style's
    ("views/lessons.js", "querySelectorAll"),  # a browser's
}


@pytest.fixture(scope="module")
def names(project) -> set[str]:
    """Every name of the course: chapters, exercises, and the parameters of their solutions."""
    found = set()
    for chapter in project.course.chapters:
        found |= {chapter.name, *(exercise.name for exercise in chapter.exercises)}
        tree = ast.parse(project.solution(chapter.name).read_text(encoding="utf-8"))
        found |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return found - {"self"}


def words_of_the_course(text: str, names: set[str]) -> Iterator[tuple[int, str]]:
    """Return (line, word) for each word of the course in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for word in IDENTIFIER.findall(line):
            if word in ORDINARY or word.startswith(TORCH):
                continue
            parts = {part.lower() for part in PART.findall(word)} - ORDINARY
            if word in names or parts & SUBJECT:
                yield number, word


@pytest.mark.slow
def test_the_engine_has_no_name_from_the_course(project, names):
    engine = project.root / "tensorgrade"
    found = [
        f"{place}:{line}: {word}"
        for path in sorted(engine.rglob("*"))
        if path.suffix in READ
        for place in [path.relative_to(engine).as_posix()]
        if not place.startswith("audit/")  # it is about attention, in any code
        for line, word in words_of_the_course(path.read_text(encoding="utf-8"), names)
        if (place, word) not in ORDINARY_THERE
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'said = "changing it changes results before: tokens see the future"',
        '    """A stand-in that does not attend."""',
        "# one head for each part",
        "def by_head(tensor, heads): ...",
        'rate = arguments["context_length"]',
        "class MultiHead: ...",
        'Path("attention-kit.zip")',
        "the chapter ch3_causal_attention",
    ],
)
def test_a_word_of_the_course_is_found_wherever_it_is(text, names):
    assert next(iter(words_of_the_course(f"\n{text}", names)))[0] == 2


@pytest.mark.parametrize(
    "text", ["attempt = overhead", "for key, value in found.items():", "ahead"]
)
def test_other_words_are_not(text, names):
    assert list(words_of_the_course(text, names)) == []


def test_every_exception_is_needed(project):
    """An allowance that nothing needs any more goes."""
    engine = project.root / "tensorgrade"
    for place, word in ORDINARY_THERE:
        assert word in IDENTIFIER.findall((engine / Path(place)).read_text(encoding="utf-8"))
