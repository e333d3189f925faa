"""Run all versions of exercises: the solution, and single and paired mistakes.

Each exercise has two parts, one for graders and one for learners. A part is one job, and jobs are
spread over forks of this process.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ...course import Chapter, CourseError, each
from ...processes import Pool, side_by_side
from ...project import Project
from ...recognition.fingerprints import Fingerprint, read_prints, stored_form
from ..recording.digests import pairs_digest
from ..recording.references import (
    Recording,
    Rows,
    pairs_of,
    tell_apart,
)
from .same import same_prints

FEW_RUNS = 100  # up to this many runs, starting a pool costs more than it saves
FEW_RUNS_OF_PAIRS = 1000  # of one part; this many take a second or two, and need no `pairs`


@dataclass(frozen=True)
class BuildOptions:
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
        """Return the name under which the digest of this part is stored."""
        return f"{self.chapter}/{self.exercise}/{'hidden' if self.hidden else 'public'}"

    def recording(self, project: Project) -> Recording:
        """Return the recording that makes this part."""
        return Recording(project, self.chapter, self.exercise, self.hidden)


@dataclass(frozen=True)
class Prints:
    """A part's fingerprints in their stored form.

    pairs: the digest of the sources of its pairs of mistakes, or an empty string if it has no
    pairs. effects: the first effects of each mistake, by name; on public cases only.
    """

    form: dict
    pairs: str = ""
    effects: dict[str, dict] = field(default_factory=dict)


# A progress callback: the exercise, the number of runs done, and the total number of runs.
Tell = Callable[[str, int, int], None]
RECORDINGS: dict[Part, Recording] = {}  # of the current build, inherited by its forks


def make_parts(
    project: Project,
    recordings: dict[Part, Recording],
    stored: dict[Part, Prints | None],
    options: BuildOptions,
    tell: Tell,
) -> Iterator[tuple[Part, Prints | str]]:
    """Yield each finished part, with its fingerprints or with a sentence on the error.

    Raise CourseError with one line for each problem if a solution fails on a case.

    stored: earlier fingerprints, from which pairs may be reused.
    """
    torch.set_num_threads(1)  # before anything runs: forking a process that has threads can hang
    each(lambda recording: recording.right, recordings.values())
    RECORDINGS.update(recordings)
    runs = {part: runs_of(one, options) for part, one in recordings.items()}
    done, total = 0, sum(runs.values())
    try:
        with side_by_side(warm=True) as pool:
            jobs = [
                (str(project.root), part, stored.get(part), options)
                for part in sorted(
                    runs, key=lambda part: -runs[part]
                )  # so that no long one is last
            ]
            for part, made in results(jobs, pool if total > FEW_RUNS else None):
                done += runs[part]
                tell(part.exercise, done, total)
                yield part, made
    finally:
        RECORDINGS.clear()


def runs_of(recording: Recording, options: BuildOptions) -> int:
    """Return the number of runs that a part takes, for the display of progress."""
    versions = len(recording.singles)
    if options.pairs and not recording.hidden:
        versions += len(recording.singles) ** 2 // 2
    return versions * len(recording.cases)


def results(jobs: list[tuple], pool: Pool | None) -> Iterator[tuple[Part, Prints | str]]:
    """Yield the results of the jobs in the order in which they finish."""
    if pool is None:
        yield from ((job[1], make_part(*job)) for job in jobs)
        return
    running = {pool.submit(make_part, *job): job[1] for job in jobs}
    for future in as_completed(running):
        part = running[future]
        try:
            yield part, future.result()
        except BrokenExecutor:
            why = "a known mistake in it, or in a part built at the same time, ended the process"
            yield part, f"{part.key}: {why}"


def make_part(root: str, part: Part, stored: Prints | None, options: BuildOptions) -> Prints | str:
    """Return the fingerprints of a part, or a sentence about the error.

    A fork finds the recordings that its parent process has already read.
    """
    torch.set_num_threads(1)
    recording = RECORDINGS.get(part) or part.recording(Project(Path(root)))
    try:
        rows = recording.rows(recording.singles)
        singles = tell_apart(recording, rows)
        if recording.hidden:  # grading makes the pair that it needs
            return Prints(stored_form(singles))
        return with_pairs(recording, rows, singles, stored, options)
    except CourseError as error:
        return str(error)
    except Exception as error:  # raised by the course's own code, such as a signature
        return f"{part.key}: recording it ends in {type(error).__name__}: {error}"


def with_pairs(
    recording: Recording,
    rows: Rows,
    singles: list[Fingerprint],
    stored: Prints | None,
    options: BuildOptions,
) -> Prints:
    """Return the fingerprints of a part with those of its pairs of mistakes, if it gets any.

    Stored pairs are reused if they would come out the same: they were made from the same sources,
    and each mistake alone still gives the same result on every case. Otherwise pairs are made if
    they are few or asked for.
    """
    digest, pairs = pairs_digest(recording), pairs_of(recording, singles)
    before = read_prints(stored.form) if stored and stored.pairs == digest else []
    is_current = same_prints([one for one in before if len(one.mistakes) == 1], singles)
    if before and is_current and not (options.anew and options.pairs):
        taken = [one for one in before if len(one.mistakes) == 2]
        return Prints(stored_form([*singles, *taken]), digest)
    if not options.pairs and len(pairs) * len(recording.cases) > FEW_RUNS_OF_PAIRS:
        return Prints(stored_form(singles))
    both = recording.rows(filter(recording.fits, pairs))
    return Prints(stored_form(tell_apart(recording, rows | both)), digest)
