"""Runs learner code in this very process: a learner's self-check, with nothing to hide."""

from ..cases import Case
from ..observation import Loaded, Observation, read_loaded, read_observation
from ..runner import serve
from ..runner.errors import OutOfTime
from ..runner.messages import pack
from ..submission import Submission


class InProcess:
    """The same runner as in grading, called directly; its bytes are read with the same care."""

    isolation = "in-process"

    def __init__(self, submission: Submission, device: str = "cpu"):
        self.submission, self.device, self.stage = submission, device, None

    def load(self) -> Loaded:
        """Load the learner's file. A file that never ends is stopped by the test's timeout."""
        try:
            self.stage, reply = serve.load(self.submission.load_request(self.device))
        except OutOfTime:
            request = self.submission.load_request(self.device, definitions_only=True)
            self.stage, reply = serve.load(request)
            return read_loaded(pack(reply))
        return read_loaded(pack(reply))

    def run(self, cases: list[Case]) -> list[Observation]:
        """Run the cases one after another; after a timeout the rest is left alone."""
        seen = []
        for case in cases:
            try:
                seen.append(self.run_one(case))
            except OutOfTime:
                seen.append(Observation("timeout"))
                break
        return seen + [Observation("unreached")] * (len(cases) - len(seen))

    def run_one(self, case: Case) -> Observation:
        tensors = {f"{case.id}/{name}": t.clone() for name, t in case.tensors.items()}
        request = {"id": case.id, "steps": list(case.steps)}
        return read_observation(serve.run(self.stage, request, tensors), case.id)

    def close(self) -> None:
        """Nothing to give back."""
