"""Locks a freshly forked child in, layer by layer, before it sees a line of learner code.

The order matters: mounting and leaving namespaces need the privileges that are then given up,
and the last layer refuses the calls that the layers before it were made with.
"""

import os
import signal

from .bounds import set_bounds
from .landlock import restrict_files
from .namespaces import own_mounts, own_network, own_shared_memory
from .privileges import filter_calls, give_up_privileges
from .step_down import become
from .system import prctl

DIE_WITH_PARENT, DUMPABLE = 1, 4


def lock_down(config: dict) -> None:
    """Put on the layers that `config["layers"]` names. Raises OSError where one cannot be had."""
    if "parent" in config["layers"]:
        die_with_parent()
    for name, put_on in STEPS:
        if name in config["layers"]:
            put_on(config)


def die_with_parent() -> None:
    """End when the warm process ends, and be the first to go when memory runs out."""
    prctl(DIE_WITH_PARENT, signal.SIGKILL)
    prctl(DUMPABLE, 1)  # only a dumpable process owns its own files in /proc
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # a kernel without it; the bound on memory holds all the same
    prctl(DUMPABLE, 0)


def own_session(config: dict) -> None:
    """A session of its own: a signal to the process group crosses even PID namespaces."""
    if os.getsid(0) != os.getpid():
        os.setsid()


def own_user(config: dict) -> None:
    """Be the user `config["user"]`, as whom nothing else runs, and nobody else for good."""
    become(config["user"])
    die_with_parent()  # with another user the kernel forgets that


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
