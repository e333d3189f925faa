"""Run the cases of an exercise and a side on the solution and on every wrong version.

A side is `graders/` or `exercises/`. The key of a recording is a digest of everything that its runs
depend on. Lesson text, docstrings, comments and messages do not count. The numbers of the cases are
rounded, because processors differ in the last digit of a random number.
"""

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path

import torch

from ..attempts.attempt import Answer, Attempt
from ..attempts.lab import Lab
from ..attempts.side import Side
from ..built import RECORDING
from ..cells import text_in
from ..course import Chapter, CourseError, Limits
from ..exchange.cases import SETTINGS, Case
from ..exchange.observation import CaughtError, Loaded, Observation, Outcome
from ..exchange.references import References, Seen, case_to_json
from ..exchange.stored import stored_path
from ..exchange.traces import Trace, read_trace, with_stages
from ..exchange.values import unjudged
from ..judging.checks import FILE, load_checks
from ..judging.names import in_names_of_stub
from ..judging.where import LARGEST
from ..project import Project, parsed
from ..recognition.edits import place_of, with_mistakes
from ..recognition.fingerprints import Fingerprint, Names, as_stored, imprints_of
from ..recognition.imprints import Imprint
from ..recognition.signatures import UNSEEN
from ..runner.serve import seconds
from ..runner.wire import pack
from ..sources.program import Program, Source
from . import cases_of
from .lessons import bug_of
from .mistakes import known

checks_in = lru_cache(maxsize=4)(load_checks)  # every recording of a course asks for them
Imprints = dict[str, Imprint]  # by the name of the case

SECONDS_OF_A_VERSION = 20  # of processor time, on all cases; most take a tenth of a second
MOST_CASES = 4  # the most cases of an exercise with stored stages
DIGITS = 16  # binary digits of a case's number that count in the key
DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


