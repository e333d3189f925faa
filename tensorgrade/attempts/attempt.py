"""An attempt: one learner's version of a chapter's code, as the tests see it.

attempt.run()                             # load the file, run the cases: once, aloud
attempt.normalise.agrees("values")        # a test reads what was seen
"""

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from types import MethodType

from ..course import Chapter, Course, CourseError, Tolerance
from ..exchange.observation import Loaded, Observation, Outcome
from ..exchange.references import References, Seen
from ..judging.checks import Checks
from ..judging.course_checks import CourseChecks
from ..judging.diagnosis import Diagnosis, Finding, Kind, Step
from ..recognition.fingerprints import Fingerprints, recognise
from .backend import Backend


class Attempt:
    """A learner's chapter behind a backend, beside the chapter's references.

    `attempt.normalise` is that exercise's part of it. own: the course's own checks.
    """

    def __init__(
        self,
        backend: Backend,
        course: Course,
        references: References,
        fingerprints: Fingerprints | None = None,
        own: CourseChecks | None = None,
    ):
        self.backend, self.course, self.references = backend, course, references
        # By dtype, for the device that the learner's code runs on.
        self.tolerances: dict[str, Tolerance] = course.tolerances[backend.device]
        self.own = own or CourseChecks()
        self.chapter: Chapter = course.chapter(references.chapter)
        self.fingerprints = fingerprints or Fingerprints()
        self.loaded = Loaded(Outcome.UNREACHED)
        self.exercises = {e.name: ExerciseAttempt(self, e.name) for e in self.chapter.exercises}

    def __getattr__(self, name: str) -> "ExerciseAttempt":
        exercises = self.__dict__.get("exercises", {})
        if name not in exercises:
            raise AttributeError(f"{self.__dict__.get('chapter', 'the chapter')} has no {name}")
        return exercises[name]

    def run(self, names: Collection[str] = ()) -> None:
        """Load the file and run the cases of these exercises (of all), each of them once."""
        if self.loaded.status == Outcome.UNREACHED:
            self.loaded = self.backend.load()
        for name, part in self.exercises.items():
            if not part.seen and (not names or name in names):
                part.seen = self.seen_on(name)

    def seen_on(self, name: str) -> list[Seen]:
        """What the attempt gives on every case of an exercise, run in one exchange."""
        entries = [entry for entry in self.references.entries if entry[0].exercise == name]
        if self.loaded.status == Outcome.LOADED:
            # A stalled exercise before this one may have ended the process: then a fresh one.
            observed = self.backend.run([case for case, _ in entries])
        else:
            observed = [Observation(self.loaded.status)] * len(entries)
        return [Seen(*entry, got) for entry, got in zip(entries, observed, strict=True)]

    def place(self, line: int) -> str:
        """What a line is called where the learner wrote it."""
        return self.backend.source.place(line)


class ExerciseAttempt(Checks):
    """One exercise of an attempt: what was seen on each case, and the checks on it."""

    attempt: Attempt

    def __init__(self, attempt: Attempt, name: str):
        self.attempt, self.name = attempt, name
        self.seen: list[Seen] = []
        for check, function in attempt.own.checks.items():
            if hasattr(self, check):
                raise CourseError(f"checks.py: {check!r} is taken; choose another name")
            setattr(self, check, MethodType(function, self))

    def finding(self, asks: str, diagnosis: Diagnosis) -> Finding:
        """All that is to be said about a failed check. asks: the check's own line."""
        unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
        messages = self.attempt.fingerprints.messages
        mistakes = {} if unfinished else {name: messages[name] for name in self.mistakes}
        return Finding(asks, diagnosis, mistakes, lambda: self.trace(diagnosis.case))

    def trace(self, name: str) -> list[Step]:
        """A case run once more: the tensors on the way through the learner's own code."""
        case = next((seen.case for seen in self.seen if seen.case.name == name), None)
        if case is None or self.attempt.loaded.status != Outcome.LOADED:
            return []
        steps = tuple(
            step | {"trace": True} if step["verb"] == "call" else step for step in case.steps
        )
        (observed,) = self.attempt.backend.run([replace(case, steps=steps)])
        self.attempt.backend.close()
        return read_trace(observed)

    @cached_property
    def mistakes(self) -> tuple[str, ...]:
        """The known mistakes that the attempt made, if what was seen matches their fingerprint."""
        return recognise(
            self.name, self.seen, self.attempt.fingerprints, self.attempt.own.signatures
        )


def read_trace(observed: Observation) -> list[Step]:
    """The trace of the last call of a case. It is a claim: entries of another form are left out."""
    traces = [
        facts["trace"]
        for facts in observed.facts.values()
        if isinstance(facts, dict) and "trace" in facts
    ]
    told = traces[-1] if traces and isinstance(traces[-1], list) else []
    entries = [entry for entry in told if isinstance(entry, list) and len(entry) == 3]
    return [
        (line, name, tuple(sizes))
        for line, name, sizes in entries
        if isinstance(line, int)
        and isinstance(name, str)
        and isinstance(sizes, list)
        and all(isinstance(size, int) for size in sizes)
    ]
