"""What a worker process does: it keeps one grader warm and grades the hand-ins that it is given."""

import logging
import multiprocessing
import os
import threading
from multiprocessing.connection import wait
from pathlib import Path

import torch

from ..course import CourseError
from ..results import Verdict
from ..submission import Unreadable, decode
from .aside import NOT_JUDGED, set_aside
from .grader import Grader
from .submissions import Handin

GRADER: Grader | None = None
TROUBLE = "it was never started"


class NotReady(CourseError):
    """A worker cannot grade at all; that is nobody's submission's fault."""


def start(graders: str, isolation: str, device: str) -> None:
    """Once for each worker process. What goes wrong here is told when work comes in."""
    global GRADER, TROUBLE
    leave_with_parent()
    torch.set_num_threads(1)
    try:
        grader = Grader(Path(graders), isolation, device)
        grader.start()
        GRADER = grader
    except Exception as error:  # an initializer that raises would only look like a crash
        TROUBLE = str(error) or type(error).__name__


def leave_with_parent() -> None:
    """End this process when the one that started it is gone, however that ended."""
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=end_after, args=(parent.sentinel,), daemon=True).start()


def end_after(sentinel: int) -> None:
    """Wait for a process's end, and end this one."""
    wait([sentinel])
    os._exit(1)


def check_in() -> str:
    """The rung of isolation on which this worker grades. Raises NotReady."""
    return ready_grader().start()


def grade(handin: Handin) -> list[Verdict]:
    """The verdicts on one hand-in. Raises NotReady."""
    return grade_with(ready_grader(), handin)


def ready_grader() -> Grader:
    """This process's grader. Raises NotReady."""
    if GRADER is None:
        raise NotReady(f"a worker could not start: {TROUBLE}")
    return GRADER


def grade_with(grader: Grader, handin: Handin) -> list[Verdict]:
    """The verdicts on one hand-in, by this grader."""
    if handin.reason:
        return grader.refuse(handin.student, handin.chapter, handin.reason)
    try:
        source = source_of(handin)
    except Unreadable as error:
        return grader.refuse(handin.student, handin.chapter, str(error))
    try:
        return grader.grade(handin.student, handin.chapter, source, handin.filename)
    except CourseError:
        raise  # the course or this machine is at fault, for everybody
    except Exception:  # a fault of the graders on this one file; it must not end the class
        logging.exception("%s of %s could not be judged", handin.chapter, handin.student)
        return set_aside(handin, grader.desk.course, "error", NOT_JUDGED)


def source_of(handin: Handin) -> str:
    """The Python text of a hand-in. Raises Unreadable with a sentence for the learner."""
    text = decode(handin.content, handin.filename)
    if handin.filename.endswith(".ipynb"):
        from ..extracting import source_from_notebook

        return source_from_notebook(text, handin.filename)
    return text
