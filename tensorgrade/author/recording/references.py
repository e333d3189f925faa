"""Makes references and fingerprints: the same cases run on the solution and on every mistake."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import torch

from ...attempts.in_process import InProcess
from ...course import CourseError
from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...exchange.references import References
from ...judging.course_checks import load_checks
from ...project import Project
from ...recognition.fingerprints import Fingerprint
from ...recognition.imprints import Imprint
from ...recognition.signatures import Signature, imprint
from .adopted import adopted_mistakes, observe_adopted
from .casebook import recorded_cases
from .mistakes import EditError, Mistake, make
from .origin import forms_of, known


def observe(project: Project, chapter: str, source: str, cases: list[Case]) -> list[Observation]:
    """What a source gives on the cases, in this process: only for code that we wrote."""
    backend = InProcess(project.submission(chapter, source))
    with warnings.catch_warnings(action="ignore"):  # some mistakes are what torch warns of
        backend.load()
        return backend.run(cases)


def build_exercise(
    root: str, chapter: str, exercise: str, hidden: bool, isolation: str = "auto"
) -> tuple[References, list[Fingerprint]]:
    """References and fingerprints of an exercise, on one thread: made to run beside others.

    isolation: `auto` or `none`; how adopted mistakes, which are learners' code, are locked in.
    """
    torch.set_num_threads(1)
    project = Project(Path(root))
    references = build_references(project, chapter, exercise, hidden)
    source = project.solution(chapter).read_text(encoding="utf-8")
    own = load_checks(project.graders).signatures
    learned = list(in_learners_words(project, references, exercise, own, isolation))
    mistakes = known(project, exercise)
    prints = tell_apart(project, references, exercise, source, mistakes, own, learned)
    return references, prints


def build_references(project: Project, chapter: str, exercise: str, hidden: bool) -> References:
    """The solution run on an exercise's cases. Raises CourseError where it fails on one."""
    cases = recorded_cases(project, chapter, exercise, hidden)
    source = project.solution(chapter).read_text(encoding="utf-8")
    seen = observe(project, chapter, source, cases)
    for case, observation in zip(cases, seen, strict=True):
        if observation.error and case.signature != "error":
            raise CourseError(f"the solution fails on {case.id}: {observation.error}")
    return References(chapter, hidden, tuple(zip(cases, seen, strict=True)))


def tell_apart(
    project: Project,
    references: References,
    exercise: str,
    source: str,
    mistakes: list[Mistake],
    own: dict[str, Signature],
    learned: Sequence[Fingerprint] = (),
) -> list[Fingerprint]:
    """Fingerprints of one exercise: of single mistakes, then of pairs that nothing looks like.

    learned: those of adopted mistakes. Raises CourseError where a mistake looks like the solution,
    or two look alike unmarked.
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
    for fingerprint in learned:
        twin = found.of(fingerprint.imprints)
        if twin is not None:
            looks = " + ".join(twin) or f"a right answer on {SIDE[references.hidden]} cases"
            raise CourseError(f"{exercise}: {fingerprint.mistakes[0]}, adopted, looks like {looks}")
        found.add(fingerprint)
    for one, imprints in in_other_forms(project, references, source, exercise, mistakes, own):
        if found.of(imprints) is None:
            found.add(Fingerprint((one.same_as or one.name,), imprints))
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


SIDE = {True: "hidden", False: "learners'"}


def in_learners_words(
    project: Project, references: References, exercise: str, own: dict, isolation: str
) -> Iterator[Fingerprint]:
    """Fingerprints of the adopted mistakes of an exercise. Raises CourseError."""
    entries, chapter = references.of(exercise), references.chapter
    cases = [case for case, _ in entries]
    mistakes = adopted_mistakes(project, chapter, exercise)
    for one, seen in observe_adopted(project, chapter, mistakes, cases, isolation):
        imprints = {c.name: imprint(c, e, s, own) for (c, e), s in zip(entries, seen, strict=True)}
        yield Fingerprint((one.name,), imprints)


def in_other_forms(
    project: Project,
    references: References,
    source: str,
    exercise: str,
    mistakes: list[Mistake],
    own: dict[str, Signature],
) -> Iterator[tuple[Mistake, dict[str, Imprint]]]:
    """(mistake, what it gives) in each other right form of the solution that it can be made in.

    Raises CourseError where a form is not right.
    """
    right = {case.name: imprint(case, seen, seen, own) for case, seen in references.of(exercise)}
    for form in forms_of(project, exercise):
        alone = imprints_of(project, references, source, exercise, [form], own)
        if wrong := [case for case, one in right.items() if not one.matches(alone[case])]:
            raise CourseError(f"{exercise}: the form {form.name} is not right on {wrong[0]}")
        for one in mistakes:
            with suppress(EditError):
                made = [one, form]
                yield one, imprints_of(project, references, source, exercise, made, own)


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