class Recording:
    """An exercise's cases, to be run on the solution and on one wrong version after another.

    hidden: use the graders' numbers instead of the learners'. bugs: the code that learners of a
    find-the-bug exercise are given, by its name.
    """

    def __init__(self, project: Project, chapter: str, exercise: str, hidden: bool):
        self.project, self.chapter = project, chapter
        self.exercise, self.hidden = exercise, hidden
        self.entry = project.course.chapter(chapter).exercise(exercise)
        self.lesson = project.solution(chapter)
        self.source = self.lesson.read_text(encoding="utf-8")
        self.mistakes = {mistake.name: mistake for mistake in known(project, exercise)}
        self.own = checks_in(project.graders)  # the course's checks and signatures
        self.path = stored_path(project.graders if hidden else project.exercises, chapter, exercise)
        self.pairs_path = project.graders / "pairs" / f"{exercise}.json.xz"
        self.cases = cases_of(project, chapter, exercise, hidden)
        self.bugs = {exercise: bug_of(project, chapter, exercise)} if self.entry.like else {}

    @cached_property
    def program(self) -> Program:
        """Return the solution as a program."""
        return self.project.program(self.chapter, self.source)

    def run(self, text: str, cases: list[Case]) -> tuple[Loaded, list[Observation]]:
        """Load a chapter's text in this process and run cases. Use it only for code of ours."""
        lab = Lab(None, Limits())
        program = replace(self.program, source=Source(text, f"{self.chapter}.py"))
        with warnings.catch_warnings(action="ignore"):  # some mistakes cause torch warnings
            loaded = lab.load(program)
            with seconds(SECONDS_OF_A_VERSION, processor=True):
                return loaded, lab.run(program, cases)

    # --- the key ------------------------------------------------------------------------------

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Return the texts that decide what the versions are and how their results are stored."""
        given = sorted((self.project.exercises / "given" / self.chapter).glob("*.py"))
        checks, own, own_file = self.entry.checks, self.own, self.project.graders / FILE
        called = {call.name for check in checks for call in check.calls}
        signatures = {case.signature for case in self.cases}
        has_own = called & own.checks.keys() or signatures & own.signatures.keys()
        return (
            code_of(self.source, self.lesson),
            repr([(one.name, one.edits) for one in self.mistakes.values()]),
            repr([(check.points, check.says, check.calls) for check in checks]),
            repr(self.bugs),
            *(f"{path.name} {code_of(text_in(path), path)}" for path in given),
            *([code_of(text_in(own_file), own_file)] if has_own else []),
            repr(sorted(self.project.stages.items())),
        )

    @property
    def key(self) -> str:
        """Return the key. Raise CourseError if a file cannot be read."""
        seen = blake2b(f"{RECORDING} {torch.__version__}".encode(), digest_size=12)
        has_pairs = not self.hidden and self.pairs_path.exists()
        stored = [self.pairs_path.read_bytes().hex()] if has_pairs else []
        for text in (*self.texts, *stored):
            seen.update(f"{len(text)} {text}".encode())
        for case in self.cases:
            types = {name: str(tensor.dtype) for name, tensor in case.tensors.items()}
            numbers = {name: rounded(tensor) for name, tensor in case.tensors.items()}
            seen.update(pack(case_to_json(case) | {"types": types}, numbers))
        return seen.hexdigest()

    # --- the solution -------------------------------------------------------------------------

    @cached_property
    def references(self) -> References:
        """Run the solution on the cases. Raise CourseError if it fails on one."""
        loaded, seen = self.run(self.source, self.cases)
        for broken in loaded.problems:
            error = broken.error
            raise CourseError(f"{self.lesson}:{error.line}: {error.type}: {error.text}, on import")
        for case, observation in zip(self.cases, seen, strict=True):
            for problem in why_not_gradable(case, observation):
                raise CourseError(f"{self.lesson}: {self.exercise}, case {case.name}: {problem}")
        traces = {} if self.hidden or self.bugs else self.traces(self.cases)
        entries = tuple(zip(self.cases, seen, strict=True))
        return References(self.chapter, self.hidden, entries, traces, self.bugs)

    @property
    def with_unfixed(self) -> References:
        """Return the references with the checks that the given code of the exercise fails."""
        if not self.bugs:
            return self.references
        _, observed = self.run(self.bugs[self.exercise], self.cases)
        seen = zip(self.references.entries, observed, strict=True)
        _, fails = self.taken_by_checks([Seen(*entry, one) for entry, one in seen])
        return replace(self.references, unfixed={self.exercise: list(fails)})

    def traces(self, cases: list[Case]) -> dict[str, Trace]:
        """Return the solution's traces for one case of each group, MOST_CASES at most, by id.

        Stages are useful for a case that is one call, judged by its values.
        """
        told = [case for case in cases if len(case.calls) == 1 and case.has_right_values]
        first = {case.group: case.name for case in reversed(told)}
        chosen = [case for case in cases if case.name == first.get(case.group)][:MOST_CASES]
        _, seen = self.run(self.source, list(map(with_stages, chosen)))
        return {
            case.id: self.as_reference(read_trace(one))
            for case, one in zip(chosen, seen, strict=True)
        }

    def as_reference(self, trace: Trace) -> Trace:
        """Return a trace with the course's names for the exercise's own values, the small ones."""
        first, last = place_of(self.source, self.exercise)
        words, stages = self.project.stages, []
        for stage in trace.stages:
            told = stage.names if first < stage.line <= last else ()  # not those of what it calls
            names = tuple(words[name] for name in told if name in words)
            is_large = stage.value is not None and stage.value.numel() > LARGEST
            stages.append(replace(stage, names=names, value=None if is_large else stage.value))
        return replace(trace, stages=tuple(stages))

    @cached_property
    def right(self) -> Imprints:
        """Return the solution's imprint on each case."""
        return self.imprints([Seen(case, seen, seen) for case, seen in self.references.entries])

    # --- wrong versions -----------------------------------------------------------------------

    def single(self, name: str) -> Fingerprint:
        """Return the fingerprint of one mistake. Raise CourseError if its version cannot be run."""
        loaded, seen = self.seen((name,))
        begun = f"{self.mistakes[name].place}: {self.exercise}: {name} is"
        for broken in loaded.problems:  # no learner's result would match it
            if "SyntaxError" in broken.error.kinds:
                raise CourseError(f"{begun} not valid Python: {broken.error.text}")
        for case, _, observed in seen:
            if observed.status == Outcome.TIMEOUT:
                raise CourseError(
                    f"{begun} still at work on {case.name} after "
                    f"{SECONDS_OF_A_VERSION} seconds; a known mistake must finish"
                )
        return Fingerprint((name,), self.imprints(seen), *self.taken_by_checks(seen))

    def seen(self, version: Names) -> tuple[Loaded, list[Seen]]:
        """Load a version and run the cases. Raise EditError if its edits do not fit together."""
        run = [case for case in self.cases if case.signature not in UNSEEN]
        made = with_mistakes(self.source, self.exercise, (self.mistakes[n].edits for n in version))
        loaded, observed = self.run(made, run)
        told = {case.name: one for case, one in zip(run, observed, strict=True)}
        return loaded, [
            Seen(case, right, in_names_of_stub(right, told.get(case.name, right), {}))
            for case, right in self.references.entries
        ]

    @property
    def edits(self) -> dict[str, str]:
        """Return a short digest of each mistake's edits, by its name."""
        texts = {name: repr(one.edits).encode() for name, one in self.mistakes.items()}
        return {name: blake2b(text, digest_size=4).hexdigest() for name, text in texts.items()}

    def imprints(self, seen: list[Seen]) -> Imprints:
        """Return the imprint of each case."""
        found = imprints_of(seen, self.own.signatures)
        return {case: as_stored(one) for case, one in found.items()}

    def taken_by_checks(self, seen: list[Seen]) -> tuple[float, tuple[str, ...]]:
        """Return the share of the points of the checks that fail, and the titles of these checks.

        Checks on cases that fingerprints ignore pass, because these cases did not run.
        """
        answer = Answer(self.attempt, self.exercise, self.attempt.program, seen)
        failed = [check for check in answer.checks if answer.failure(check)]
        most = sum(check.points for check in answer.checks)
        share = sum(check.points for check in failed) / most if most else 0.0
        return share, tuple(check.says for check in failed)

    @cached_property
    def attempt(self) -> Attempt:
        """Return the solution as an attempt, for checks to judge the results of versions."""
        side = Side(self.references, self.own)
        return Attempt(Lab(None, Limits()), self.program, self.project.course, side)


