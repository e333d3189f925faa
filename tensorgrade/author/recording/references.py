"""Make references and fingerprints: run the same cases on the solution and on every mistake."""

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain, combinations
from pathlib import Path

from ...attempts.attempt import Answer, Attempt
from ...attempts.lab import Lab
from ...attempts.side import Side
from ...course import Chapter, CourseError, Limits
from ...exchange.cases import SETTINGS, Case
from ...exchange.observation import CaughtError, Observation, Outcome
from ...exchange.references import References, Seen
from ...exchange.stored import stored_path
from ...exchange.traces import Trace, read_trace, with_stages
from ...exchange.values import unjudged
from ...judging.course_checks import FILE, CourseChecks, load_checks
from ...judging.own_names import in_names_of_stub
from ...judging.where import LARGEST
from ...project import Project
from ...recognition.edits import EditError, make, place_of
from ...recognition.fingerprints import (
    Fingerprint,
    as_stored,
    facts_of,
    imprints_of,
    in_values,
    matches,
)
from ...recognition.imprints import Imprint
from ...recognition.signatures import UNSEEN, Signature, imprint
from ...runner.serve import seconds
from ...sources.program import Program, Source
from ..building.bugs import bugs_of
from ..mistakes import known
from .casebook import recorded_cases
from .pairs_files import without_facts

Names = tuple[str, ...]  # a version of an exercise: the names of its mistakes
Rows = dict[Names, dict[str, Imprint]]  # each version's imprints, by the name of the case

SECONDS_OF_A_VERSION = 20  # of processor time, on all cases; most take a tenth of a second
MOST_CASES = 4  # the most cases of an exercise with stored stages


def observe(project: Project, chapter: str, source: str, cases: list[Case]) -> list[Observation]:
    """Run a source on the cases in this process. Use it only for code that we wrote."""
    return observe_program(project.program(chapter, source), cases)


def observe_program(program: Program, cases: list[Case]) -> list[Observation]:
    """Run a program on the cases in this process."""
    lab = Lab(None, Limits())
    with warnings.catch_warnings(action="ignore"):  # some mistakes cause torch warnings
        lab.load(program)
        with seconds(SECONDS_OF_A_VERSION, processor=True):
            return lab.run(program, cases)


def build_references(project: Project, chapter: str, exercise: str, hidden: bool) -> References:
    """Run the solution on an exercise's cases. Raise CourseError if it fails on one."""
    cases = recorded_cases(project, chapter, exercise, hidden)
    source = project.solution(chapter).read_text(encoding="utf-8")
    if broken := Lab(None, Limits()).load(project.program(chapter, source)).problems:
        error = broken[0].error
        raise CourseError(
            f"{project.solution(chapter)}:{error.line}: {error.type}: {error.text}, on import"
        )
    seen = observe(project, chapter, source, cases)
    for case, observation in zip(cases, seen, strict=True):
        if observation.status == Outcome.TIMEOUT:
            raise CourseError(
                f"{exercise}: the solution is still at work on {case.name} after "
                f"{SECONDS_OF_A_VERSION} seconds"
            )
        if observation.error and case.signature != "error":
            raise CourseError(failure(case, observation.error))
        if problem := why_not_gradable(case, observation):
            raise CourseError(f"{case.exercise}, case {case.name}: {problem}")
    entries = tuple(zip(cases, seen, strict=True))
    traces = {} if hidden else traces_of(project, chapter, exercise, source, cases)
    return References(chapter, hidden, entries, traces, bugs_of(project, chapter, exercise))


def failure(case: Case, error: CaughtError) -> str:
    """Return a message that the solution fails on a case, with the error and a possible cause."""
    place = f" ({case.exercise}, {error.source})" if error.source else ""
    said = f"{case.exercise}: the solution fails on {case.name}: {error.type}: {error.text}{place}"
    settings = sorted(set().union(*SETTINGS.values()))
    taken = [name for name in settings if f"'{name}'" in error.text]
    if error.type == "TypeError" and taken:
        name = taken[0]
        said += f"; `{name}=` is a setting of the step: an argument of that name is passed with "
        said += f'named={{"{name}": …}}'
    return said


