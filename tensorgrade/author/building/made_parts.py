"""Makes the parts of references and fingerprints: the solution first, then version by version.

What a version gave on a case before is kept (../kept.py), so that a new mistake or another case
costs only its own runs. The rest runs side by side in forks of this process. Single mistakes come
first; pairs of them are most of the work, and are made where they are asked for.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import torch

from ...course import Chapter, CourseError, each
from ...exchange.references import References
from ...processes import Pool, side_by_side
from ...project import Project
from ...recognition.fingerprints import Fingerprint, read_prints, stored_form
from ...recognition.imprints import Imprint
from ..kept import Kept
from ..recording.meeting import Ran
from ..recording.origin import case_digest
from ..recording.references import (
    SOLUTION,
    Known,
    Recording,
    Rows,
    Version,
    pairs_of,
    tell_apart,
)
from .same import same_prints

RUNS_OF_A_JOB = 250  # about half a second: often enough to say how far it is
FEW_RUNS = 100  # sooner done here than given away
FEW_RUNS_OF_PAIRS = 1000  # a second or two, of one part
FEW_RUNS_TOGETHER = 5000  # and of all parts that a build makes
WORTH_WATCHING = 5  # times as many runs, of which a tenth to a quarter is saved


@dataclass(frozen=True)
class Wish:
    """What a build is to make.

    anew: everything, whether something has changed or not. pairs: pairs of mistakes too.
    exercises: only these; all where none is named. Files of chapters without any are left alone.
    """

    anew: bool = False
    pairs: bool = False
    exercises: frozenset[str] = frozenset()

    def is_about(self, chapter: Chapter) -> bool:
        """Whether something of a chapter may be made."""
        return not self.exercises or any(e.name in self.exercises for e in chapter.exercises)


@dataclass(frozen=True)
class Part:
    """One exercise's part of a chapter's files, for graders (hidden) or for learners."""

    chapter: str
    exercise: str
    hidden: bool

    @property
    def key(self) -> str:
        """How the part is called where it is said what it was made from."""
        return f"{self.chapter}/{self.exercise}/{'hidden' if self.hidden else 'public'}"

    def is_of(self, chapter: str, hidden: bool) -> bool:
        """Whether it goes into this chapter's files."""
        return (self.chapter, self.hidden) == (chapter, hidden)

    def recording(self, project: Project) -> Recording:
        """What it is made by."""
        return Recording(project, self.chapter, self.exercise, self.hidden)


@dataclass(frozen=True)
class Prints:
    """A part's fingerprints.

    form: gives them as they are stored. pairs: what its pairs of mistakes were made from; empty
    where it has none.
    """

    form: Callable[[], dict]
    pairs: str = ""

    def read(self) -> list[Fingerprint]:
        """Read them, which takes a while."""
        return read_prints(self.form())


@dataclass(frozen=True)
class Made:
    """A part, and what it was made from. solution: the same of its references, but for their
    cases.

    stored: it was taken from the stored files.
    """

    references: References
    prints: Prints
    origin: str
    solution: str
    stored: bool = True


# What is being made, how many runs are done, and how many there are in all.
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Job:
    """Some versions of a part, to be run on the cases of these names."""

    part: Part
    cases: tuple[str, ...]
    versions: tuple[Version, ...]

    @property
    def runs(self) -> int:
        """How often a case is run."""
        return len(self.cases) * len(self.versions)

    def do(self, recording: Recording) -> dict[Version, dict]:
        """What it gives of each version, by case."""
        return recording.rows(self.versions, self.cases)

    def hand_in(self, work: "Work", found: dict[Version, dict]) -> None:
        """Give the work what the job gave."""
        work.take(found)


class Watched(Job):
    """Versions of which it is to be seen what they run."""

    def do(self, recording: Recording) -> dict[Version, dict]:
        return {version: recording.ran(version) for version in self.versions}

    def hand_in(self, work: "Work", found: dict[Version, dict]) -> None:
        work.ran |= found


@dataclass(frozen=True)
class Beside(Job):
    """Versions that are run only where they can differ from what is known of others."""

    known: dict[Version, Known]

    def do(self, recording: Recording) -> dict[Version, dict]:
        return recording.rows_beside(self.versions, self.cases, self.known)


RECORDINGS: dict[Part, Recording] = {}  # of the build that runs: its forks find them here


def make_parts(
    project: Project,
    recordings: dict[Part, Recording],
    stored: dict[Part, Made],
    prints: dict[Part, Prints],
    wish: Wish,
    tell: Tell,
) -> dict[Part, Made]:
    """Make parts. Raises CourseError, with a line for everything that is wrong.

    stored, prints: what there is, of which references and pairs may be taken. tell: is told how
    far it is.
    """
    torch.set_num_threads(1)  # before anything runs: a fork of a process with threads hangs
    works = [Work(part, one, Kept(project.root), wish) for part, one in recordings.items()]
    try:
        for work in works:
            work.take_references(stored.get(work.part))
        each(lambda work: work.recording.right, works)
        RECORDINGS.update(recordings)
        with side_by_side(warm=True) as pool:
            how = (project, pool, tell)
            run([job for work in works for job in work.forms()], works, how)
            run_beside({work.part: work.in_forms() for work in works}, works, how)
            run_beside({work.part: work.singles() for work in works}, works, how)
            each(lambda work: work.name_singles(prints.get(work.part)), works)
            leave_pairs([work for work in works if work.makes_pairs and not wish.pairs])
            run_beside({work.part: work.pairs() for work in works}, works, how)
        return {work.part: work.made() for work in works}
    finally:  # also where it is interrupted
        for work in works:
            work.keep()
        RECORDINGS.clear()


