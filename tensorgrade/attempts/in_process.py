"""Runs learner code in this very process: a learner's self-check, with nothing to hide."""

from ..exchange.cases import Case
from ..exchange.observation import (
    Loaded,
    Observation,
    Outcome,
    read_error,
    read_loaded,
    read_observation,
)
from ..runner import serve
from ..runner.errors import OutOfTime, describe_error
from ..runner.messages import pack
from ..runner.verbs import CaseRunner
from ..sources.submission import Source, Submission


class InProcess:
    """The same runner as in grading, called directly; its bytes are read with the same care."""

    isolation = "in-process"

    def __init__(self, submission: Submission, device: str = "cpu"):
        self.submission, self.device = submission, device
        handed = submission.source
        self.source = handed if isinstance(handed, Source) else Source("", handed.filename)
        self.case_runner: CaseRunner | None = None

    def load(self) -> Loaded:
        """Load the learner's file. A file that never ends is stopped by the test's timeout."""
        told: list[dict] = []
        source = serve.read(self.request(), self.submission.files(), told.append)
        if source is None:
            return Loaded(Outcome.UNREADABLE, reason=told[0]["reason"])
        self.source = source
        self.case_runner, reply = self.loaded()
        return read_loaded(pack(reply))

    def request(self, definitions_only: bool = False) -> dict:
        return self.submission.load_request(self.device, definitions_only)

    def loaded(self) -> tuple[CaseRunner, dict]:
        """A runner with the file loaded, and its reply; without loose code where that hangs."""
        try:
            return serve.load(self.request(), self.source)
        except OutOfTime:
            return serve.load(self.request(definitions_only=True), self.source)

    def ready_runner(self) -> CaseRunner:
        """The runner that has loaded the file."""
        if self.case_runner is None:
            self.load()
        assert self.case_runner is not None, "there is nothing to run in an unreadable file"
        return self.case_runner

    def run(self, cases: list[Case]) -> list[Observation]:
        """Run the cases one after another; after a timeout the rest is left alone."""
        seen = []
        for case in cases:
            try:
                seen.append(self.run_one(case))
            except OutOfTime as end:
                where = describe_error(end, self.source.filename)
                seen.append(Observation(Outcome.TIMEOUT, error=read_error(where)))
                break
        return seen + [Observation(Outcome.UNREACHED)] * (len(cases) - len(seen))

    def run_one(self, case: Case) -> Observation:
        tensors = {name: t.clone() for name, t in case.tensors.items()}
        request = {"id": case.id, "steps": list(case.steps)}
        return read_observation(serve.run(self.ready_runner(), request, tensors), case.id)

    def close(self) -> None:
        """Nothing to give back."""
