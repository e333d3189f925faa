"""Landlock: the kernel's list of readable and writable files. It needs no privilege.

Access outside the list is refused. Later versions of Landlock also refuse TCP, abstract sockets,
and signals to processes outside.
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
    """Return the kernel's version of Landlock; 0 if there is none."""
    return max(0, LIBC.syscall(ctypes.c_long(CREATE), None, ctypes.c_size_t(0), 1))


def restrict_files(config: dict) -> None:
    """Allow only reading `config["readable"]` and writing `config["writable"]`."""
    known = version()
    handled = handled_files(known)
    # The governed rights: files, TCP (version 4), signals and sockets (version 6).
    governed = [handled] + [3] * (known >= 4) + [3] * (known >= 6)
    ruleset = struct.pack(f"{len(governed)}Q", *governed)
    rules = system_call(CREATE, ruleset, ctypes.c_size_t(len(ruleset)), 0)
    for path in config["readable"]:
        allow(rules, path, READ & handled)
    for path in config["writable"]:
        allow(rules, path, WRITE & handled)
    prctl(NO_NEW_PRIVILEGES, 1)
    system_call(RESTRICT, rules, 0)
    os.close(rules)


def handled_files(version: int) -> int:
    """Return all rights over files that a version of Landlock knows: 13 in the first one."""
    return (1 << (13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16)) - 1


def allow(rules: int, path: str, rights: int) -> None:
    """Allow the use of a path and everything below it with these rights; skip a missing path."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= FILES_ONLY  # the kernel refuses rights over folders on a file
    system_call(ADD_RULE, rules, 1, struct.pack("=Qi", rights, descriptor), 0)
    os.close(descriptor)
