"""Compare our preprocessor with the stock `Execute` in `nbgrader autograde` on one class.

    python benchmarks/autograde.py [--learners 30] [--chapter ch1_simplified_attention]

Both grade the same submissions in a scratch course with nbgrader's own command. Stock `Execute`
runs each notebook in a kernel, with the visible checks as a substitute for the hidden tests.
Processor time is that of all processes. Unlike wall-clock time, it hardly depends on other load.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

ROOT = Path(__file__).parent.parent
STOCK = '    c.Autograde.autograde_preprocessors[0] = "nbgrader.preprocessors.Execute"\n'
TRUSTED = '    c.HiddenGraders.isolation = "none"\n'


def make_course(folder: Path, chapter: str, learners: int, settings: str) -> None:
    """Make a scratch course with a class: in turn right, unwritten and with one exercise wrong."""
    shutil.copytree(ROOT / "source" / chapter, folder / "source" / chapter)
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    for name in ("graders", "exercises", "solutions"):
        (folder / name).symlink_to(ROOT / name)
    text = (ROOT / "course_config.py").read_text(encoding="utf-8")
    (folder / "course_config.py").write_text(text + settings, encoding="utf-8")
    for number in range(learners):
        place = folder / "submitted" / f"learner{number:03}" / chapter
        place.mkdir(parents=True)
        nbformat.write(answer(chapter, number), place / f"{chapter}.ipynb")


def answer(chapter: str, number: int):
    """Return one learner's notebook."""
    kind = ("source", "release", "source")[number % 3]
    nb = nbformat.read(ROOT / kind / chapter / f"{chapter}.ipynb", as_version=4)
    if number % 3 == 2:  # one exercise is wrong
        solution = next(
            cell for cell in nb.cells if cell.metadata.get("nbgrader", {}).get("solution")
        )
        solution.source = solution.source.replace("### BEGIN SOLUTION", "return None")
    return nb


def nbgrader(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run a command. Return its seconds by the clock and of the processors."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    begin, used = time.perf_counter(), processor_seconds()
    subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder,
        check=True,
        env={**os.environ, "PATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - begin, processor_seconds() - used


def processor_seconds() -> float:
    """Return the processor time so far of the processes started from here and of their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(chapter: str, learners: int, settings: str) -> tuple[float, float]:
    """Return the seconds (clock, processors) of `nbgrader autograde` for a whole class."""
    with tempfile.TemporaryDirectory() as folder:
        make_course(Path(folder), chapter, learners, settings)
        nbgrader(Path(folder), "generate_assignment", chapter)
        return nbgrader(Path(folder), "autograde", chapter)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--chapter", default="ch1_simplified_attention")
    parser.add_argument("--isolation", choices=("auto", "none"), default="auto")
    asked = parser.parse_args()
    ours = measure(asked.chapter, asked.learners, TRUSTED if asked.isolation == "none" else "")
    stock = measure(asked.chapter, asked.learners, STOCK)
    print(f"{asked.learners} notebooks of {asked.chapter}, {os.cpu_count()} cores")
    print(f"{'':<24}{'whole class':>14}{'per submission':>18}{'processor time':>18}")
    for name, (clock, used) in (("hidden graders (ours)", ours), ("stock Execute", stock)):
        each = clock / asked.learners, used / asked.learners
        print(f"{name:<24}{clock:>12.1f} s{each[0]:>16.3f} s{each[1]:>16.3f} s")
    clock, used = (theirs / own for theirs, own in zip(stock, ours, strict=True))
    print(f"stock Execute takes {clock:.1f} times as long, {used:.1f} times the processor time")


if __name__ == "__main__":
    main()
