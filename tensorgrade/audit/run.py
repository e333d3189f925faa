"""Run an audit: in a sandboxed child, or in this process for code that is trusted."""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..course import CourseError, Limits
from ..isolation.levels import NONE, best_level
from ..isolation.readable import site_folders
from ..runner.programs import sent_name

if TYPE_CHECKING:  # it imports torch
    from ..isolation.warm_process import WarmProcess

HERE = Path(__file__).parent
LIMITS = Limits(memory_bytes=4 << 30, processor_seconds=300, file_bytes=64 << 20)
MOST_SECONDS = 200.0
MOST_FILES, MOST_FOLDERS, MOST_BYTES = 300, 1000, 3 << 20
LEFT_OUT = {".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist"}


@dataclass(frozen=True)
class Asked:
    """The file to audit, and how it is imported.

    module: its dotted name, empty for a file that is in no package. name: one definition, or
    empty for all. companions: texts of the modules next to it, by dotted name.
    """

    path: Path
    module: str
    name: str
    companions: dict[str, str]


def asked_for(target: str) -> Asked:
    """Return the file behind `FILE`, `FILE:NAME` or `MODULE:NAME`. Raises CourseError."""
    place, _, name = target.rpartition(":") if ":" in target[2:] else (target, "", "")
    path = Path(place)
    if path.is_dir():
        raise CourseError(f"{place} is a folder; name the Python files in it")
    if path.suffix != ".py" and not path.exists():
        path = file_of_module(place)
    if not path.is_file():
        raise CourseError(f"there is no file or module {place}")
    if path.suffix != ".py":
        raise CourseError(f"{path} is not a Python file")
    path = Path(os.path.abspath(path))
    root, module = package_of(path)
    if any(path.is_relative_to(folder) for folder in site_folders()):
        return Asked(path, module, name, {})
    return Asked(path, module if "." in module else "", name, companions(root, path))


def file_of_module(dotted: str) -> Path:
    """Return the file of a module, found without importing anything. Raises CourseError."""
    parts = dotted.split(".")
    for folder in [".", *sys.path]:
        for path in (Path(folder, *parts).with_suffix(".py"), Path(folder, *parts, "__init__.py")):
            if path.is_file():
                return path
    raise CourseError(f"there is no file or module {dotted}")


def package_of(path: Path) -> tuple[Path, str]:
    """Return the folder that a file is imported from, and its dotted name."""
    folder, parts = path.parent, [path.stem] if path.stem != "__init__" else []
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts) or path.stem


def companions(root: Path, path: Path) -> dict[str, str]:
    """Return the texts of the modules that a file can import from its own folder.

    In a folder with too many files, only those next to the file are sent.
    """
    texts = texts_of(files_below(root))
    if not texts or sum(map(len, texts.values())) > MOST_BYTES:
        texts = texts_of(sorted(path.parent.glob("*.py"))[:MOST_FILES])
    sources: dict[str, str] = {}
    for one, text in texts.items():
        parts = one.relative_to(root).parts
        sources[sent_name(one, root)] = text
        for count in range(1, len(parts)):  # folders are packages even without an __init__.py
            sources.setdefault(".".join(parts[:count]) + ".", "")
    return {name: text for name, text in sources.items() if name not in (".", "torch")}


def files_below(root: Path) -> list[Path]:
    """Return the Python files below a folder; [] if there are too many files or folders.

    The search ends early, because the folder may be a home folder or `/tmp`.
    """
    found: list[Path] = []
    for count, (folder, folders, names) in enumerate(os.walk(root)):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        found += [Path(folder, name) for name in names if name.endswith(".py")]
        if len(found) > MOST_FILES or count == MOST_FOLDERS:
            return []
    return sorted(found)


def texts_of(paths: list[Path]) -> dict[Path, str]:
    """Return the texts of files; leave out those that cannot be read, or are gone by now."""
    texts = {}
    for path in paths:
        with suppress(OSError):
            if path.is_file():  # a pipe would never end
                texts[path] = path.read_text(encoding="utf-8", errors="replace")
    return texts


def audits(targets: list[str], wishes: dict[str, str], trust: bool = False) -> Iterator[dict]:
    """Yield the audits of each file's definitions. Raises CourseError.

    wishes: facts that the caller gives: the kind (`as`) and the meaning of the mask (`mask`).
    trust: run the code in this process, without a sandbox.
    """
    every = [asked_for(target) for target in targets]
    with nullcontext() if trust else sandbox() as warm:
        for asked in every:
            yield audit(asked, wishes, warm)


def audit(asked: Asked, wishes: dict[str, str], warm: "WarmProcess | None") -> dict:
    """Return the audits of one file's definitions. warm: None runs the code in this process."""
    text = asked.path.read_text(encoding="utf-8", errors="replace")
    request = {
        "text": text,
        "filename": str(asked.path),
        "module": asked.module,
        "name": asked.name,
        "wishes": wishes,
    }
    if warm is None:
        with importable(package_of(asked.path)[0]):
            found = importlib.import_module(f"{__package__}.child").answer(request)
    else:
        found = in_child(warm, request, asked.companions)
    return found | {"file": str(asked.path)}


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let modules be imported from a folder."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def sandbox() -> "WarmProcess":
    """Start a process at the best isolation level of this machine. Raises CourseError."""
    from ..isolation.probing import probe
    from ..isolation.warm_process import WarmProcess

    if os.name != "posix" or sys.platform != "linux":
        raise CourseError("there is no sandbox on this system; --trust runs the code without one")
    level = best_level(probe())
    if level is NONE:
        raise CourseError(
            "this machine supports no sandbox (see `tensorgrade doctor`); --trust runs the code "
            "without one"
        )
    return WarmProcess(LIMITS, level)


def in_child(warm: "WarmProcess", request: dict, companions: dict[str, str]) -> dict:
    """Return the answer of a new child, or the reason why there is none as `problem`."""
    from ..isolation.warm_process import Ended, TimedOut
    from ..runner.wire import BadMessage, pack, unpack

    message = pack(
        {
            "do": "program",
            "sources": companions | own_sources(),
            "module": f"{__package__}.child",
            "asked": request,
        }
    )
    child = warm.fork()
    try:
        child.send(message, MOST_SECONDS)
        answer = unpack(child.receive(MOST_SECONDS, 16 << 20), 4 << 20)[0]
        return {"audits": [], "problem": ""} | answer
    except TimedOut:
        return {"audits": [], "problem": f"it did not finish within {MOST_SECONDS:.0f} seconds"}
    except (Ended, BadMessage):
        return {"audits": [], "problem": "the process that ran it ended before it answered"}
    finally:
        child.close()


def own_sources() -> dict[str, str]:
    """Return the texts of this package, for a child that cannot read it."""
    found = {"tensorgrade.": "", "tensorgrade.runner.": ""}
    for path in sorted(HERE.rglob("*.py")):
        found[sent_name(path, HERE, __package__ or "")] = path.read_text(encoding="utf-8")
    return found
