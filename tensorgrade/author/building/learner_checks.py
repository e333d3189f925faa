"""The learner's checks of a chapter: only its tests, taken from the grader files.

A test brings along the imports, constants and functions that it uses. Cases, mistakes and hidden
sizes are left out. A test that uses one of them is an error.
"""

import ast
from collections import defaultdict
from pathlib import Path

from ...course import Chapter, CourseError
from ...grader_files import grader_path, marker_name, parsed, tests_text
from ...project import Project
from ..reaching import bound_by, lines_of, reached

HEADER = '''\
"""Checks of chapter {number}: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""'''
SECRETS = {"cases", "MISTAKES"}
FOR_AUTHORS = "tensorgrade.author."
DEFINED = ("def ", "class ", "@")


def learner_checks(project: Project, chapter: Chapter) -> str:
    """Return the text of a chapter's checks. Raise CourseError if a test uses a secret name."""
    imports: dict[str, set[str]] = defaultdict(set)
    parts: dict[str, str] = {}
    for exercise in chapter.exercises:
        path = grader_path(project.graders, chapter.name, exercise.name)
        take_tests(path, imports, parts)
    header = HEADER.format(number=project.course.chapters.index(chapter) + 1)
    constants = [text for text in parts.values() if not text.startswith(DEFINED)]
    functions = [text for text in parts.values() if text.startswith(DEFINED)]
    # Whole modules are imported first, then single names.
    modules = "\n".join(f"import {name}" for name in sorted(imports.pop("", ())))
    names = "\n".join(f"{m}import {', '.join(sorted(own))}" for m, own in sorted(imports.items()))
    top = "\n\n".join([header, *filter(None, (modules, names)), *constants])
    return "\n\n\n".join([top, *functions]) + "\n"


def take_tests(path: Path, imports: dict[str, set[str]], parts: dict[str, str]) -> None:
    """Add a grader file's tests, and the code that they use, to those of the earlier files."""
    text = tests_text(path)
    module, lines = parsed(text, path), text.splitlines()
    # A marker in its decorators makes a function a test that judges an exercise.
    tests = [
        name_of(node)
        for node in module.body
        if any(map(marker_name, getattr(node, "decorator_list", ())))
    ]
    secrets = [statement for statement in module.body if is_secret(statement)]
    module.body = [statement for statement in module.body if statement not in secrets]
    taken = reached(module, tests)
    names = [node for part in taken for node in ast.walk(part) if isinstance(node, ast.Name)]
    refuse(path, names, set().union(*map(bound_by, secrets)))
    for statement in taken:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            take_import(statement, {node.id for node in names}, imports)
            continue
        name, text = name_of(statement), text_of(statement, lines)
        if parts.setdefault(name, text) != text:
            raise CourseError(f"{path}:{statement.lineno}: another test file defines {name} too")


def is_secret(statement: ast.stmt) -> bool:
    """Return True if learners do not get a statement.

    Cases, mistakes, and imports for graders and authors are secret.
    """
    if isinstance(statement, ast.ImportFrom):
        return bool(statement.level) or f"{statement.module}.".startswith(FOR_AUTHORS)
    if isinstance(statement, ast.Import):
        return any((alias.name + ".").startswith(FOR_AUTHORS) for alias in statement.names)
    return bool(bound_by(statement) & SECRETS)


def refuse(path: Path, names: list[ast.Name], secrets: set[str]) -> None:
    """Raise CourseError, with the line, if one of these names is a secret."""
    for node in names:
        if node.id in secrets:
            raise CourseError(
                f"{path}:{node.lineno}: a test uses {node.id}, which learners do not get; "
                "tests go to learners unchanged"
            )


def take_import(
    statement: ast.Import | ast.ImportFrom, used: set[str], imports: dict[str, set[str]]
) -> None:
    """Add the imported names that are used to `imports`, by module."""
    module = f"from {statement.module} " if isinstance(statement, ast.ImportFrom) else ""
    for alias in statement.names:
        if (alias.asname or alias.name).split(".")[0] in used:
            imports[module].add(ast.unparse(alias))


def name_of(statement: ast.stmt) -> str:
    """Return the name of the function, class or constant that a statement defines."""
    targets = getattr(statement, "targets", [getattr(statement, "target", statement)])
    return getattr(targets[0], "name", getattr(targets[0], "id", ""))


def text_of(statement: ast.stmt, lines: list[str]) -> str:
    """Return the source text of a statement, with its decorators."""
    return "\n".join(lines[number - 1] for number in lines_of(statement))
