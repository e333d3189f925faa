"""The command line that starts a program inside bubblewrap: a system with next to nothing in it."""

import shutil
from dataclasses import dataclass

from .readable import DEVICES

# One thread only: a fork after a multi-threaded operation hangs. No other variable goes along.
ENVIRONMENT = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
ENVIRONMENT |= {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
# `@torch.compile` would look for a compiler; without one the function runs as it is written.
ENVIRONMENT |= {"TORCHDYNAMO_DISABLE": "1"}
INSIDE = ENVIRONMENT | {"HOME": "/w", "TMPDIR": "/w"}
ALONE = """
    --unshare-all --uid 0 --gid 0 --cap-add ALL --die-with-parent --new-session --clearenv
    --hostname sandbox
""".split()


@dataclass(frozen=True)
class View:
    """What a sandbox shows: (source, target) of files and folders, (target, path) of links."""

    shown: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...] = ()
    network: bool = False


def bubblewrapped(inner: list[str], view: View) -> list[str | int]:
    """The command for `inner`. A number stands for the source of that entry of `view.shown`.

    Inside, the program is root over nothing: it may make namespaces of its own, and no more.
    """
    words = [program(), *ALONE, *(["--share-net"] if view.network else [])]
    for name, value in INSIDE.items():
        words += ["--setenv", name, value]
    for number, (_, target) in enumerate(view.shown):
        words += ["--ro-bind", number, target]
    for target, path in view.links:
        words += ["--symlink", target, path]
    for device in DEVICES:
        words += ["--dev-bind", device, device]
    return [*words, *"--proc /proc --tmpfs /w --remount-ro / --chdir / --".split(), *inner]


def program() -> str:
    """Where bubblewrap is. Raises FileNotFoundError."""
    found = shutil.which("bwrap")
    if found is None:
        raise FileNotFoundError("bwrap is not installed")
    return found