def recordings_of(project: Project, chapters: Iterable[Chapter]) -> list[Recording]:
    """Return the recordings of all exercises of some chapters, on both sides."""
    return [
        Recording(project, chapter.name, exercise.name, hidden)
        for chapter in chapters
        for exercise in chapter.exercises
        for hidden in (True, False)
    ]


def rounded(tensor: torch.Tensor) -> torch.Tensor:
    """Return the floats of a tensor with their first binary digits; other tensors unchanged."""
    if not tensor.is_floating_point():
        return tensor
    mantissa, exponent = torch.frexp(tensor.double())
    return torch.ldexp((mantissa * 2**DIGITS).round(), exponent)


@lru_cache(maxsize=128)  # all exercises of a chapter ask for the same files
def code_of(text: str, path: Path) -> str:
    """Return the code in a file's text without docstrings and comments. Raise CourseError."""
    module = parsed(text, path)
    for node in ast.walk(module):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(module)


def why_not_gradable(case: Case, seen: Observation) -> Iterator[str]:
    """Yield the reasons why the solution's result on a case cannot be judged."""
    if seen.status == Outcome.TIMEOUT:
        yield f"the solution is still at work after {SECONDS_OF_A_VERSION} seconds"
    if case.signature == "error":
        yield from () if seen.error else ("the solution should refuse it, and does not",)
        return
    if seen.error:
        yield failure(case, seen.error)
    for name, value in seen.values.items():
        if value["json"] is None and value["type"] != "NoneType":
            yield f"`{name}` is a {value['type']}, which cannot be judged"
        for place, what in unjudged(value["json"], name):
            yield f"`{place}` is {what}, which cannot be judged"
    asked = any(call.options.get("gradient") for call in case.calls)
    if asked and not any(name.startswith("gradient.") for name in seen.tensors):
        yield "gradients are asked for, and no result of the solution has any"
    told = any(value["type"] != "NoneType" for value in seen.values.values())
    facts = (facts for name, facts in seen.facts.items() if name != "load")
    noted = any(one.keys() - {"changed", "altered"} for one in facts)
    if case.signature == "values" and not (seen.tensors or told or noted):
        yield "the solution returns nothing that could be judged"


def failure(case: Case, error: CaughtError) -> str:
    """Return that the solution fails on a case, with the error and a possible cause."""
    place = f" ({case.exercise}, {error.source})" if error.source else ""
    said = f"the solution raises {error.type}: {error.text}{place}"
    for setting in sorted(set().union(*SETTINGS.values())):
        if error.type == "TypeError" and f"'{setting}'" in error.text:
            said += f"; `{setting}=` is a setting; an argument of that name goes into `named=`"
    return said