def traces_of(
    project: Project, chapter: str, exercise: str, source: str, cases: list[Case]
) -> dict[str, Trace]:
    """Return the solution's traces for one case of each group, MOST_CASES at most, by case id.

    The result is empty for a find-the-bug exercise.
    """
    if (
        project.course.chapter(chapter).exercise(exercise).like
    ):  # the point of divergence is what learners are asked to find
        return {}
    # Stages are useful for a case that is one call, judged by its values.
    told = [case for case in cases if len(case.calls) == 1 and case.has_right_values]
    first = {case.group: case.name for case in reversed(told)}
    chosen = [case for case in cases if case.name == first.get(case.group)][:MOST_CASES]
    seen = observe(project, chapter, source, list(map(with_stages, chosen)))
    return {
        case.id: without_large_values(read_trace(one), project.stages)
        for case, one in zip(chosen, seen, strict=True)
    }


def without_large_values(trace: Trace, words: dict[str, str]) -> Trace:
    """Return a trace with the course's names for its values, and without large values."""
    stages = (
        replace(
            stage,
            names=tuple(words[name] for name in stage.names if name in words),
            value=None if stage.value is None or stage.value.numel() > LARGEST else stage.value,
        )
        for stage in trace.stages
    )
    return replace(trace, stages=tuple(stages))


def why_not_gradable(case: Case, seen: Observation) -> str:
    """Return why the solution's result on a case cannot be judged, or an empty string if it can."""
    if seen.error:
        return ""
    if case.signature == "error":
        return "the solution should refuse it, and does not"
    for name, value in seen.values.items():
        if value["json"] is None and value["type"] != "NoneType":
            return f"`{name}` is a {value['type']}, which cannot be judged"
        if found := next(unjudged(value["json"], name), None):
            return f"`{found[0]}` is {found[1]}, which cannot be judged"
    asked = any(call.options.get("gradient") for call in case.calls)
    if asked and not any(name.startswith("gradient.") for name in seen.tensors):
        return "gradients are asked for, and no result of the solution has any"
    return "" if has_result(case, seen) else "the solution returns nothing that could be judged"


def has_result(case: Case, seen: Observation) -> bool:
    """Return True if a case produces anything to judge other than None."""
    told = any(value["type"] != "NoneType" for value in seen.values.values())
    asked = (facts for name, facts in seen.facts.items() if name != "load")
    facts = any(facts.keys() - {"changed", "altered"} for facts in asked)
    return bool(seen.tensors) or told or facts or case.signature != "values"


