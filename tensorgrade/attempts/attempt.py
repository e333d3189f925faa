"""An attempt: one learner's version of a chapter's code, as the tests see it.

attempt.run()                             # load the file, run the cases: once, aloud
attempt.normalise.agrees("values")        # a test reads what was seen
"""

import io
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cached_property
from itertools import chain
from types import MethodType

import torch

from ..course import Chapter, Course, CourseError, Tolerance
from ..exchange.cases import Case, last_call_alone, spoken_shape
from ..exchange.observation import CaughtError, Loaded, Observation, Outcome
from ..exchange.references import References, Seen
from ..exchange.stages import Way, read_way
from ..judging.agreement import disagreement, listed
from ..judging.checks import Checks
from ..judging.course_checks import CourseChecks
from ..judging.diagnosis import NO_WAY_BACK, Diagnosis, Finding, Kind, Step
from ..judging.handed_in import HandedIn
from ..judging.names import Names, in_asked_names
from ..judging.order import Order, assign, in_best_order
from ..judging.stages import STOPS_EARLY, Parting, capital, parting, parting_sentence
from ..judging.unanswered import UNWRITTEN
from ..judging.where_right import only_where_passed, right_and_wrong
from ..recognition.fingerprints import (
    Fingerprints,
    digest_of,
    imprints_of,
    in_order_for,
    recognise,
    right_imprints,
)
from ..recognition.signatures import imprint
from ..recognition.singletons import only_squeezed
from ..runner.edits import Edit
from ..runner.source import Source
from ..runner.stages import changes_its_input
from ..sources.beside import missing
from ..sources.submission import Submission, Weights, read_weights
from .backend import Backend
from .in_child import InChild
from .in_process import InProcess
from .pairs import Pairs

MOST_TRIES, TRIES_AT_ONCE = 150, 50  # of edits
FEW = 6  # cases that are run before the rest: most of what is wrong shows on them
MOST_CHANGED = 10  # parts of the tree of code that was given, by a repair
MOST_VERIFIED = 2  # of the edits that mend one case, those that are tried on all
MOST_READ = 3  # of what a line reads, those whose lines are told
MOST_OF_A_SIGNATURE = 20  # lines of a function's signature
# Where a call may be wrong for what the calls before it have left behind, and what is said of it.
AFTER_OTHERS = {Kind.ERROR, Kind.SHAPE, Kind.NAN, Kind.VALUES, Kind.FACT}
REPLACED = (
    "the code that runs in your file is not the definition of `{}` that was compared: that "
    "definition is run alone, without helpers or other lines of the file; mend it from the inside"
)
KEPT = "by itself, without the calls before it, this call is right: is something kept from them?"


