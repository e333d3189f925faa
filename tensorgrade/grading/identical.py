"""Files that are the same byte by byte: graded once, and told to the instructor."""

from collections import defaultdict
from dataclasses import replace

from ..results import Verdict
from .submissions import Handin


def twins(handins: list[Handin]) -> dict[Handin, list[Handin]]:
    """The first hand-in of every content, with all hand-ins of that content (itself too)."""
    groups = defaultdict(list)
    for handin in handins:
        kind = handin.filename.rsplit(".", 1)[-1]
        groups[handin.chapter, kind, handin.content, handin.reason].append(handin)
    return {group[0]: group for group in groups.values()}


def verdicts_for(handin: Handin, verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts on a hand-in of the same content."""
    return [replace(verdict, student=handin.student) for verdict in verdicts]


def identical(handins: list[Handin], untouched: set[tuple[str, str]]) -> list[dict]:
    """Records of files that several learners share: `chapter` and `students`.

    untouched: (student, chapter) where nothing was written; equal stubs say nothing.
    """
    real = [h for h in handins if h.content and (h.student, h.chapter) not in untouched]
    groups = [group for group in twins(real).values() if len(group) > 1]
    return [{"chapter": g[0].chapter, "students": [h.student for h in g]} for g in groups]


def untouched(rows: list[dict]) -> set[tuple[str, str]]:
    """(student, chapter) of hand-ins in which no exercise was begun."""
    begun = {(r["student"], r["chapter"]) for r in rows if r["status"] != "not_attempted"}
    return {(r["student"], r["chapter"]) for r in rows} - begun
