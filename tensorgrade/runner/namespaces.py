"""Give a child its own view of the system: processes, files, network, shared memory.

The calling process needs CAP_SYS_ADMIN in its user namespace. bubblewrap gives it to the warm
process, and the `privileges` layer drops it in the child afterwards.
"""

import os

from .system import LIBC, checked, mount

NEW_MOUNT, NEW_IPC, NEW_PID, NEW_NET = 0x20000, 0x8000000, 0x20000000, 0x40000000
NO_SETUID, NO_DEVICES, NO_PROGRAMS, READ_ONLY = 2, 4, 8, 1
LOCKED = NO_SETUID | NO_DEVICES | NO_PROGRAMS
FOLDER = "/w"


def unshare(flag: int) -> None:
    """Leave a namespace for a new one. Raises OSError."""
    checked(LIBC.unshare(flag), "unshare")


def fork_as_first_process(own_namespace: int) -> int:
    """Fork a child that is process 1 of a new PID namespace; return what `os.fork` returns.

    When process 1 ends, the kernel ends all processes in its namespace. `own_namespace` is a
    descriptor of the caller's namespace. The caller returns to it, so that it can fork again.
    """
    unshare(NEW_PID)
    try:
        pid = os.fork()
    except OSError:
        pid = -1
    if pid:
        checked(LIBC.setns(own_namespace, NEW_PID), "setns")
    if pid < 0:
        raise OSError("the system starts no more processes")
    return pid


def own_mounts(config: dict) -> None:
    """Mount an empty working folder of bounded size, and an empty `/proc`."""
    unshare(NEW_MOUNT)
    size = f"size={config['folder_bytes']},nr_inodes={config['folder_files']},mode=0777"
    mount("tmpfs", FOLDER, "tmpfs", LOCKED, size)
    mount("tmpfs", "/proc", "tmpfs", LOCKED | READ_ONLY, "size=4k,nr_inodes=2")
    os.chdir(FOLDER)


def own_shared_memory(config: dict) -> None:
    """Use private System V shared memory, semaphores and queues."""
    unshare(NEW_IPC)


def own_network(config: dict) -> None:
    """Leave the network for an empty one, which also has its own abstract sockets."""
    unshare(NEW_NET)
