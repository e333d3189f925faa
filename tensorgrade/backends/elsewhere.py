"""Runs learner code in children of a warm process: the way of grading.

A child that stalls or breaks is ended and costs the exercise that it stopped in; the next
exercise goes on in a fresh one.
"""

from ..cases import Case
from ..course import Limits
from ..observation import Loaded, Observation, read_loaded, read_observation
from ..runner.messages import BadMessage, pack
from ..sandbox.child import Child, Ended, TimedOut
from ..submission import Submission
from .requests import Requests


class Elsewhere:
    """One learner's chapter in another process; asks over a stream, and believes nothing."""

    def __init__(
        self, submission: Submission, warm, limits: Limits, device: str = "cpu",
        requests: Requests | None = None,
    ):
        self.submission, self.warm, self.limits, self.device = submission, warm, limits, device
        self.requests = requests or Requests()
        self.child: Child | None = None
        self.definitions_only = False

    @property
    def isolation(self) -> str:
        """The rung of isolation that the warm process gives."""
        return self.warm.isolation

    def load(self) -> Loaded:
        """Load the file; where that hangs or ends the process, once more without its loose code."""
        loaded = self.try_to_load()
        if loaded.status != "loaded" and not self.definitions_only:
            self.definitions_only = True
            loaded = self.try_to_load()
        return loaded

    def try_to_load(self) -> Loaded:
        """A fresh child with the file loaded, or the way in which that failed."""
        self.close()
        self.child = self.warm.fork()
        request = self.submission.load_request(self.device, self.definitions_only)
        try:
            self.child.send(pack(request), self.limits.load_seconds)
            reply = self.child.receive(self.limits.load_seconds, self.limits.reply_bytes)
            return read_loaded(reply)
        except (TimedOut, Ended, BadMessage) as end:
            self.close()
            return Loaded(how_it_ended(end))

    def run(self, cases: list[Case]) -> list[Observation]:
        """All cases in one exchange; an Observation for each, whatever happens."""
        if self.child is None and self.load().status != "loaded":
            return [Observation("killed")] * len(cases)
        seen: list[Observation] = []
        try:
            self.child.send(self.requests.of(cases), self.limits.case_seconds)
            for case in cases:
                reply = self.child.receive(self.limits.case_seconds, self.limits.reply_bytes)
                seen.append(read_observation(reply, case.id))
        except (TimedOut, Ended, BadMessage) as end:
            self.close()
            seen.append(Observation(how_it_ended(end)))
        return seen + [Observation("unreached")] * (len(cases) - len(seen))

    def close(self) -> None:
        """End the child, if there is one."""
        if self.child is not None:
            self.child.close()
            self.child = None


def how_it_ended(end: Exception) -> str:
    """The status that an exchange's end stands for."""
    return "timeout" if isinstance(end, TimedOut) else "killed"
