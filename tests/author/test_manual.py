"""The authors' guides: every complete example is built and proved, and no name is left out."""

import inspect
import re

import pytest

import tensorgrade.author
from tensorgrade.author.proofs.kill_matrix import exercise_matrix, unproved
from tensorgrade.author.proofs.made_attempts import MadeAttempts
from tensorgrade.author.recording import steps
from tensorgrade.exchange.references import References, save_references
from tensorgrade.messages.message import render
from tensorgrade.project import Project
from tensorgrade.recognition.fingerprints import Fingerprints, fingerprints_path, save_fingerprints
from tensorgrade.recognition.signatures import SIGNATURES
from tensorgrade.runner.steps import VERBS, Passing
from tensorgrade.testing.collected import CollectedTests

from ..commands import ROOT
from .any_value import CHAPTER, CONFIG
from .small_course import build_exercise

PAGES = (
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    ROOT / "docs" / "tutorial" / "author.md",
)
MANUAL = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCKS = re.findall(r"^```python(?: title=[^\n]*)?\n(.*?)^```$", MANUAL, re.MULTILINE | re.DOTALL)
EXERCISE = re.compile(r'^# %% exercise="(\w+)"')
SOURCES = {found[1]: block for block in BLOCKS if (found := EXERCISE.match(block))}
HEAD = "# %% [markdown]\n# # Manual\n\n# %%\nimport torch\nfrom torch import nn\n\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Project:
    """A course of all the examples, built."""
    root = tmp_path_factory.mktemp("manual")
    graders = {
        found[1]: block
        for block in BLOCKS
        if (found := re.match(r'"""Cases, tests and known mistakes of (\w+)', block))
    }
    assert SOURCES.keys() == graders.keys()
    (own,) = (block for block in BLOCKS if "@signature(" in block)
    files = {
        "course_config.py": CONFIG,
        f"solutions/{CHAPTER}.py": HEAD + "\n\n".join(SOURCES.values()),
        "graders/mistakes/__init__.py": "MISTAKES = []\n",
        "graders/checks.py": own,
        **{f"graders/{CHAPTER}/{name}.py": text for name, text in graders.items()},
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    built(Project(root))
    return Project(root)


def built(project: Project) -> None:
    """References and fingerprints for graders; those for learners are made and thrown away."""
    made = {}
    for name in SOURCES:
        build_exercise(str(project.root), CHAPTER, name, False)
        made[name] = build_exercise(str(project.root), CHAPTER, name, True)
    entries = tuple(entry for references, _ in made.values() for entry in references.entries)
    stored = project.graders / "references" / f"{CHAPTER}.safetensors"
    save_references(stored, References(CHAPTER, True, entries))
    messages = {one.name: one.message for one in project.mistakes}
    prints = Fingerprints({name: found for name, (_, found) in made.items()}, messages)
    save_fingerprints(fingerprints_path(stored.parent, CHAPTER), prints)


@pytest.fixture(scope="module")
def collected(course):
    return CollectedTests(course.graders)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_an_example_passes_its_tests_and_catches_its_mistakes(course, collected, name):
    made = MadeAttempts(course, course.graders)
    right = collected.results(made.right(CHAPTER), name)
    assert right and [render(r.finding.diagnosis.problem) for r in right if not r.passed] == []
    matrix = exercise_matrix(course, collected, made, CHAPTER, name, noticed={})
    assert unproved([matrix]) == [] and len(matrix.rows) >= 4


def test_every_public_name_for_authors_is_used_in_an_example():
    examples = "\n".join(BLOCKS)
    used = {name for name in tensorgrade.author.__all__ if re.search(rf"\b{name}\(", examples)}
    assert set(tensorgrade.author.__all__) - used == set()


def test_the_page_of_checks_lists_every_signature():
    page = (ROOT / "docs" / "reference" / "checks.md").read_text(encoding="utf-8")
    assert {name for name in SIGNATURES if f"| `{name}` |" not in page} == set()


def test_the_page_of_cases_lists_every_verb_and_every_setting():
    page = (ROOT / "docs" / "reference" / "cases.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)=", page))
    passing = [verb for verb in VERBS.values() if issubclass(verb, Passing)]
    assert {name for verb in passing for name in verb.settings} - listed == set()
    written = [one for one in vars(steps).values() if inspect.isfunction(one)]
    assert [one.__name__ for one in written if f"`{one.__name__}(" not in page] == []
