"""What a warm process is told about its children: layers, limits, what they may read and write."""

from ..course import Limits
from .command import readable_inside, readable_outside
from .readable import DEVICES
from .seccomp import call_filter


def orders(limits: Limits, layers: frozenset[str]) -> dict:
    """The configuration of the runner's `lockdown`, as JSON can carry it. Raises NoFilter."""
    inside = "bubblewrap" in layers
    readable = readable_inside() if inside else readable_outside()
    return {
        "layers": sorted(layers),
        "readable": [*readable, *DEVICES],
        "writable": ["/dev/null", *(["/w"] if "mount" in layers else [])],
        "call_filter": call_filter().hex() if "seccomp" in layers else "",
        "folder_bytes": limits.folder_bytes,
        "folder_files": limits.folder_files,
        "bounds": bounds(limits, layers),
    }


def bounds(limits: Limits, layers: frozenset[str]) -> dict[str, int]:
    """The kernel's limits by name, in bytes, seconds or pieces.

    Processes are counted by user: inside, or for a child that is a user of its own, that is our
    children's own count; else it would be everything that the instructor runs.
    """
    found = {
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_CPU": limits.processor_seconds,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_MEMLOCK": 0,
    }
    if "memory" in layers:
        found["RLIMIT_AS"] = limits.memory_bytes
    counted = "bubblewrap" in layers or "uid" in layers
    return found | ({"RLIMIT_NPROC": limits.processes} if counted else {})
