"""Build the parts of references and fingerprints: the solution first, then each version of it.

The imprints of earlier builds are cached (../kept.py). A new mistake or a new case therefore costs
only its own runs. The remaining runs are spread over forks of this process. Single mistakes come
first. Pairs of mistakes are most of the work, so they are built only on request or if they are few.
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

RUNS_OF_A_JOB = 250  # about half a second: short enough for a smooth progress display
FEW_RUNS = 100  # up to this many runs, starting a pool costs more than it saves
FEW_RUNS_OF_PAIRS = 1000  # a second or two, for one part
FEW_RUNS_TOGETHER = 5000  # the same limit for all parts of a build together
WORTH_WATCHING = 5  # watch only if the jobs take this many times as many runs: it saves 10 to 25 %


@dataclass(frozen=True)
class Wish:
    """The parts that a build should make.

    anew: rebuild everything, even if it is unchanged. pairs: build pairs of mistakes too.
    exercises: build only these exercises, or all of them if the set is empty. The files of chapters
    without any of these exercises are left unchanged.
    """

    anew: bool = False
    pairs: bool = False
    exercises: frozenset[str] = frozenset()

    def is_about(self, chapter: Chapter) -> bool:
        """Return True if the build may make anything in this chapter."""
        return not self.exercises or any(e.name in self.exercises for e in chapter.exercises)


@dataclass(frozen=True)
class Part:
    """One exercise's part of a chapter's files, for graders (hidden) or for learners."""

    chapter: str
    exercise: str
    hidden: bool

    @property
    def key(self) -> str:
        """Return the name under which the origin of this part is stored."""
        return f"{self.chapter}/{self.exercise}/{'hidden' if self.hidden else 'public'}"

    def is_of(self, chapter: str, hidden: bool) -> bool:
        """Return True if the part belongs in these files of this chapter."""
        return (self.chapter, self.hidden) == (chapter, hidden)

    def recording(self, project: Project) -> Recording:
        """Return the recording that makes this part."""
        return Recording(project, self.chapter, self.exercise, self.hidden)


@dataclass(frozen=True)
class Prints:
    """A part's fingerprints.

    form: a function that returns them in their stored form. pairs: the digest that its pairs of
    mistakes were made from, or an empty string if it has no pairs.
    """

    form: Callable[[], dict]
    pairs: str = ""

    def read(self) -> list[Fingerprint]:
        """Parse the fingerprints, which takes a while."""
        return read_prints(self.form())


@dataclass(frozen=True)
class Made:
    """A part, and the digests of its sources.

    origin: the digest of everything that the part was made from. solution: the digest of everything
    that its references were made from, except their cases. stored: True if the part was read from
    the stored files.
    """

    references: References
    prints: Prints
    origin: str
    solution: str
    stored: bool = True


# A progress callback: the exercise, the number of runs done, and the total number of runs.
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Job:
    """Some versions of a part, to be run on the cases with these names."""

    part: Part
    cases: tuple[str, ...]
    versions: tuple[Version, ...]

    @property
    def runs(self) -> int:
        """Return the number of runs: one for each version and case."""
        return len(self.cases) * len(self.versions)

    def do(self, recording: Recording) -> dict[Version, dict]:
        """Run the versions and return their imprints by case."""
        return recording.rows(self.versions, self.cases)

    def hand_in(self, work: "Work", found: dict[Version, dict]) -> None:
        """Add the results of this job to the work."""
        work.take(found)


class Watched(Job):
    """Versions to run while recording the statements that each of them executes."""

    def do(self, recording: Recording) -> dict[Version, dict]:
        return {version: recording.ran(version) for version in self.versions}

    def hand_in(self, work: "Work", found: dict[Version, dict]) -> None:
        work.ran |= found


@dataclass(frozen=True)
class Beside(Job):
    """Versions to run only on cases whose result does not follow from other, known versions."""

    known: dict[Version, Known]

    def do(self, recording: Recording) -> dict[Version, dict]:
        return recording.rows_beside(self.versions, self.cases, self.known)


RECORDINGS: dict[Part, Recording] = {}  # of the current build, inherited by its forks


def make_parts(
    project: Project,
    recordings: dict[Part, Recording],
    stored: dict[Part, Made],
    prints: dict[Part, Prints],
    wish: Wish,
    tell: Tell,
) -> dict[Part, Made]:
    """Make parts and return them. Raise CourseError with one line for each problem.

    stored, prints: earlier parts and fingerprints, from which references and pairs may be reused.
    tell: a progress callback.
    """
    torch.set_num_threads(1)  # before anything runs: forking a process that has threads can hang
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
    finally:  # also after an interruption
        for work in works:
            work.keep()
        RECORDINGS.clear()


class Work:
    """One part while it is being made: the rows so far, and the jobs that are still missing."""

    def __init__(self, part: Part, recording: Recording, kept: Kept, wish: Wish):
        self.part, self.recording, self.kept, self.wish = part, recording, kept, wish
        self.rows: Rows = {}
        self.new: set[Version] = set()
        self.origin_of_pairs, self.makes_pairs = "", False
        self.taken: list[Fingerprint] = []
        self.ran: dict[Version, Ran] = {}

    def take_references(self, stored: Made | None) -> None:
        """Reuse the stored references if neither their code nor their cases have changed."""
        if stored is None or self.wish.anew:
            return
        cases = [case_digest(case) for case, _ in stored.references.entries]
        same = stored.solution == self.recording.origin_of_references
        if same and cases == [*self.recording.case_digests.values()]:
            self.recording.references = stored.references

    def forms(self) -> list[Job]:
        """Return the jobs for other forms of the solution, without a mistake."""
        return self.jobs([one for one in self.recording.in_forms if not one.mistakes])

    def in_forms(self) -> list[Job]:
        """Return the jobs for single mistakes in other forms of the solution."""
        return self.jobs([one for one in self.recording.in_forms if one.mistakes])

    def singles(self) -> list[Job]:
        """Return the jobs for single mistakes in the solution itself."""
        return self.jobs(self.recording.singles)

    def name_singles(self, stored: Prints | None) -> None:
        """Compute the fingerprints of single mistakes, then reuse or plan the pairs.

        Stored pairs are reused if they would come out the same. No pairs are made for hidden cases:
        grading makes the pair that it needs.
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
        """Return True if a new run would produce the stored pairs again.

        If every single mistake still gives the same result on every case, so does every pair.
        """
        if stored.pairs != self.recording.origin_of_pairs:
            return False
        alone = [one for one in stored.read() if len(one.mistakes) == 1]
        return same_prints(alone, self.prints)

    def has_few_pairs(self) -> bool:
        """Return True if the pairs are so few that they are built without being asked for."""
        return self.runs_of_pairs <= FEW_RUNS_OF_PAIRS

    @property
    def runs_of_pairs(self) -> int:
        """Return the number of runs that all pairs would take."""
        return len(self.all_pairs()) * len(self.recording.cases)

    def pairs(self) -> list[Job]:
        """Return the jobs for pairs, or no jobs if this build makes no pairs."""
        pairs = self.all_pairs() if self.makes_pairs else []
        return self.jobs([pair for pair in pairs if self.recording.fits(pair)])

    def watched(self, jobs: list[Job]) -> list[Job]:
        """Return jobs that watch the base versions of the versions in these jobs.

        Return an empty list if watching would save less time than it takes.
        """
        versions = [version for job in jobs for version in job.versions]
        bases = list(dict.fromkeys(one for v in versions for one in self.recording.bases(v)))
        cases = tuple(self.recording.case_digests)
        if sum(job.runs for job in jobs) < WORTH_WATCHING * len(bases) * len(cases):
            return []
        found = self.cut(cases, bases)
        return [Watched(job.part, job.cases, job.versions) for job in found]

    def beside(self, job: Job) -> Job:
        """Return the job together with the known results of its base versions, if there are any."""
        bases = {base for version in job.versions for base in self.recording.bases(version)}
        known = {base: Known(self.row(base), self.ran[base]) for base in bases & self.ran.keys()}
        for checked in (one for v in job.versions for one in self.recording.with_checks(v)):
            if self.rows.get(checked, {}).keys() == self.recording.case_digests.keys():
                known[checked] = Known(self.rows[checked], {})
        return Beside(job.part, job.cases, job.versions, known) if known else job

    def row(self, version: Version) -> dict[str, Imprint]:
        """Return the imprints of a version that has been run on all cases."""
        return self.rows[version] if version != SOLUTION else self.recording.right

    def all_pairs(self) -> list[Version]:
        """Return every pair of mistakes whose fingerprints are unique."""
        return pairs_of(self.recording, self.prints)

    def jobs(self, versions: list[Version]) -> list[Job]:
        """Load the cached rows of these versions, all of one kind, and return jobs for the rest."""
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
        """Yield the versions in jobs of about equal size."""
        size = max(1, RUNS_OF_A_JOB // len(cases))
        for at in range(0, len(versions), size):
            yield Job(self.part, cases, tuple(versions[at : at + size]))

    def take(self, rows: Rows) -> None:
        """Add the rows that a job returned."""
        for version, row in rows.items():
            self.rows[version] |= row
            self.new.add(version)

    def keep(self) -> None:
        """Cache the complete rows for the next build, for each kind that has new ones."""
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
        """Return the cache name for rows of this kind, and the digest of their code."""
        return self.part.key + kind, self.recording.made_with

    def made(self) -> Made:
        """Return the finished part."""
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
    """Cancel the pairs of all parts if together they would take too many runs."""
    if sum(work.runs_of_pairs for work in works) > FEW_RUNS_TOGETHER:
        for work in works:
            work.origin_of_pairs, work.makes_pairs = "", False


def run_beside(
    jobs: dict[Part, list[Job]], works: list[Work], how: tuple[Project, Pool, Tell]
) -> None:
    """Run jobs, but skip results that can be predicted. Run what the predictions need first."""
    run([job for work in works for job in work.watched(jobs[work.part])], works, how)
    run([work.beside(job) for work in works for job in jobs[work.part]], works, how)


def run(jobs: list[Job], works: list[Work], how: tuple[Project, Pool, Tell]) -> None:
    """Run jobs, in parallel unless they are few. Raise CourseError if any of them fail."""
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
    """Yield each job as it finishes, with its results or with a sentence about the error."""
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
    """Return the results of a job, or a sentence about the error.

    A fork finds the recordings that its parent process has already read.
    """
    torch.set_num_threads(1)
    if job.part not in RECORDINGS:  # a newly started process, on a system without fork
        RECORDINGS[job.part] = job.part.recording(Project(Path(root)))
    try:
        return job.do(RECORDINGS[job.part])
    except CourseError as error:
        return str(error)
    except Exception as error:  # raised by the course's own code, such as a signature
        return f"{job.part.key}: recording it ends in {type(error).__name__}: {error}"
