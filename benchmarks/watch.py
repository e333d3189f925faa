"""How long `tensorgrade watch` takes from a save to the verdict: the median over ten saves.

    python benchmarks/watch.py

A learner's file of the last chapter is saved with another mistake each time; the clock runs from
the write to the page that tells about it, and so includes the wait for the next look at the file.
"""

import io
import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console

from tensorgrade.author.recording.mistakes import make
from tensorgrade.learner.watch.loop import LOOK_EVERY, Watch
from tensorgrade.project import Project, find_project

SAVES, CHAPTER, EXERCISE = 10, -1, -1


def main() -> None:
    """Save ten times, print every time and the median."""
    times = measure(find_project(Path(__file__).parent))
    print("save to verdict, ms:", " ".join(f"{1000 * t:.0f}" for t in times))
    print(f"median of {len(times)}: {1000 * statistics.median(times):.0f} ms")


def measure(project: Project) -> list[float]:
    """Seconds from each save to its verdict."""
    chapter = project.course.chapters[CHAPTER]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{chapter.name}.py"
        versions = wrong_versions(project, chapter.name, chapter.exercises[EXERCISE].name)
        path.write_text(versions[-1], encoding="utf-8")
        session = Watch(project.exercises, Path(folder), Console(file=io.StringIO(), width=80))
        session.start()
        times = [save(session, path, version) for version in versions[:SAVES]]
        session.close()
    return times


def wrong_versions(project: Project, chapter: str, exercise: str) -> list[str]:
    """The chapter's solution with one mistake each."""
    source = project.solution(chapter).read_text(encoding="utf-8")
    known = [mistake for mistake in project.mistakes if exercise in mistake.edits]
    return [make(source, exercise, [mistake]) for mistake in known[: SAVES + 1]]


def save(session: Watch, path: Path, text: str) -> float:
    """Seconds from a save to the verdict."""
    began = time.perf_counter()
    path.write_text(text, encoding="utf-8")
    while not session.look():
        time.sleep(LOOK_EVERY)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
