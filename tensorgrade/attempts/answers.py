"""Finds the files of a course that hold an answer, wherever they are.

A list of folders forgets one: another course in the same repository, or tests full of right
answers. So every regular file is searched if its name ends like code or text, and so are such
files in a zip. Not opened: other archives, such as a tar, a zip in a zip, and broken zips.
"""

import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from ..isolation.mending import is_closed
from ..sources.near_misses import NO_ARCHIVE

PRIVATE = ("solutions", "source", "course_config.py", "gradebook.db", "submitted", "autograded")
ENGINE = Path(__file__).resolve().parents[1]  # it has templates of solutions, and no course's own
# Nothing of a course is kept there.
SKIPPED = {".venv", "__pycache__", "node_modules", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
HISTORY = ".git"  # holds every file that there ever was
SOLUTION = re.compile(rb'^[\s"#]*### BEGIN SOLUTION(.*?)### END SOLUTION', re.MULTILINE | re.DOTALL)
# A course's seed, cases that are drawn for hidden tests, and references with expected values.
SECRETS = re.compile(
    rb'^\s*seed\s*=\s*\d{10,}|\bpick\(\s*public=|^\{.{0,200}?"hidden\\?": true',
    re.MULTILINE | re.DOTALL,
)
LONG = 30  # characters: of shorter lines many stand elsewhere, too
HEADER = 4096  # bytes of a file of tensors that say what it is
MOST_BYTES = 4 << 20  # of a text: no answer is longer
CODE = {".py", ".ipynb", ".safetensors"}
TEXTS = {".md", ".txt", ".json", ".html", ".toml", ".cfg", ".yml", ".yaml", ""}


def private_paths(tests: Path) -> Iterator[Path]:
    """Yield what of a course no learner may see: what has a name, and every other answer."""
    root = tests.resolve().parent
    named = [tests, *(root / name for name in PRIVATE)]
    yield from named
    yield from (path for path in answer_paths(root) if path not in named)


def answer_paths(root: Path) -> list[Path]:
    """Return what is directly below a folder and open to every user, with an answer in it."""
    files = dict(files_below(root))
    lines = solution_lines(files)
    found = {
        root / path.relative_to(root).parts[0]
        for path, is_open in files.items()
        if is_open and any(holds_answer(*content, lines) for content in contents(path))
    }
    if (root / HISTORY).exists():
        found.add(root / HISTORY)
    return sorted(found)


def files_below(root: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the regular files below a folder, and whether other users can reach them."""
    for place, folders, names in os.walk(root):
        here = Path(place)
        folders[:] = (
            set(folders) - SKIPPED - {HISTORY, ENGINE.name if here == ENGINE.parent else ""}
        )
        closed = is_closed(here)
        for path in (here / name for name in names):
            if stat.S_ISREG(path.lstat().st_mode):  # opening a pipe would wait forever
                yield path, not closed and not is_closed(path)


def solution_lines(files: Iterable[Path]) -> set[bytes]:
    """Return the long lines of all solutions in some files, but for those that learners have."""
    texts = {path: path.read_bytes() for path in files if path.suffix == ".py"}
    bodies = b"".join(body for text in texts.values() for body in SOLUTION.findall(text))
    public = b"".join(text for path, text in texts.items() if "exercises" in path.parts)
    lines = {line.strip() for line in bodies.splitlines()}
    return {line for line in lines if len(line) >= LONG and line not in public}


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what can hold an answer in a file: its text, its header, or its members', by name."""
    if path.suffix == ".zip":
        yield from contents_of_zip(path)
    elif path.suffix in CODE | TEXTS:
        with path.open("rb") as file:
            yield path.name, start_of(path.name, file)


def contents_of_zip(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the beginning of each code or text file in a zip that can be read."""
    try:
        archive = zipfile.ZipFile(path)
    except NO_ARCHIVE:
        return
    with archive:
        for member in archive.infolist():
            if Path(member.filename).suffix not in CODE | TEXTS:
                continue
            try:
                with archive.open(member) as file:
                    content = start_of(member.filename, file)
            except NO_ARCHIVE:
                continue
            yield member.filename, content


def start_of(name: str, file: IO[bytes]) -> bytes:
    """Return a text, or the header of a file of tensors without the length in front of it."""
    if name.endswith(".safetensors"):
        return file.read(HEADER)[8:]
    return file.read(MOST_BYTES)


def holds_answer(name: str, content: bytes, lines: set[bytes]) -> bool:
    """Return True if a solution, a secret of the graders or one of these lines is in a file."""
    marked = SOLUTION.search(content) or SECRETS.search(content)
    if marked and Path(name).suffix in CODE:  # a manual shows how they look
        return True
    plain = content.replace(b'\\"', b'"')  # as notebooks write their lines
    return any(line in plain for line in lines)
