"""Calls of the operating system that Python does not offer."""

import ctypes
import os
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    """Return a call's result. Raises OSError, with a text on the call, if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, *arguments: int) -> int:
    """Change a property of this process. Raises OSError."""
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return checked(LIBC.prctl(option, *padded), f"prctl {option}")


def system_call(number: int, *arguments: Any) -> int:
    """Run a system call by its number. Raises OSError."""
    return checked(LIBC.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    """Mount a file system. Raises OSError."""
    texts = [text.encode() or None for text in (source, target, kind)]
    done = LIBC.mount(*texts, ctypes.c_ulong(flags), options.encode() or None)
    checked(done, f"mount {target}")
