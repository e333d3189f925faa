"""Lock a newly forked child into the sandbox, layer by layer, before it receives learner code.

The order matters. Mounting and leaving namespaces need privileges that are dropped afterwards. The
last layer refuses the system calls that set up the earlier ones.
"""

import ctypes
import os
import signal
import struct

from .bounds import set_bounds
from .drop_root import become
from .landlock import restrict_files
from .namespaces import own_mounts, own_network, own_shared_memory
from .system import LIBC, checked, prctl

DIE_WITH_PARENT, DUMPABLE = 1, 4
DROP_BOUNDING, NO_NEW_PRIVILEGES, AMBIENT, CLEAR_ALL = 24, 38, 47, 4
CAPABILITIES_VERSION_3 = 0x20080522
MOST_CAPABILITIES = 64


def lock_down(config: dict) -> None:
    """Apply the layers that `config["layers"]` names. Raises OSError if one is not available."""
    if "parent" in config["layers"]:
        die_with_parent()
    for name, put_on in STEPS:
        if name in config["layers"]:
            put_on(config)


def die_with_parent() -> None:
    """End when the warm process ends, and be the first victim if memory runs out."""
    prctl(DIE_WITH_PARENT, signal.SIGKILL)
    prctl(DUMPABLE, 1)  # only a dumpable process owns its own files in /proc
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # a kernel without it; the bound on memory still holds
    prctl(DUMPABLE, 0)


def own_session(config: dict) -> None:
    """Start a new session, because a signal to a process group crosses even PID namespaces."""
    if os.getsid(0) != os.getpid():
        os.setsid()


def own_user(config: dict) -> None:
    """Become the user `config["user"]`, which runs nothing else, permanently."""
    become(config["user"])
    die_with_parent()  # the kernel resets that when the user changes


def give_up_privileges(config: dict) -> None:
    """Drop all capabilities, and prevent gaining new ones, also through set-user-id programs.

    Only a privileged process can drop the bounding set. For an ordinary process that does not
    matter.
    """
    for number in range(MOST_CAPABILITIES):
        LIBC.prctl(DROP_BOUNDING, number, 0, 0, 0)
    header, nothing = struct.pack("Ii", CAPABILITIES_VERSION_3, 0), bytes(24)
    checked(LIBC.capset(header, nothing), "capset")
    prctl(AMBIENT, CLEAR_ALL)
    prctl(NO_NEW_PRIVILEGES, 1)


SET_SECCOMP, FILTER_MODE = 22, 2
INSTRUCTION_BYTES = 8


class Program(ctypes.Structure):
    """A filter in the kernel's form: the number of instructions, and their address."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def filter_calls(config: dict) -> None:
    """Install the filter `config["call_filter"]` (BPF in hex); the kernel applies it at once."""
    code = bytes.fromhex(config["call_filter"])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // INSTRUCTION_BYTES, ctypes.addressof(buffer))
    prctl(NO_NEW_PRIVILEGES, 1)
    done = LIBC.prctl(SET_SECCOMP, ctypes.c_ulong(FILTER_MODE), ctypes.byref(program), 0, 0)
    checked(done, "seccomp")


STEPS = (
    ("session", own_session),
    ("ipc", own_shared_memory),
    ("net", own_network),
    ("mount", own_mounts),
    ("bounds", set_bounds),
    ("uid", own_user),
    ("privileges", give_up_privileges),
    ("landlock", restrict_files),
    ("seccomp", filter_calls),
)
