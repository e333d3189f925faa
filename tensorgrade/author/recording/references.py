"""Makes references and fingerprints: the same cases run on the solution and on every mistake."""

import ast
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import torch

from ...attempts.in_process import InProcess
from ...course import CourseError
from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...exchange.references import References
from ...exchange.stages import Way, read_way, shows_stages, with_stages
from ...judging.course_checks import load_checks
from ...project import Project
from ...recognition.fingerprints import Fingerprint
from ...recognition.imprints import Imprint
from ...recognition.signatures import Signature, imprint
from .casebook import recorded_cases
from .mistakes import EditError, Mistake, make
from .origin import known

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
    """References and fingerprints of an exercise, on one thread: made to run beside others."""
    torch.set_num_threads(1)
    project = Project(Path(root))
    references = build_references(project, chapter, exercise, hidden)
    source = project.solution(chapter).read_text(encoding="utf-8")
    own = load_checks(project.graders).signatures
    prints = tell_apart(project, references, exercise, source, known(project, exercise), own)
    return references, prints


def build_references(project: Project, chapter: str, exercise: str, hidden: bool) -> References:
    """The solution run on an exercise's cases. Raises CourseError where it fails on one."""
    cases = recorded_cases(project, chapter, exercise, hidden)
    source = project.solution(chapter).read_text(encoding="utf-8")
    seen = observe(project, chapter, source, cases)
    for case, observation in zip(cases, seen, strict=True):
        if observation.error and case.signature != "error":
            raise CourseError(f"the solution fails on {case.id}: {observation.error}")
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


def tell_apart(
    project: Project,
    references: References,
    exercise: str,
    source: str,
    mistakes: list[Mistake],
    own: dict[str, Signature],
) -> list[Fingerprint]:
    """Fingerprints of one exercise: of single mistakes, then of pairs that nothing looks like.

    Raises CourseError where a mistake looks like the solution, or two look alike unmarked.
    """
    entries = references.of(exercise)
    found = Lookalikes()
    found.add(
        Fingerprint((), {case.name: imprint(case, seen, seen, own) for case, seen in entries})
    )
    for one in mistakes:
        imprints = imprints_of(project, references, source, exercise, [one], own)
        twin = found.of(imprints)
        if twin is None:
            found.add(Fingerprint((one.name,), imprints))
        elif not one.same_as or one.same_as not in twin:
            raise CourseError(f"{exercise}: {one.name} looks like {twin or 'a right answer'}")
    singles, ambiguous = {fingerprint.mistakes for fingerprint in found.all}, set()
    for pair in combinations([m for m in mistakes if (m.name,) in singles], 2):
        try:
            imprints = imprints_of(project, references, source, exercise, list(pair), own)
        except EditError:
            continue
        twin = found.of(imprints)
        if twin is None:
            found.add(Fingerprint(tuple(m.name for m in pair), imprints))
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

    def of(self, imprints: dict[str, Imprint]) -> tuple[str, ...] | None:
        """The mistakes of the first fingerprint that looks like these imprints; () is right."""
        for other in self.by_words.get(words_of(imprints), []):
            if all(other.imprints[case].matches(imprints[case]) for case in imprints):
                return other.mistakes
        return None


def words_of(imprints: dict[str, Imprint]) -> tuple:
    """The part of imprints that has to be equal."""
    return tuple(sorted((case, one.words) for case, one in imprints.items()))


def imprints_of(
    project: Project,
    references: References,
    source: str,
    exercise: str,
    mistakes: list[Mistake],
    own: dict[str, Signature],
) -> dict[str, Imprint]:
    """What these mistakes together give on the cases of an exercise."""
    entries = references.of(exercise)
    cases = [case for case, _ in entries]
    wrong = make(source, exercise, mistakes)
    seen = observe(project, references.chapter, wrong, cases)
    return {c.name: imprint(c, e, s, own) for (c, e), s in zip(entries, seen, strict=True)}
