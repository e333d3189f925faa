"""Bounds on the resources of one process: memory, processor time, files, processes."""

import os
from typing import Any


def set_bounds(config: dict) -> None:
    """Set the kernel's soft and hard limits from `config["bounds"]`, by name; raise none."""
    import resource  # not available on Windows

    for name, bound in config["bounds"].items():
        number = getattr(resource, name, None)
        if number is not None:
            set_bound(resource, number, bound)


def set_bound(resource: Any, number: int, bound: int) -> None:
    """Lower one limit, unless it is lower already."""
    _, hard = resource.getrlimit(number)
    lowest = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    try:
        resource.setrlimit(number, (lowest, lowest))
    except (OSError, ValueError):
        if os.uname().sysname == "Linux":  # macOS refuses some; its level promises nothing
            raise


def with_own_memory(bounds: dict) -> dict:
    """Return the bounds plus the address space that the process already uses."""
    if "RLIMIT_AS" not in bounds:
        return bounds
    return bounds | {"RLIMIT_AS": bounds["RLIMIT_AS"] + virtual_bytes()}


def virtual_bytes() -> int:
    """Return the address space that this process already uses; 0 if it is unknown."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
