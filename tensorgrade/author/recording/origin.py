"""What an exercise's references and fingerprints are made from, as digests of its content.

Where a file lies, what it is called and what else stands in it does not count: of the engine and
of the lesson only the code that is reached does, of a grader file the cases that it makes. The
cases' numbers are in no stored digest, since processors differ in the last digit of a random
number: they are compared with the stored ones (building/same.py).
"""

import ast
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

import torch

from ...exchange.cases import Case
from ...exchange.references import case_to_json
from ...folders import RECORDED_WITH, engine_files
from ...grader_files import syntax_of
from ...judging.course_checks import FILE
from ...project import Project
from ...recognition.mistakes import Mistake
from ...recognition.signatures import Signature
from ...runner.messages import pack
from ..reaching import DEFINITIONS, reached, reached_in_files
from .adopted import Adopted

# Where the code lies that records and stores, and by what it is entered.
MADE_WITH = (*RECORDED_WITH, "attempts/in_process.py", "author/recording")
ENTERED_BY = {
    "author/recording/references.py": ("Recording", "tell_apart"),
    "exchange/references.py": ("save_references",),
    "recognition/fingerprints.py": ("save_fingerprints",),
    "runner/verbs.py": ("VERBS",),
}


def digest(*texts: str) -> str:
    """Changes when one of the texts does."""
    return blake2b(repr(texts).encode(), digest_size=12).hexdigest()


def case_digest(case: Case) -> str:
    """Changes when a case asks for something else, or with other numbers, to the last bit."""
    return blake2b(pack(case_to_json(case), case.tensors), digest_size=12).hexdigest()


def code_digest(
    project: Project, chapter: str, exercise: str, cases: list[Case], own: Mapping[str, Signature]
) -> str:
    """Changes with the course's code that results on these cases come from.

    The solution's, that of the stand-ins and of the course's own signatures that the cases name.
    No lesson text, no docstring, no comment, no test, no check.
    """
    called = {step.name for case in cases for step in case.steps if step.name}
    given = sorted((project.exercises / "given" / chapter).glob("*.py"))
    named = {case.signature: own[case.signature] for case in cases if case.signature in own}
    return digest(
        code_of(project.solution(chapter), exercise, *called),
        *(f"{path.name} {code_in(path)}" for path in given),
        *(f"{n} {code_of(project.graders / FILE, named[n].__name__)}" for n in sorted(named)),
    )


def ways_digest(project: Project, chapter: str) -> list[str]:
    """Changes with what the values on the way come from: other right forms, and the words."""
    return [*map(code_in, project.forms(chapter)), repr(sorted(project.stages.items()))]


@cache  # a process runs the code that it has read, whatever becomes of the files
def engine_digest() -> str:
    """Changes with torch, and with the engine's code that makes and stores what is recorded."""
    paths = {n: path for n, path in engine_files(*MADE_WITH).items() if path.suffix == ".py"}
    files = {name: stripped(path) for name, path in paths.items()}
    found = reached_in_files(files, ENTERED_BY)
    version = torch.__version__.split("+")[0]
    return digest(version, *(f"{n} {ast.unparse(ast.Module(found[n], []))}" for n in sorted(found)))


def mistakes_digest(
    exercise: str, mistakes: list[Mistake], forms: list[Mistake], adopted: list[Adopted]
) -> str:
    """Changes when a mistake has another name, or is another one; not with its message.

    So it does with other right forms of the solution, and with adopted mistakes.
    """
    return digest(
        *(repr((m.name, m.edits[exercise], m.same_as)) for m in mistakes),
        *(repr(form.edits[exercise]) for form in forms),
        *(repr((one.name, one.source)) for one in adopted),
    )


def known(project: Project, exercise: str) -> list[Mistake]:
    """The mistakes that can happen in an exercise."""
    return [mistake for mistake in project.mistakes if exercise in mistake.edits]


def forms_of(project: Project, exercise: str) -> list[Mistake]:
    """The other right ways to write an exercise's solution."""
    return [form for form in project.form_edits if exercise in form.edits]


def code_of(path: Path, *names: str) -> str:
    """All code of a file that some definitions reach."""
    return "\n".join(map(ast.unparse, reached(stripped(path), names)))


def code_in(path: Path) -> str:
    """All code of a file."""
    return written_out(path, path.read_text(encoding="utf-8"))


def stripped(path: Path) -> ast.Module:
    """A file's syntax without docstrings. Raises CourseError where it is missing or no Python."""
    return stripped_text(path, path.read_text(encoding="utf-8") if path.exists() else "")


@lru_cache(maxsize=128)  # every exercise of a chapter asks for the same files
def stripped_text(path: Path, text: str) -> ast.Module:
    """The same, while this text stands there."""
    return without_docstrings(syntax_of(path))


@lru_cache(maxsize=64)
def written_out(path: Path, text: str) -> str:
    """All code of a file, while this text stands there."""
    return ast.unparse(stripped(path))


def without_docstrings(module: ast.Module) -> ast.Module:
    """A module, which has no comments, without its docstrings either."""
    documented = (*DEFINITIONS, ast.Module)
    for node in ast.walk(module):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return module
