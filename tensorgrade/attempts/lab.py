"""The lab: it runs programs and returns what came back, as checked records.

Programs run in children of a fork server, or in this process. A child that stalls or crashes is
ended and costs only the exercise that it stopped in; the next one runs in a fresh child.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from math import inf
from typing import TypeAlias

import torch

from ..course import Limits
from ..exchange.cases import Case
from ..exchange.observation import (
    LONGEST_HEADER,
    CaughtError,
    Loaded,
    Looked,
    Observation,
    Outcome,
    Reply,
    read_loaded,
    read_looked,
    read_observation,
    read_tries,
)
from ..runner.names import Assignment
from ..runner.serve import SPENT, WAITED, Session, answer
from ..runner.source import Unreadable
from ..runner.syntax import bound_by, definitions, is_stub
from ..runner.wire import BadMessage, pack, plain, unpack
from ..sandbox.processes import Budget, Child, Ended, ForkServer, OutOfMemory, TimedOut
from ..sources.program import Program
from ..sources.submitted_files import SubmittedFiles

# The factor by which a reply may be larger if it holds a whole text and the place of each
# statement.
ROOM_FOR_A_TEXT = 4
BYTES_OF_A_TENSOR = 2048  # that a tensor takes in memory in addition to its numbers
SECONDS_TO_REPORT = 0.5  # extra time in which a call that timed out can report its line
# A case's limit counts processor time, so that a busy machine costs nothing. By the clock it may
# take so many times as long.
PATIENCE = 3
# The observation of a case if the whole submission has no seconds left.
OUT_OF_TIME = Observation(Outcome.TIMEOUT)


class There:
    """A child of a fork server as a channel. Its replies are never trusted."""

    def __init__(self, child: Child, most_bytes: int):
        self.child, self.most_bytes = child, most_bytes

    def ask(self, asked: dict, tensors: dict[str, torch.Tensor], seconds: float) -> Reply:
        """Return the reply to a request. Raises TimedOut, Ended or BadMessage."""
        return self.exchange(pack(asked, tensors), seconds, asked["do"] == "look")

    def run(self, case: Case, seconds: float) -> Reply:
        """Return the reply to the request of a case. Raises TimedOut, Ended or BadMessage."""
        return self.exchange(case.message, seconds)

    def exchange(self, message: bytes, seconds: float, looks: bool = False) -> Reply:
        """Return the reply to a packed request. Raises TimedOut, Ended or BadMessage.

        looks: True if no learner code has run. Then the reply may have as many parts as the text.
        """
        most = self.most_bytes * (ROOM_FOR_A_TEXT if looks else 1)
        self.child.send(message, seconds)
        reply = self.child.receive(seconds + SECONDS_TO_REPORT, most)
        begun, budget = time.process_time(), self.child.budget
        try:
            header, sent = unpack(reply, None if looks else LONGEST_HEADER)
        finally:
            budget.left -= time.process_time() - begun
        budget.take(BYTES_OF_A_TENSOR * len(sent))
        return header, sent

    def close(self) -> None:
        """End the process."""
        self.child.close()


class Here:
    """This process as a channel: for code of the course, and for a learner in a debugger."""

    def __init__(self) -> None:
        self.session: Session | None = None

    def ask(self, asked: dict, tensors: dict[str, torch.Tensor], seconds: float) -> Reply:
        """Return the reply to a request, as a child would send it. It has no time limit.

        Raises KeyboardInterrupt, also if a learner leaves the debugger.
        """
        copies = {name: tensor.clone() for name, tensor in tensors.items()}
        (header, results), self.session = answer(asked, copies, self.session)
        if (header.get("error") or {}).get("type") in ("KeyboardInterrupt", "Exit"):
            raise KeyboardInterrupt
        sent = {name: plain(results[name]) for name in sorted(results)}
        return json.loads(json.dumps(header)), sent

    def run(self, case: Case, seconds: float) -> Reply:
        """Return the reply to the request of a case."""
        return self.ask(case.request, case.tensors, seconds)

    def close(self) -> None:
        """Forget the program."""
        self.session = None


Channel: TypeAlias = There | Here  # a place where one program runs


class Lab:
    """The place where the programs of one submission run. They share its seconds and bytes.

    server: forks the processes; None runs everything in this process. own: True if the code is the
    caller's own. Then programs have no common limit, and an exercise that is not begun runs few
    cases.
    """

    def __init__(
        self, server: ForkServer | None, limits: Limits, device: str = "cpu", own: bool = False
    ):
        self.server, self.limits, self.device = server, limits, device
        self.own = own or server is None
        self.longest = PATIENCE * limits.case_seconds  # by the clock, for one case
        most = () if self.own else (limits.handin_seconds, limits.all_replies_bytes)
        self.budget = Budget(*most)
        self.unused: Channel | None = None  # it has looked at files, and can still load a program
        self.running: dict[Program, Channel] = {}

    @property
    def isolation(self) -> str:
        """The kind of isolation of the processes."""
        return self.server.isolation if self.server else "in-process"

    @property
    def is_lost(self) -> bool:
        """Return True if a child ended or stopped answering: perhaps not the learner's fault."""
        return self.budget.lost

    def opened(self) -> Channel:
        """Return a channel for a program. Raises NotStarted.

        The caller's own programs take turns in one process, because a fork takes as long as many
        cases. What others hand in gets a process that has loaded nothing.
        """
        if self.server is None:
            return Here()
        if self.own and self.running:
            return self.running.popitem()[1]
        channel, self.unused = self.unused, None
        if channel is not None:
            return channel
        return There(self.server.fork(self.budget), self.limits.reply_bytes)

    def look(self, program: Program, bugs: dict[str, str] | None = None) -> Looked:
        """Return a program's text and the facts about it, found by a process that runs none of it.

        bugs: by name, the given code of find-the-bug exercises. If a notebook cannot be read, the
        script beside it counts. Raises Unreadable with a sentence for the learner.
        """
        handed = program.source
        if isinstance(handed, SubmittedFiles) and handed.reason:
            raise Unreadable(handed.reason)
        # A busy machine must not end the look at the caller's own text, which runs nothing.
        channel = Here() if self.own else self.opened()
        try:
            looked = read_looked(
                channel.ask(*program.to_look_at(bugs or {}), self.limits.load_seconds)
            )
            self.unused, reason = None if self.own else channel, looked.reason
        except (TimedOut, Ended, BadMessage) as end:
            channel.close()
            how = "takes too long" if isinstance(end, TimedOut) else "ends the process that looks"
            reason = f"{handed.filename} cannot be read: looking for its code {how}."
        if not reason:
            return looked
        if isinstance(handed, SubmittedFiles) and handed.script:
            return self.look(replace(program, source=handed.without_notebook()), bugs)
        raise Unreadable(reason)

    def load(self, program: Program) -> Loaded:
        """Load a program in a fresh process, and return the result or how that failed."""
        self.end(program)
        channel, limits = self.opened(), self.limits
        bounds = (limits.case_seconds, self.longest, limits.reply_bytes)
        asked: dict = {"do": "run", "program": asdict(program), "device": self.device}
        asked["limits"] = bounds if self.server else (0, 0, inf)
        try:
            loaded = read_loaded(channel.ask(asked, {}, limits.load_seconds))
        except (TimedOut, Ended, BadMessage) as end:
            channel.close()
            return Loaded(how_it_ended(end))
        self.running[program] = channel
        return loaded

    def channel_with(self, program: Program) -> Channel | None:
        """Return the channel that has loaded a program; None if there is none and no new one."""
        if program not in self.running and not self.budget.is_over:
            self.load(program)
        return None if self.budget.is_over else self.running.get(program)

    def run(self, program: Program, cases: list[Case]) -> list[Observation]:
        """Run the cases of an exercise until one gives no result; return an Observation for each.

        If the caller's own exercise is not begun, the first result stands for the others, because
        a learner who starts a course waits for many of them. Cases that call something else before
        the exercise still run.
        """
        channel, seen, is_idle = self.channel_with(program), list[Observation](), False
        unreached = [Observation(Outcome.UNREACHED)] * len(cases)
        if channel is None:
            return [self.without_result(Outcome.KILLED), *unreached][: len(cases)]
        for case in cases:
            if is_idle and case.steps[0].name == case.exercise:
                seen.append(seen[0])
                continue
            seen.append(self.run_one(program, channel, case))
            if seen[-1].status != Outcome.ANSWERED:
                self.end(program)
                break
            if self.own and len(seen) == 1:
                is_idle = is_not_begun(seen[0].error, case.exercise, program.text.text)
        return [*seen, *unreached][: len(cases)]

    def run_one(self, program: Program, channel: Channel, case: Case) -> Observation:
        """Return the observation of one case."""
        try:
            seen = read_observation(channel.run(case, self.longest), case.request["id"])
        except OutOfMemory:
            return replace(self.without_result(Outcome.KILLED), error=CaughtError("MemoryError"))
        except (TimedOut, Ended, BadMessage) as end:
            return self.without_result(how_it_ended(end), isinstance(end, TimedOut))
        error = seen.error
        if error is None or error.type != "OutOfTime" or error.text not in (SPENT, WAITED):
            return seen
        # Processor time is the code's own, but a wait may be the machine's.
        self.budget.lost |= error.text == WAITED
        return self.without_result(Outcome.TIMEOUT, True, error)

    def tried_names(
        self, program: Program, case: Case, names: Sequence[Assignment]
    ) -> list[Observation]:
        """Return the results of a case with each of these names, asked for in one request.

        There are fewer if there is no more time, and none if the request fails.
        """
        channel, most = self.channel_with(program), self.limits.case_seconds if self.server else 0
        try:
            if channel is None:
                return []
            asked = case.request | {"names": [asdict(one) for one in names], "seconds": most}
            return read_tries(channel.ask(asked, case.tensors, self.longest), asked["id"])
        except (TimedOut, Ended, BadMessage):
            self.end(program)
            return []

    def without_result(
        self, how: Outcome, late: bool = False, where: CaughtError | None = None
    ) -> Observation:
        """Return the observation of a case without a result.

        late: True if the case used up its own seconds. where: an error with the line that the case
        had reached, as the learner's process reports it.
        """
        line = where.line if where else None
        most = self.longest if where and where.text == WAITED else self.limits.case_seconds
        text = f"{most:g} seconds"
        waited = CaughtError("OutOfTime", text, line) if late else None
        return OUT_OF_TIME if self.budget.left <= 0 else Observation(how, error=waited)

    def end(self, program: Program) -> None:
        """End the process that has loaded a program, if there is one."""
        if channel := self.running.pop(program, None):
            channel.close()

    def close(self) -> None:
        """End all processes. The lab may be used again."""
        for program in [*self.running]:
            self.end(program)
        if self.unused:
            self.unused.close()
            self.unused = None


def is_not_begun(error: CaughtError | None, exercise: str, text: str) -> bool:
    """Return True if a case ended in the error of an exercise that does nothing but raise."""
    if error is None or not error.is_unwritten or error.definition != exercise:
        return False
    there = definitions(bound_by(text))
    return exercise in there and is_stub(there[exercise])


def how_it_ended(end: Exception) -> Outcome:
    """Return the status for an exchange that ended with this error."""
    return Outcome.TIMEOUT if isinstance(end, TimedOut) else Outcome.KILLED
