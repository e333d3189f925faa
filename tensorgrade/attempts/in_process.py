"""Run learner code in this process: for a learner's self-check, which has no hidden cases."""

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
from ..exchange.text_facts import TextFacts, read_text_facts
from ..runner import serve
from ..runner.case_runner import CaseRunner
from ..runner.errors import OutOfTime, describe_error, may_be_ended
from ..runner.wire import pack, plain
from ..sources.submission import Source, Submission
from .not_started import run_few_if_not_begun


class InProcess:
    """A backend that calls the runner directly. Its replies are checked as those of a child."""

    isolation, is_lost = "in-process", False

    def __init__(self, submission: Submission, device: str = "cpu"):
        self.submission, self.device = submission, device
        handed = submission.source
        self.source = handed if isinstance(handed, Source) else Source("", handed.filename)
        self.case_runner: CaseRunner | None = None
        self.warned: list[str] = []
        self.definitions_only = False
        self.definitions: dict[str, InProcess] = {}

    def load(self) -> Loaded:
        """Load the learner's file. A file that never finishes is stopped by the test's timeout."""
        told: list[dict] = []
        request = self.request() | {"do": "read"}
        source = serve.read(request, self.submission.files(), told.append)
        if source is None:
            return Loaded(Outcome.UNREADABLE, reason=told[0]["reason"])
        self.source = source
        with self.noting_warnings():
            self.case_runner, reply = self.loaded()
        return read_loaded(pack(reply))

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """Collect warnings about the learner's own lines in `warned`, and show none."""
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
        """Return a runner with the file loaded, and its reply.

        If loading times out, only the definitions are loaded.
        """
        try:
            return self.load_in_time(definitions_only=False)
        except OutOfTime:
            self.definitions_only = True
            return self.load_in_time(definitions_only=True)

    def load_in_time(self, definitions_only: bool) -> tuple[CaseRunner, dict]:
        request = self.request(definitions_only)
        with may_be_ended():
            return serve.load(request, self.source)

    def ready_runner(self) -> CaseRunner:
        """Return the runner that has loaded the file."""
        if self.case_runner is None:
            self.load()
        assert self.case_runner is not None, "there is nothing to run in an unreadable file"
        return self.case_runner

    def run(self, cases: list[Case]) -> list[Observation]:
        """Run the cases; if their exercise is not begun, run only few (see not_started.py)."""
        return run_few_if_not_begun(self.run_all, self.source.text, cases)

    def run_all(self, cases: list[Case]) -> list[Observation]:
        """Run the cases one after another, and stop after a timeout."""
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
            header, results = runner.run_case(case.steps, tensors)
        told = json.loads(json.dumps({"id": case.id, **header}))  # as it would be sent
        return observation_of(told, {n: plain(results[n]) for n in sorted(results)}, case.id)

    def facts(self, bugs: dict[str, str]) -> TextFacts:
        """Return the facts about the learner's text, read in this process."""
        exercises = self.submission.exercises | bugs
        return read_text_facts(pack(serve.looked_at(self.source.text, exercises)))

    def alone(self, name: str, given: str) -> "InProcess":
        """Return a backend with one definition of the file, in this process, created once."""
        if name not in self.definitions:
            submission = self.submission.with_definition_alone(self.source, name, given)
            self.definitions[name] = InProcess(submission, self.device)
            self.definitions[name].warned = self.warned
        return self.definitions[name]

    def own_parameters(self) -> OwnParameters:
        """Return the parameters of the learner's definitions."""
        runner = self.ready_runner()
        return read_own_parameters(runner.own_parameters())

    def assign(self, assigned: dict[str, dict[str, str]]) -> None:
        """Pass arguments by this mapping; the file stays loaded."""
        if assigned != self.submission.assigned:
            self.submission = replace(self.submission, assigned=assigned)
            self.ready_runner().assigned = assigned

    def close(self) -> None:
        """Do nothing, because there is nothing to release."""

    def fresh(self, stand_ins: dict[str, str] | None = None) -> "InProcess":
        """Return another backend for the same file, which loads the file again when it is used."""
        return InProcess(self.submission.with_stand_ins(stand_ins or {}), self.device)
