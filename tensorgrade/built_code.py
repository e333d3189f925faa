"""The code that the last build read, to notice edits that were not built.

`.tensorgrade/built_code.json` holds digests of each file in `solutions/` and `graders/`: of its
bytes, which are quick to compare, and of its code. Lesson text, docstrings, comments and tests do
not count, because results do not depend on a build of them. The record is valid only for the
references of the same build, so a copy of the course without it is not checked.
"""

import ast
import contextlib
import hashlib
import json
from collections.abc import Collection
from pathlib import Path

from .course import CourseError
from .folders import OWN_FOLDER
from .grader_files import marker_name, syntax_of
from .project import Project, made_from

RECORD = "built_code.json"
MOST_NAMED = 5
FILES, MADE_FROM = "files", "made from"  # keys of the record
RAW, CODE = "file", "code"  # keys of a file's entry
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Built = dict[str, dict]  # an entry for each file, by its path in the course


def refuse_unbuilt(graders: Path, chapters: Collection[str]) -> None:
    """Raise CourseError if solutions or graders of these chapters changed since the last build."""
    root = graders.parent
    changed = [name for name in changed_files(root, graders) if is_about(name, chapters)]
    if changed:
        names = ", ".join(changed[:MOST_NAMED])
        more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        raise CourseError(
            f"changed since the last build: {names}{more}. The references are still the earlier "
            "ones; run `tensorgrade build` first"
        )


def changed_files(root: Path, graders: Path) -> list[str]:
    """Return the recorded files whose code differs now. A missing file is not compared."""
    known, paths = read_built(root, graders), code_files(root, graders)
    return [name for name, path in paths.items() if name in known and differs(known[name], path)]


def differs(known: dict, path: Path) -> bool:
    """Return True if a file's code is not the recorded one."""
    return known[RAW] != digest(path.read_bytes()) and known[CODE] != code_in(path)


def is_about(name: str, chapters: Collection[str]) -> bool:
    """Return True if a file belongs to one of these chapters, or to all chapters.

    >>> is_about("graders/ch1/first.py", ["ch1"]), is_about("graders/ch2/first.py", ["ch1"])
    (True, False)
    >>> is_about("solutions/ch1.py", ["ch1"]), is_about("graders/shared.py", ["ch1"])
    (True, True)
    """
    folder, *inner = Path(name).with_suffix("").parts
    is_shared = folder != "solutions" and len(inner) == 1
    return is_shared or inner[0] in chapters


def record_built(project: Project, before: Built, exercises: Collection[str] = ()) -> None:
    """Record the code that a build has read.

    before: the record before this build. exercises: the only ones that were built; all if empty.
    """
    if exercises and not before:
        return
    paths = code_files(project.root, project.graders)
    whole = {
        c.name for c in project.course.chapters if {e.name for e in c.exercises} <= {*exercises}
    }
    files = before | {
        name: {RAW: digest(path.read_bytes()), CODE: code_in(path)}
        for name, path in paths.items()
        if not exercises or path.stem in (whole if name.startswith("solutions/") else exercises)
    }
    told = {MADE_FROM: digest_of_build(project.graders), FILES: files}
    path = project.root / OWN_FOLDER / RECORD
    with contextlib.suppress(OSError):  # a folder that is not writable
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(told), encoding="utf-8")


def read_built(root: Path, graders: Path) -> Built:
    """Return the record of the build that wrote the references; {} without one."""
    try:
        told = json.loads((root / OWN_FOLDER / RECORD).read_text(encoding="utf-8"))
        return told[FILES] if told[MADE_FROM] == digest_of_build(graders) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def code_files(root: Path, graders: Path) -> dict[str, Path]:
    """Return the files that references are made from, by path in the course."""
    solutions = root / "solutions"
    found = [*solutions.glob("*.py"), *graders.glob("*.py"), *graders.glob("*/*.py")]
    return {path.relative_to(root).as_posix(): path for path in sorted(found)}


def code_in(path: Path) -> str:
    """Return a digest of a file's code without docstrings, comments and tests.

    For a file with invalid Python, it is a digest of the text.
    """
    try:
        module = syntax_of(path)
    except CourseError:
        return digest(path.read_bytes())
    module.body = [node for node in module.body if not is_test(node)]
    for node in ast.walk(module):
        if isinstance(node, (*DEFINITIONS, ast.Module)):
            node.body = [one for one in node.body if not is_text(one)] or [ast.Pass()]
    return digest(ast.unparse(module).encode())


def is_test(node: ast.stmt) -> bool:
    """Return True for a test of an exercise."""
    return any(map(marker_name, getattr(node, "decorator_list", ())))


def is_text(node: ast.stmt) -> bool:
    """Return True for a string that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def digest_of_build(graders: Path) -> str:
    """Return a digest of the build's own record, which changes with every reference."""
    return digest(made_from(graders).read_bytes())


def digest(content: bytes) -> str:
    """Return a digest of some bytes."""
    return hashlib.sha256(content).hexdigest()[:24]
