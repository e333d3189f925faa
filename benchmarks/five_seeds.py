"""Compare verdicts on the same attempts, graded with the references of five different seeds.

    python benchmarks/five_seeds.py [--seeds 5] [EXERCISE …]

The attempts are all definitions that a learner of the sample class can submit (the solution, and
each known mistake in it) and all right answers in `tests/`. Points and status must be the same.
Mistakes' names are left out, because fingerprints take minutes for every seed.
"""

import argparse
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch

from tensorgrade.attempts.pairs import sources_path
from tensorgrade.attempts.pipeline import status_of
from tensorgrade.attempts.setup import Setup
from tensorgrade.author.building.reference_files import reference_paths
from tensorgrade.author.proofs.made_attempts import right_forms
from tensorgrade.author.recording.references import build_references
from tensorgrade.exchange.references import References, save_references
from tensorgrade.instructor.grader import Grader
from tensorgrade.processes import side_by_side
from tensorgrade.project import Project, made_from
from tensorgrade.recognition.fingerprints import Fingerprints, save_fingerprints
from tensorgrade.recognition.mistakes import make
from tensorgrade.sources.submission import Source

ROOT = Path(__file__).parents[1]
FOLDERS = ("graders", "solutions", "exercises")
FIRST_SEED = 1 << 100

Verdicts = dict[tuple[str, str], tuple[float, str]]


def main() -> None:
    """Grade with every seed, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exercises", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    by_seed = graded_with(range(FIRST_SEED, FIRST_SEED + asked.seeds), asked.exercises)
    unlike = differing(by_seed)
    for (exercise, name), verdicts in unlike.items():
        print(f"{exercise}: {name}: {verdicts}")
    right = [got for key, got in by_seed[0].items() if key[1].startswith("right: ")]
    print(f"{len(by_seed[0])} attempts, {len(right)} of them right, with {len(by_seed)} seeds each")
    print(f"{len(unlike)} have other points or another status with another seed")


def graded_with(seeds: range, exercises: list[str]) -> list[Verdicts]:
    """Return the verdicts with each seed, computed in parallel."""
    with side_by_side(None, warnings.simplefilter, "ignore") as pool:
        return list(pool.map(graded, seeds, [exercises] * len(seeds)))


def differing(by_seed: list[Verdicts]) -> dict[tuple[str, str], list]:
    """Return the attempts whose verdicts differ between seeds."""
    every = {key: [verdicts[key] for verdicts in by_seed] for key in by_seed[0]}
    return {key: verdicts for key, verdicts in every.items() if len(set(verdicts)) > 1}


def graded(seed: int, exercises: list[str]) -> Verdicts:
    """Return the verdicts on all attempts at these exercises (default: all), with one seed."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        project = course_with(seed, Path(folder))
        asked = [
            (chapter.name, one)
            for chapter in project.course.chapters
            for one in chapter.exercises
            if not exercises or one.name in exercises
        ]
        for chapter in dict.fromkeys(chapter for chapter, _ in asked):
            draw(project, chapter, [one.name for name, one in asked if name == chapter])
        return judged(project, asked)


def course_with(seed: int, folder: Path) -> Project:
    """Return a copy of the course with another seed."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name)
    made_from(folder / "graders").unlink(missing_ok=True)  # it names the seed of the original
    text = (ROOT / "course_config.py").read_text(encoding="utf-8")
    text, count = re.subn(r"seed=\d+", f"seed={seed}", text)
    assert count == 1, "the course has one seed"
    (folder / "course_config.py").write_text(text, encoding="utf-8")
    return Project(folder)


def draw(project: Project, chapter: str, exercises: list[str]) -> None:
    """Store the hidden references of these exercises, without fingerprints."""
    stored, prints = reference_paths(project, chapter, hidden=True)
    entries = [
        entry
        for exercise in exercises
        for entry in build_references(project, chapter, exercise, hidden=True).entries
    ]
    save_references(stored, References(chapter, True, tuple(entries)))
    save_fingerprints(prints, Fingerprints())
    # Without this file no pairs of mistakes are looked for, whose names need fingerprints.
    sources_path(project.graders / "references", chapter).unlink(missing_ok=True)


def judged(project: Project, asked: list) -> Verdicts:
    """Return the verdicts on all attempts at these exercises."""
    grader, found = Grader(Setup(project.graders, "none")), {}
    for chapter, exercise in asked:
        for name, text in attempts(project, chapter, exercise.name):
            source, beside = Source(text, f"{chapter}.py"), project.solution(chapter).parent
            attempt = grader.maker.attempt_from_source(chapter, source, beside)
            results = grader.collected.results(attempt, exercise.name)
            attempt.backend.close()
            points = round(sum(result.earned for result in results), 6)
            status = status_of(getattr(attempt, exercise.name), points, exercise.points)
            found[exercise.name, name] = (points, str(status))
    grader.close()
    return found


def attempts(project: Project, chapter: str, exercise: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of every right answer to an exercise and of every known mistake in it."""
    for form in right_forms(project, chapter, exercise, ROOT / "tests"):
        yield f"right: {form.name}", form.source
    solution = project.solution(chapter).read_text(encoding="utf-8")
    for mistake in project.mistakes:
        if exercise in mistake.edits:
            yield mistake.name, make(solution, exercise, [mistake])


if __name__ == "__main__":
    main()
