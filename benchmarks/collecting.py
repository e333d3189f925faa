"""Measure `tensorgrade collect` for 1,000, 10,000 and 100,000 rows, and for large clones.

    python benchmarks/collecting.py

Ten times the rows or files should take about ten times as long. Twenty times is too much.
"""

import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tensorgrade.course_sources import load_course  # noqa: E402
from tensorgrade.instructor.collecting import plan  # noqa: E402
from tensorgrade.instructor.roster import Roster, read_roster  # noqa: E402
from tensorgrade.instructor.write_submissions import write  # noqa: E402

COURSE = load_course(ROOT / "graders")
CHAPTER = COURSE.chapters[0].name
MOST_RATIO = 20.0


def rows(folder: Path, count: int) -> Callable[[], None]:
    """Write a roster of this many people, with a submission from every hundredth of them."""
    lines = (f"Participant {n},u{n},u{n}@x.org" for n in range(count))
    (folder / "roster.csv").write_text("Identifier,Username,Email\n" + "\n".join(lines) + "\n")
    with zipfile.ZipFile(folder / "m.zip", "w") as archive:
        for n in range(0, count, 100):
            archive.writestr(f"U {n}_{n}_assignsubmission_file_/{CHAPTER}.py", f"x = {n}\n")

    def collect() -> None:
        roster = read_roster(folder / "roster.csv")
        write(plan("moodle", folder / "m.zip", COURSE, roster), folder / "in")

    return collect


def files(folder: Path, count: int) -> Callable[[], None]:
    """Write a clone with this many scripts of other names, and as many in a virtual environment."""
    for number in range(count):
        for above in ("src", "venv/lib"):
            path = folder / "clones" / "hw-ben" / above / f"package{number // 100}"
            path.mkdir(parents=True, exist_ok=True)
            (path / f"m{number}.py").write_text(f"x = {number}\n")

    def collect() -> None:
        write(plan("git", folder / "clones", COURSE, Roster()), folder / "in")

    return collect


def seconds(make: Callable[[Path, int], Callable[[], None]], count: int) -> float:
    """Return the time that one collection takes."""
    with tempfile.TemporaryDirectory() as folder:
        collect = make(Path(folder), count)
        begun = time.monotonic()
        collect()
        return time.monotonic() - begun


def main() -> int:
    """Print a line for each size. Return 1 if one size took far too long compared to the last."""
    worst = 0.0
    for make, counts in ((rows, (1_000, 10_000, 100_000)), (files, (1_000, 10_000))):
        before = 0.0
        for count in counts:
            took = seconds(make, count)
            ratio = took / before if before else 0.0
            worst, before = max(worst, ratio), took
            told = f", {ratio:.1f} times the one before" if ratio else ""
            print(f"{count:7,} {make.__name__}: {took:6.2f} s{told}", flush=True)
    return int(worst > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
