"""Group wrong answers without a known mistake by their results on all cases."""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ..course import CourseError
from .overrides import as_found
from .store import Store, without_penalty

LONGEST_CODE = 6000


@dataclass(frozen=True)
class Group:
    """Wrong answers to an exercise with the same results. code: that of one of the students."""

    name: str
    exercise: str
    students: tuple[str, ...]
    message: str
    code: str


def groups_of(rows: list[dict], store: Store) -> list[Group]:
    """Return the groups of a class, the largest first. store: holds the code."""
    members: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        if row.get("group"):
            members[row["group"]].append(row)
    codes = store.unnamed()
    found = [
        Group(
            name,
            same[0]["exercise"],
            tuple(row["student"] for row in same),
            same[0]["message"],
            definition_in(codes.get(name, {}).get("code", ""), same[0]["exercise"]),
        )
        for name, same in members.items()
    ]
    return sorted(found, key=lambda group: (-len(group.students), group.exercise, group.name))


def definition_in(text: str, name: str) -> str:
    """Return the last definition of a name in a text, with its indented lines.

    The text is a learner's, so it is split into lines but never parsed.
    """
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if re.match(rf"(def|class) {name}\b", line)]
    if not starts:
        return ""
    first, last = starts[-1], starts[-1] + 1
    while last < len(lines) and (not lines[last].strip() or lines[last][0] in " \t)]}#"):
        last += 1
    return "\n".join(lines[first:last]).strip()[:LONGEST_CODE]


def members(out: Path, group: str) -> list[dict]:
    """Return the rows of a group with the graders' points."""
    own = (row for row in Store(out).rows() if row.get("group") == group)
    return [without_penalty(as_found(row)) for row in own]


def share_lost(rows: list[dict]) -> float:
    """Return the share of the points that a group's answers lose."""
    most = sum(row["max_points"] for row in rows)
    return round(1 - sum(row["points"] for row in rows) / most, 4) if most else 0.0


def representative(out: Path, group: str) -> dict:
    """Return the record of one wrong answer of a group. Raises CourseError if there is none."""
    if record := Store(out).unnamed().get(group):
        return record
    raise CourseError(f"{out} holds no group {group!r}; the report lists the groups")
