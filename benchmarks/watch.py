"""Measure the time of `tensorgrade watch` from a save to the verdict: the median of ten saves.

    python benchmarks/watch.py

Each save writes a learner's file with another mistake, in the last exercise of the course that has
enough of them. The clock runs from the write to the page with the verdict. So the time includes the
wait for the next look at the file.
"""

import io
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from tensorgrade.learner.watch.loop import Watch
from tensorgrade.project import Project, find_project
from tensorgrade.recognition.mistakes import make

SAVES = 10


def main() -> None:
    """Save ten times, and print every time and the median."""
    times = measure(find_project(Path(__file__).parent))
    print("save to verdict, ms:", " ".join(f"{1000 * t:.0f}" for t in times))
    print(f"median of {len(times)}: {1000 * statistics.median(times):.0f} ms")


def measure(project: Project) -> list[float]:
    """Return the seconds from each save to its verdict."""
    chapter, versions = wrong_versions(project)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{chapter}.py"
        path.write_text(versions[-1], encoding="utf-8")
        session = Watch(project.exercises, Path(folder), Console(file=io.StringIO(), width=80))
        session.start()
        saves = session.saves()
        next(saves)  # from now on it notices saves
        times = [save(session, saves, path, version) for version in versions[:SAVES]]
        session.close()
    return times


def wrong_versions(project: Project) -> tuple[str, list[str]]:
    """Return a chapter, and versions of it with one mistake each: one more than saves."""
    asked = [(c.name, e.name) for c in project.course.chapters for e in c.exercises]
    for chapter, exercise in reversed(asked):
        known = [mistake for mistake in project.mistakes if exercise in mistake.edits]
        if len(known) > SAVES:
            source = project.solution(chapter).read_text(encoding="utf-8")
            wrong = [make(source, exercise, [mistake]) for mistake in known[: SAVES + 1]]
            return chapter, wrong
    raise SystemExit(f"no exercise has more than {SAVES} known mistakes")


def save(session: Watch, saves: Iterator[list[Path]], path: Path, text: str) -> float:
    """Save a text, and return the seconds until the verdict."""
    began = time.perf_counter()
    path.write_text(text, encoding="utf-8")
    while not session.look():
        session.saved(next(saves))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
