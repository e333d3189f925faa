"""Run an audit: the audited code is in a sandboxed child, or in this process if it is trusted."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..attempts.lab import There
from ..attempts.maker import private_paths
from ..course import CourseError, Limits
from ..project import find_project
from ..sandbox.holes import must_hold
from ..sandbox.processes import Budget, ForkServer
from ..sandbox.readable import site_folders
from .code import Code, Definition, Here, Raised, Stopped
from .verdict import audit, is_candidate, not_run

LIMITS = Limits(memory_bytes=4 << 30, processor_seconds=300)
MOST_SECONDS, MOST_REPLY = 200.0, 64 << 20
Error = tuple[str, str, int | None]  # its type, its text and its line


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
    folders = package_of(path.absolute())
    for one in (path, *folders):  # a cloned folder may hold a link to any file of the user
        if one.is_symlink():
            raise CourseError(f"{one} is a link, which an audit does not follow; name its target")
    names = [one.name for one in reversed(folders)] + [path.stem] * (path.stem != "__init__")
    package = str(folders[-1].resolve()) if folders else ""
    return Asked(path.resolve(), ".".join(names) if folders else "", package, name)


def file_of_module(dotted: str) -> Path:
    """Return the file of a module, found without importing anything. Raises CourseError."""
    parts = dotted.split(".")
    for folder in [".", *sys.path]:
        for path in (Path(folder, *parts).with_suffix(".py"), Path(folder, *parts, "__init__.py")):
            if path.is_file():
                return path
    raise CourseError(f"there is no file or module {dotted}")


def package_of(path: Path) -> list[Path]:
    """Return the folders of the packages that a file is in, the innermost one first."""
    found = []
    folder = path.parent
    while (folder / "__init__.py").is_file():
        found.append(folder)
        folder = folder.parent
    return found


def audits(
    targets: list[str],
    wishes: dict[str, str],
    trust: bool = False,
    given: dict[str, Any] | None = None,
) -> Iterator[dict]:
    """Yield the audits of each file's definitions. Raises CourseError.

    wishes: see `verdict.audit`. trust: run the code in this process, without a sandbox. given:
    arguments by name.
    """
    every = [asked_for(target) for target in targets]
    if trust:
        for asked in every:
            with importable(asked):
                yield audit_of_file(asked, wishes, given or {}, None)
        return
    with sandbox(every) as server:
        for asked in every:
            yield audit_of_file(asked, wishes, given or {}, server)


@contextmanager
def importable(asked: Asked) -> Iterator[None]:
    """Let modules be imported from the folder of a file, or of its package; use one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several threads are slower for small tensors
    sys.path.insert(0, str(Path(asked.package or asked.path).parent))
    try:
        yield
    finally:
        sys.path.pop(0)
        torch.set_num_threads(threads)


def sandbox(every: list[Asked]) -> ForkServer:
    """Start a fork server whose children can read these files. Raises CourseError.

    Raises NotIsolated if these are more than the code may read, such as a course's hidden files.
    """
    try:
        private = private_paths(find_project().graders)
    except CourseError:  # there is no course here
        private = {}
    installed = site_folders()
    folders = [asked.package or str(asked.path) for asked in every]
    readable = [one for one in folders if not any(Path(one).is_relative_to(i) for i in installed)]
    server = ForkServer(LIMITS, readable=readable, program="audit.child")
    must_hold(server, private)
    return server


@dataclass(frozen=True)
class Opened:
    """A file in a process: its definitions by name, and the errors of its statements."""

    code: Code
    definitions: dict[str, Definition]
    problems: list[tuple[list[str], Error]]

    def audit(self, name: str, text: str, wishes: dict[str, str], given: dict[str, Any]) -> dict:
        """Return the audit of one definition."""
        one = self.definitions.get(name)
        told = {"name": name, "line": one.line if one else 1}
        failed = [error for names, error in self.problems if name in names]
        if failed:
            told |= not_run(f"loading it raises {failed[0][0]}: {failed[0][1]}", 0)
        elif one is None:
            told |= not_run(f"the file defines no `{name}`", 0)
        else:
            try:
                told |= audit(self.code, one, text, wishes, given)
            except Stopped as stop:
                told |= not_run(str(stop), 0)
        imports = [error for _, error in self.problems if error[0] in IMPORT_ERRORS]
        if told["status"] == "not run" and imports:
            # In the sandbox, a file that is in no package can import nothing next to it.
            said = "; ".join(f"line {line}: {text}" for _, text, line in imports)
            told |= not_run(f"an import of the file failed ({said}; --trust allows it)", 0)
        return told


IMPORT_ERRORS = ("ModuleNotFoundError", "ImportError")


def opened(asked: Asked, text: str, server: ForkServer | None) -> Opened:
    """Load a file in a new process, or in this one. Raises Stopped or Raised."""
    child = server.fork(Budget(MOST_SECONDS)) if server else None
    code = Code(There(child, MOST_REPLY) if child else Here())
    looked, _ = code.ask(list[Definition], "look", text=text, filename=str(asked.path))
    where: dict[str, Any] = {"module": asked.module, "package": asked.package}
    problems, _ = code.ask(list[tuple[list[str], Error]], "load", **where)
    return Opened(code, {one.name: one for one in looked}, problems)


def audit_of_file(
    asked: Asked, wishes: dict[str, str], given: dict[str, Any], server: ForkServer | None
) -> dict:
    """Return the audits of one file's definitions. server: None runs the code in this process."""
    text = asked.path.read_text(encoding="utf-8", errors="replace")
    found: dict[str, Any] = {"file": str(asked.path), "audits": [], "problem": ""}
    try:
        file = opened(asked, text, server)
    except (Stopped, Raised) as error:
        said = str(error).replace("raises SyntaxError", "has a syntax error")
        return found | {"problem": said}
    wanted = [name for name, one in file.definitions.items() if is_candidate(one, text)]
    for name in [asked.name] if asked.name else wanted:
        found["audits"].append(file.audit(name, text, wishes, given))
        if file.code.stopped:
            file.code.channel.close()
            with suppress(Stopped, Raised):
                file = opened(asked, text, server)
    file.code.channel.close()
    ran = [one for one in found["audits"] if one["status"] != "not run"]
    if ran and not asked.name:
        # Helper functions with a telling name are no reason to complain.
        classes = [name for name, one in file.definitions.items() if one.is_class]
        found["audits"] = [one for one in found["audits"] if one in ran or one["name"] in classes]
    return found


def audit_of(target: Any) -> dict:
    """Return the audit of a class or function of this process."""
    path = Path(inspect.getsourcefile(target) or "")
    asked = Asked(path, target.__module__, "", target.__name__)
    with importable(asked):
        return audit_of_file(asked, {}, {}, None)
