"""An attempt: one learner's version of a chapter's code, and an answer for each exercise of it.

    answer = answer_to(attempt, "normalise")     # naming.py: load the file, run the cases, once
    answer.agrees("values")                      # a check reads what was seen

What an answer says never changes; an attempt adds answers in the order in which they run. The other
modules of this folder find out more about an answer: mistakes, and where it goes wrong. Their
functions take an `Answer`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, wraps
from itertools import chain
from types import MethodType
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from ..course import Chapter, Check, Course, Tolerance
from ..exchange.cases import Case
from ..exchange.observation import CaughtError, Loaded, Looked, Observation, Outcome
from ..exchange.references import References, Seen
from ..exchange.traces import with_stages
from ..judging.checked import CheckedExercise
from ..judging.checks import ENGINE_CHECKS
from ..judging.names import in_names_of_stub
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
    """A learner's code for one chapter, the lab that runs it, and the side that judges it.

    of: the attempt on hidden cases, if this is the same file on public ones. answers: those given
    so far, by exercise, in the order in which they ran.
    """

    def __init__(
        self, lab: Lab, handed: Program, course: Course, side: Side, of: "Attempt | None" = None
    ):
        self.lab, self.handed, self.course, self.side, self.of = lab, handed, course, side, of
        self.references, self.own = side.references, side.own
        # By dtype, for the device that the learner's code runs on.
        self.tolerances: dict[str, Tolerance] = course.tolerances[lab.device]
        # False: checks without points do not count.
        self.for_learners = not (side.references.hidden or of)
        self.chapter: Chapter = course.chapter(side.references.chapter)
        self.exercises = [exercise.name for exercise in self.chapter.exercises]
        self.answers: dict[str, Answer] = {}
        # The programs so far. Loading one takes time, so each is kept for later cases.
        self.programs: list[Program] = []

    @cached_property
    def facts(self) -> Looked:
        """The learner's text and the facts about it; a reason if there is no text."""
        try:
            return self.of.facts if self.of else self.lab.look(self.handed, self.references.bugs)
        except Unreadable as error:
            return Looked(reason=str(error), source=self.handed.text)

    @cached_property
    def started(self) -> tuple[Program, Loaded]:
        """The file's program, and the result of loading it.

        If loading all of it times out or ends the process, the program has only its definitions.
        """
        if self.of:  # it runs in a process of its own
            return replace(self.of.program), self.of.loaded
        program = replace(self.handed, source=self.facts.source)
        if self.facts.reason:
            return program, Loaded(Outcome.UNREADABLE, reason=self.facts.reason)
        loaded = self.lab.load(program)
        if loaded.status in (Outcome.TIMEOUT, Outcome.KILLED):
            program = replace(program, definitions_only=True)
            loaded = self.lab.load(program)
        return program, loaded

    @property
    def program(self) -> Program:
        """The file as it runs before any of its names are decided."""
        return self.started[0]

    @cached_property
    def loaded(self) -> Loaded:
        """The result of loading the file; its errors have the line numbers of that file."""
        _, loaded = self.started
        problems = [
            replace(one, error=self.submitted.with_source_line(one.error))
            for one in loaded.problems
        ]
        return replace(loaded, problems=tuple(problems))

    def under(self, names: Assignment, alone: tuple[str, str] | None = None) -> Program:
        """Return the program with these names for the learner's, and perhaps a definition alone."""
        for one in (self.program, *self.programs):
            if (one.assigned, one.alone) == (names, alone):
                return one
        self.programs.append(replace(self.program, assigned=names, alone=alone))
        return self.programs[-1]

    @property
    def warned(self) -> list[str]:
        """Warnings about the learner's own lines, one sentence each.

        Those of a find-the-bug exercise, which runs alone, are left out: one may tell its bug.
        """
        answers = (one for one in self.answers.values() if not one.program.alone)
        seen = chain.from_iterable(one.seen for one in answers)
        told = chain(self.loaded.warned, *(one.observed.warned for one in seen))
        places = ((self.source.place(line), text) for line, text in dict.fromkeys(told))
        return [f"A warning at {place}: {text}." for place, text in places]

    @property
    def public(self) -> References | None:
        """The references of the public cases, if they are there."""
        return self.side.public.references if self.side.public else None

    @property
    def source(self) -> Source:
        """The learner's text, and where its lines are; empty if it cannot be read."""
        return self.facts.source

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
        """The same file judged by the public cases; None if there are none, or nothing loaded.

        They run in a process that sees no hidden case. Names are decided on them alone. Otherwise
        learner code could choose names to reveal what it has seen.
        """
        public = self.side.public if self.references.hidden else None
        if public is None or self.loaded.status != Outcome.LOADED:
            return None
        return Attempt(self.lab, self.handed, self.course, public, of=self)

    def called_before(self, name: str) -> list[str]:
        """Return the earlier exercises that one exercise calls, as the learner's process reports.

        These include the exercises that its cases ask for by name, and the ones that those call.
        """
        asked = {name, *self.references.asked_by_name(name)}
        called = asked.union(*(self.loaded.calls.get(one, ()) for one in asked))
        return [one for one in self.exercises[: self.exercises.index(name)] if one in called]

    @cached_property
    def definitions(self) -> list[tuple[int, int, list[str]]]:
        """(first line, last line, names) of each top-level statement of the learner's text."""
        most = len(self.submitted.lines)
        return [(a, b, names) for names, a, b in self.facts.spans if b <= most]