class Work:
    """A part in the making: the rows that there are, and which are still to be run."""

    def __init__(self, part: Part, recording: Recording, kept: Kept, wish: Wish):
        self.part, self.recording, self.kept, self.wish = part, recording, kept, wish
        self.rows: Rows = {}
        self.new: set[Version] = set()
        self.origin_of_pairs, self.makes_pairs = "", False
        self.taken: list[Fingerprint] = []
        self.ran: dict[Version, Ran] = {}

    def take_references(self, stored: Made | None) -> None:
        """Take the stored references, where the solution would give the same on the same cases."""
        if stored is None or self.wish.anew:
            return
        cases = [case_digest(case) for case, _ in stored.references.entries]
        same = stored.solution == self.recording.origin_of_references
        if same and cases == [*self.recording.case_digests.values()]:
            self.recording.references = stored.references

    def forms(self) -> list[Job]:
        """What is to be run for other forms of the solution, without a mistake."""
        return self.jobs([one for one in self.recording.in_forms if not one.mistakes])

    def in_forms(self) -> list[Job]:
        """What is to be run for mistakes alone, in other forms of the solution."""
        return self.jobs([one for one in self.recording.in_forms if one.mistakes])

    def singles(self) -> list[Job]:
        """What is to be run for mistakes alone, in the solution itself."""
        return self.jobs(self.recording.singles)

    def name_singles(self, stored: Prints | None) -> None:
        """Tell the mistakes apart; take the stored pairs of them, if they would be the same.

        On hidden cases no pairs are made: grading makes the one that it needs.
        """
        self.prints = tell_apart(self.recording, self.rows)
        if self.part.hidden:
            return
        if stored and self.gives_pairs_of(stored) and not (self.wish.anew and self.wish.pairs):
            self.origin_of_pairs = stored.pairs
            self.taken = [one for one in stored.read() if len(one.mistakes) == 2]
        elif self.wish.pairs or self.has_few_pairs():
            self.origin_of_pairs, self.makes_pairs = self.recording.origin_of_pairs, True

    def gives_pairs_of(self, stored: Prints) -> bool:
        """Whether the stored pairs would come out again.

        Where every mistake alone gives what it gave on every case, so do two mistakes.
        """
        if stored.pairs != self.recording.origin_of_pairs:
            return False
        alone = [one for one in stored.read() if len(one.mistakes) == 1]
        return same_prints(alone, self.prints)

    def has_few_pairs(self) -> bool:
        """Whether pairs are so few that nobody need ask for them."""
        return self.runs_of_pairs <= FEW_RUNS_OF_PAIRS

    @property
    def runs_of_pairs(self) -> int:
        """How many runs all pairs would take."""
        return len(self.all_pairs()) * len(self.recording.cases)

    def pairs(self) -> list[Job]:
        """What is to be run for pairs, where they are asked for."""
        pairs = self.all_pairs() if self.makes_pairs else []
        return self.jobs([pair for pair in pairs if self.recording.fits(pair)])

    def watched(self, jobs: list[Job]) -> list[Job]:
        """What the versions in these jobs are held against, of which it is to be seen what it runs;
        nothing, where that would take as long as the jobs.
        """
        versions = [version for job in jobs for version in job.versions]
        bases = list(dict.fromkeys(one for v in versions for one in self.recording.bases(v)))
        cases = tuple(self.recording.case_digests)
        if sum(job.runs for job in jobs) < WORTH_WATCHING * len(bases) * len(cases):
            return []
        found = self.cut(cases, bases)
        return [Watched(job.part, job.cases, job.versions) for job in found]

    def beside(self, job: Job) -> Job:
        """A job with what is known of the bases of its versions, if they were watched."""
        bases = {base for version in job.versions for base in self.recording.bases(version)}
        known = {base: Known(self.row(base), self.ran[base]) for base in bases & self.ran.keys()}
        for checked in (one for v in job.versions for one in self.recording.with_checks(v)):
            if self.rows.get(checked, {}).keys() == self.recording.case_digests.keys():
                known[checked] = Known(self.rows[checked], {})
        return Beside(job.part, job.cases, job.versions, known) if known else job

    def row(self, version: Version) -> dict[str, Imprint]:
        """What a version gives, where all of it has been run."""
        return self.rows[version] if version != SOLUTION else self.recording.right

    def all_pairs(self) -> list[Version]:
        """Every two mistakes that can be told from everything else."""
        return pairs_of(self.recording, self.prints)

    def jobs(self, versions: list[Version]) -> list[Job]:
        """Take the rows of these versions, all of one kind, that are kept; give out the rest."""
        missing: dict[tuple[str, ...], list[Version]] = defaultdict(list)
        if not versions:
            return []
        place = self.place_of(versions[0].kind)
        table = {} if self.wish.anew else self.kept.rows(*place)
        digests = self.recording.case_digests
        for version in versions:
            row = table.get(self.recording.version_digest(version), {})
            self.rows[version] = {case: row[key] for case, key in digests.items() if key in row}
            if lacking := tuple(case for case, key in digests.items() if key not in row):
                missing[lacking].append(version)
        return [job for cases, some in missing.items() for job in self.cut(cases, some)]

    def cut(self, cases: tuple[str, ...], versions: list[Version]) -> Iterator[Job]:
        """Versions in jobs of about the same size."""
        size = max(1, RUNS_OF_A_JOB // len(cases))
        for at in range(0, len(versions), size):
            yield Job(self.part, cases, tuple(versions[at : at + size]))

    def take(self, rows: Rows) -> None:
        """The rows that a job gave."""
        for version, row in rows.items():
            self.rows[version] |= row
            self.new.add(version)

    def keep(self) -> None:
        """Keep the whole rows for the next build, where there are new ones."""
        digests = self.recording.case_digests
        for kind in {version.kind for version in self.new}:
            whole = {
                self.recording.version_digest(v): {digests[case]: row[case] for case in digests}
                for v, row in self.rows.items()
                if v.kind == kind and row.keys() == digests.keys()
            }
            self.kept.keep_rows(*self.place_of(kind), whole)
        self.new.clear()

    def place_of(self, kind: str) -> tuple[str, str]:
        """Where rows of versions of a kind are kept, and what they were made with."""
        return self.part.key + kind, self.recording.made_with

    def made(self) -> Made:
        """The part as it is now."""
        prints = tell_apart(self.recording, self.rows) if self.makes_pairs else self.prints
        self.keep()
        return Made(
            self.recording.references,
            Prints(lambda: stored_form([*prints, *self.taken]), self.origin_of_pairs),
            self.recording.origin,
            self.recording.origin_of_references,
            stored=False,
        )


def leave_pairs(works: list[Work]) -> None:
    """Make no pairs that nobody has asked for, where those of all parts together are many."""
    if sum(work.runs_of_pairs for work in works) > FEW_RUNS_TOGETHER:
        for work in works:
            work.origin_of_pairs, work.makes_pairs = "", False


def run_beside(
    jobs: dict[Part, list[Job]], works: list[Work], how: tuple[Project, Pool, Tell]
) -> None:
    """Run jobs but for what is foreseen; before that, what it takes to foresee it."""
    run([job for work in works for job in work.watched(jobs[work.part])], works, how)
    run([work.beside(job) for work in works for job in jobs[work.part]], works, how)


def run(jobs: list[Job], works: list[Work], how: tuple[Project, Pool, Tell]) -> None:
    """Run jobs, side by side unless they are few. Raises CourseError for those that fail."""
    project, pool, tell = how
    by_part = {work.part: work for work in works}
    total, done = sum(job.runs for job in jobs), 0
    left = Counter(job.part for job in jobs)
    wrong: list[str] = []
    for job, found in results(jobs, project, pool if total > FEW_RUNS else None):
        done += job.runs
        if isinstance(found, str):
            wrong.append(found)
        else:
            job.hand_in(by_part[job.part], found)
        left[job.part] -= 1
        if not left[job.part]:
            by_part[job.part].keep()
        tell(job.part.exercise, done, total)
    if wrong:
        raise CourseError("\n".join(dict.fromkeys(wrong)))


def results(
    jobs: list[Job], project: Project, pool: Pool | None
) -> Iterator[tuple[Job, dict[Version, dict] | str]]:
    """What each job gives, as they end; or a sentence about what went wrong."""
    if pool is None:
        yield from ((job, run_job(str(project.root), job)) for job in jobs)
        return
    running = {pool.submit(run_job, str(project.root), job): job for job in jobs}
    for future in as_completed(running):
        try:
            yield running[future], future.result()
        except BrokenExecutor:
            version = running[future].versions[0]
            names = ", ".join(filter(None, [*version.mistakes, version.form]))
            yield running[future], f"{running[future].part.key}: {names} or near it ends a process"


def run_job(root: str, job: Job) -> dict[Version, dict] | str:
    """What a job gives, or a sentence. In a fork, with what the process before it has read."""
    torch.set_num_threads(1)
    if job.part not in RECORDINGS:  # started afresh, where a system has no forks
        RECORDINGS[job.part] = job.part.recording(Project(Path(root)))
    try:
        return job.do(RECORDINGS[job.part])
    except CourseError as error:
        return str(error)
    except Exception as error:  # in what the course itself has added, such as a signature
        return f"{job.part.key}: recording it ends in {type(error).__name__}: {error}"
