"""Read learners' files in children of a fork server, because parsing their text may crash it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..course import Limits
from ..exchange.observation import read_parts, read_source
from ..exchange.text_facts import TextFacts, read_text_facts
from ..runner.wire import BadMessage, pack
from ..sandbox.processes import Budget, Child, Ended, ForkServer, TimedOut
from ..sources.submission import Source, Submission, Unreadable
from ..sources.submitted_files import SubmittedFiles

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Reader:
    """A reader of learners' files that runs no line of them.

    budget: that of the submission, if it has one.
    """

    warm: ForkServer
    limits: Limits
    budget: Budget | None = None

    def source(self, submitted_files: SubmittedFiles, exercises: dict[str, str]) -> Source:
        """Return the text of a submission that is graded. Raises Unreadable."""
        submission = Submission(submitted_files.chapter, submitted_files, exercises=exercises)
        request = pack(submission.load_request("cpu") | {"do": "read"}, submission.files())
        try:
            return self.answer(request, read_source, submitted_files.filename)
        except Unreadable:
            if not submitted_files.script:
                raise
            return self.source(submitted_files.without_notebook(), exercises)

    def parts(self, text: str) -> list[tuple[list[str], str]]:
        """Return (names, text) of each top-level statement of a script. Raises Unreadable."""
        return self.answer(pack({"do": "parts", "text": text}), read_parts, "the script")

    def facts(self, text: str, exercises: dict[str, str]) -> TextFacts:
        """Return the facts about a script. Raises Unreadable.

        exercises: by name, the given code of a find-the-bug exercise.
        """
        request = pack({"do": "look", "text": text, "exercises": exercises})
        return self.answer(request, read_text_facts, "the script")

    def answer(self, request: bytes, read: Callable[[bytes], Answer], filename: str) -> Answer:
        """Return the answer of a fresh child, which ends after that. Raises Unreadable."""
        child = self.warm.fork(self.budget)
        try:
            child.send(request, self.limits.load_seconds)
            return answer_of(child, read, filename, self.limits)
        except (TimedOut, Ended) as end:
            raise unread(filename, end) from None
        finally:
            child.close()


def answer_of(
    child: Child, read: Callable[[bytes], Answer], filename: str, limits: Limits
) -> Answer:
    """Return the answer of a child that was given a file to read, before any of the file runs.

    Raises Unreadable, also if the child times out or crashes.
    """
    try:
        return read(child.receive(limits.load_seconds, limits.reply_bytes))
    except (TimedOut, Ended, BadMessage) as end:
        raise unread(filename, end) from None


def unread(filename: str, end: Exception) -> Unreadable:
    """Return the error for a file without readable text, with the reason in a sentence."""
    how = "takes too long" if isinstance(end, TimedOut) else "ends the process that looks"
    return Unreadable(f"{filename} cannot be read: looking for its code {how}.")
