"""Makes references and fingerprints: the same cases run on the solution and on every mistake."""

import ast
import json
import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import torch

from ...attempts.in_process import InProcess
from ...course import CourseError
from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...exchange.references import References, case_to_json
from ...exchange.stages import Way, read_way, shows_stages, with_stages
from ...exchange.values import unjudged
from ...judging.course_checks import load_checks
from ...project import Project
from ...recognition.fingerprints import Fingerprint, as_stored
from ...recognition.imprints import Imprint
from ...recognition.signatures import UNSEEN, imprint
from .casebook import recorded_cases
from .mistakes import EditError, make
from .origin import (
    case_digest,
    code_digest,
    digest,
    engine_digest,
    known,
    mistakes_digest,
    ways_digest,
)

Names = tuple[str, ...]  # of the mistakes that are in one wrong version together
Rows = dict[Names, dict[str, Imprint]]  # what each wrong version gives, by the case's name

MOST_CASES = 4  # of an exercise, whose stages are kept
LARGEST = 1024  # numbers of a value that is kept


def observe(project: Project, chapter: str, source: str, cases: list[Case]) -> list[Observation]:
    """What a source gives on the cases, in this process: only for code that we wrote."""
    backend = InProcess(project.submission(chapter, source))
    with warnings.catch_warnings(action="ignore"):  # some mistakes are what torch warns of
        backend.load()
        return backend.run(cases)


def build_exercise(
    root: str, chapter: str, exercise: str, hidden: bool
) -> tuple[References, list[Fingerprint]]:
    """References and fingerprints of an exercise, all of it made anew, on one thread."""
    torch.set_num_threads(1)
    recording = Recording(Project(Path(root)), chapter, exercise, hidden)
    rows = recording.rows([(name,) for name in recording.mistakes])
    pairs = [pair for pair in pairs_of(tell_apart(recording, rows)) if recording.fits(pair)]
    return recording.references, tell_apart(recording, rows | recording.rows(pairs))


def build_references(project: Project, chapter: str, exercise: str, hidden: bool) -> References:
    """The solution run on an exercise's cases. Raises CourseError where it fails on one."""
    cases = recorded_cases(project, chapter, exercise, hidden)
    source = project.solution(chapter).read_text(encoding="utf-8")
    seen = observe(project, chapter, source, cases)
    for case, observation in zip(cases, seen, strict=True):
        if observation.error and case.signature != "error":
            raise CourseError(f"the solution fails on {case.id}: {observation.error}")
        if problem := unfit(case, observation):
            raise CourseError(f"{case.exercise}, case {case.name}: {problem}")
    entries = tuple(zip(cases, seen, strict=True))
    ways = {} if hidden else ways_of(project, chapter, exercise, source, cases)
    return References(chapter, hidden, entries, ways)


def ways_of(
    project: Project, chapter: str, exercise: str, source: str, cases: list[Case]
) -> dict[str, tuple[Way, ...]]:
    """By the ids of some cases, one of each group: what the solution passes through, and what
    right answers in other forms do. A form is left out where it does not hold, as a plain
    exponential of large numbers. Raises CourseError where one holds nowhere.
    """
    first = {case.group: case.name for case in reversed(cases) if shows_stages(case)}
    chosen = [case for case in cases if case.name == first.get(case.group)][:MOST_CASES]
    forms = [source, *(path.read_text(encoding="utf-8") for path in project.forms(chapter))]
    asked = list(map(with_stages, chosen))
    seen = [observe(project, chapter, form, asked) for form in forms if defines(form, exercise)]
    right = [[same_results(a, b) for a, b in zip(seen[0], one, strict=True)] for one in seen]
    if chosen and not all(map(any, right)):
        raise CourseError(f"solutions/forms/{chapter}: a form of {exercise} is right on no case")
    return {
        case.id: tuple(
            as_kept(read_way(one[at]), project.stages)
            for one, agrees in zip(seen, right, strict=True)
            if agrees[at]
        )
        for at, case in enumerate(chosen)
    }


def defines(source: str, name: str) -> bool:
    """Whether a file of ours defines a name."""
    return any(getattr(node, "name", None) == name for node in ast.parse(source).body)


