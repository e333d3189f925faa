"""`tensorgrade doctor`: report the machine's isolation level and ways to improve it."""

import os
import platform
import sys

from .command import bubblewrap
from .levels import FULL, LEVELS, Level, best_level, enough, level_named
from .probing import probe
from .remedies import closed_to_others, remedy

LAYERS = {
    "bounds": "limits on time, files and processes",
    "bubblewrap": "a file system that holds Python and torch only",
    "ipc": "shared memory of its own",
    "landlock": "the kernel's list of readable files",
    "memory": "a limit on memory",
    "mount": "an empty folder of limited size",
    "net": "no network",
    "parent": "ends with the grader; own memory closed to other processes",
    "pid": "sees its own processes only",
    "privileges": "no privileges, and no way to get them",
    "seccomp": "a filter on system calls",
    "session": "signals reach its own processes only",
    "uid": "a user of its own",
}


def examine(wanted: str | None = None) -> dict:
    """Return a report for JSON. wanted: the lowest isolation level that the course accepts.

    `level` is the level that grading would use now. `layers` contains each layer, with its error
    and two booleans: it works, and it would give a higher level. `mend` lists the steps to the
    highest level. `bwrap` is the path of bubblewrap's program.
    """
    findings = probe()
    best = best_level(findings)
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": sys.executable,
        "level": best.name,
        "rung": best.name,  # the key of earlier versions
        "protects": best.protects,
        "wanted": wanted,
        "enough": wanted is None or enough(best, level_named(wanted)),
        "bwrap": path_of_bwrap(),
        "layers": {name: describe(name, findings[name], best) for name in sorted(findings)},
        "mend": steps(findings),
        "notes": notes(),
    }


def describe(layer: str, trouble: str, best: Level) -> dict:
    """Return the report's entry for one layer.

    trouble: its error; "" if it works. best: the isolation level of this machine.
    """
    higher = LEVELS[: [level.name for level in LEVELS].index(best.name)]
    gives_more = bool(trouble) and any(layer in level.layers for level in higher)
    return {"works": not trouble, "trouble": trouble, "gives_more": gives_more}


def path_of_bwrap() -> str | None:
    """Return the path of the program that creates the namespaces; None without one."""
    try:
        return os.path.join(*bubblewrap())
    except FileNotFoundError:
        return None


def steps(findings: dict[str, str]) -> list[str]:
    """Return the steps to the highest isolation level, each of them once."""
    missing = [layer for layer in sorted(FULL.layers) if findings.get(layer)]
    return list(dict.fromkeys(remedy(layer, findings[layer]) for layer in missing))


def notes() -> list[str]:
    """Return notes on unusual settings of this machine that do no harm."""
    closed = closed_to_others() if os.geteuid() == 0 else None
    if closed is None:
        return []
    return [
        f"Python is in {closed[1]}, which other users cannot enter. You are root, and learner code "
        "runs as another user, so the grader mounts Python at another path for it."
    ]


def as_text(report: dict) -> str:
    """Return the report as text: a line for each layer, then the steps to take."""
    lines = [f"Isolation on this machine: {report['level']} ({report['system']})", ""]
    lines += [line_of(name, found) for name, found in report["layers"].items()]
    lines += ["", report["protects"], f"bwrap: {report['bwrap'] or 'not installed'}"]
    lines += [f"→ {step}." for step in report["mend"]]
    lines += [f"Note: {note}" for note in report["notes"]]
    if not report["enough"]:
        lines.append(
            f"The course asks for {report['wanted']!r}, so `tensorgrade grade` will refuse on this "
            f"machine. Get more as shown above, or accept less: `--isolation {report['level']}`."
        )
    return "\n".join(lines)


def line_of(name: str, found: dict) -> str:
    """Return the line for one layer, without its error, which is in the JSON report."""
    if found["works"]:
        return f"  ✓ {name:<12}{LAYERS[name]}"
    if found["gives_more"]:
        return f"  ✗ {name:<12}{LAYERS[name]}: does not work here"
    return f"  – {name:<12}{LAYERS[name]}: not needed at this level"
