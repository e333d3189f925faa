"""Compute a learner's grade for the term from all chapters, the same in every export."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..course import Course, Scheme
from .rules import grouped, total


@dataclass(frozen=True)
class Term:
    """A learner's grade for the term. shares: the percentage for each chapter that counts.

    dropped: chapters that are left out as the lowest. total: in percent, rounded; None if the
    learner is excused from everything. passed: None without a pass mark.
    """

    shares: dict[str, float]
    dropped: tuple[str, ...]
    total: float | None
    passed: bool | None

    def told(self) -> str:
        """Return the term as a sentence."""
        if self.total is None:
            return "The term so far: excused from everything."
        left_out = f", without {', '.join(self.dropped)}" if self.dropped else ""
        state = {True: ": passed", False: ": not passed", None: ""}[self.passed]
        return f"The term so far: {self.total:g} of 100{left_out}{state}."


def terms_of(rows: Iterable[dict], course: Course) -> dict[str, Term]:
    """Return each learner's term; none for a course without a grading scheme."""
    if course.scheme is None:
        return {}
    sums = {
        about: (total(own), total(own, "max_points"))
        for about, own in grouped(rows, "student", "chapter").items()
    }
    graded = {chapter for _, chapter in sums}
    order = [chapter.name for chapter in course.chapters if chapter.name in graded]
    return {
        student: term_of({c: sums.get((student, c), (0, 1)) for c in order}, course, course.scheme)
        for student in sorted({student for student, _ in sums})
    }


def term_of(sums: dict[str, tuple[float, float]], course: Course, scheme: Scheme) -> Term:
    """Return one learner's term. sums: points and maximum by chapter; 0 of 0 is excused."""
    shares = {c: 100 * points / most for c, (points, most) in sums.items() if most}
    counted = [chapter for chapter in shares if chapter not in scheme.bonus]
    shown = {c: round_half_up(share, scheme.decimals) for c, share in shares.items()}
    if not counted:
        return Term(shown, (), None, None)
    lowest = sorted(counted, key=lambda chapter: shares[chapter])
    dropped = lowest[: min(scheme.drop_lowest, len(lowest) - 1)]
    weights = {
        c: scheme.weights.get(c, course.chapter(c).points) for c in shares if c not in dropped
    }
    whole = sum(weight for c, weight in weights.items() if c in counted)
    total = sum(shares[c] * weight for c, weight in weights.items()) / whole if whole else 0.0
    rounded = round_half_up(min(total, scheme.most or total), scheme.decimals)
    passed = None if scheme.pass_mark is None else rounded >= scheme.pass_mark
    return Term(shown, tuple(c for c in sums if c in dropped), rounded, passed)


def round_half_up(number: float, decimals: int) -> float:
    """Return a number rounded half up.

    >>> round_half_up(82.25, 1), round_half_up(0.5, 0), round_half_up(100 * 0.285, 1)
    (82.3, 1.0, 28.5)
    """
    unit = 10**decimals
    return math.floor(number * unit + 0.5 + 1e-9) / unit
