"""An attempt: one learner's version of a chapter's code, as the checks see it.

    run(attempt)                                          # load the file, run the cases: once
    attempt.exercises["normalise"].agrees("values")       # a check reads what was seen

The other modules of this folder find out more about an exercise: mistakes, the first wrong value
and a repair. Their functions take an `ExerciseAttempt`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, wraps
from itertools import chain
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from ..course import Chapter, Check, Course, Tolerance
from ..exchange.cases import Case
from ..exchange.observation import (
    CaughtError,
    Loaded,
    Observation,
    Outcome,
    TextFacts,
)
from ..exchange.references import References, Seen
from ..exchange.traces import with_stages
from ..judging.checked import CheckedExercise
from ..judging.checks import bind_checks
from ..judging.diagnosis import Earlier
from ..judging.own_names import in_names_of_stub
from ..judging.submitted_text import SubmittedText
from ..runner.names import Assignment
from ..runner.source import Source, Unreadable
from ..sources.program import Program
from .lab import Lab
from .side import Side

MOST_CHANGED = 10  # parts of the given code's syntax tree that a repair may change
Arguments = ParamSpec("Arguments")
Found = TypeVar("Found")


class Attempt:
    """A learner's code for one chapter, the lab that runs it, and the side that judges it."""

    def __init__(self, lab: Lab, program: Program, course: Course, side: Side):
        self.lab, self.program, self.course, self.side = lab, program, course, side
        self.references, self.own = side.references, side.own
        # By dtype, for the device that the learner's code runs on.
        self.tolerances: dict[str, Tolerance] = course.tolerances[lab.device]
        self.for_learners = not side.references.hidden  # False: checks without points do not count
        self.chapter: Chapter = course.chapter(side.references.chapter)
        # By find-the-bug exercise, the program with its definition alone. By program, a copy of it
        # that runs public cases only, so that its process sees no hidden case.
        self.alone: dict[str, Program] = {}
        self.copies: dict[Program, Program] = {}
        self.loaded = Loaded(Outcome.UNREACHED)
        self.assigned = Assignment()  # names that earlier exercises have decided (naming.py)
        self.exercises = {e.name: ExerciseAttempt(self, e.name) for e in self.chapter.exercises}

    def load_once(self) -> None:
        """Load the file, unless that has been done."""
        if self.loaded.status == Outcome.UNREACHED:
            self.loaded = self.load()

    def load(self) -> Loaded:
        """Read and load the learner's file; its errors get the line numbers of that file."""
        try:
            if not isinstance(self.program.source, Source):
                looked = self.lab.look(self.program, self.references.bugs)
                self.program, self.facts = replace(self.program, source=looked.source), looked
        except Unreadable as error:
            return Loaded(Outcome.UNREADABLE, reason=str(error))
        loaded = self.lab.load(self.program)
        problems = [
            replace(one, error=self.submitted.with_source_line(one.error))
            for one in loaded.problems
        ]
        return replace(loaded, problems=tuple(problems))

    @property
    def public(self) -> References | None:
        """The references of the public cases, if they are there."""
        return self.side.public.references if self.side.public else None

    @property
    def source(self) -> Source:
        """The learner's text, and where its lines are; empty until it is read."""
        return self.program.text

    @cached_property
    def submitted(self) -> SubmittedText:
        """The learner's text."""
        return SubmittedText(self.source.text)

    def with_source_line(self, claimed: Seen) -> Seen:
        """Return a case's result with the submitted file's line number in its error."""
        error = claimed.observed.error
        if error is None:
            return claimed
        own = replace(claimed.observed, error=self.submitted.with_source_line(error))
        return claimed._replace(observed=own)

    @cached_property
    def on_public_cases(self) -> "Attempt | None":
        """The same file judged by the public cases.

        None if there are none, if this attempt already uses them, or if the file did not load.

        They run in a process that sees no hidden case. Names are decided on them alone. Otherwise
        learner code could choose names to reveal what it has seen.
        """
        public = self.side.public if self.references.hidden else None
        if public is None or self.loaded.status != Outcome.LOADED:
            return None
        program = replace(self.program, assigned=Assignment())
        other = Attempt(self.lab, program, self.course, public)
        other.loaded, other.facts = self.loaded, self.facts
        other.for_learners = False
        return other

    def run_all_cases(self, name: str, program: Program | None = None) -> list[Seen]:
        """Run every case of an exercise, and return the results as the process claims them.

        program: runs instead of the attempt's own; it is the same file with substitutes.
        """
        entries = [entry for entry in self.references.entries if entry[0].exercise == name]
        if self.loaded.status == Outcome.LOADED:
            # A stalled exercise before this one may have ended the process. Then a fresh one
            # starts.
            observed = self.observed(name, [case for case, _ in entries], program)
        else:
            observed = [Observation(self.loaded.status)] * len(entries)
        return [
            Seen(case, expected, in_names_of_stub(expected, got, self.program.assigned.weights))
            for (case, expected), got in zip(entries, observed, strict=True)
        ]

    def observed(self, name: str, cases: list[Case], program: Program | None) -> list[Observation]:
        """Return a program's results on the cases of an exercise; by default its own program's."""
        program = program or self.program_of(name)
        if program is not self.program and name in self.references.bugs:
            loaded = self.lab.load(program)
            if failure := loaded.failure_of(name):  # its definition may need the rest of the file
                return [Observation(Outcome.ANSWERED, error=failure)] * len(cases)
        return self.lab.run(program, cases)

    def program_of(self, name: str) -> Program:
        """Return the program that runs an exercise; for given code, with its definition alone."""
        given = self.references.bugs.get(name)
        if given is None:
            return self.program
        return self.alone.setdefault(name, replace(self.program, alone=(name, given)))

    def assign(self, names: Assignment) -> bool:
        """Run the learner's code under these names from now on; return True if they are new."""
        self.assigned = names
        if names == self.program.assigned:
            return False
        self.lab.end(self.program)
        self.program = replace(self.program, assigned=names)
        return True

    def called_before(self, name: str) -> list[str]:
        """Return the earlier exercises that one exercise calls, as the learner's process reports.

        These include the exercises that its cases ask for by name, and the ones that those call.
        """
        asked = {name, *self.references.asked_by_name(name)}
        called = asked.union(*(self.loaded.calls.get(one, ()) for one in asked))
        names = list(self.exercises)
        return [earlier for earlier in names[: names.index(name)] if earlier in called]

    def run_public(self, cases: list[Case]) -> list[Observation]:
        """Return the results of public cases, from a process that has seen no hidden case.

        Such a process cannot repeat anything about hidden cases. cases: all of the same exercise.
        """
        return self.lab.run(self.apart(cases[0].exercise), cases) if cases else []

    def apart(self, name: str) -> Program:
        """Return the program that runs public cases of an exercise, and that sees no hidden one."""
        program = self.program_of(name)
        if not self.references.hidden:
            return program
        return self.copies.setdefault(program, replace(program))

    def rerun(self, name: str, case_name: str) -> Observation | None:
        """Run a public case of an exercise again, and record what happens inside its calls.

        Return None if the attempt has no such case, if the file did not load, or if the cases are
        hidden. On hidden cases, the data come from the learner's process, so they could repeat
        hidden inputs.
        """
        seen = self.exercises[name].seen
        case = next((one.case for one in seen if one.case.name == case_name), None)
        if case is None or self.loaded.status != Outcome.LOADED or self.references.hidden:
            return None
        (observed,) = self.lab.run(self.program_of(name), [with_stages(case)])
        return observed

    @cached_property
    def definitions(self) -> list[tuple[int, int, list[str]]]:
        """(first line, last line, names) of each top-level statement of the learner's text."""
        most = len(self.submitted.lines)
        return [(a, b, names) for names, a, b in self.facts.spans if b <= most]

    @cached_property
    def facts(self) -> TextFacts:
        """The facts about the learner's text."""
        try:
            return self.lab.look(self.program, self.references.bugs)
        except Unreadable:
            return TextFacts()

    @property
    def names(self) -> dict[str, list[str]]:
        """By exercise: the names that its code uses and the learner's text does not define."""
        return self.facts.names

    def place(self, line: int) -> str:
        """Return what the learner calls a line: `line 9`, or `cell 3, line 2`."""
        return self.source.place(line)

    def is_in_cell(self, line: int) -> bool:
        """Return True if a line is in a cell of a notebook."""
        return self.source.cell(line) is not None


