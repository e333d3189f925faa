"""Bounds on what one process may use: memory, processor time, files, processes."""

import os
from typing import Any


def set_bounds(config: dict) -> None:
    """Set the kernel's limits from `config["bounds"]`, by name; soft and hard alike."""
    import resource  # not there on Windows

    for name, bound in config["bounds"].items():
        number = getattr(resource, name, None)
        if number is not None:
            set_bound(resource, number, bound)


def set_bound(resource: Any, number: int, bound: int) -> None:
    """Lower one limit; one that is lower already stays."""
    _, hard = resource.getrlimit(number)
    lowest = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    try:
        resource.setrlimit(number, (lowest, lowest))
    except (OSError, ValueError):
        if os.uname().sysname == "Linux":  # macOS refuses some; its rung promises nothing
            raise


def with_own_memory(bounds: dict) -> dict:
    """The same bounds, with the address space that the process takes already on top."""
    if "RLIMIT_AS" not in bounds:
        return bounds
    return bounds | {"RLIMIT_AS": bounds["RLIMIT_AS"] + virtual_bytes()}


def virtual_bytes() -> int:
    """Address space that this process already takes; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