class Recording:
    """An exercise's cases, to be run on the solution and on one wrong version after another.

    hidden: use the graders' numbers instead of the learners'.
    """

    def __init__(self, project: Project, chapter: str, exercise: str, hidden: bool):
        self.project, self.chapter = project, chapter
        self.exercise, self.hidden = exercise, hidden
        self.source = project.solution(chapter).read_text(encoding="utf-8")
        self.mistakes = {mistake.name: mistake for mistake in known(project, exercise)}
        # By version with one mistake: see `taken_by_checks`.
        self.taken: dict[Names, tuple[float, tuple[str, ...]]] = {}

    @property
    def path(self) -> Path:
        """Return the path of the file that stores the recording."""
        folder = self.project.graders if self.hidden else self.project.exercises
        return stored_path(folder, self.chapter, self.exercise)

    @cached_property
    def cases(self) -> list[Case]:
        """Return the exercise's cases, with their numbers drawn."""
        return recorded_cases(self.project, self.chapter, self.exercise, self.hidden)

    @cached_property
    def references(self) -> References:
        """Run the solution on the cases. Raise CourseError if it fails on one."""
        return build_references(self.project, self.chapter, self.exercise, self.hidden)

    @property
    def with_unfixed(self) -> References:
        """Return the references with the checks that the given code of the exercise fails."""
        code, references = self.references.bugs.get(self.exercise), self.references
        if code is None:
            return references
        cases = [case for case, _ in references.entries]
        seen = zip(references.entries, observe_program(self.program(code), cases), strict=True)
        _, fails = self.taken_by_checks([Seen(*entry, one) for entry, one in seen])
        return replace(references, unfixed={self.exercise: list(fails)})

    @property
    def checks(self) -> CourseChecks:
        """Return the course's own checks and signatures."""
        path = self.project.graders / FILE
        return checks_in(path, path.read_text(encoding="utf-8") if path.exists() else "")

    @cached_property
    def own(self) -> dict[str, Signature]:
        """Return the course's own signatures."""
        return self.checks.signatures

    @cached_property
    def right(self) -> dict[str, Imprint]:
        """Return the solution's imprint on each case."""
        entries = self.references.entries
        return {c.name: as_stored(imprint(c, seen, seen, self.own)) for c, seen in entries}

    @property
    def singles(self) -> list[Names]:
        """Return the versions with one mistake."""
        return [(name,) for name in self.mistakes]

    def rows(self, versions: Iterable[Names]) -> Rows:
        """Return the imprints of versions on all cases.

        Raise EditError if a version's edits do not fit together.
        """
        entries = self.references.entries
        run = [case for case, _ in entries if case.signature not in UNSEEN]
        rows: Rows = {}
        for version, observed in self.observed(list(versions), run):
            told = {case.name: one for case, one in zip(run, observed, strict=True)}
            seen = [
                Seen(case, right, in_names_of_stub(right, told.get(case.name, right), {}))
                for case, right in entries
            ]
            found = imprints_of(seen, self.own)
            rows[version] = {case: as_stored(one) for case, one in found.items()}
            if len(version) == 1:
                self.taken[version] = self.taken_by_checks(seen)
        return rows

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
        lab, course = Lab(None, Limits()), self.project.course
        return Attempt(lab, self.bare, course, Side(self.references, self.checks))

    def observed(
        self, versions: list[Names], cases: list[Case]
    ) -> Iterator[tuple[Names, list[Observation]]]:
        """Yield each version with its observations on these cases."""
        for version in versions:
            source = self.source_of(version)
            written = len(version) < 2  # pairs are combined automatically
            if written:
                self.refuse_no_python(version)
            seen = observe_program(self.program(source), cases)
            if written:
                self.refuse_endless(version, cases, seen)
            yield version, seen

    def refuse_no_python(self, version: Names) -> None:
        """Raise CourseError if a version cannot be parsed: no learner's result would match it.

        Only the exercise's definition is parsed, because there are many versions.
        """
        first, last = place_of(self.source, self.exercise)
        lines, after = self.source_of(version).splitlines(), len(self.source.splitlines()) - last
        try:
            ast.parse("\n".join(lines[first : len(lines) - after]))
        except SyntaxError as error:
            raise CourseError(f"{self.about(version)} is not valid Python: {error.msg}") from None

    def refuse_endless(self, version: Names, cases: list[Case], seen: list[Observation]) -> None:
        """Raise CourseError if a version timed out on a case."""
        for case, one in zip(cases, seen, strict=True):
            if one.status == Outcome.TIMEOUT:
                raise CourseError(
                    f"{self.about(version)} is still at work on {case.name} after "
                    f"{SECONDS_OF_A_VERSION} seconds; a known mistake must finish"
                )

    def about(self, version: Names) -> str:
        """Return the beginning of a sentence on a version with one mistake, with its place."""
        return f"{self.mistakes[version[0]].place}: {self.exercise}: {version[0]}"

    def program(self, text: str) -> Program:
        """Return a version as a program."""
        return replace(self.bare, source=Source(text, f"{self.chapter}.py"))

    @cached_property
    def bare(self) -> Program:
        """Return the solution as a program."""
        return self.project.program(self.chapter, self.source)

    def fits(self, version: Names) -> bool:
        """Return True if a version's edits can be made together: they do not edit the same text."""
        try:
            return bool(self.source_of(version))
        except EditError:
            return False

    def source_of(self, version: Names) -> str:
        """Return the solution with a version's edits. Raise EditError if one does not fit."""
        edits = (self.mistakes[name].edits for name in version)
        return make(self.source, self.exercise, chain(*edits))


