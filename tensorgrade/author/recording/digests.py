"""Digests of the content that an exercise's references and fingerprints are made from.

In a course's files, paths, docstrings and comments do not count; in the engine's, they do. For a
lesson, only the code that the exercise reaches counts; for a grader file, only its cases and
mistakes.
"""

import ast
import json
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

import torch

from ...exchange.references import case_to_json
from ...folders import RECORDED_WITH, digest_of_files, engine_files
from ...grader_files import syntax_of
from ...judging.course_checks import FILE
from ...runner.wire import pack
from ..reaching import DEFINITIONS, reached
from .references import Recording

# The engine's code that records and stores results.
MADE_WITH = (*RECORDED_WITH, "sources", "attempts/lab.py", "author/recording")
# The engine's code that finds the first effects of mistakes.
COMPARED_WITH = ("judging", "attempts/divergence.py", "attempts/first_effects.py")


def digest(*texts: str) -> str:
    """Return a digest of some texts."""
    return blake2b(repr(texts).encode(), digest_size=12).hexdigest()


def part_digest(recording: Recording) -> str:
    """Return a digest of everything that references and fingerprints are made from."""
    project = recording.project
    made_from = [engine_digest(MADE_WITH), pairs_digest(recording)]
    packed = [pack(case_to_json(case), case.tensors) for case in recording.cases]
    made_from += map(digest_of_bytes, packed)  # with the numbers to the last bit
    if not recording.hidden:  # reference traces, the names of their values, and first effects
        made_from.append(engine_digest(COMPARED_WITH))
        made_from.append(repr(sorted(project.stages.items())))
    return digest(*made_from)


def pairs_digest(recording: Recording) -> str:
    """Return a digest of everything that pairs of mistakes depend on, apart from the engine.

    Stored pairs are handed from one machine to another, so the numbers of the cases are not part of
    it: processors differ in the last digit of a random number.
    """
    mistakes = digest(*(repr((one.name, one.edits)) for one in recording.mistakes.values()))
    cases = (json.dumps(case_to_json(case)) for case in recording.cases)
    return digest(code_digest(recording), digest(*cases, mistakes))


def code_digest(recording: Recording) -> str:
    """Return a digest of the course's code that affects results on an exercise's cases.

    It covers the solution, the given substitutes, and the course's own signatures that the cases
    name. It does not cover lesson text, docstrings, comments, tests or checks.
    """
    project, chapter, cases, own = (
        recording.project,
        recording.chapter,
        recording.cases,
        recording.own,
    )
    called = {step.name for case in cases for step in case.steps if step.name}
    given = sorted((project.exercises / "given" / chapter).glob("*.py"))
    named = {case.signature: own[case.signature] for case in cases if case.signature in own}
    return digest(
        code_of(project.solution(chapter), recording.exercise, *called),
        *(f"{path.name} {code_in(path)}" for path in given),
        *(f"{n} {code_of(project.graders / FILE, named[n].__name__)}" for n in sorted(named)),
    )


def digest_of_bytes(content: bytes) -> str:
    """Return a digest of some bytes."""
    return blake2b(content, digest_size=12).hexdigest()


@cache  # a process runs the code that it has loaded, even if the files change
def engine_digest(places: tuple[str, ...]) -> str:
    """Return a digest of torch's version and of the engine's code in some places."""
    return digest_of_files(engine_files(*places), torch.__version__)


def code_of(path: Path, *names: str) -> str:
    """Return the code of these definitions in a file, and of all definitions that they use."""
    return "\n".join(map(ast.unparse, reached(stripped(path), names)))


def code_in(path: Path) -> str:
    """Return all code of a file."""
    return ast.unparse(stripped(path))


def stripped(path: Path) -> ast.Module:
    """Return a file's syntax tree without docstrings.

    Raise CourseError if the file is missing or invalid Python.
    """
    return stripped_text(path, path.read_text(encoding="utf-8") if path.exists() else "")


@lru_cache(maxsize=128)  # every exercise of a chapter asks for the same files
def stripped_text(path: Path, text: str) -> ast.Module:
    """Return a file's syntax tree without docstrings. The text is part of the cache key."""
    module = syntax_of(path)
    documented = (*DEFINITIONS, ast.Module)
    for node in ast.walk(module):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return module
