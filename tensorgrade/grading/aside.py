"""Sets a hand-in aside that could not be judged, so that the class goes on without it."""

from ..course import Course
from ..results import Verdict
from .submissions import Handin

ENDED_ITS_WORKER = "Grading this file ended the grading process itself; your instructor has to look at it."
NOT_JUDGED = "Grading this file failed, and not by your fault; your instructor has to look at it."


def set_aside(handin: Handin, course: Course, status: str, said: str) -> list[Verdict]:
    """Verdicts without points on every exercise of the chapter, with one reason."""
    return [
        Verdict(handin.student, handin.chapter, e.name, 0.0, float(e.points), status, [], said)
        for e in course.chapter(handin.chapter).exercises
    ]