class Attempt:
    """A learner's chapter behind a backend, beside the chapter's references.

    `attempt.normalise` is that exercise's part of it. own: the course's own checks. prints, public,
    public_prints: give the fingerprints, which take a while to be read, and the references that
    learners have, if those are there, with their fingerprints. pairs: gives what finds two mistakes
    at once on hidden cases, if it is there.
    """

    def __init__(
        self,
        backend: Backend,
        course: Course,
        references: References,
        prints: Callable[[], Fingerprints] = Fingerprints,
        own: CourseChecks | None = None,
        public: Callable[[], References | None] = lambda: None,
        public_prints: Callable[[], Fingerprints] = Fingerprints,
        pairs: Callable[[], Pairs | None] = lambda: None,
    ):
        self.backend, self.course, self.references = backend, course, references
        # By dtype, for the device that the learner's code runs on.
        self.tolerances: dict[str, Tolerance] = course.tolerances[backend.device]
        self.own = own or CourseChecks()
        self.public = public if references.hidden else lambda: references
        self.public_prints = public_prints
        # Runs the checks of some exercises; set by the session that holds the tests.
        self.checked: Callable[[Attempt, Collection[str]], list] = lambda attempt, names: []
        # The share of an exercise that its checks take for one known mistake alone; None if it
        # cannot be found out. Set by the same session.
        self.share_alone: Callable[[str, str], float | None] = lambda exercise, mistake: None
        self.chapter: Chapter = course.chapter(references.chapter)
        self.prints, self.pairs = prints, pairs
        self.loaded = Loaded(Outcome.UNREACHED)
        self.stubs = self.chapter.parameters
        # By what is called, where that is not the stub's order; and of what it is decided.
        self.orders: dict[str, Order] = {}
        self.decided: set[str] = set()
        self.saw_hidden = True  # the process that learner code runs in, as far as anybody knows
        self.on_hidden_cases: Attempt | None = None  # the same file, if this one is its public side
        self.exercises = {e.name: ExerciseAttempt(self, e.name) for e in self.chapter.exercises}

    def __getattr__(self, name: str) -> "ExerciseAttempt":
        exercises = self.__dict__.get("exercises", {})
        if name not in exercises:
            raise AttributeError(f"{self.__dict__.get('chapter', 'the chapter')} has no {name}")
        return exercises[name]

    def run(self, names: Collection[str] = ()) -> None:
        """Load the file and run the cases of these exercises (of all), each of them once."""
        if self.loaded.status == Outcome.UNREACHED:
            self.loaded = self.with_own_lines(self.backend.load())
        asked = [part for name, part in self.exercises.items() if not names or name in names]
        new = [part for part in asked if not part.seen]
        self.saw_hidden = self.saw_hidden or (bool(new) and self.references.hidden)
        for part in new:
            part.judge_by(in_best_order(self, part.name, self.claimed_on(part.name)))

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """The chapter's fingerprints, read when something is wrong."""
        return self.prints()

    @cached_property
    def handed_in(self) -> HandedIn:
        """The learner's text."""
        return HandedIn(self.backend.source.text)

    def with_own_lines(self, loaded: Loaded) -> Loaded:
        """The same with the lines of its errors as they were handed in."""
        problems = (replace(p, error=self.handed_in.in_place(p.error)) for p in loaded.problems)
        return replace(loaded, problems=tuple(problems))

    def in_place(self, claimed: Seen) -> Seen:
        """Return what was seen on a case, with an error's line as it was submitted."""
        error = claimed.observed.error
        if error is None:
            return claimed
        own = replace(claimed.observed, error=self.handed_in.in_place(error))
        return claimed._replace(observed=own)

    @cached_property
    def on_public_cases(self) -> "Attempt | None":
        """The same file judged by the public cases; None if there are none.

        They run in a process that has seen no hidden case. In which order arguments are passed is
        decided on them alone, or learner code could tell by it what it has seen.
        """
        public = self.public() if self.references.hidden else None
        if public is None or self.loaded.status != Outcome.LOADED:
            return None
        other = Attempt(self.backend, self.course, public, self.public_prints, self.own)
        other.loaded, other.on_hidden_cases, other.saw_hidden = self.loaded, self, False
        return other

    def claimed_on(self, name: str, backend: Backend | None = None) -> list[Seen]:
        """What the attempt gives on every case of an exercise, run in one exchange.

        backend: one of the same file, with stand-ins for some of it, in place of the attempt's own.
        """
        entries = [entry for entry in self.references.entries if entry[0].exercise == name]
        if self.loaded.status == Outcome.LOADED:
            # A stalled exercise before this one may have ended the process: then a fresh one.
            observed = self.observed(name, [case for case, _ in entries], backend)
        else:
            observed = [Observation(self.loaded.status)] * len(entries)
        return [
            Seen(case, expected, in_asked_names(expected, got))
            for (case, expected), got in zip(entries, observed, strict=True)
        ]

    def observed(self, name: str, cases: list[Case], backend: Backend | None) -> list[Observation]:
        """What a backend gives on the cases of an exercise; without one, its own."""
        backend = backend or self.backend_of(name)
        if backend is not self.backend and name in self.references.bugs:
            loaded = backend.load()
            if failure := loaded.failure_of(name):  # it needs another line of the file, say
                return [Observation(Outcome.ANSWERED, error=failure)] * len(cases)
        return backend.run(cases)

    def backend_of(self, name: str) -> Backend:
        """What runs an exercise: of code that was given, the learner's definition alone."""
        given = self.references.bugs.get(name)
        return self.backend.alone(name, given) if given else self.backend

    def called_before(self, name: str) -> list[str]:
        """The earlier exercises that the code of one calls, as the learner's process says.

        Or that its cases ask for by name, and what those call.
        """
        asked = {name, *self.references.asked_by_name(name)}
        called = asked.union(*(self.loaded.calls.get(one, ()) for one in asked))
        names = list(self.exercises)
        return [earlier for earlier in names[: names.index(name)] if earlier in called]

    def in_public(self, cases: list[Case]) -> list[Observation]:
        """What it gives on cases that learners have, in a process that has seen no hidden one.

        Such a process cannot repeat what it saw there.
        """
        self.forget_hidden()
        with quietly():
            return self.backend_of(cases[0].exercise).run(cases) if cases else []

    def forget_hidden(self) -> None:
        """Have the backend start anew where it may have seen a hidden case.

        It goes on with this attempt's orders: the one on public cases decides on its own.
        """
        if self.on_hidden_cases:
            self.on_hidden_cases.forget_hidden()
        if self.saw_hidden:
            self.backend.close()
        self.saw_hidden = False
        assign(self.backend, self.orders)

    @cached_property
    def changed(self) -> dict[str, int]:
        """By exercise: in how many parts the learner's code differs from what was given."""
        bugs = self.references.bugs
        return self.backend.changes(bugs) if bugs else {}

    @cached_property
    def given(self) -> "Attempt":
        """The code that learners are given to mend, as an attempt. It is ours, and runs here."""
        text = "\n\n".join(self.references.bugs.values())
        submission = Submission(f"{self.chapter.name}_given", Source(text, "given.py"))
        backend = InProcess(submission, self.backend.device)
        return Attempt(backend, self.course, self.references, own=self.own)

    def weights(self, name: str) -> Weights:
        """What is in a file that was handed in beside the learner's."""
        return self.backend.weights.get(name) or read_weights(missing(name))

    @cached_property
    def definitions(self) -> list[tuple[int, int, list[str]]]:
        """(first line, last line, names) of each top-level statement of the learner's text."""
        most = len(self.handed_in.lines)
        return [(a, b, names) for names, a, b in self.backend.spans() if b <= most]

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """By exercise, the names in the learner's text that it does not define itself."""
        return self.backend.names()

    def names_at(self, line: int) -> set[str]:
        """What the top-level statements bind that a line stands in."""
        spans = self.definitions
        return {name for first, last, names in spans if first <= line <= last for name in names}

    def place(self, line: int) -> str:
        """What a line is called where the learner wrote it."""
        return self.backend.source.place(line)


