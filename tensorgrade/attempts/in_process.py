"""Runs learner code in this very process: a learner's self-check, with nothing to hide."""

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

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
from ..runner.changes import bound_by, changes, definitions, is_text
from ..runner.errors import OutOfTime, describe_error, may_be_ended
from ..runner.messages import pack
from ..runner.reading import parts
from ..runner.verbs import CaseRunner
from ..sources.submission import Source, Submission
from .backend import Parts

MADE = "super().__init__()"  # what a class does before that


class InProcess:
    """The same runner as in grading, called directly; its bytes are read with the same care."""

    isolation = "in-process"

    def __init__(self, submission: Submission, device: str = "cpu"):
        self.submission, self.device = submission, device
        handed = submission.source
        self.source = handed if isinstance(handed, Source) else Source("", handed.filename)
        self.weights = submission.weights
        self.case_runner: CaseRunner | None = None
        self.warned: list[str] = []

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
        """Run the cases one after another; after a timeout the rest is left alone.

        What is not begun says so on the first case, and says the same on all that begin with it.
        """
        seen: list[Observation] = []
        for case in cases:
            if seen and self.says_again(seen[0], case):
                seen.append(seen[0])
                continue
            try:
                seen.append(self.run_one(case))
            except OutOfTime as end:
                where = describe_error(end, self.source.filename)
                seen.append(Observation(Outcome.TIMEOUT, error=read_error(where)))
                break
        return seen + [Observation(Outcome.UNREACHED)] * (len(cases) - len(seen))

    def says_again(self, first: Observation, case: Case) -> bool:
        """Whether an exercise says of a case what it said of its first one: that it is to do."""
        asked, error = case.exercise, first.error
        said = error is not None and error.is_unwritten and error.definition == asked
        return said and case.steps[0].get("name") == asked and asked in self.not_begun

    @cached_property
    def not_begun(self) -> set[str]:
        """The exercises that nobody has written a line of."""
        return not_begun(self.source.text)

    def run_one(self, case: Case) -> Observation:
        tensors = {name: t.clone() for name, t in case.tensors.items()}
        request = {"id": case.id, "steps": list(case.steps)}
        runner = self.ready_runner()
        with self.noting_warnings(), may_be_ended():
            reply = serve.run(runner, request, tensors)
        return read_observation(reply, case.id)

    def changes(self, bugs: dict[str, str]) -> dict[str, int]:
        """Counted here."""
        return changes(self.source.text, bugs)

    def parts(self) -> Parts:
        """Taken apart here."""
        return parts(self.source.text)

    def close(self) -> None:
        """Nothing to give back."""

    def fresh(self, stand_ins: dict[str, str] | None = None) -> "InProcess":
        """Another one for the same file, loaded anew when it is used."""
        return InProcess(self.submission.with_stand_ins(stand_ins or {}), self.device)


def not_begun(source: str) -> set[str]:
    """The functions that only say that they are to be written, and the classes made by such ones.

    >>> not_begun("def f(x):\\n    raise NotImplementedError\\ndef g(x): return x")
    {'f'}
    """
    return {name for name, node in definitions(bound_by(source)).items() if says_so(node)}


def says_so(definition: ast.AST) -> bool:
    """Whether a definition does nothing before it raises NotImplementedError, whoever calls it."""
    if getattr(definition, "decorator_list", ()):
        return False
    if isinstance(definition, ast.ClassDef):
        makers = [node for node in definition.body if getattr(node, "name", "") == "__init__"]
        return any(says_so(node) for node in makers[-1:])
    body: list[ast.stmt] = getattr(definition, "body", [])
    lines = (ast.unparse(line) for line in body if not is_text(line))
    return next((line for line in lines if line != MADE), "") == "raise NotImplementedError"
