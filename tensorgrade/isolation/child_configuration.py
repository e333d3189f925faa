"""The configuration of a warm process: layers, limits, readable and writable paths."""

from ..course import Limits
from .command import RUNNER, SHOWN_RUNNER
from .readable import DEVICES, readable_paths
from .seccomp import call_filter


def configuration(limits: Limits, layers: frozenset[str]) -> dict:
    """Return the configuration of the runner's `lockdown`, in a form for JSON. Raises NoFilter."""
    inside = "bubblewrap" in layers
    readable = [*readable_paths(), SHOWN_RUNNER if inside else str(RUNNER)]
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
    """Return the kernel's limits by name, in bytes, seconds or numbers of objects.

    The kernel counts processes by user. The limit is useful inside bubblewrap, or for a child with
    a user of its own, because only our children are counted there. Otherwise it would count all
    processes of the instructor.
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
