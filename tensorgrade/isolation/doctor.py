"""`tensorgrade doctor`: which isolation this machine gives, and what would give more."""

import os
import platform
import sys

from .command import bubblewrap
from .ladder import FULL, best_rung, enough, rung_named
from .mending import closed_to_others, mend
from .probing import probe


def examine(wanted: str | None = None) -> dict:
    """The report as JSON can carry it. wanted: the lowest rung that the course accepts, if known.

    `rung` is what grading would use now, `layers` says of each layer whether it works and what
    it said, `mend` what to do for the highest rung, `bwrap` where bubblewrap's program is.
    """
    findings = probe()
    best = best_rung(findings)
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": sys.executable,
        "rung": best.name,
        "protects": best.protects,
        "wanted": wanted,
        "enough": wanted is None or enough(best, rung_named(wanted)),
        "bwrap": path_of_bwrap(),
        "layers": {name: describe(findings[name]) for name in sorted(findings)},
        "mend": steps(findings),
        "notes": notes(),
    }


def describe(trouble: str) -> dict:
    """One layer's line."""
    return {"works": not trouble, "trouble": trouble}


def path_of_bwrap() -> str | None:
    """Return the program that makes the namespaces."""
    try:
        return os.path.join(*bubblewrap())
    except FileNotFoundError:
        return None


def steps(findings: dict[str, str]) -> list[str]:
    """What to do for the highest rung, each thing once."""
    missing = [layer for layer in sorted(FULL.layers) if findings.get(layer)]
    return list(dict.fromkeys(mend(layer, findings[layer]) for layer in missing))


def notes() -> list[str]:
    """What is unusual here but no obstacle."""
    closed = closed_to_others()
    if closed is None:
        return []
    path, folder = closed
    return [
        f"{path} lies in {folder}, which other users cannot enter. When grading as root, learner "
        "code is shown Python in another place; where root may not mount, it will not run."
    ]


def as_text(report: dict) -> str:
    """The report for people: a line for each layer, then what to do."""
    lines = [f"Isolation on this machine: {report['rung']} ({report['system']})", ""]
    for name, found in report["layers"].items():
        mark = "✓" if found["works"] else "✗"
        lines.append(f"  {mark} {name:<12}{found['trouble'] or 'works'}")
    lines += ["", report["protects"], f"bwrap: {report['bwrap'] or 'not installed'}"]
    lines += [f"→ {step}." for step in report["mend"]]
    lines += [f"Note: {note}" for note in report["notes"]]
    if not report["enough"]:
        lines.append(f"The course asks for {report['wanted']!r}, so grading refuses until then.")
    return "\n".join(lines)