class ExerciseAttempt(CheckedExercise):
    """One exercise of an attempt: the results of its cases, and the checks on them."""

    attempt: Attempt

    def __init__(self, attempt: Attempt, name: str):
        self.attempt, self.name = attempt, name
        # The results of all cases as the learner's process reports them. In `seen`, errors have the
        # line numbers of the submitted file.
        self.claimed: list[Seen] = []
        self.seen: list[Seen] = []
        # The earlier exercise that is the only cause of this one's errors (inherited_errors.py),
        # and the mistakes of the earlier exercises that are called.
        self.excused_by, self.inherited = "", set[str]()
        self.noted: Earlier | None = None  # about an earlier exercise that is wrong
        # Sources that replace wrong earlier exercises, by name (inherited_errors.py).
        self.right_versions: dict[str, str] = {}
        # Cached results of functions in this folder. Those in `results_cache` depend on the results
        # of the cases, those in `file_cache` only on the file.
        self.results_cache: dict[tuple, Any] = {}
        self.file_cache: dict[tuple, Any] = {}
        bind_checks(self, attempt.own.checks)

    def judge_by(self, claimed: list[Seen], right_versions: dict[str, str] | None = None) -> None:
        """Judge the exercise by these results of all cases, from this run or another one.

        right_versions: sources that replaced some of the learner's own definitions in that run.
        """
        self.claimed, self.right_versions = claimed, right_versions or {}
        self.seen = [self.attempt.with_source_line(seen) for seen in claimed]
        self.results_cache.clear()

    @property
    def checks(self) -> list[Check]:
        """The checks that judge the exercise; graders leave out those without points."""
        own = self.attempt.chapter.exercise(self.name).checks
        return [check for check in own if check.points or self.attempt.for_learners]

    def failure(self, check: Check) -> Exception | None:
        """Return the error of a check: Wrong, or a fault of the check itself; None if it holds."""
        try:
            for call in check.calls:
                getattr(self, call.name)(*call.arguments, **call.settings)
        except Exception as error:
            return error
        return None

    @property
    def given_code(self) -> str:
        """The code of a find-the-bug exercise; empty if learners write all of it."""
        return self.attempt.references.bugs.get(self.name, "")

    @property
    def is_as_given(self) -> bool:
        """True if the given code is unchanged."""
        return bool(self.given_code) and self.attempt.facts.changes.get(self.name) == 0

    @property
    def is_rewritten(self) -> bool:
        """True if more of the given code was changed than a repair needs, or if it is gone."""
        changed = self.attempt.facts.changes.get(self.name, MOST_CHANGED + 1)
        return bool(self.given_code) and changed > MOST_CHANGED

    @property
    def own_lines(self) -> list[tuple[int, int]]:
        """The first and the last line of each statement that defines the exercise."""
        return [(a, b) for a, b, names in self.attempt.definitions if self.name in names]

    def line_of(self, error: CaughtError) -> int | None:
        """Return the line of an error; if it is in another exercise, the line that calls it.

        None if the error has no line in the file.
        """
        elsewhere = bool(error.line and error.called) and not self.is_own_line(error.line or 0)
        return error.called if elsewhere else error.line

    def is_own_line(self, line: int) -> bool:
        """Return True if a line can be blamed: it is in the file and belongs to no other exercise.

        A line of a helper can be blamed too, unless an exercise that is called here also uses the
        helper. In such a helper, values may be wrong only because its arguments are. Lines of
        another exercise cannot be blamed, because that exercise has its own messages.
        """
        attempt = self.attempt
        exercises = set(attempt.course.exercise_names)
        called = exercises.intersection(attempt.loaded.calls.get(self.name, ()))
        theirs = exercises.union(*(attempt.loaded.calls.get(one, ()) for one in called))
        others = theirs - {self.name}
        inside = 0 < line <= len(attempt.submitted.lines)
        around = [names for first, last, names in attempt.definitions if first <= line <= last]
        return inside and others.isdisjoint(chain.from_iterable(around))


Find: TypeAlias = Callable[Concatenate[ExerciseAttempt, Arguments], Found]


def cached_for_results(find: Find[Arguments, Found]) -> Find[Arguments, Found]:
    """Cache a function's results for an exercise until `judge_by` replaces the cases' results."""
    return cached("results_cache", find)


def cached_for_file(find: Find[Arguments, Found]) -> Find[Arguments, Found]:
    """Cache a function's results for an exercise of an attempt, whose file never changes."""
    return cached("file_cache", find)


def cached(store: str, find: Find[Arguments, Found]) -> Find[Arguments, Found]:
    """Return a function about an exercise with a cache. store: the attribute with the cache."""

    @wraps(find)
    def once(part: ExerciseAttempt, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Found:
        known, key = getattr(part, store), (find.__name__, *args, *kwargs.items())
        if key not in known:
            known[key] = find(part, *args, **kwargs)
        return known[key]

    return once
