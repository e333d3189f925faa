"""Digests of the content that an exercise's references and fingerprints are made from.

A file's path, name and unrelated content do not count. For the engine and the lesson, only the
code that is reached counts; for a grader file, only its cases. No stored digest includes the cases'
numbers, because processors differ in the last digit of a random number. Instead, the numbers are
compared with the stored ones (building/same.py).
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

# The engine's code that records and stores results, and the names through which it is entered.
MADE_WITH = (*RECORDED_WITH, "attempts/in_process.py", "author/recording")
ENTERED_BY = {
    "author/recording/references.py": ("Recording", "tell_apart"),
    "exchange/references.py": ("save_references",),
    "recognition/fingerprints.py": ("save_fingerprints",),
    "runner/steps.py": ("VERBS",),
}


def digest(*texts: str) -> str:
    """Return a digest of some texts."""
    return blake2b(repr(texts).encode(), digest_size=12).hexdigest()


def case_digest(case: Case) -> str:
    """Return a digest of a case, with its numbers to the last bit."""
    return blake2b(pack(case_to_json(case), case.tensors), digest_size=12).hexdigest()


def code_digest(
    project: Project, chapter: str, exercise: str, cases: list[Case], own: Mapping[str, Signature]
) -> str:
    """Return a digest of the course's code that affects results on these cases.

    It covers the solution, the given substitutes, and the course's own signatures that the cases
    name. It does not cover lesson text, docstrings, comments, tests or checks.
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
    """Return digests of the sources of reference traces: other right forms, and names of values."""
    return [*map(code_in, project.forms(chapter)), repr(sorted(project.stages.items()))]


@cache  # a process runs the code that it has loaded, even if the files change
def engine_digest() -> str:
    """Return a digest of torch's version and of the engine code that records and stores."""
    paths = {n: path for n, path in engine_files(*MADE_WITH).items() if path.suffix == ".py"}
    files = {name: stripped(path) for name, path in paths.items()}
    found = reached_in_files(files, ENTERED_BY)
    version = torch.__version__.split("+")[0]
    return digest(version, *(f"{n} {ast.unparse(ast.Module(found[n], []))}" for n in sorted(found)))


def mistakes_digest(
    exercise: str, mistakes: list[Mistake], forms: list[Mistake], adopted: list[Adopted]
) -> str:
    """Return a digest of mistakes with their names, other right forms, and adopted mistakes.

    The messages of mistakes are not part of it.
    """
    return digest(
        *(repr((m.name, m.edits[exercise], m.same_as)) for m in mistakes),
        *(repr(form.edits[exercise]) for form in forms),
        *(repr((one.name, one.source)) for one in adopted),
    )


def known(project: Project, exercise: str) -> list[Mistake]:
    """Return the mistakes that can occur in an exercise."""
    return [mistake for mistake in project.mistakes if exercise in mistake.edits]


def forms_of(project: Project, exercise: str) -> list[Mistake]:
    """Return the other right forms of an exercise's solution."""
    return [form for form in project.form_edits if exercise in form.edits]


def code_of(path: Path, *names: str) -> str:
    """Return all code of a file that some definitions reach."""
    return "\n".join(map(ast.unparse, reached(stripped(path), names)))


def code_in(path: Path) -> str:
    """Return all code of a file."""
    return written_out(path, path.read_text(encoding="utf-8"))


def stripped(path: Path) -> ast.Module:
    """Return a file's syntax tree without docstrings.

    Raise CourseError if the file is missing or invalid Python.
    """
    return stripped_text(path, path.read_text(encoding="utf-8") if path.exists() else "")


@lru_cache(maxsize=128)  # every exercise of a chapter asks for the same files
def stripped_text(path: Path, text: str) -> ast.Module:
    """Return a file's syntax tree without docstrings. The text is part of the cache key."""
    return without_docstrings(syntax_of(path))


@lru_cache(maxsize=64)
def written_out(path: Path, text: str) -> str:
    """Return all code of a file. The text is part of the cache key."""
    return ast.unparse(stripped(path))


def without_docstrings(module: ast.Module) -> ast.Module:
    """Remove the docstrings from a module, which has no comments, and return it."""
    documented = (*DEFINITIONS, ast.Module)
    for node in ast.walk(module):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return module
