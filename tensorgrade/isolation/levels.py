"""Isolation levels of the sandbox, best first, and the choice of one for this machine.

A level is a useful set of layers. A machine supports a level if each of its layers worked in a
trial.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ..course import CourseError
from .probing import probe

BASIC = frozenset({"session", "bounds", "memory"})
LOCKED = BASIC | {"parent", "privileges", "seccomp"}
OWN_NAMESPACES = frozenset({"bubblewrap", "pid", "mount", "ipc", "net"})


@dataclass(frozen=True)
class Level:
    """An isolation level: its name, its layers, and a text on the protection it gives.

    also: layers that are added if the machine supports them. The level does not depend on them.
    """

    name: str
    layers: frozenset[str]
    protects: str
    also: frozenset[str] = frozenset()


FULL = Level(
    "full",
    LOCKED | OWN_NAMESPACES | {"landlock"},
    "Learner code sees Python, torch and an empty folder. It cannot reach other files, other "
    "processes, their memory, or the network. Files, processes and the network are each protected "
    "by two layers.",
)
NAMESPACES = Level(
    "namespaces",
    LOCKED | OWN_NAMESPACES,
    "Learner code sees Python, torch and an empty folder. It cannot reach other files, other "
    "processes, their memory, or the network.",
)
LANDLOCK = Level(
    "landlock",
    LOCKED | {"landlock"},
    "Learner code cannot read the answers, start programs, use the network or signal others. It "
    "shares the system's process table and has no folder to write to.",
)
UID = Level(
    "uid",
    BASIC | {"parent", "privileges", "uid"},
    "Learner code runs as a user of its own. It cannot read files that only root may read (grading "
    "checks that the answers are such files), signal other processes or read their memory. It "
    "shares the rest with the system: grade in a container that holds nothing else of value.",
    frozenset({"landlock", "seccomp"}),
)
CUDA = Level(
    "cuda",
    (BASIC | {"parent", "privileges"}) - {"memory"},  # a GPU maps terabytes of addresses
    "Learner code runs in its own process with limited time, because a sandbox would hide the GPU. "
    "It can read everything that the grader can read, even the answers: grade only files that you "
    "trust.",
)
NONE = Level(
    "none",
    BASIC,
    "Learner code runs in its own process with limited time and memory. It can read everything "
    "that the grader can read, even the answers: grade only files that you trust.",
)
LEVELS = (FULL, NAMESPACES, LANDLOCK, UID, NONE)


class NotIsolated(CourseError):
    """The machine supports less isolation than the course demands; the message names the remedy."""


def level_named(name: str) -> Level:
    """Return the isolation level with this name. Raises CourseError."""
    for level in LEVELS:
        if level.name == name:
            return level
    names = ", ".join(level.name for level in LEVELS)
    raise CourseError(f"no isolation level is named {name!r}; the levels are {names}")


def best_level(findings: dict[str, str]) -> Level:
    """Return the highest isolation level whose layers all worked in a trial."""
    works = BASIC | {layer for layer, trouble in findings.items() if not trouble}
    best = next(level for level in LEVELS if level.layers <= works)
    return replace(best, layers=best.layers | best.also & works) if best.also else best


def enough(level: Level, lowest: Level) -> bool:
    """Return True if an isolation level is at least as high as another."""
    names = [each.name for each in LEVELS]
    return names.index(level.name) <= names.index(lowest.name)


def choose_level(wanted: str, isolation: str, device: str = "cpu") -> Level:
    """Return the isolation level for grading: the best one that this machine supports.

    It is `none` if `isolation` is `none`, and `cuda` on a GPU. wanted: the lowest level that the
    course accepts. isolation: the lowest level accepted in this run; `auto` for the course's.
    Raises NotIsolated if the machine supports less, or if a GPU and a sandbox are asked for.
    """
    names = [level.name for level in LEVELS]
    if isolation not in ("auto", *names):
        raise CourseError(f"--isolation must be auto or one of {', '.join(names)}, not {isolation}")
    lowest = level_named(wanted if isolation == "auto" else isolation)
    if device != "cpu":
        if isolation not in ("auto", "none"):
            raise NotIsolated(
                f"a sandbox hides the GPU. Grade with --device cpu, or without --isolation "
                f"{isolation} if you trust the files"
            )
        return CUDA
    if isolation == "none":
        return NONE
    findings = probe()
    best = best_level(findings)
    if not enough(best, lowest):
        raise NotIsolated(refusal(lowest, best, findings))
    return best


def must_be_closed(level: Level, paths: Iterable[Path]) -> None:
    """Check that learner code cannot read these paths, if the level relies on file permissions.

    Raises NotIsolated.
    """
    from .remedies import is_closed

    if "uid" not in level.layers:
        return
    opened = [str(path) for path in paths if path.exists() and not is_closed(path)]
    if opened:
        raise NotIsolated(
            f"every user of this machine can read {' and '.join(opened)}, and at isolation "
            f"level {level.name!r} learner code is such a user: chmod -R go= {' '.join(opened)}"
        )


def refusal(lowest: Level, best: Level, findings: dict[str, str]) -> str:
    """Return the reason why grading does not start, and the remedy, in plain sentences."""
    from .remedies import remedy

    missing = sorted(layer for layer in lowest.layers if findings.get(layer))
    steps = "; ".join(dict.fromkeys(remedy(layer, findings[layer]) for layer in missing))
    first = best.protects.partition(".")[0]
    what = "there is no sandbox" if best is NONE else first[0].lower() + first[1:]
    return (
        f"this machine gives the isolation {best.name!r}, and the course asks for {lowest.name!r} "
        f"(isolation in course_config.py). {steps}. `tensorgrade doctor` shows more; with "
        f"`--isolation {best.name}` {what}, and every row says so."
    )