def same_results(expected: Observation, other: Observation) -> bool:
    """Whether another form gives what the solution gives."""
    return not other.error and all(
        name in other.tensors
        and other.tensors[name].shape == t.shape
        and torch.allclose(other.tensors[name].double(), t.double(), rtol=1e-4, atol=1e-5)
        for name, t in expected.tensors.items()
        if not name.startswith("stage.")
    )


def as_kept(way: Way, words: dict[str, str]) -> Way:
    """A way with the course's words for its values' names, and without values that are large."""
    stages = (
        replace(
            stage,
            names=tuple(words[name] for name in stage.names if name in words),
            value=None if stage.value is None or stage.value.numel() > LARGEST else stage.value,
        )
        for stage in way.stages
    )
    return replace(way, stages=tuple(stages))


def unfit(case: Case, seen: Observation) -> str:
    """Why what the solution gives on a case cannot be judged; nothing where it can."""
    if seen.error:
        return ""
    if case.signature == "error":
        return "the solution should refuse it, and does not"
    for name, value in seen.values.items():
        if value["json"] is None and value["type"] != "NoneType":
            return f"`{name}` is a {value['type']}, which cannot be judged"
        if found := next(unjudged(value["json"], name), None):
            return f"`{found[0]}` is {found[1]}, which cannot be judged"
    asked = any(step.get("gradient") for step in case.steps)
    if asked and not any(name.startswith("gradient.") for name in seen.tensors):
        return "gradients are asked for, and no result of the solution has any"
    return "" if says_something(case, seen) else "nothing comes back that could be judged"


def says_something(case: Case, seen: Observation) -> bool:
    """Whether a case comes to more than None."""
    told = any(value["type"] != "NoneType" for value in seen.values.values())
    asked = (facts for name, facts in seen.facts.items() if name != "load")
    facts = any(facts.keys() - {"changed", "altered"} for facts in asked)
    return bool(seen.tensors) or told or facts or case.signature != "values"


class Recording:
    """An exercise's cases, to be run on the solution and on one wrong version after another.

    hidden: with the numbers that graders have, or with those that learners have.
    """

    def __init__(self, project: Project, chapter: str, exercise: str, hidden: bool):
        self.project, self.chapter = project, chapter
        self.exercise, self.hidden = exercise, hidden
        self.source = project.solution(chapter).read_text(encoding="utf-8")
        self.mistakes = {mistake.name: mistake for mistake in known(project, exercise)}
        self.cases = recorded_cases(project, chapter, exercise, hidden)

    @cached_property
    def references(self) -> References:
        """The solution run on the cases. Raises CourseError where it fails on one."""
        return build_references(self.project, self.chapter, self.exercise, self.hidden)

    @cached_property
    def own(self) -> dict:
        """The course's own signatures."""
        return load_checks(self.project.graders).signatures

    @cached_property
    def right(self) -> dict[str, Imprint]:
        """What the solution gives on each case."""
        entries = self.references.entries
        return {c.name: as_stored(imprint(c, seen, seen, self.own)) for c, seen in entries}

    def rows(self, versions: Iterable[Names], cases: Iterable[str] = ()) -> Rows:
        """What wrong versions give on the cases of these names, or on all."""
        return {names: self.imprints(names, set(cases)) for names in versions}

    def fits(self, names: Names) -> bool:
        """Whether these mistakes can be made together: they do not edit the same text."""
        try:
            return bool(self.wrong_version(names))
        except EditError:
            return False

    def wrong_version(self, names: Names) -> str:
        """The solution with these mistakes in it. Raises EditError where an edit fits not."""
        return make(self.source, self.exercise, [self.mistakes[name] for name in names])

    def imprints(self, names: Names, wanted: set[str]) -> dict[str, Imprint]:
        """What one wrong version gives on each case. Raises EditError where edits fit not."""
        wrong = self.wrong_version(names)
        entries = [e for e in self.references.entries if not wanted or e[0].name in wanted]
        run = [case for case, _ in entries if case.signature not in UNSEEN]
        seen = {c.name: s for c, s in zip(run, self.observe(wrong, run), strict=True)}
        return {
            case.name: as_stored(imprint(case, right, seen.get(case.name, right), self.own))
            for case, right in entries
        }

    def observe(self, source: str, cases: list[Case]) -> list[Observation]:
        """What a source gives on some of the cases."""
        return observe(self.project, self.chapter, source, cases)

    @cached_property
    def case_digests(self) -> dict[str, str]:
        """What each case asks, as a digest, by its name."""
        return {case.name: case_digest(case) for case in self.cases}

    def version_digest(self, names: Names) -> str:
        """What makes a wrong version, as a digest; not what its mistakes are called."""
        return digest(*(repr(self.mistakes[name].edits[self.exercise]) for name in names))

    @cached_property
    def code(self) -> str:
        """Changes with the course's code that a row comes from."""
        return code_digest(self.project, self.chapter, self.exercise, self.cases)

    @cached_property
    def made_with(self) -> str:
        """Changes when the same version could give something else on the same case."""
        return digest(engine_digest(), self.code)

    @property
    def asks(self) -> str:
        """Changes when another case is asked, or when there is another mistake."""
        mistakes = mistakes_digest(self.exercise, list(self.mistakes.values()))
        return digest(*(json.dumps(case_to_json(case)) for case in self.cases), mistakes)

    @cached_property
    def origin(self) -> str:
        """Changes when the same references or fingerprints could no longer be made."""
        ways = () if self.hidden else ways_digest(self.project, self.chapter)
        return digest(self.made_with, self.asks, *ways)

    @property
    def origin_of_pairs(self) -> str:
        """Changes when pairs would give something else, whatever the engine makes of them."""
        return digest(self.code, self.asks)


