"""A container with the limits of Docker's default profile: root without mounts and namespaces.

It has a process table and mounts of its own, the capabilities that Docker leaves, and a filter on
the calls that its profile refuses. Files are this machine's own. Run as a program, this module puts
the limits on and becomes the command.
"""

import errno
import math
import os
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tensorgrade.sandbox.lockdown import (
    ALLOW,
    EQUAL,
    FAIL,
    LOAD,
    NUMBER,
    RETURN,
    answer,
    call,
    filter_calls,
    instruction,
)

ROOT = Path(__file__).parents[1]
# Numbers of the capabilities that Docker leaves (<linux/capability.h>): CHOWN, DAC_OVERRIDE,
# FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, SYS_CHROOT.
LEFT = {0, 1, 3, 4, 5, 6, 7, 8, 18}
MOST_CAPABILITIES, DROP_BOUNDING = 41, 24
# mount, umount2, pivot_root, unshare, setns, open_tree, move_mount, fsopen, fsmount on x86_64.
REFUSED = (165, 166, 155, 272, 308, 428, 429, 430, 432)
LANDLOCK = (444, 445, 446)


def contained(command: list[str], landlock: bool = False) -> list[str]:
    """The words that run a command in a container. landlock: whether its kernel has that."""
    words = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    return [*words, "--", sys.executable, "-m", "tests.container", str(int(landlock)), *command]


def main(landlock: str, *command: str) -> None:
    """Become the command, inside the limits."""
    for folder in closed_folders():
        open_up(folder)
    for number in set(range(MOST_CAPABILITIES)) - LEFT:
        call("prctl", DROP_BOUNDING, number, 0, 0, 0)
    code = instruction(LOAD, NUMBER)
    for number in REFUSED:
        code += answer(EQUAL, number, FAIL | errno.EPERM)
    for number in () if int(landlock) else LANDLOCK:
        code += answer(EQUAL, number, FAIL | errno.ENOSYS)
    filter_calls(code + instruction(RETURN, ALLOW))
    os.execvp(command[0], command)


def closed_folders() -> list[Path]:
    """Return the outermost folders that hold Python or this project and that only root can enter.

    In an image these are in folders that every user can enter.
    """
    needed = [Path(sys.base_prefix), Path(sys.prefix), ROOT]
    parents = {folder for path in needed for folder in path.parents}
    closed = [folder for folder in parents if not folder.stat().st_mode & stat.S_IXOTH]
    return [folder for folder in closed if not set(folder.parents) & set(closed)]


def open_up(closed: Path) -> None:
    """Show nothing of a folder but Python and this project, and let every user enter it."""
    needed = dict.fromkeys((Path(sys.base_prefix), ROOT, Path(sys.prefix)))
    inside = {path: os.open(path, os.O_PATH) for path in needed if closed in path.parents}
    mount = ["mount", "--types", "tmpfs", "--options", "mode=0755", "tmpfs", str(closed)]
    subprocess.run(mount, check=True)
    for path, opened in inside.items():
        path.mkdir(parents=True, exist_ok=True)
        there = f"/proc/{os.getpid()}/fd/{opened}"
        subprocess.run(["mount", "--no-canonicalize", "--bind", there, str(path)], check=True)


TIMED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(str(used.ru_utime + used.ru_stime))
sys.exit(status)
"""
EVERY = 0.05  # seconds between two looks at the memory


class TooMuchMemory(AssertionError):
    """A container was ended because its processes had more than it gives."""


def measured(
    command: list[str],
    folder: Path,
    landlock: bool = False,
    megabytes: float = math.inf,
    core: float = 1.0,
    **environment: str,
) -> tuple[int, float, float]:
    """A command's exit status in a container, megabytes at most, and processor seconds.

    Memory is what all its processes have together (PSS), looked at many times a second; where that
    is more than `megabytes`, all of them are ended, as a container's limit ends them. core: the
    share of a core that each process has; it is held still for the rest. Raises TooMuchMemory.
    """
    used = folder / "processor_seconds"
    command = [sys.executable, "-c", TIMED, str(used), *command]
    run = subprocess.Popen(contained(command, landlock), env=environment)
    most = 0.0
    try:
        while run.poll() is None:
            most = max(most, look(run.pid, EVERY * (1 - core)))
            if most > megabytes:
                raise TooMuchMemory(f"{most:.0f} MB where there are {megabytes:.0f}")
            time.sleep(EVERY * core)
    finally:
        run.kill()  # and all processes that it has started
        run.wait()
    return run.returncode, most, float(used.read_text())


def look(pid: int, seconds: float) -> float:
    """Return the megabytes of a process and its descendants; hold them still for some seconds."""
    begun, found, top = time.monotonic(), 0, psutil.Process(pid)
    processes = [top, *top.children(recursive=True)]
    for one in processes:
        with suppress(psutil.NoSuchProcess):  # it may end while it is looked at
            if seconds:
                one.suspend()
            found += one.memory_full_info().pss
    if seconds:
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
    for one in processes if seconds else ():
        with suppress(psutil.NoSuchProcess):
            one.resume()
    return found / 1e6


if __name__ == "__main__":
    main(*sys.argv[1:])