class Answer(CheckedExercise):
    """One exercise of an attempt: the results of its cases, and the checks on them.

    program: it gave the results. seen: the results of all cases; errors have the line numbers of
    the submitted file. assigned: the learner's names that are decided by now. right_versions:
    sources that replaced wrong earlier exercises, by name.
    """

    attempt: Attempt

    def __init__(
        self,
        attempt: Attempt,
        name: str,
        program: Program,
        seen: list[Seen],
        assigned: Assignment | None = None,
        right_versions: dict[str, str] | None = None,
    ):
        self.attempt, self.name, self.program, self.seen = attempt, name, program, seen
        self.assigned, self.right_versions = assigned or program.assigned, right_versions or {}
        self.known: dict[tuple, Any] = {}  # what functions of this folder found out, see `once`

    def __getattr__(self, name: str) -> Callable:
        """Return a check of this name, the engine's or the course's own, as a method."""
        if name in (found := ENGINE_CHECKS | self.__dict__["attempt"].own.checks):
            return MethodType(found[name], self)
        raise AttributeError(name)

    def deciding(self, names: Assignment) -> "Answer":
        """Return this answer with these names decided."""
        return Answer(self.attempt, self.name, self.program, self.seen, names)

    @property
    def checks(self) -> list[Check]:
        """The checks that judge the exercise; graders leave out those without points."""
        own = self.attempt.chapter.exercise(self.name).checks
        return [check for check in own if check.points or self.attempt.for_learners]

    @cached_property
    def failures(self) -> dict[str, Exception | None]:
        """The errors of all checks, by their titles; None for one that holds."""
        return {check.says: self.failure(check) for check in self.checks}

    def failure(self, check: Check) -> Exception | None:
        """Return the error of a check: Wrong, or a fault of the check itself; None if it holds."""
        try:
            for call in check.calls:
                getattr(self, call.name)(*call.arguments, **call.settings)
        except Exception as error:
            return error
        return None

    def run_public(self, cases: list[Case]) -> list[Observation]:
        """Return the results of public cases of the exercise, under its names.

        They run in a process that has seen no hidden case, so it cannot repeat anything about one.
        """
        open_one = self.attempt.on_public_cases or self.attempt
        return open_one.lab.run(open_one.under(self.program.assigned, self.program.alone), cases)

    def rerun(self, case_name: str) -> Observation | None:
        """Run a public case of the exercise again, and record what happens inside its calls.

        Return None if there is no such case, if the file did not load, or if the cases are hidden.
        On hidden cases, the data come from the learner's process, so they could repeat hidden
        inputs.
        """
        case = next((one.case for one in self.seen if one.case.name == case_name), None)
        attempt = self.attempt
        if case is None or attempt.loaded.status != Outcome.LOADED or attempt.references.hidden:
            return None
        (observed,) = attempt.lab.run(self.program, [with_stages(case)])
        return observed

    @property
    def given_code(self) -> str:
        """The code of a find-the-bug exercise; empty if learners write all of it."""
        return self.attempt.references.bugs.get(self.name, "")

    @property
    def is_as_given(self) -> bool:
        """True if the given code is unchanged."""
        return bool(self.given_code) and self.attempt.facts.changes.get(self.name) == 0

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


def ran(
    attempt: Attempt,
    name: str,
    program: Program,
    assigned: Assignment | None = None,
    right_versions: dict[str, str] | None = None,
) -> Answer:
    """Run every case of an exercise in a program; return the answer. See Answer for the others."""
    entries = attempt.references.of(name)
    cases = [case for case, _ in entries]
    seen = [
        Seen(case, expected, in_names_of_stub(expected, got, program.assigned.weights))
        for (case, expected), got in zip(entries, observed(attempt, program, cases), strict=True)
    ]
    seen = [attempt.with_source_line(one) for one in seen]
    return Answer(attempt, name, program, seen, assigned, right_versions)


def observed(attempt: Attempt, program: Program, cases: list[Case]) -> list[Observation]:
    """Return the results of cases as the learner's process claims them.

    A stalled exercise before this one may have ended the process. Then a fresh one starts.
    """
    if attempt.loaded.status != Outcome.LOADED:
        return [Observation(attempt.loaded.status)] * len(cases)
    if program.alone:  # the definition may need the rest of the file
        name, _ = program.alone
        if failure := attempt.lab.load(program).failure_of(name):
            return [Observation(Outcome.ANSWERED, error=failure)] * len(cases)
    return attempt.lab.run(program, cases)


Find: TypeAlias = Callable[Concatenate[Answer, Arguments], Found]


def once(find: Find[Arguments, Found]) -> Find[Arguments, Found]:
    """Return a function about an answer that is called once for the same arguments."""

    @wraps(find)
    def known(answer: Answer, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Found:
        key = (find, *args, *kwargs.items())
        if key not in answer.known:
            answer.known[key] = find(answer, *args, **kwargs)
        return answer.known[key]

    return known