def pairs_of(found: list[Fingerprint]) -> list[Names]:
    """Every two of the mistakes that have a fingerprint of their own."""
    singles = [one.mistakes[0] for one in found if len(one.mistakes) == 1]
    return list(combinations(singles, 2))


def tell_apart(recording: Recording, rows: Rows) -> list[Fingerprint]:
    """Fingerprints of one exercise: of single mistakes, then of pairs that nothing looks like.

    Raises CourseError where a mistake looks like the solution, or two look alike unmarked.
    """
    found, wrong = Lookalikes(), []
    found.add(Fingerprint((), recording.right))
    for name, one in recording.mistakes.items():
        twin = found.of(rows[name,])
        if twin is None:
            found.add(Fingerprint((name,), rows[name,]))
        elif not one.same_as or one.same_as not in twin:
            alike = " and ".join(twin) or "a right answer"
            wrong.append(f"{recording.exercise}: {name} looks like {alike}")
    if wrong:
        raise CourseError("\n".join(wrong))
    ambiguous = set()
    for pair in pairs_of(found.all):
        if pair not in rows:
            continue
        twin = found.of(rows[pair])
        if twin is None:
            found.add(Fingerprint(pair, rows[pair]))
        elif len(twin) == 2:
            ambiguous.add(twin)  # two pairs look alike: naming either would be a guess
    return [fingerprint for fingerprint in found.all[1:] if fingerprint.mistakes not in ambiguous]


class Lookalikes:
    """Fingerprints so far, found again by their imprints."""

    def __init__(self) -> None:
        self.all: list[Fingerprint] = []
        self.by_words: dict[tuple, list[Fingerprint]] = {}

    def add(self, fingerprint: Fingerprint) -> None:
        """Remember a fingerprint."""
        self.all.append(fingerprint)
        self.by_words.setdefault(words_of(fingerprint.imprints), []).append(fingerprint)

    def of(self, imprints: dict[str, Imprint]) -> Names | None:
        """The mistakes of the first fingerprint that looks like these imprints; () is right."""
        for other in self.by_words.get(words_of(imprints), []):
            if all(other.imprints[case].matches(imprints[case]) for case in imprints):
                return other.mistakes
        return None


def words_of(imprints: dict[str, Imprint]) -> tuple:
    """The part of imprints that has to be equal."""
    return tuple(sorted((case, one.words) for case, one in imprints.items()))
