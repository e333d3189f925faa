"""Run learner code in children of a fork server, as grading does.

A child that stalls or crashes is ended and costs only the exercise that it stopped in. The next
exercise runs in a fresh child.
"""

import secrets
from dataclasses import replace
from itertools import zip_longest

from ..course import Limits
from ..exchange.cases import Case
from ..exchange.observation import (
    CaughtError,
    Loaded,
    Observation,
    Outcome,
    OwnParameters,
    Try,
    read_loaded,
    read_observation,
    read_own_parameters,
    read_source,
    read_tries,
)
from ..exchange.text_facts import TextFacts, read_text_facts
from ..runner.serve import WAITED
from ..runner.wire import BadMessage, pack, unpack
from ..sandbox.processes import Budget, Child, Ended, ForkServer, OutOfMemory, TimedOut
from ..sources.submission import Source, Submission, Unreadable
from ..sources.submitted_files import SubmittedFiles
from .backend import OUT_OF_TIME
from .reader import Reader, answer_of

SECONDS_OF_SEARCH = 0.2  # seconds of processor time that one request to try edits may use
# The factor by which a reply may be larger if it holds a whole text and the place of each
# statement.
ROOM_FOR_A_TEXT = 4
BYTES_OF_A_TENSOR = 2048  # that a tensor takes in memory in addition to its numbers
MOST_REQUESTS = 5000  # packed requests in memory; the course's cases are fewer
SECONDS_TO_REPORT = 0.5  # extra time in which a call that timed out can report its line
SPENT = ""  # the text of an OutOfTime that processor time raised; WAITED: the clock
# A case's limit counts processor time, so that a busy machine costs nothing. By the clock it may
# take so many times as long.
PATIENCE = 3


class Request:
    """The `run` message for a case, packed once. It holds inputs, but no answer.

    number: a random name for the case. It reveals nothing about the case or about other numbers, so
    learner code cannot write a reply before its case arrives.
    """

    def __init__(self, case: Case):
        self.case, self.number = case, str(secrets.randbits(64))
        steps = [step.encode() for step in case.steps]
        asked = {"do": "run", "id": self.number, "steps": steps}
        self.message = pack(asked, case.tensors)


class Requests:
    """Requests, stored by the identity of their cases.

    Besides the cases of the references, these include variants made for one submission. If there
    are too many requests, all are deleted.
    """

    def __init__(self) -> None:
        self.packed: dict[int, Request] = {}

    def of(self, case: Case) -> Request:
        """Return the request for a case.

        The request keeps the case alive, so no other case gets the same id().
        """
        if id(case) not in self.packed:
            if len(self.packed) >= MOST_REQUESTS:
                self.packed.clear()
            self.packed[id(case)] = Request(case)
        return self.packed[id(case)]


