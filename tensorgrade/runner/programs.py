"""Run a program of the engine that the trusted side sends as text, such as the audit.

Its modules are in no file that the child can read. They are imported from the request.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from .errors import describe_error

RUNNER = str(Path(__file__).parent)


def sent_name(path: Path, root: Path, package: str = "") -> str:
    """Return the dotted name under which a file is sent; that of a package ends in a dot.

    >>> sent_name(Path("/a/b/c.py"), Path("/a")), sent_name(Path("/a/b/__init__.py"), Path("/a"))
    ('b.c', 'b.')
    """
    parts = [*filter(None, package.split(".")), *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1]) + "." if parts[-1] == "__init__" else ".".join(parts)


class SentImporter(MetaPathFinder, InspectLoader):
    """An importer of modules whose sources were sent, by dotted name; a package ends in `.`."""

    def __init__(self, sources: dict[str, str]):
        self.sources = sources

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module that was sent."""
        if not self.is_package(name) and name not in self.sources:
            return None
        return ModuleSpec(name, self, origin=f"{name} (sent)", is_package=self.is_package(name))

    def is_package(self, name: str) -> bool:
        """Return True if a name is a package."""
        return f"{name}." in self.sources

    def get_source(self, name: str) -> str:
        """Return the text of a module."""
        return self.sources[f"{name}." if self.is_package(name) else name]


def run_program(request: dict) -> dict:
    """Import the program's module from the request, and return its answer.

    request: `sources`, texts by dotted name; `module`, whose function `answer` is called with
    `asked`. The program can import the runner as `tensorgrade.runner`.
    """
    sys.meta_path.insert(0, SentImporter(request["sources"]))
    if "tensorgrade.runner." in request["sources"]:
        importlib.import_module("tensorgrade.runner").__path__ = [RUNNER]
    try:
        return importlib.import_module(request["module"]).answer(request["asked"])
    except Exception as error:
        return {"problem": describe_error(error, "")["text"]}
