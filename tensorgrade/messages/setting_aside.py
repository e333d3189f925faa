"""Messages of rows that were written without grading a file. Learners and instructors read them."""

from dataclasses import dataclass

from .message import Message


@dataclass(frozen=True)
class NothingSubmitted(Message):
    """The learner submitted nothing. text: the reason, which may name other files."""

    id = "nothing_submitted"
    template = "{text}"
    text: str


@dataclass(frozen=True)
class WorkerEnded(Message):
    id = "worker_ended"
    template = (
        "Grading this file ended the grading process itself; your instructor has to look at it"
    )


@dataclass(frozen=True)
class GradingFailed(Message):
    id = "grading_failed"
    template = "Grading this file failed, and not by your fault; your instructor has to look at it"


# The ids of rows that the graders could not judge. The next run grades them again.
GRADERS_FAILED = (WorkerEnded.id, GradingFailed.id)
