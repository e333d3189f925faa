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
class NoChapterFile(Message):
    """The learner submitted something, but not the chapter's file. text: what there is instead."""

    id = "no_chapter_file"
    template = "{text}"
    text: str


@dataclass(frozen=True)
class FileUnreadable(Message):
    """A file cannot be read. text: which one, and why."""

    id = "file_unreadable"
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
    template = (
        "Grading this file failed, which is not your fault; your instructor has to look at it"
    )


# The ids of rows that the graders could not judge. The next run grades them again.
GRADERS_FAILED = (WorkerEnded.id, GradingFailed.id)
