"""Lock this process in: it can read Python and torch, compute and answer, and nothing else.

The kernel offers all that to an ordinary process: Landlock lists the files that it may read, a
filter lists its system calls, and limits bound its memory, time and files. All of it is final.
Only the standard library is imported here. Each function raises OSError if the kernel refuses.
"""

import ctypes
import os
import signal
import struct
from pathlib import Path
from typing import Any

from .calls import filter_of_calls

LIBC: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
# Options of prctl, in <linux/prctl.h>.
DIE_WITH_PARENT, DUMPABLE, SET_SECCOMP, NO_NEW_PRIVILEGES = 1, 4, 22, 38
FILTER_MODE = 2
CAPABILITIES_VERSION_3 = 0x20080522
# System calls and rights over files, in <linux/landlock.h>; all processors have these numbers.
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
WRITE_FILE, READ_FILE, READ_FOLDER, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
RIGHTS_OVER_FILES = {1: 13, 2: 14, 3: 15, 4: 15}  # how many, by version; 16 from version 5 on
NOBODY = 65534
SANDBOX, AS_NOBODY, NONE = "sandbox", "sandbox (nobody)", "none"


def kind_here() -> str:
    """Return the sandbox that a process can enter on this machine.

    Without Landlock, root can still become a user who may read less: `nobody`.
    """
    filter_of_calls()  # raises OSError for a processor without a list
    try:
        landlock_version()
        return SANDBOX
    except OSError:
        if os.geteuid() == 0:
            return AS_NOBODY
        raise OSError("this kernel does not offer Landlock, and only root can do without") from None


def lock_in(kind: str, limits: dict[str, int], readable: list[str]) -> None:
    """Lock this process in for good.

    kind: one of `kind_here`, or NONE, which sets the limits only. limits: in bytes, seconds or
    numbers, by the kernel's names. readable: paths of files and folders.
    """
    os.setsid()  # a signal to the own group reaches nobody else
    if kind == AS_NOBODY:
        become_nobody()
    prctl(DIE_WITH_PARENT, signal.SIGKILL)  # a change of the user would undo it
    set_limits(limits)
    if kind == NONE:
        return
    prctl(NO_NEW_PRIVILEGES, 1)
    if kind == SANDBOX:
        give_up_capabilities()
        restrict_files(readable)
    filter_calls(filter_of_calls(read_only=kind == AS_NOBODY))


def become_nobody() -> None:
    """Become a user without files, and close this process's memory to the others of that user."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    prctl(DUMPABLE, 0)


def set_limits(limits: dict[str, int]) -> None:
    """Lower the kernel's limits on this process; a limit that is lower already stays.

    RLIMIT_AS counts what this process needs in addition to the addresses that it has.
    """
    import resource  # Windows has none

    for name, most in limits.items():
        if name == "RLIMIT_AS":
            most += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (lowest, lowest))


def give_up_capabilities() -> None:
    """Drop what root could still do, such as lock memory beyond the limit."""
    header, nothing = struct.pack("Ii", CAPABILITIES_VERSION_3, 0), bytes(24)
    checked(LIBC.capset(header, nothing))


def restrict_files(readable: list[str]) -> None:
    """Allow reading these paths and what is below them; refuse all other use of files."""
    version = landlock_version()
    files = (1 << RIGHTS_OVER_FILES.get(version, 16)) - 1
    # From version 4 on there are rights over TCP, from version 6 on over signals and sockets.
    governed = [files] + [3] * (version >= 4) + [3] * (version >= 6)
    told = struct.pack(f"{len(governed)}Q", *governed)
    rules = system_call(LANDLOCK_CREATE, told, ctypes.c_size_t(len(told)), 0)
    allowed = [(path, READ_FILE | READ_FOLDER) for path in readable]
    for path, rights in [*allowed, ("/dev/null", (READ_FILE | WRITE_FILE | TRUNCATE) & files)]:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not os.path.isdir(path):
            rights &= ~READ_FOLDER  # the kernel refuses rights over folders on a file
        system_call(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", rights, opened), 0)
        os.close(opened)
    system_call(LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)


def landlock_version() -> int:
    """Return the kernel's version of Landlock."""
    return system_call(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)


def filter_calls(code: bytes) -> None:
    """Install a filter on system calls; the kernel applies it at once."""
    instructions = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(code) // 8, ctypes.addressof(instructions))  # sock_fprog
    checked(LIBC.prctl(SET_SECCOMP, ctypes.c_ulong(FILTER_MODE), program, 0, 0))


def prctl(option: int, value: int) -> None:
    """Set one option of this process."""
    checked(LIBC.prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))))


def system_call(number: int, *arguments: Any) -> int:
    """Return the result of a system call."""
    return checked(LIBC.syscall(ctypes.c_long(number), *arguments))


def checked(result: int) -> int:
    """Return a call's result. Raises OSError if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