class InChild:
    """One learner's chapter in another process. Its replies are never trusted."""

    warned = ()

    def __init__(
        self,
        submission: Submission,
        warm: ForkServer,
        limits: Limits,
        device: str = "cpu",
        requests: Requests | None = None,
    ):
        self.submission, self.warm, self.limits, self.device = submission, warm, limits, device
        self.requests = requests or Requests()
        handed = submission.source
        self.source = handed if isinstance(handed, Source) else Source("", handed.filename)
        self.budget = Budget(limits.handin_seconds, limits.all_replies_bytes)
        self.child: Child | None = None
        self.definitions_only = False
        self.found: TextFacts | None = None
        self.definitions: dict[str, InChild] = {}

    @property
    def isolation(self) -> str:
        """The kind of isolation of the fork server."""
        return self.warm.isolation

    @property
    def is_lost(self) -> bool:
        """Return True if a child ended or stopped answering: perhaps not the learner's fault."""
        return self.budget.lost

    @property
    def is_over(self) -> bool:
        """Return True if the submission has used up its seconds or its bytes."""
        return self.budget.used_up or self.budget.full

    @property
    def longest(self) -> float:
        """Return the seconds by the clock that one case may take."""
        return PATIENCE * self.limits.case_seconds

    def load(self) -> Loaded:
        """Load the file. If it times out or ends the process, load only its definitions."""
        loaded = self.try_to_load()
        if loaded.status in (Outcome.TIMEOUT, Outcome.KILLED) and not self.definitions_only:
            self.definitions_only = True
            loaded = self.try_to_load()
        return loaded

    def try_to_load(self) -> Loaded:
        """Load the file in a fresh child, and return the result or how that failed."""
        self.close()
        self.child = child = self.warm.fork(self.budget)
        request = self.submission.load_request(self.device, self.definitions_only)
        request |= {"limits": (self.limits.case_seconds, self.longest, self.limits.reply_bytes)}
        try:
            self.begin(child, pack(request, self.submission.files()))
            return read_loaded(child.receive(self.limits.load_seconds, self.limits.reply_bytes))
        except Unreadable as error:
            self.close()
            if isinstance(handed := self.submission.source, SubmittedFiles) and handed.script:
                self.submission = replace(self.submission, source=handed.without_notebook())
                return self.try_to_load()
            return Loaded(Outcome.UNREADABLE, reason=str(error))
        except (TimedOut, Ended, BadMessage) as end:
            self.close()
            return Loaded(how_it_ended(end))

    def begin(self, child: Child, request: bytes) -> None:
        """Send the request to load the file; if files are still unread, receive their text first.

        Raises Unreadable, TimedOut, Ended or BadMessage.
        """
        child.send(request, self.limits.load_seconds)
        if isinstance(self.submission.source, Source):
            return
        filename = self.submission.source.filename
        limits = replace(self.limits, reply_bytes=ROOM_FOR_A_TEXT * self.limits.reply_bytes)
        self.source, self.found = answer_of(
            child, lambda reply: (read_source(reply), read_text_facts(reply)), filename, limits
        )
        self.submission = replace(self.submission, source=self.source)

    def child_with_file(self) -> Child | None:
        """Return the child that has loaded the file; load it if necessary. None if that fails."""
        if self.child is None:
            self.load()
        return self.child

    def run(self, cases: list[Case]) -> list[Observation]:
        """Run the cases one after another, and return an Observation for each.

        Cases after a failure get an Observation too.
        """
        child = None if self.is_over else self.child_with_file()
        if child is None:
            return [self.without_result(Outcome.KILLED)] * len(cases)
        seen: list[Observation] = []
        requests, most = [self.requests.of(case) for case in cases], self.longest
        try:
            for request, following in zip_longest(requests, requests[1:]):
                if not seen:
                    child.send(request.message, most)
                reply = child.receive(most + SECONDS_TO_REPORT, self.limits.reply_bytes)
                try:
                    if following:  # the child works while its reply is read here
                        child.send(following.message, most)
                finally:
                    with self.budget.reading():
                        seen.append(read_observation(reply, request.number))
                    self.budget.takes(BYTES_OF_A_TENSOR * len(seen[-1].tensors))
                error = seen[-1].error
                if error and error.type == "OutOfTime" and error.text in (SPENT, WAITED):
                    self.close()
                    # Processor time is the code's own, but a wait may be the machine's.
                    self.budget.lost |= error.text == WAITED
                    seen[-1] = self.without_result(Outcome.TIMEOUT, True, error)
                    break
        except (TimedOut, Ended, BadMessage) as end:
            self.close()
            seen.append(self.without_result(how_it_ended(end), isinstance(end, TimedOut)))
            if isinstance(end, OutOfMemory):
                seen[-1] = replace(seen[-1], error=CaughtError("MemoryError"))
        return seen + [Observation(Outcome.UNREACHED)] * (len(cases) - len(seen))

    def facts(self, bugs: dict[str, str]) -> TextFacts:
        """Return the facts about the text, read in a child that runs no learner code.

        If the files were read by `load`, their facts are known already.
        """
        if self.found is None:
            exercises = self.submission.exercises | bugs
            try:
                self.found = Reader(self.warm, self.limits, self.budget).facts(
                    self.source.text, exercises
                )
            except Unreadable:
                self.found = TextFacts()
        return self.found

    def own_parameters(self) -> OwnParameters:
        """Return the parameters that the learner's process reports; {} if it ends."""
        child = None if self.budget.used_up else self.child_with_file()
        try:
            if child is None:
                return {}
            child.send(pack({"do": "parameters"}), self.limits.case_seconds)
            reply = child.receive(self.limits.case_seconds, self.limits.reply_bytes)
            return read_own_parameters(unpack(reply)[0].get("parameters"))
        except (TimedOut, Ended, BadMessage):
            self.close()
            return {}

    def assign(self, assigned: dict[str, dict[str, str]]) -> None:
        """Pass arguments by this mapping, in a fresh child that has seen no case."""
        if assigned != self.submission.assigned:
            self.submission = replace(self.submission, assigned=assigned)
            self.close()

    def tries(self, name: str, line: int, case: Case, first: int, most: int) -> list[Try]:
        """Return the results of some small edits of a definition, nearest to a line first.

        first, most: the index of the first edit to try, and the largest number of edits.
        """
        child = None if self.is_over else self.child_with_file()
        request = self.requests.of(case)
        asked = {"do": "try_edits", "id": request.number, "name": name, "line": line}
        asked |= {"first": first, "most": most, "seconds": SECONDS_OF_SEARCH}
        asked |= {"steps": [step.encode() for step in case.steps]}
        try:
            if child is None:
                return []
            child.send(pack(asked, case.tensors), self.limits.case_seconds)
            reply = child.receive(self.limits.case_seconds, self.limits.reply_bytes)
            return read_tries(reply, request.number)
        except (TimedOut, Ended, BadMessage):
            self.close()
            return []

    def with_text(self, text: str) -> "InChild":
        """Return a backend with another text instead of the learner's."""
        submission = replace(self.submission, source=replace(self.source, text=text))
        other = InChild(submission, self.warm, self.limits, self.device, self.requests)
        other.budget = self.budget  # its seconds count for the same submission
        return other

    def alone(self, name: str, given: str) -> "InChild":
        """Return a backend with one definition of the file and the same budget, created once."""
        if name not in self.definitions:
            submission = self.submission.with_definition_alone(self.source, name, given)
            other = InChild(submission, self.warm, self.limits, self.device, self.requests)
            other.budget = self.budget
            self.definitions[name] = other
        return self.definitions[name]

    def without_result(
        self, how: Outcome, late: bool = False, where: CaughtError | None = None
    ) -> Observation:
        """Return the observation of a case without a result.

        late: True if the case used up its own seconds. where: an error with the line that the case
        had reached, as the learner's process reports it.
        """
        line = where.line if where else None
        text = f"{self.limits.case_seconds:g} seconds"
        waited = CaughtError("OutOfTime", text, line) if late else None
        return OUT_OF_TIME if self.budget.used_up else Observation(how, error=waited)

    def fresh(self, stand_ins: dict[str, str] | None = None) -> "InChild":
        """Return another backend for the same file and budget, with new numbers for all cases."""
        submission = self.submission.with_stand_ins(stand_ins or {})
        other = InChild(submission, self.warm, self.limits, self.device)
        other.budget, other.definitions_only = self.budget, self.definitions_only
        return other

    def close(self) -> None:
        """End the child, if there is one, and the children that run one definition."""
        for one in self.definitions.values():
            one.close()
        if self.child is not None:
            self.child.close()
            self.child = None


def how_it_ended(end: Exception) -> Outcome:
    """Return the status for an exchange that ended with this error."""
    return Outcome.TIMEOUT if isinstance(end, TimedOut) else Outcome.KILLED
