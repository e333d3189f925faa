"""What an exercise's references and fingerprints are made from, as a digest."""

import ast
from functools import lru_cache
from pathlib import Path

import torch

from ...folders import RECORDED_WITH, digest_of_files, engine_files
from ...grader_files import grader_path, syntax_of
from ...project import Project
from ..reaching import DEFINITIONS, reached

# What cases and mistakes are written with, and how they are recorded.
MADE_WITH = (*RECORDED_WITH, "author/recording")


def origin(project: Project, chapter: str, exercise: str, hidden: bool) -> str:
    """Changes when the same references or fingerprints could no longer be made.

    Of the chapter's source only the code that the exercise reaches counts, and of the grader
    file only what its cases reach; of all that they are made with, the code. No lesson text, no
    docstring, no comment, no test.
    """
    folders = (project.graders, project.exercises / "given" / chapter)
    files = [*engine_files(*MADE_WITH).values(), *(p for f in folders for p in f.glob("*.py"))]
    mistakes = [(m.name, m.edits[exercise], m.same_as) for m in known(project, exercise)]
    return digest_of_files(
        {},
        *sorted(f"{path.name} {code_in(path)}" for path in files),  # wherever the folders lie
        torch.__version__.split("+")[0],
        f"hidden {project.course.seed}" if hidden else "public",
        code_of(project.solution(chapter), exercise),
        code_of(grader_path(project.graders, chapter, exercise), "cases"),
        repr(mistakes),
        *("" if hidden else code_in(form) for form in project.forms(chapter)),
    )


def known(project: Project, exercise: str) -> list:
    """The mistakes that can happen in an exercise."""
    return [mistake for mistake in project.mistakes if exercise in mistake.edits]


def code_of(path: Path, name: str) -> str:
    """All code of a file that a definition reaches."""
    return "\n".join(map(ast.unparse, reached(without_docstrings(syntax_of(path)), [name])))


def code_in(path: Path) -> str:
    """All code of a file."""
    return unparsed(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=256)
def unparsed(text: str) -> str:
    """A file's text as code alone: every exercise is made with the same engine."""
    return ast.unparse(without_docstrings(ast.parse(text)))


def without_docstrings(module: ast.Module) -> ast.Module:
    """A module, which has no comments, without its docstrings either."""
    documented = (*DEFINITIONS, ast.Module)
    for node in ast.walk(module):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return module