def recordings_of(project: Project, chapters: list[Chapter]) -> list[Recording]:
    """Return the recordings of all exercises of some chapters, on both sides."""
    return [
        Recording(project, chapter.name, exercise.name, hidden)
        for chapter in chapters
        for exercise in chapter.exercises
        for hidden in (True, False)
    ]


@lru_cache(maxsize=4)  # every part of a course asks for them
def checks_in(path: Path, text: str) -> CourseChecks:
    """Return what a course's `checks.py` adds. The text is part of the cache key."""
    return load_checks(path.parent)


def pairs_of(recording: Recording, found: list[Fingerprint]) -> list[Names]:
    """Return every pair of mistakes in values that have unique fingerprints."""
    alone = {one.mistakes for one in in_values(found, recording.right)}
    names = [name for name in recording.mistakes if (name,) in alone]
    return list(combinations(names, 2))


def tell_apart(recording: Recording, rows: Rows) -> list[Fingerprint]:
    """Return the fingerprints of one exercise that identify a mistake or a pair of mistakes.

    Single mistakes come first, then pairs whose results match no single mistake. Two pairs with
    matching results are both stored: neither is named, but their points are known. A shared mistake
    is left out if it has the results of the solution or of an earlier mistake. Raise CourseError if
    one of the exercise's own mistakes has them.
    """
    found = Lookalikes()
    found.add(Fingerprint((), recording.right))
    if wrong := list(twins(recording, rows, found)):
        raise CourseError("\n".join(wrong))
    for pair in pairs_of(recording, found.all):
        twin = found.of(rows[pair], facts=False) if pair in rows else ()
        if twin is None or len(twin) == 2:
            found.add(without_facts(Fingerprint(pair, rows[pair])))
    return found.all[1:]


def twins(recording: Recording, rows: Rows, found: "Lookalikes") -> Iterator[str]:
    """Yield a sentence for each own mistake that looks like something else.

    Add the mistakes that look like nothing else to `found`. Learners' cases need not tell two
    mistakes apart: there the first one's name is given.
    """
    for version in recording.singles:
        twin = found.of(rows[version])
        if twin is None:
            found.add(Fingerprint(version, rows[version], *recording.taken[version]))
        elif not recording.mistakes[version[0]].shared and (recording.hidden or not twin):
            alike = " and ".join(twin) or "a right answer"
            yield f"{recording.about(version)} looks like {alike}"


class Lookalikes:
    """The fingerprints so far, searchable by their imprints."""

    def __init__(self) -> None:
        self.all: list[Fingerprint] = []
        self.by_words: dict[tuple, list[Fingerprint]] = {}

    def add(self, fingerprint: Fingerprint) -> None:
        """Add a fingerprint."""
        self.all.append(fingerprint)
        self.by_words.setdefault(words_of(fingerprint.imprints), []).append(fingerprint)

    def of(self, imprints: dict[str, Imprint], facts: bool = True) -> Names | None:
        """Return the mistakes of the first fingerprint that matches these imprints.

        The result is an empty tuple for right answers, and None if nothing matches. facts: False to
        compare values only.
        """
        for other in self.by_words.get(words_of(imprints), []):
            same = not (facts and facts_of(other.imprints, imprints))
            if same and matches(other, imprints):
                return other.mistakes
        return None


def words_of(imprints: dict[str, Imprint]) -> tuple:
    """Return the part of imprints that must be exactly equal to match, as a key of a dict."""
    return tuple(sorted((case, one.words) for case, one in imprints.items()))
