"""An attempt: one learner's version of a chapter's code, as the tests see it.

`attempt.softmax` is that exercise's part of it. Its cases run in one exchange, when the first
test asks for one of them, and every later test reads what was seen.
"""

from dataclasses import replace
from functools import cached_property

from .cases import Case, spoken
from .course import Chapter, Course
from .judging.checks import Checks
from .recognition import recognise
from .observation import Loaded, Observation
from .references import References


class Attempt:
    """A learner's chapter behind a backend, beside the chapter's references."""

    def __init__(self, backend, course: Course, references: References, fingerprints=None):
        self.backend, self.course, self.references = backend, course, references
        self.chapter: Chapter = course.chapter(references.chapter)
        self.fingerprints = fingerprints
        self.exercises: dict[str, ExerciseAttempt] = {}

    def __getattr__(self, name: str) -> "ExerciseAttempt":
        if name.startswith("_"):
            raise AttributeError(name)
        self.chapter.exercise(name)
        if name not in self.exercises:
            self.exercises[name] = ExerciseAttempt(self, name)
        return self.exercises[name]

    @cached_property
    def loaded(self) -> Loaded:
        """What loading the learner's file came to."""
        return self.backend.load()

    @property
    def tolerances(self) -> dict:
        """Tolerances by dtype for the device that the learner's code runs on."""
        return self.course.tolerances[self.backend.device]


class ExerciseAttempt(Checks):
    """One exercise of an attempt: what was seen on each case, and the checks on it."""

    def __init__(self, attempt: Attempt, name: str):
        self.attempt, self.name = attempt, name

    @cached_property
    def seen(self) -> list[tuple[Case, Observation, Observation]]:
        """(case, expected, observed) for every case of the exercise, run in one exchange."""
        loaded = self.attempt.loaded
        entries = self.attempt.references.of(self.name)
        if loaded.status == "loaded":
            # A stalled exercise before this one may have ended the process: then a fresh one.
            observed = self.attempt.backend.run([case for case, _ in entries])
        else:
            observed = [Observation(loaded.status)] * len(entries)
        return [(case, expected, got) for (case, expected), got in zip(entries, observed)]

    def trace(self, called: str) -> list[tuple[int, str, tuple[int, ...]]]:
        """The case that was called so, run once more: (line, name, sizes) of the tensors on the way."""
        case = next((case for case, _, _ in self.seen if spoken(case) == called), None)
        if case is None or self.attempt.loaded.status != "loaded":
            return []
        steps = tuple(step | {"trace": True} if step["verb"] == "call" else step for step in case.steps)
        (observed,) = self.attempt.backend.run([replace(case, steps=steps)])
        self.attempt.backend.close()
        return read_trace(observed)

    @cached_property
    def mistakes(self) -> tuple[str, ...]:
        """The known mistakes that the attempt made, if what was seen matches their fingerprint."""
        return recognise(self.name, self.seen, self.attempt.fingerprints)


def read_trace(observed: Observation) -> list[tuple[int, str, tuple[int, ...]]]:
    """The trace of the last call of a case. It is a claim: entries of another form are left out."""
    traces = [facts["trace"] for facts in observed.facts.values() if isinstance(facts, dict) and "trace" in facts]
    found = traces[-1] if traces and isinstance(traces[-1], list) else []
    entries = [entry for entry in found if isinstance(entry, list) and len(entry) == 3]
    return [
        (line, name, tuple(sizes)) for line, name, sizes in entries
        if isinstance(line, int) and isinstance(name, str) and isinstance(sizes, list)
        and all(isinstance(size, int) for size in sizes)
    ]