class ExerciseAttempt(Checks):
    """One exercise of an attempt: what was seen on each case, and the checks on it."""

    attempt: Attempt

    def __init__(self, attempt: Attempt, name: str):
        self.attempt, self.name = attempt, name
        # What the learner's process says; the lines of errors in `seen` are those submitted.
        self.claimed: list[Seen] = []
        self.seen: list[Seen] = []
        # The earlier exercise of the learner's that is all that is wrong here (earlier.py), and
        # the mistakes of those that are called.
        self.excused_by, self.inherited = "", set[str]()
        self.noted = ""  # what is said of such an exercise where more than that is wrong
        # Right earlier exercises in the place of the learner's wrong ones, by name (earlier.py).
        self.stand_ins: dict[str, str] = {}
        # Found where they are asked for, by whether it is those of cases that end in an error.
        self.partings: dict[bool, Parting | None] = {}
        for check, function in attempt.own.checks.items():
            if hasattr(self, check):
                raise CourseError(f"checks.py: {check!r} is taken; choose another name")
            setattr(self, check, MethodType(function, self))

    def judge_by(self, claimed: list[Seen], stand_ins: dict[str, str] | None = None) -> None:
        """Be judged by what the learner's process says on all cases, in this run or another one.

        stand_ins: sources that stood for some of the learner's own definitions in that run.
        """
        self.claimed, self.stand_ins = claimed, stand_ins or {}
        self.seen = [self.attempt.in_place(seen) for seen in claimed]
        for known in ("mistakes", "is_only_squeezed", "names", "is_replaced"):
            self.__dict__.pop(known, None)

    def finding(self, asks: str, diagnosis: Diagnosis) -> Finding:
        """All that is to be said about a failed check. asks: the check's own line.

        What takes another run is said on public cases alone: of hidden ones it is redacted.
        """
        if self.is_replaced:
            said = REPLACED.format(self.name)
            return Finding(asks, Diagnosis(Kind.FACT, said, diagnosis.called, case=diagnosis.case))
        unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
        more = (
            self.with_line_that_changes,
            self.with_what_is_never_reached,
            self.with_line_that_cuts,
            self.with_what_is_kept,
        )
        for add in () if self.attempt.references.hidden else more:
            diagnosis = add(diagnosis)
        names = () if unfinished else self.mistakes_on(diagnosis.case)
        return Finding(
            asks,
            diagnosis,
            {name: self.attempt.fingerprints.messages[name] for name in names},
            lambda: self.trace(diagnosis.case),
            lambda: None if unfinished else self.parting_for(diagnosis),
            lambda: [] if unfinished else self.said(diagnosis.case),
        )

    def with_line_that_changes(self, diagnosis: Diagnosis) -> Diagnosis:
        """The same with the lines that write over something, where that is what is wrong."""
        place = self.attempt.place
        if diagnosis.error and is_for_want_of_a_copy(diagnosis.error) and self.lines_in_place:
            first, *others = self.lines_in_place
            said = listed([place(first), *map(place, others)])
            told = f"{diagnosis.problem}; {said} {'work' if others else 'works'} in place"
            return replace(diagnosis, problem=told, line=first)
        lines = self.changing_lines(diagnosis.case) if diagnosis.changes else {}
        if line := lines.get(diagnosis.changes):
            told = diagnosis.problem.replace("it changes", f"{place(line)} changes", 1)
            return replace(diagnosis, problem=told, line=line)
        return diagnosis

    @cached_property
    def lines_in_place(self) -> list[int]:
        """The lines that write into a tensor on the way of learners' cases."""
        public = self.attempt.public()
        entries = public.asked_for_stages if public else []
        cases = [case for case, _ in entries if case.exercise == self.name]
        ways = map(read_way, self.attempt.in_public(cases))
        stages = (stage for way in ways for stage in way.stages)
        lines = {one.line for one in stages if one.line and changes_its_input(one.operation)}
        return sorted(line for line in lines if not self.attempt.handed_in.is_making(line))

    def changing_lines(self, name: str) -> dict[str, int]:
        """The line that changes something passed in, by its name, on learners' cases like one."""
        public = self.attempt.public()
        groups = {seen.case.group for seen in self.seen if seen.case.name == name}
        entries = public.of(self.name) if public else []
        asked = [with_steps(case, changes=True) for case, _ in entries if case.group in groups]
        seen = self.attempt.in_public(asked) if asked else []
        lines = range(1, len(self.attempt.handed_in.lines) + 1)
        return {
            name: at
            for one in seen
            for facts in one.facts.values()
            for name, at in lines_of_changes(facts)
            if at in lines
        }

    def with_what_is_never_reached(self, diagnosis: Diagnosis) -> Diagnosis:
        """The same, with the line that still says "to do" beside code that is there."""
        line, text = diagnosis.error and diagnosis.error.line, self.attempt.handed_in
        if diagnosis.problem != UNWRITTEN or not line:
            return diagnosis
        said = f"{self.attempt.place(line)} still raises NotImplementedError"
        if text.goes_on_below(line):
            said += ", so the code below it is never reached"
        elif text.comes_behind_code(line):
            said += " behind the code above it: what is asked for is to be returned there instead"
        else:
            return diagnosis
        return replace(diagnosis, problem=said)

    def with_line_that_cuts(self, diagnosis: Diagnosis) -> Diagnosis:
        """The same with the line that no gradient goes back through, where there is just one."""
        if not diagnosis.problem.endswith(NO_WAY_BACK):
            return diagnosis
        lines = chain(*(range(first, last + 1) for first, last in self.own_lines))
        cuts = self.attempt.handed_in.cuts(lines)
        if len(cuts) != 1:
            return diagnosis
        ((line, word),) = cuts
        told = f"{diagnosis.problem}; none goes back through `{word}` on {self.attempt.place(line)}"
        return replace(diagnosis, problem=told, line=line)

    def with_what_is_kept(self, diagnosis: Diagnosis) -> Diagnosis:
        """The same where calls before one make it wrong: it is right by itself."""
        case = next((seen.case for seen in self.seen if seen.case.name == diagnosis.case), None)
        if diagnosis.kind not in AFTER_OTHERS or case is None or last_call_alone(case) is None:
            return diagnosis
        if not self.keeps_something:
            return diagnosis
        return replace(diagnosis, problem=f"{diagnosis.problem}; {KEPT}")

    @cached_property
    def keeps_something(self) -> bool:
        """Whether on a case that learners have a call is wrong, and is right without those before.

        Asked only where no known mistake explains it and every single call is right.
        """
        public = self.attempt.public()
        single = (seen for seen in self.claimed if last_call_alone(seen.case) is None)
        if public is None or self.mistakes or not all(self.is_right(*seen) for seen in single):
            return False
        entries = [
            (case, *alone, expected)
            for case, expected in public.of(self.name)
            if case.signature == "values" and (alone := last_call_alone(case))
        ]
        self.attempt.backend.close()  # what a function keeps, it keeps from case to case
        by_itself = self.attempt.in_public([alone for _, alone, _, _ in entries])
        after_others = self.attempt.in_public([case for case, *_ in entries])
        return any(
            last in after.facts  # the calls before came to an end
            and self.gives(case, last, expected, alone)
            and not self.gives(case, last, expected, after)
            for (case, _, last, expected), alone, after in zip(
                entries, by_itself, after_others, strict=True
            )
        )

    def gives(self, case: Case, call: str, expected: Observation, seen: Observation) -> bool:
        """Whether of one of a case's calls comes what should, and something should."""
        own = {name: t for name, t in expected.tensors.items() if name.split(".")[0] == call}
        last = replace(expected, tensors=own, facts={})
        return bool(own) and not seen.error and self.is_right(case, last, seen)

    def trace(self, name: str) -> list[Step]:
        """A case run once more: the tensors on the way through the learner's own code."""
        observed = self.again(name, "trace")
        return read_trace(observed) if observed else []

    def said(self, name: str) -> list[str]:
        """A case run once more: the first lines that the learner's own code prints in its calls."""
        may_print = self.attempt.handed_in.prints_when_called
        observed = self.again(name, "aloud") if may_print else None
        return read_said(observed) if observed else []

    def again(self, name: str, asking_for: str) -> Observation | None:
        """A case run once more, with calls that tell more. None on hidden ones: it is a claim."""
        case = next((seen.case for seen in self.seen if seen.case.name == name), None)
        if case is None or self.attempt.loaded.status != Outcome.LOADED:
            return None
        if self.attempt.references.hidden:  # the names in a trace are claims
            return None
        with quietly():
            backend = self.attempt.backend_of(self.name)
            (observed,) = backend.run([with_steps(case, **{asking_for: True})])
        self.attempt.backend.close()
        return observed

    @property
    def bug(self) -> str:
        """The code that is given to be mended; empty where learners write it themselves."""
        return self.attempt.references.bugs.get(self.name, "")

    @property
    def is_as_given(self) -> bool:
        """Whether that code has not been changed, and nothing was put in its place."""
        unchanged = bool(self.bug) and self.attempt.changed.get(self.name) == 0
        return unchanged and not self.is_replaced

    @cached_property
    def is_replaced(self) -> bool:
        """Return True if the learner's file is right where its definition alone is wrong.

        Then something else in the file runs under that name, or the definition needs more of the
        file. The file's process may lie about that: it is a matter of words, and of no points.
        """
        if not self.bug or self.attempt.loaded.status != Outcome.LOADED:
            return False
        wrong = next((seen for seen in self.claimed if not self.is_right(*seen)), None)
        if wrong is None or wrong.observed.status != Outcome.ANSWERED:
            return False
        if wrong.observed.error and wrong.observed.error.missing == self.name:
            return self.name in self.attempt.loaded.names
        with quietly():
            (in_file,) = self.attempt.backend.run([wrong.case])
        self.attempt.backend.close()  # it has seen a case that may be hidden
        return self.is_right(wrong.case, wrong.expected, in_file)

    @property
    def is_rewritten(self) -> bool:
        """Whether more of that code was changed than a repair needs, or it is no definition now."""
        changed = self.attempt.changed.get(self.name, MOST_CHANGED + 1)
        return bool(self.bug) and changed > MOST_CHANGED

    @cached_property
    def mistakes(self) -> tuple[str, ...]:
        """The known mistakes that the attempt made, if what was seen matches their fingerprint."""
        prints, own = self.attempt.fingerprints, self.attempt.own.signatures
        return recognise(self.name, self.claimed, prints, own, self.pair_of_mistakes)

    def pair_of_mistakes(self) -> tuple[str, ...]:
        """Two known mistakes that give, made at once, what was seen on hidden cases; () if none do.

        There are thousands of pairs, which learner code could choose from by hidden inputs. So the
        public cases say which two it may be, and the hidden ones whether it is those.
        """
        pairs = self.attempt.pairs()
        if pairs is None or self.attempt.loaded.status != Outcome.LOADED:
            return ()
        names = pairs.looked_up(self.name, self.seen_in_public)
        return names if names and pairs.proved(self.name, names, self.claimed) else ()

    def seen_in_public(self) -> list[Seen]:
        """Return what the attempt gives on the public cases; [] if one gave no answer."""
        part = self.on_public_cases
        if part is None or not self.stand_ins:
            return part.claimed if part else []
        backend = self.attempt.backend.fresh(self.stand_ins)
        assign(backend, part.attempt.orders)
        try:
            return part.attempt.claimed_on(self.name, backend)
        finally:
            backend.close()

    @cached_property
    def on_public_cases(self) -> "ExerciseAttempt | None":
        """The same exercise on the public cases; None if there are none, or one gave no answer."""
        other = self.attempt.on_public_cases
        if other is None:
            return None
        part = other.exercises[self.name]
        if not part.seen:
            other.forget_hidden()
            with quietly():
                other.run([self.name, *other.called_before(self.name)])
            assign(self.attempt.backend, self.attempt.orders)
        answered = all(seen.observed.status == Outcome.ANSWERED for seen in part.seen)
        return part if answered else None

    @cached_property
    def public_checks(self) -> list:
        """The results of the checks on the public cases; none if these could not be run."""
        if self.on_public_cases is None:
            return []
        other = self.on_public_cases.attempt
        names = [*other.called_before(self.name), self.name]
        return [one for one in self.attempt.checked(other, names) if one.exercise == self.name]

    @property
    def noted_in_public(self) -> str:
        """What public cases say of an earlier exercise that is wrong and called here, if any is."""
        return self.on_public_cases.noted if self.public_checks and self.on_public_cases else ""

    @property
    def told_names(self) -> Names:
        """The learner's own names, as public cases show them if the others are hidden."""
        if not self.attempt.references.hidden:
            return self.names
        asked = self.names.sentence or "public_checks" in self.__dict__
        return self.on_public_cases.names if asked and self.on_public_cases else Names()

    @cached_property
    def is_only_squeezed(self) -> bool:
        """Whether results have lost dimensions of size 1, and nothing else is wrong in any case."""
        return only_squeezed(self.claimed, self.attempt.own.signatures)

    @property
    def same_answers(self) -> str:
        """A name for what the attempt gives on all cases, the same for all that give the same.

        Empty for what looks right on all of them: what is wrong lies elsewhere, in weights say.
        """
        own = self.attempt.own.signatures
        imprints, right = imprints_of(self.claimed, own), right_imprints(self.claimed, own)
        if all(right[case].matches(one) for case, one in imprints.items()):
            return ""
        return digest_of(self.name, imprints, secret_of(self.attempt.references.of(self.name)))

    def mistakes_on(self, case: str) -> tuple[str, ...]:
        """The mistakes, that one first which alone explains what is seen on a case."""
        if len(self.mistakes) < 2 or case not in {seen.case.name for seen in self.claimed}:
            return self.mistakes
        prints, own = self.attempt.fingerprints.by_exercise[self.name], self.attempt.own.signatures
        imprints, right = imprints_of(self.claimed, own), right_imprints(self.claimed, own)
        return in_order_for(case, self.mistakes, prints, imprints, right)

    @cached_property
    def names(self) -> Names:
        """The names that the learner has for what the stub names otherwise.

        One that stands in an earlier exercise, of which this one is built, is told of there.
        """
        own = (one for called, one in self.attempt.orders.items() if self.is_called(called))
        names = Names.told([one.observed for one in self.seen], tuple(own))
        made = self.attempt.references.asked_by_name(self.name)
        for earlier in self.attempt.called_before(self.name):
            names = names.without(self.attempt.exercises[earlier].names, itself=earlier in made)
        return names

    def is_called(self, called: str) -> bool:
        """Return True if a name is that of the exercise, or of a method of its own."""
        return called.partition(".")[0] == self.name

    @cached_property
    def repair(self) -> Edit | None:
        """A small edit of the learner's own definition with which everything is right, if any.

        Looked for on a case that learners have, in a process that has seen no hidden one; believed
        only when it holds on every hidden case. Nobody but an instructor gets to see it.
        """
        public, backend = self.attempt.public(), self.attempt.backend
        if self.bug:  # the place of the mistake is what is to be found
            return None
        if public is None or not self.attempt.references.hidden or not isinstance(backend, InChild):
            return None
        if (wrong := self.wrong_in_public(public)) is None:
            return None
        left = self.parting(self.raises_on_a_line)
        line = left.line if left else 0
        for first in range(0, MOST_TRIES, TRIES_AT_ONCE):
            self.attempt.forget_hidden()
            tries = backend.tries(self.name, line, wrong[0], first, TRIES_AT_ONCE)
            ours = [one for one in tries if one[0].is_one_of(self.attempt.handed_in.text)]
            good = [edit for edit, seen in ours if self.is_right(*wrong, seen)]
            if found := next((edit for edit in good[:MOST_VERIFIED] if self.holds(edit)), None):
                return found
        return None

    def wrong_in_public(self, public: References) -> tuple[Case, Observation] | None:
        """A case that learners have, on which the attempt is wrong; None where there is none."""
        entries = public.of(self.name)
        for some in (entries[:FEW], entries[FEW:]):
            observed = self.attempt.in_public([case for case, _ in some])
            for entry, seen in zip(some, observed, strict=True):
                if not self.is_right(*entry, seen):
                    return entry
        return None

    def is_right(self, case: Case, expected: Observation, seen: Observation) -> bool:
        """Whether an observation is a right answer's, after the case's own signature."""
        own, got = self.attempt.own.signatures, seen.tensors
        for name, tensor in expected.tensors.items():
            if name not in got or (got[name].shape, got[name].is_floating_point()) != (
                tensor.shape,
                tensor.is_floating_point(),
            ):
                return False
        if case.signature == "values" and any(
            disagreement(seen.tensors.get(name), tensor, self.attempt.tolerances)
            for name, tensor in expected.tensors.items()
        ):
            return False
        return imprint(case, expected, seen, own).matches(imprint(case, expected, expected, own))

    def holds(self, edit: Edit) -> bool:
        """Whether the learner's text with an edit is right on every hidden case."""
        assert isinstance(self.attempt.backend, InChild), "only there edits are tried"
        mended = self.attempt.backend.with_text(edit.text)
        entries = self.attempt.references.of(self.name)
        try:
            return all(self.all_right(mended, some) for some in (entries[:FEW], entries[FEW:]))
        finally:
            mended.close()

    def all_right(self, mended: Backend, entries: list[tuple[Case, Observation]]) -> bool:
        """Whether a mended text is right on these cases."""
        observed = mended.run([case for case, _ in entries])
        return all(self.is_right(*one, seen) for one, seen in zip(entries, observed, strict=True))

    def parting_for(self, diagnosis: Diagnosis) -> Parting | None:
        """Where the values on the way part from those of right answers; None where none can tell.

        Of a check that failed with an error, on the way to one: that line is sure, and values that
        part elsewhere distract from it. Of another check they are what is told.
        """
        return self.parting(bool(diagnosis.error and diagnosis.error.line))

    def parting(self, raised: bool) -> Parting | None:
        """The same on the cases that end in an error on a line, or on the others."""
        if raised not in self.partings:
            self.partings[raised] = self.looked_for(raised)
        return self.partings[raised]

    def looked_for(self, raised: bool) -> Parting | None:
        """The same, looked for.

        On cases that learners have, in a process that has seen no hidden case: whatever is said of
        it, it says nothing of those.
        """
        public = self.attempt.public()
        if public is None or self.attempt.loaded.status != Outcome.LOADED:
            return None
        entries = [one for one in public.asked_for_stages if one[0].exercise == self.name]
        observed = self.attempt.in_public([case for case, _ in entries])
        seen_on = list(zip(entries, observed, strict=True))
        if not raised:  # what could not be given its weights is the cause of all else
            seen_on.sort(key=lambda one: not self.without_weights(one[0][0], one[1]))
        for (case, expected), seen in seen_on:
            if strangers := self.without_weights(case, seen):
                if made := self.wrong_default or self.making_one_of(case, strangers):
                    return made
                continue  # it was asked with other weights: its values say nothing
            if raised != (seen.error is not None and (raised or seen.error.line is not None)):
                continue
            way = read_way(seen).told_in(self.is_own_line)
            found = parting(Seen(case, expected, seen), way, public.ways[case.id])
            if found and self.is_own_line(found.line):
                found = self.with_what_it_reads(self.from_loop(found), case, way)
                return replace(found, said=parting_sentence(found, self.attempt.place))
        return self.wrong_default

    @property
    def wrong_default(self) -> Parting | None:
        """The line of a default, where all is right that does not leave it to that."""
        name = only_where_passed(*right_and_wrong(self.seen, self.attempt.tolerances))
        lines = (line for first, last in self.own_lines for line in range(first, last + 1))
        starts = (
            line for line in lines if self.attempt.handed_in.code(line).lstrip().startswith("def ")
        )
        made = (
            self.attempt.handed_in.default(name, range(at, at + MOST_OF_A_SIGNATURE))
            for at in starts
        )
        if not name or not (line := next(filter(None, made), 0)):
            return None
        said = (
            f"{capital(self.attempt.place(line))} says what `{name}` is where it is not passed in."
        )
        return Parting(line, said=said)

    @property
    def own_lines(self) -> list[tuple[int, int]]:
        """The first and the last line of each statement that defines the exercise."""
        return [(a, b) for a, b, names in self.attempt.definitions if self.name in names]

    def from_loop(self, found: Parting) -> Parting:
        """The same, from the function on at most; and from the loop on that ends too early."""
        if not found.since:
            return found
        text = self.attempt.handed_in
        since = found.since if found.since > 1 else text.body(found.line).start or found.line
        loop = text.above(since, "for", "while") if found.what == STOPS_EARLY else 0
        return replace(found, since=loop or since)

    def with_what_it_reads(self, found: Parting, case: Case, way: Way) -> Parting:
        """The same with the lines that make what its line reads, as far as nobody knows it right.

        That is no tensor of the way, nor a part that is what its weights make it.
        """
        text, raised = self.attempt.handed_in, found.raised or "comes back" in found.what
        if raised or found.what.startswith(("`", "nothing is done")) or found.unused:
            return found
        known = {name for stage in way.stages for name in stage.names}
        known |= {f"self.{name}" for name in self.made_by_weights(case)}
        known |= {name for step in case.steps for name in step.get("arguments", {})}
        spans = [span for span in self.attempt.definitions if span[0] <= found.line <= span[1]]
        made = [
            (name, made)
            for first, last, _ in spans
            for line in dict.fromkeys((found.line, found.since))
            for name, made in text.sources(line, range(first, last + 1))
            if name not in known and not self.is_idle(made, case)
        ]
        return replace(found, reads=tuple(dict.fromkeys(made))[:MOST_READ])

    def made_by_weights(self, case: Case) -> set[str]:
        """The parts of the module that are nothing but weights of a case, or one layer of them."""
        asked = [name for step in case.steps for name in step.get("weights", {})]
        deep = {name.partition(".")[0] for name in asked if name.count(".") > 1}
        return {name.partition(".")[0] for name in asked} - deep

    def is_idle(self, line: int, case: Case) -> bool:
        """Whether a line makes a dropout, which does nothing in evaluation."""
        training = any(step.get("training") for step in case.steps if step["verb"] == "mode")
        return "Dropout(" in self.attempt.handed_in.code(line) and not training

    @property
    def raises_on_a_line(self) -> bool:
        """Whether a case that should give a result ends in an error, on a line of the text."""
        errors = (seen.observed.error for seen in self.seen if not seen.expected.error)
        return any(error.line for error in errors if error)

    def without_weights(self, case: Case, seen: Observation) -> list[tuple[str, list[int] | None]]:
        """The parameters that could not be given a case's weights, with the shape that they have;
        None for what is not there, or is not asked for.
        """
        asked = {name for step in case.steps for name in step.get("weights", {})}
        misshapen: dict = seen.fact("load", "misshapen", default={})
        missing: list = seen.fact("load", "missing", default=[])
        told = [(name, shape) for name, shape in misshapen.items() if is_shape(shape)]
        told += [(name, None) for name in missing if isinstance(name, str)]
        unexpected: list = seen.fact("load", "unexpected", default=[])
        more = [(name, None) for name in unexpected if isinstance(name, str)]
        return [one for one in told if one[0] in asked] + more

    def making_one_of(
        self, case: Case, strangers: list[tuple[str, list[int] | None]]
    ) -> Parting | None:
        """The line that makes the first of another shape, or the one part that all are in."""
        parts = {name.partition(".")[0] for name, _ in strangers}
        misshapen = [one for one in strangers if one[1] is not None]
        chosen = misshapen or (strangers if len(parts) == 1 else [])
        return self.making(case, chosen[0]) if chosen else None

    def making(self, case: Case, parameter: tuple[str, list[int] | None]) -> Parting | None:
        """The line that makes the part of the module in which a parameter is not as asked for."""
        (name, shape), (part, _, inner) = parameter, parameter[0].partition(".")
        line = self.line_making(part)
        if line is None or shape is None:
            said = f"{capital(self.attempt.place(line))} makes `{part}`." if line else ""
            return Parting(line, said=said) if line else None
        keys = {n: key for step in case.steps for n, key in step.get("weights", {}).items()}
        sizes, right = spoken_shape(shape), spoken_shape(case.tensors[keys[name]].shape)
        # What is deeper inside belongs to a class that may be none of the learner's.
        what = "a weight in it" if is_deep(inner) else f"`{name}`" if inner else "it"
        place = capital(self.attempt.place(line))
        said = f"{place} makes `{part}`: {what} has shape {sizes} where {right} is asked for."
        return Parting(line, said=said)

    def line_making(self, attribute: str) -> int | None:
        """The line of the definition that gives `self` an attribute; None where not just one."""
        lines = [range(first, last + 1) for first, last in self.own_lines]
        word = f"self.{attribute}"
        return self.attempt.handed_in.making(word, list(chain(*lines))) or None

    def line_of(self, error: CaughtError) -> int | None:
        """The line of an error; where that is another exercise's, the one that calls it."""
        elsewhere = bool(error.line and error.called) and not self.is_own_line(error.line or 0)
        return error.called if elsewhere else error.line

    def is_own_line(self, line: int) -> bool:
        """Whether it is a line that can be blamed: of the text, and of no other exercise.

        Right values part in a right helper too, where they come to it wrong: then the line is
        blamed that calls it. What another exercise that is called here speaks of is that one's.
        """
        attempt = self.attempt
        exercises = {one.name for chapter in attempt.course.chapters for one in chapter.exercises}
        called = exercises.intersection(attempt.loaded.calls.get(self.name, ()))
        theirs = exercises.union(*(attempt.loaded.calls.get(one, ()) for one in called))
        others = theirs - {self.name}
        inside = 0 < line <= len(attempt.handed_in.lines)
        return inside and others.isdisjoint(attempt.names_at(line))


