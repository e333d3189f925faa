"""A container with the limits of Docker's default profile: root without mounts and namespaces.

Made by bubblewrap, with the capabilities that Docker leaves and a filter on the calls that its
profile refuses. Files are this machine's own.
"""

import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tensorgrade.isolation.command import bubblewrap
from tensorgrade.isolation.remedies import closed_to_others
from tensorgrade.isolation.seccomp import NEW_NAMESPACES, exported

ROOT = Path(__file__).parents[1]
CAPABILITIES = "CHOWN DAC_OVERRIDE FSETID FOWNER SETGID SETUID SETPCAP KILL SYS_CHROOT".split()
REFUSED = "mount umount2 unshare setns pivot_root move_mount open_tree fsopen fsmount".split()
LANDLOCK = "landlock_create_ruleset landlock_add_rule landlock_restrict_self".split()
NO_SUCH_CALL, NOT_ALLOWED = 38, 1


def contained(command: list[str], folder: Path, landlock: bool = False) -> list[str]:
    """The words that run a command in a container; the filter is written to the folder.

    landlock: whether its kernel has that.
    """
    rules = folder / "calls.bpf"
    rules.write_bytes(call_filter(landlock))
    words = [os.path.join(*bubblewrap())]
    words += "--bind / / --dev-bind /dev /dev --proc /proc --unshare-pid".split()
    words += ["--die-with-parent", "--cap-drop", "ALL", *open_python()]
    words += [word for name in CAPABILITIES for word in ("--cap-add", f"CAP_{name}")]
    return ["sh", "-c", 'exec "$@" 9<"$0"', str(rules), *words, "--seccomp", "9", "--", *command]


def open_python() -> list[str]:
    """Return options that open a closed home folder that holds Python or this project.

    In an image these are in folders that every user can enter.
    """
    if closed_to_others() is None:
        return []
    closed, words = Path(closed_to_others()[1]), ["--perms", "0755"]
    words += ["--tmpfs", str(closed)]
    for shown in map(Path, dict.fromkeys((sys.base_prefix, ROOT, sys.prefix))):
        if closed in shown.parents:
            between = [folder for folder in reversed(shown.parents) if closed in folder.parents]
            words += [word for f in between for word in ("--perms", "0755", "--dir", str(f))]
            words += ["--ro-bind", str(shown), str(shown)]
    return words


def call_filter(landlock: bool) -> bytes:
    """The filter as BPF."""
    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in REFUSED:
        rules.add_rule(pyseccomp.ERRNO(NOT_ALLOWED), name)
    for flag in NEW_NAMESPACES:
        made = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag)
        rules.add_rule(pyseccomp.ERRNO(NOT_ALLOWED), "clone", made)
    for name in ["clone3", *([] if landlock else LANDLOCK)]:
        rules.add_rule(pyseccomp.ERRNO(NO_SUCH_CALL), name)
    return exported(rules)


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
    run = subprocess.Popen(contained(command, folder, landlock), env=environment)
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
    """Megabytes of a process and its descendants; they are held still for so many seconds."""
    begun, processes = time.monotonic(), family(pid)
    if seconds:
        send(signal.SIGSTOP, processes)
    found = sum(map(share_of, processes)) * 1024 / 1e6
    if seconds:
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        send(signal.SIGCONT, processes)
    return found


def send(number: signal.Signals, processes: list[int]) -> None:
    """Send a signal to those that are still there."""
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: list[int] = []
    with suppress(OSError):  # it may end while it is looked at
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            children += map(int, task.read_text().split())
    return [pid, *(one for child in children for one in family(child))]


def share_of(pid: int) -> int:
    """Kibibytes of a process, what it shares with others divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
