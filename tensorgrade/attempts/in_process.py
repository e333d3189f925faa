"""Runs learner code in this very process: a learner's self-check, with nothing to hide."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..exchange.cases import Case
from ..exchange.observation import (
    Loaded,
    Observation,
    Outcome,
    OwnParameters,
    observation_of,
    read_error,
    read_loaded,
    read_own_parameters,
)
from ..runner import serve
from ..runner.changes import changes
from ..runner.errors import OutOfTime, describe_error, may_be_ended
from ..runner.messages import pack, plain
from ..runner.reading import foreign_names, spans
from ..runner.verbs import CaseRunner
from ..sources.submission import Source, Submission
from .backend import Spans
from .not_begun import briefly


class InProcess:
    """The same runner as in grading, called directly; its replies are read with the same care."""

    isolation = "in-process"

    def __init__(self, submission: Submission, device: str = "cpu"):
        self.submission, self.device = submission, device
        handed = submission.source
        self.source = handed if isinstance(handed, Source) else Source("", handed.filename)
        self.weights = submission.weights
        self.case_runner: CaseRunner | None = None
        self.warned: list[str] = []
        self.definitions_only = False
        self.definitions: dict[str, InProcess] = {}

    def load(self) -> Loaded:
        """Load the learner's file. A file that never ends is stopped by the test's timeout."""
        told: list[dict] = []
        source = serve.read(self.request(), self.submission.files(), told.append)
        if source is None:
            return Loaded(Outcome.UNREADABLE, reason=told[0]["reason"])
        self.source = source
        with self.noting_warnings():
            self.case_runner, reply = self.loaded()
        return read_loaded(pack(reply))

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """What the learner's own lines are warned of goes into `warned`, and nowhere else."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for one in caught:
            if one.filename == self.source.filename:
                text = str(one.message).strip().partition(". ")[0].partition("\n")[0].rstrip(".")
                sentence = f"A warning at {self.source.place(one.lineno)}: {text[:200]}."
                self.warned += [sentence] if sentence not in self.warned else []

    def request(self, definitions_only: bool = False) -> dict:
        return self.submission.load_request(self.device, definitions_only)

    def loaded(self) -> tuple[CaseRunner, dict]:
        """A runner with the file loaded, and its reply; without loose code where that hangs."""
        try:
            return self.load_in_time(definitions_only=False)
        except OutOfTime:
            self.definitions_only = True
            return self.load_in_time(definitions_only=True)

    def load_in_time(self, definitions_only: bool) -> tuple[CaseRunner, dict]:
        request = self.request(definitions_only)
        with may_be_ended():
            return serve.load(request, self.source, self.submission.files())

    def ready_runner(self) -> CaseRunner:
        """The runner that has loaded the file."""
        if self.case_runner is None:
            self.load()
        assert self.case_runner is not None, "there is nothing to run in an unreadable file"
        return self.case_runner

    def run(self, cases: list[Case]) -> list[Observation]:
        """Run the cases; where an exercise is not begun, as many as it takes to see that."""
        return briefly(self.run_all, self.source.text, cases)

    def run_all(self, cases: list[Case]) -> list[Observation]:
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
        runner = self.ready_runner()
        with self.noting_warnings(), may_be_ended():
            header, results = runner.run_case(list(case.steps), tensors)
        told = json.loads(json.dumps({"id": case.id, **header}))  # as it would be sent
        return observation_of(told, {n: plain(results[n]) for n in sorted(results)}, case.id)

    def changes(self, bugs: dict[str, str]) -> dict[str, int]:
        """Counted here."""
        return changes(self.source.text, bugs)

    def names(self) -> dict[str, list[str]]:
        """Looked for here."""
        return foreign_names(self.source.text, list(self.submission.exercises))

    def spans(self) -> Spans:
        """Looked for here."""
        return spans(self.source.text)

    def alone(self, name: str, given: str) -> "InProcess":
        """Another one in this process, with one definition of the file; made once."""
        if name not in self.definitions:
            submission = self.submission.with_definition_alone(self.source, name, given)
            self.definitions[name] = InProcess(submission, self.device)
            self.definitions[name].warned = self.warned
        return self.definitions[name]

    def own_parameters(self) -> OwnParameters:
        """Return what the learner's definitions take."""
        runner = self.ready_runner()
        return read_own_parameters(runner.own_parameters())

    def assign(self, assigned: dict[str, dict[str, str]]) -> None:
        """Pass arguments as this says; the file stays loaded."""
        if assigned != self.submission.assigned:
            self.submission = replace(self.submission, assigned=assigned)
            self.ready_runner().assigned = assigned

    def close(self) -> None:
        """Nothing to give back."""

    def fresh(self, stand_ins: dict[str, str] | None = None) -> "InProcess":
        """Another one for the same file, loaded anew when it is used."""
        return InProcess(self.submission.with_stand_ins(stand_ins or {}), self.device)
