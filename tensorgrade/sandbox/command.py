"""Command lines for the runner's programs: plain, or inside bubblewrap, as root or as a user."""

import json
import os
from pathlib import Path

from .bubblewrap import View, bubblewrapped
from .readable import interpreter, links, readable_paths, site_folders

RUNNER = Path(__file__).resolve().parent.parent / "runner"
SHOWN_RUNNER = "/engine/runner"
# No site: neither a .pth file nor a sitecustomize.py is ever run.
PYTHON = ("-I", "-S", "-c")
START = "import sys, json; sys.path[:0] = json.loads(sys.argv[1]); from runner.{} import main; "
START += "main(*map(json.loads, sys.argv[2:]))"
# An ordinary user that no system gives out; root becomes this one before anything else.
UNPRIVILEGED = 61000


def runner_command(program: str, *arguments) -> list[str]:
    """A program of the runner's folder, as itself; arguments must be JSON."""
    return python(str(RUNNER.parent), program, arguments)


def sandboxed_command(program: str, *arguments, network: bool = False) -> list[str]:
    """The same inside bubblewrap, which shows only Python, torch and the runner's folder."""
    shown = [(path, path) for path in readable_paths()] + [(str(RUNNER), SHOWN_RUNNER)]
    view = View(tuple(shown), tuple(links()), network)
    inner = python(os.path.dirname(SHOWN_RUNNER), program, arguments)
    return as_ordinary_user(bubblewrapped(inner, view), [source for source, _ in shown])


def as_ordinary_user(command: list[str | int], sources: list[str]) -> list[str]:
    """The command with its sources put in; root steps down first."""
    if os.geteuid() == 0:
        order = {"user": UNPRIVILEGED, "sources": sources, "command": command}
        return runner_command("step_down", order)
    return [sources[word] if isinstance(word, int) else word for word in command]


def python(folder: str, program: str, arguments: tuple) -> list[str]:
    """An isolated Python that knows only the runner and torch's folder."""
    path = json.dumps([folder, *site_folders()])
    words = [json.dumps(argument) for argument in arguments]
    return [interpreter(), *PYTHON, START.format(program), path, *words]


def readable_inside() -> list[str]:
    """What a locked-in child may read, by the names that bubblewrap gives."""
    return [*readable_paths(), SHOWN_RUNNER]


def readable_outside() -> list[str]:
    """What a child may read that sees the whole system, by the names it has there."""
    return [*readable_paths(), str(RUNNER)]
