"""Find the files of a course that hold an answer, wherever they are.

A fixed list of folders would miss some: another course in the same repository, or tests full of
right answers. Therefore every regular file is searched if its name ends like code or text. Such
files in a zip are searched too. Other archives (such as tar), zips inside a zip and broken zips are
not opened.
"""

import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from ..isolation.remedies import is_closed
from ..sources.near_misses import NO_ARCHIVE

PRIVATE = ("solutions", "source", "course_config.py", "gradebook.db", "submitted", "autograded")
# The engine's folder. It has templates of solutions, but no course's solutions.
ENGINE = Path(__file__).resolve().parents[1]
# No file of a course is stored in these folders.
SKIPPED = {".venv", "__pycache__", "node_modules", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
HISTORY = ".git"  # holds every past version of every file
SOLUTION = re.compile(rb'^[\s"#]*### BEGIN SOLUTION(.*?)### END SOLUTION', re.MULTILINE | re.DOTALL)
# A course's seed, the random cases of hidden tests, and references with expected values.
SECRETS = re.compile(
    rb'^\s*seed\s*=\s*\d{10,}|\bpick\(\s*public=|^\{.{0,200}?"hidden\\?": true',
    re.MULTILINE | re.DOTALL,
)
LONG = 30  # characters: shorter lines often occur in other files too
HEADER = 4096  # bytes at the start of a tensor file that describe its content
MOST_BYTES = 4 << 20  # read of each text file; no answer is longer
CODE = {".py", ".ipynb", ".safetensors"}
TEXTS = {".md", ".txt", ".json", ".html", ".toml", ".cfg", ".yml", ".yaml", ""}


def private_paths(tests: Path) -> Iterator[Path]:
    """Yield the paths of a course that no learner may see: named ones first, then all answers."""
    root = tests.resolve().parent
    named = [tests, *(root / name for name in PRIVATE)]
    yield from named
    yield from (path for path in answer_paths(root) if path not in named)


def answer_paths(root: Path) -> list[Path]:
    """Return the entries of a folder that hold an answer in a file that every user can read."""
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
    """Yield (path, True if other users can read it) for each regular file below a folder."""
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
    """Return the long lines of all solutions in some files, except lines in learners' files."""
    texts = {path: path.read_bytes() for path in files if path.suffix == ".py"}
    bodies = b"".join(body for text in texts.values() for body in SOLUTION.findall(text))
    public = b"".join(text for path, text in texts.items() if "exercises" in path.parts)
    lines = {line.strip() for line in bodies.splitlines()}
    return {line for line in lines if len(line) >= LONG and line not in public}


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of a text file or tensor header, or of each such file in a zip."""
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
    """Return the start of a text, or of a tensor file's header without its 8-byte length."""
    if name.endswith(".safetensors"):
        return file.read(HEADER)[8:]
    return file.read(MOST_BYTES)


def holds_answer(name: str, content: bytes, lines: set[bytes]) -> bool:
    """Return True if a solution, a secret of the graders or one of these lines is in a file."""
    marked = SOLUTION.search(content) or SECRETS.search(content)
    if marked and Path(name).suffix in CODE:  # documentation may show the markers
        return True
    plain = content.replace(b'\\"', b'"')  # notebooks escape quotes
    return any(line in plain for line in lines)
