"""Becomes an ordinary user and runs a program; started as root, before anything is locked in.

What the program needs may lie in folders that the ordinary user cannot enter, such as root's
home. Those paths are first shown to it elsewhere, in a mount namespace that ends with it.
"""

import os

from .namespaces import NEW_MOUNT, unshare
from .system import mount

PRIVATE, RECURSIVE, BIND = 1 << 18, 1 << 14, 1 << 12
SHOWN_AT = "/tmp"


def main(order: dict) -> None:
    """Run `order["program"]` as user `order["user"]`; never returns.

    A number in `order["options"]` stands for that entry of `order["sources"]`, a list of paths. The
    program is in the last of them, unless its path is absolute. From here on this Python can
    import nothing more, since its own files may be out of reach.
    """
    sources = show(order["sources"])
    become(order["user"])
    program = os.path.join(sources[-1], order["program"])
    options = [sources[word] if isinstance(word, int) else word for word in order["options"]]
    os.execv(program, [program, *options])


def show(sources: list[str]) -> list[str]:
    """Where an ordinary user finds each path; the path itself if root may not mount."""
    try:
        unshare(NEW_MOUNT)
        mount("", "/", "", PRIVATE | RECURSIVE, "")
    except OSError:
        return sources
    # Opened first: what is mounted now may hide a path that is still to be shown.
    opened = [os.open(path, os.O_PATH) for path in sources]
    mount("tmpfs", SHOWN_AT, "tmpfs", 0, "mode=0755,size=1m")
    return [show_one(descriptor, number) for number, descriptor in enumerate(opened)]


def show_one(descriptor: int, number: int) -> str:
    """Mount what a descriptor stands for on a fresh name there."""
    source, target = f"/proc/self/fd/{descriptor}", f"{SHOWN_AT}/{number}"
    if os.path.isdir(source):
        os.mkdir(target, 0o755)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(source, target, "", BIND | RECURSIVE, "")
    os.close(descriptor)
    return target


def become(user: int) -> None:
    """Be this user and group and nobody else."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
