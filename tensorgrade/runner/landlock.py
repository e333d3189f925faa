"""Landlock: the kernel's list of what a process may read and write. It needs no privilege.

What is not named is refused: files outside the list, and from later versions of Landlock on
TCP, abstract sockets and signals to processes outside.
"""

import ctypes
import os
import stat
import struct

from .system import LIBC, prctl, system_call

CREATE, ADD_RULE, RESTRICT = 444, 445, 446
NO_NEW_PRIVILEGES = 38
READ_FILE, READ_FOLDER, TRUNCATE = 1 << 2, 1 << 3, 1 << 14
WRITE_FILE, REMOVE_FOLDER, REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
MAKE_FOLDER, MAKE_FILE, MAKE_LINK = 1 << 7, 1 << 8, 1 << 12
FILES_ONLY = WRITE_FILE | READ_FILE | TRUNCATE
READ = READ_FILE | READ_FOLDER
WRITE = READ | WRITE_FILE | TRUNCATE | REMOVE_FOLDER | REMOVE_FILE
WRITE |= MAKE_FOLDER | MAKE_FILE | MAKE_LINK


def version() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    return max(0, LIBC.syscall(ctypes.c_long(CREATE), None, ctypes.c_size_t(0), 1))


def restrict_files(config: dict) -> None:
    """Allow to read `config["readable"]`, to write `config["writable"]`, and nothing else."""
    rules = system_call(CREATE, *ruleset(version()), 0)
    handled = handled_files(version())
    for path in config["readable"]:
        allow(rules, path, READ & handled)
    for path in config["writable"]:
        allow(rules, path, WRITE & handled)
    prctl(NO_NEW_PRIVILEGES, 1)
    system_call(RESTRICT, rules, 0)
    os.close(rules)


def handled_files(version: int) -> int:
    """All rights over files that a version of Landlock knows of: 13, then more."""
    return (1 << (13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16)) - 1


def ruleset(version: int) -> tuple[bytes, ctypes.c_size_t]:
    """What to govern, as the kernel wants it: files, TCP (version 4), signals and sockets (6)."""
    fields = [handled_files(version)] + [3] * (version >= 4) + [3] * (version >= 6)
    data = struct.pack(f"{len(fields)}Q", *fields)
    return data, ctypes.c_size_t(len(data))


def allow(rules: int, path: str, rights: int) -> None:
    """Let a path and all below it be used with these rights; one that is not there is skipped."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= FILES_ONLY  # the kernel refuses rights over folders on a file
    system_call(ADD_RULE, rules, 1, struct.pack("=Qi", rights, descriptor), 0)
    os.close(descriptor)
