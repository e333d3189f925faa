"""Makes references and fingerprints: the same cases run on the solution and on every mistake."""

import hashlib
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import torch

from ..backends.in_process import InProcess
from ..cases import Case
from ..casebook import PUBLIC_SEED, CaseBook
from ..course import CourseError
from ..fingerprints import Fingerprint, Fingerprints
from ..judging.digest import Digest, digest
from ..mistakes import EditError, Mistake, make
from ..observation import Observation
from ..project import Project
from ..references import References


def observe(project: Project, chapter: str, source: str, cases: list[Case]) -> list[Observation]:
    """What a source gives on the cases, in this process: only for code that we wrote."""
    backend = InProcess(project.submission(chapter, source))
    backend.load()
    return backend.run(cases)


def build_chapter(root: str, chapter: str, hidden: bool) -> tuple[References, Fingerprints]:
    """References and fingerprints of a chapter, on one thread: made to run beside others."""
    torch.set_num_threads(1)
    project = Project(Path(root))
    references = build_references(project, chapter, hidden)
    return replace(references, made_from=origin(project, chapter)), build_fingerprints(project, references)


# The parts of the engine that decide what stands in references and fingerprints.
MAKERS = (
    "cases.py casebook.py fingerprints.py mistakes.py observation.py references.py "
    "judging/digest.py judging/dropout.py judging/operations.py building/references.py "
    "runner/errors.py runner/loading.py runner/messages.py runner/serve.py runner/verbs.py "
    "runner/watching.py"
).split()


def origin(project: Project, chapter: str) -> str:
    """A digest of everything that a chapter's references and fingerprints are made from."""
    engine, course = Path(__file__).parent.parent, project.course
    files = [project.solution(chapter), *(engine / name for name in MAKERS)]
    for folder in (project.graders / "cases", project.graders / "mistakes", project.exercises / "given" / chapter):
        files += folder.glob("*.py")
    names = [exercise.name for exercise in course.chapter(chapter).exercises]
    seen = hashlib.sha256(f"{torch.__version__} {course.seed} {names}".encode())
    for path in sorted(files):
        seen.update(path.name.encode() + path.read_bytes())
    return seen.hexdigest()[:32]


def build_references(project: Project, chapter: str, hidden: bool) -> References:
    """The solution run on the chapter's cases. Raises CourseError where it fails on one."""
    book = CaseBook(chapter, hidden, project.course.seed if hidden else PUBLIC_SEED)
    project.cases_of(chapter)(book)
    source = project.solution(chapter).read_text(encoding="utf-8")
    seen = observe(project, chapter, source, book.cases)
    for case, observation in zip(book.cases, seen):
        if observation.error and case.signature != "error":
            raise CourseError(f"the solution fails on {case.id}: {observation.error}")
    return References(chapter, hidden, tuple(zip(book.cases, seen)))


def build_fingerprints(project: Project, references: References) -> Fingerprints:
    """Digests of every mistake, and of every pair that can be made together.

    Raises CourseError where a mistake looks like the solution, or two look alike unmarked.
    """
    source = project.solution(references.chapter).read_text(encoding="utf-8")
    by_exercise, messages = {}, {}
    for exercise in project.course.chapter(references.chapter).exercises:
        known = [m for m in project.mistakes if exercise.name in m.edits]
        messages |= {m.name: m.message for m in known}
        by_exercise[exercise.name] = tell_apart(project, references, exercise.name, source, known)
    return Fingerprints(by_exercise, messages)


def tell_apart(
    project: Project, references: References, exercise: str, source: str, known: list[Mistake]
) -> list[Fingerprint]:
    """Fingerprints of one exercise: of single mistakes first, then of pairs that nothing looks like."""
    entries = references.of(exercise)
    found = Lookalikes()
    found.add(Fingerprint((), {case.name: digest(case, seen, seen) for case, seen in entries}))
    for one in known:
        digests = digests_of(project, references, source, exercise, [one])
        twin = found.of(digests)
        if twin is None:
            found.add(Fingerprint((one.name,), digests))
        elif not one.same_as or one.same_as not in twin:
            raise CourseError(f"{exercise}: {one.name} looks like {twin or 'a right answer'}")
    singles, ambiguous = {fingerprint.mistakes for fingerprint in found.all}, set()
    for pair in combinations([m for m in known if (m.name,) in singles], 2):
        try:
            digests = digests_of(project, references, source, exercise, list(pair))
        except EditError:
            continue
        twin = found.of(digests)
        if twin is None:
            found.add(Fingerprint(tuple(m.name for m in pair), digests))
        elif len(twin) == 2:
            ambiguous.add(twin)  # two pairs look alike: naming either would be a guess
    return [fingerprint for fingerprint in found.all[1:] if fingerprint.mistakes not in ambiguous]


class Lookalikes:
    """Fingerprints so far, found again by their digests."""

    def __init__(self):
        self.all: list[Fingerprint] = []
        self.by_words: dict[tuple, list[Fingerprint]] = {}

    def add(self, fingerprint: Fingerprint) -> None:
        """Remember a fingerprint."""
        self.all.append(fingerprint)
        self.by_words.setdefault(words_of(fingerprint.digests), []).append(fingerprint)

    def of(self, digests: dict[str, Digest]) -> tuple[str, ...] | None:
        """The mistakes of the first fingerprint that looks like these digests; () is right."""
        for other in self.by_words.get(words_of(digests), []):
            if all(other.digests[case].matches(digests[case]) for case in digests):
                return other.mistakes
        return None


def words_of(digests: dict[str, Digest]) -> tuple:
    """The part of digests that has to be equal."""
    return tuple(sorted((case, digest.words) for case, digest in digests.items()))


def digests_of(
    project: Project, references: References, source: str, exercise: str, mistakes: list[Mistake]
) -> dict[str, Digest]:
    """What these mistakes together give on the cases of an exercise."""
    entries = references.of(exercise)
    cases = [case for case, _ in entries]
    wrong = make(source, exercise, mistakes)
    seen = observe(project, references.chapter, wrong, cases)
    return {c.name: digest(c, e, s) for (c, e), s in zip(entries, seen)}

