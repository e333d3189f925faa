"""Run an audit: in a sandboxed child, or in this process for code that is trusted."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ..attempts.maker import private_paths
from ..course import CourseError, Limits
from ..project import find_project
from ..runner.wire import BadMessage, pack, unpack
from ..sandbox.holes import must_hold
from ..sandbox.processes import Ended, ForkServer, TimedOut
from ..sandbox.readable import site_folders

LIMITS = Limits(memory_bytes=4 << 30, processor_seconds=300)
MOST_SECONDS = 200.0
MOST_REPLY, MOST_HEADER = 16 << 20, 4 << 20  # bytes


@dataclass(frozen=True)
class Asked:
    """The file to audit, and how it is imported.

    module: its dotted name, empty for a file that is in no package. package: the folder of its
    topmost package, if it is in one. name: one definition, or empty for all.
    """

    path: Path
    module: str
    package: str
    name: str

    @property
    def readable(self) -> list[str]:
        """Return what the audited code may read in addition to Python and torch."""
        return [str(self.path), *filter(None, [self.package])]


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
    path = path.resolve()
    root, module = package_of(path)
    if any(path.is_relative_to(folder) for folder in site_folders()):
        return Asked(path, module, "", name)
    if not (path.parent / "__init__.py").is_file():
        return Asked(path, "", "", name)
    return Asked(path, module, str(root / module.split(".")[0]), name)


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


def audits(targets: list[str], wishes: dict[str, str], trust: bool = False) -> Iterator[dict]:
    """Yield the audits of each file's definitions. Raises CourseError.

    wishes: facts that the caller gives: the kind (`as`) and the meaning of the mask (`mask`).
    trust: run the code in this process, without a sandbox.
    """
    every = [asked_for(target) for target in targets]
    with nullcontext() if trust else sandbox(every) as server:
        for asked in every:
            yield audit(asked, wishes, server)


def audit(asked: Asked, wishes: dict[str, str], server: ForkServer | None) -> dict:
    """Return the audits of one file's definitions. server: None runs the code in this process."""
    request = {
        "text": asked.path.read_text(encoding="utf-8", errors="replace"),
        "filename": str(asked.path),
        "module": asked.module,
        "package": asked.package,
        "name": asked.name,
        "wishes": wishes,
    }
    if server is None:
        with importable(package_of(asked.path)[0]):
            found = importlib.import_module(f"{__package__}.child").answer(request)
    else:
        found = in_child(server, request)
    return found | {"file": str(asked.path)}


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let modules be imported from a folder."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def sandbox(every: list[Asked]) -> ForkServer:
    """Start a fork server whose children can read these files. Raises CourseError.

    Raises NotIsolated if these are more than the code may read, such as a course's hidden files.
    """
    try:
        private = private_paths(find_project().graders)
    except CourseError:  # there is no course here
        private = {}
    readable = [path for asked in every for path in asked.readable]
    server = ForkServer(LIMITS, readable=readable, program="audit.child")
    must_hold(server, private)
    return server


def in_child(server: ForkServer, request: dict) -> dict:
    """Return the answer of a new child, or the reason why there is none as `problem`."""
    with closing(server.fork()) as child:
        try:
            child.send(pack(request), MOST_SECONDS)
            answer = unpack(child.receive(MOST_SECONDS, MOST_REPLY), MOST_HEADER)[0]
            return {"audits": [], "problem": ""} | answer
        except TimedOut:
            return {"audits": [], "problem": f"it did not finish within {MOST_SECONDS:.0f} seconds"}
        except (Ended, BadMessage):
            return {"audits": [], "problem": "the process that ran it ended before it answered"}
