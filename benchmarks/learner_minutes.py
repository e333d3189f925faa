"""Measure a learner's waiting time with only the kit, relative to a bare `import torch`.

    python benchmarks/learner_minutes.py [--rounds 5]

The script writes the kit to a temporary folder, with the solutions as finished work in `done/`. It
measures the processor seconds of whole commands, one after another in rounds, and takes medians.
The start of `watch` is wall-clock time until its first page, because two processes share that work.
The same holds for `import torch` on that line. benchmarks/watch.py measures the time from a save to
the verdict.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import watch
from rich.console import Console
from rich.table import Table

from tensorgrade.author.bundle import write_kit
from tensorgrade.project import Project, find_project

PYTHON = sys.executable
INSTALLED = ".installed"  # the folder with the files that pip would install
IMPORT = [PYTHON, "-c", "import torch"]
PYTEST = [PYTHON, "-m", "pytest", "exercises"]
FIRST_PAGE = """
import io, sys, pathlib
from tensorgrade.gc_settings import collect_garbage_rarely
collect_garbage_rarely()
from rich.console import Console
from tensorgrade.learner.watch.loop import Watch
here = pathlib.Path("exercises").resolve()
session = Watch(here, here, Console(file=io.StringIO(), width=80))
session.start()
print("ready", flush=True)
sys.stdin.read()
session.close()
"""


def commands(project: Project) -> dict[str, tuple[list[str], str]]:
    """Return a learner's commands and their goals, by the text to show."""
    done = ["--attempt", "done"]
    hint, chapter = [PYTHON, "-m", "tensorgrade.cli", "hint"], project.course.chapters[1].name
    return {
        "pytest exercises/, stubs": (PYTEST, "1.5"),
        "pytest exercises/, solutions": ([*PYTEST, *done], "1.5"),
        "one exercise with -k, stub": ([*PYTEST, "-k", "softmax_naive"], "1.3"),
        "one exercise with -k, solution": ([*PYTEST, "-k", "softmax_naive", *done], "1.3"),
        "one chapter, solutions": ([*PYTEST[:-1], f"exercises/{chapter}.py", *done], "1.3"),
        "tensorgrade hint softmax": ([*hint, "softmax"], "0.3 s"),
        "the same, misspelt": ([*hint, "sofmax"], "0.3 s"),
    }


def main() -> None:
    """Measure every command in every round, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    project = find_project(Path(__file__).parent)
    with tempfile.TemporaryDirectory() as folder:
        kit = unpacked_kit(project, Path(folder))
        one_round(project, kit)  # this round compiles the imported files
        taken = [one_round(project, kit) for _ in range(rounds)]
    saves = watch.measure(project)
    table = Table("command", "seconds", "against import torch", "goal")
    for words, (_, goal) in commands(project).items():
        table.add_row(words, *figures(taken, words, "import torch"), goal)
    table.add_row("watch, start (clock)", *figures(taken, "watch", "import torch (clock)"), "1.5")
    table.add_row("save to verdict (clock)", f"{statistics.median(saves):.2f}", "", "0.15 s")
    Console(width=100).print(table)


def unpacked_kit(project: Project, folder: Path) -> Path:
    """Return the kit as a learner installs it, with everything solved in `done/`."""
    write_kit(project, folder / "kit.zip")
    zipfile.ZipFile(folder / "kit.zip").extractall(folder)
    (wheel,) = (folder / "kit").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "kit" / INSTALLED)
    done = folder / "kit" / "done"
    done.mkdir()
    for chapter in project.course.chapters:
        source = project.solution(chapter.name)
        (done / source.name).write_bytes(source.read_bytes())
    return folder / "kit"


def one_round(project: Project, kit: Path) -> dict[str, float]:
    """Return the seconds of each command in one round."""
    taken = {"import torch": processor_seconds(IMPORT, kit)}
    for words, (command, _) in commands(project).items():
        taken[words] = processor_seconds(command, kit)
    began = time.perf_counter()
    processor_seconds(IMPORT, kit)
    taken["import torch (clock)"] = time.perf_counter() - began
    taken["watch"] = first_page_seconds(kit)
    return taken


def environment(kit: Path) -> dict[str, str]:
    """Return an environment that imports the kit's own copy of the engine, compiled at first use.

    Learners have the same. pip compiles torch when it installs it.
    """
    own = {"PYTHONPATH": str(kit / INSTALLED), "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": ""}
    return os.environ | own


def processor_seconds(command: list[str], kit: Path) -> float:
    """Return the user and system time of a command and its child processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=kit, env=environment(kit), capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_page_seconds(kit: Path) -> float:
    """Return the time from the start of `watch` to its first page, by the clock."""
    began = time.perf_counter()
    with subprocess.Popen(
        [PYTHON, "-c", FIRST_PAGE],
        cwd=kit,
        env=environment(kit),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        return time.perf_counter() - began


def figures(taken: list[dict[str, float]], words: str, against: str) -> tuple[str, str]:
    """Return the median in seconds, and the median of the rounds' ratios."""
    seconds = statistics.median(one[words] for one in taken)
    ratio = statistics.median(one[words] / one[against] for one in taken)
    return f"{seconds:.2f}", f"{ratio:.2f}"


if __name__ == "__main__":
    main()
