"""Become an ordinary user and run a program; started as root, before the lock-down.

The program may need files in folders that the ordinary user cannot enter, such as root's home.
These paths are first mounted elsewhere, in a mount namespace that ends with the program.
"""

import os

from .namespaces import NEW_MOUNT, unshare
from .system import mount

PRIVATE, RECURSIVE, BIND = 1 << 18, 1 << 14, 1 << 12
SHOWN_AT = "/tmp"


def main(order: dict) -> None:
    """Run `order["program"]` as user `order["user"]`; never returns.

    A number in `order["options"]` refers to that entry of `order["sources"]`, a list of paths. The
    program is in the last of them, unless its path is absolute. From here on this Python can
    import nothing more, because its own files may be out of reach.
    """
    sources = show(order["sources"])
    become(order["user"])
    program = os.path.join(sources[-1], order["program"])
    options = [sources[word] if isinstance(word, int) else word for word in order["options"]]
    os.execv(program, [program, *options])


def show(sources: list[str]) -> list[str]:
    """Mount each path where an ordinary user can reach it, and return the new paths.

    If root may not mount, return the paths unchanged.
    """
    try:
        unshare(NEW_MOUNT)
        mount("", "/", "", PRIVATE | RECURSIVE, "")
    except OSError:
        return sources
    # Open them first, because a new mount may hide a path that comes later.
    opened = [os.open(path, os.O_PATH) for path in sources]
    mount("tmpfs", SHOWN_AT, "tmpfs", 0, "mode=0755,size=1m")
    return [show_one(descriptor, number) for number, descriptor in enumerate(opened)]


def show_one(descriptor: int, number: int) -> str:
    """Mount the file or folder of a descriptor in SHOWN_AT under a number; return its new path."""
    source, target = f"/proc/self/fd/{descriptor}", f"{SHOWN_AT}/{number}"
    if os.path.isdir(source):
        os.mkdir(target, 0o755)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(source, target, "", BIND | RECURSIVE, "")
    os.close(descriptor)
    return target


def become(user: int) -> None:
    """Become this user and group, and drop all other groups."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