@contextmanager
def quietly() -> Iterator[None]:
    """What learner code prints while it is run once more would stand in the middle of a note."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        yield


def with_steps(case: Case, **asked: bool) -> Case:
    """A case whose calls ask for more."""
    steps = (step | asked if step["verb"] == "call" else step for step in case.steps)
    return replace(case, steps=tuple(steps))


def is_for_want_of_a_copy(error: CaughtError) -> bool:
    """Whether a gradient needs what was written over; torch says so after the call, of no line."""
    return error.line is None and "modified by an inplace operation" in error.text


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
        (line, name, tuple(size) if isinstance(size, list) else size)
        for line, name, size in entries
        if isinstance(line, int) and isinstance(name, str) and is_size(size)
    ]


def read_said(observed: Observation) -> list[str]:
    """The lines that the calls of a case printed. They are a claim: what is no text is left out."""
    told = [facts.get("said") for facts in observed.facts.values()]
    lines = [line for one in told if isinstance(one, list) for line in one]
    return [line for line in lines if isinstance(line, str)]


def is_deep(inner: str) -> bool:
    """Whether a name is that of something in a part of a part, numbers of a list aside."""
    return sum(not word.isdigit() for word in inner.split(".")) > 1


def is_shape(told: object) -> bool:
    """Whether something is the shape of a tensor."""
    return isinstance(told, list) and all(type(size) is int and size >= 0 for size in told)


def is_size(told: object) -> bool:
    """Whether something is a shape or a whole number."""
    if isinstance(told, list):
        return all(isinstance(size, int) for size in told)
    return type(told) is int


def secret_of(entries: list[tuple[Case, Observation]]) -> bytes:
    """Return what learner code never sees: names of cases, and some numbers of right results.

    These are few and rounded: each machine builds its own references, and processors differ in the
    last digit.
    """
    told = [
        (case.id, *(f"{x:.2g}" for _, t in sorted(seen.tensors.items()) for x in some_of(t)))
        for case, seen in entries
    ]
    return repr(told).encode()


def some_of(tensor: torch.Tensor) -> list[float]:
    """Return the first, the middle and the last number of a tensor."""
    flat, count = tensor.flatten(), tensor.numel()
    return [flat[at].item() for at in (0, count // 2, count - 1)] if count else []


def lines_of_changes(facts: dict) -> list[tuple[str, int]]:
    """(name, line) of what a call changed and did not put back, as the learner's process claims.

    >>> lines_of_changes({"changed_at": {"x": 3, "y": 5}, "changed": ["x"]})
    [('x', 3)]
    """
    told, left = facts.get("changed_at"), (facts.get("changed"), facts.get("altered"))
    stays = [name for names in left if isinstance(names, list) for name in names]
    pairs = told.items() if isinstance(told, dict) else ()
    known = [(name, at) for name, at in pairs if type(at) is int]
    return [(name, at) for name, at in known if name in stays or "changed" not in facts]
