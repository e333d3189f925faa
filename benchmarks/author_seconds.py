"""Measure an author's waiting time: a build after one change, and a save under `author`.

    python benchmarks/author_seconds.py [--seed] [--nothing]

It runs in a copy of the course with the cache of earlier builds. It reports seconds by the clock,
and the processor time of all processes together. On two idle cores a build with many workers takes
about half of that time. --nothing: start with a build from nothing, without pairs of mistakes.
--seed: end with a new seed.
"""

import argparse
import os
import re
import resource
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tensorgrade.author import terminal
from tensorgrade.author.cache import FOLDER

ROOT = Path(__file__).parents[1]
COPIED = ("solutions", "graders", "exercises", "source", "release", "kit", FOLDER)
GRADER = "graders/ch4_multi_head_attention/MultiHeadAttention.py"
MESSAGE = (
    "The scale comes from all of d_out. Each",
    "The scale comes from all of d_out; each",
)
MISTAKE = (
    "MISTAKES = [\n",
    """MISTAKES = [
    mistake("a_third_more", "The scores are a third larger than they should be.",
            ("/ d_k**0.5", "* 1.33 / d_k**0.5")),
""",
)
OTHER_EDIT = ("* 1.33 /", "* 1.34 /")
OTHER_SAVES = [  # a new mistake in exercises of other kinds
    (
        "graders/ch1_simplified_attention/softmax.py",
        """    mistake("exponents_too_large", "A third too large.", (SHIFT, f"1.33 * ({SHIFT})")),
""",
    ),
    (
        "graders/ch6_small_gpt/SmallGPT.py",
        """    mistake("sum_too_large", "A third too large.", (SUM, f"1.33 * ({SUM})")),
""",
    ),
]


def main() -> None:
    """Take the measurements one after another, and print them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", action="store_true")
    parser.add_argument("--nothing", action="store_true")
    asked = parser.parse_args()
    table = Table("what was changed", "clock", "processor")
    with tempfile.TemporaryDirectory() as folder:
        course = copy_of_the_course(Path(folder) / "course")
        try:
            if asked.nothing:
                forget(course)
                table.add_row("from nothing, without pairs", *seconds(lambda: build(course)))
            build(course)
            for what, action in changes(course, asked.seed):
                table.add_row(what, *seconds(action))
        finally:  # also if a build fails or is interrupted
            Console(width=80).print(table)


def changes(course: Path, seed: bool) -> list[tuple[str, Callable[[], None]]]:
    """Return the measurements in order, each with its name and a function."""
    return [
        ("nothing, `tensorgrade build`", lambda: build(course)),
        ("a message, saved under `author`", lambda: save(course, *MESSAGE)),
        ("the same back, `tensorgrade build`", lambda: build_with(course, *reversed(MESSAGE))),
        ("a new mistake, saved under `author`", lambda: save(course, *MISTAKE)),
        ("another edit of it, `tensorgrade build`", lambda: build_with(course, *OTHER_EDIT)),
        *(new_mistake(course, grader, text) for grader, text in OTHER_SAVES),
        *([("a new seed, `tensorgrade build`", lambda: new_seed(course))] if seed else []),
    ]


def seconds(action: Callable[[], None]) -> tuple[str, str]:
    """Return the time of an action: by the clock, and of all processors together."""
    clock, work = time.perf_counter(), processor_seconds()
    action()
    return f"{time.perf_counter() - clock:.1f} s", f"{processor_seconds() - work:.1f} s"


def processor_seconds() -> float:
    """Return the processor time of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def copy_of_the_course(to: Path) -> Path:
    """Copy the course's own folders and settings, and the cache of its builds, if there is one."""
    for name in filter(lambda name: (ROOT / name).exists(), COPIED):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("*_config.py"), ROOT / "pyproject.toml"):
        shutil.copy(path, to)
    return to


def forget(course: Path) -> None:
    """Delete the references and the cache of the course's builds."""
    for name in ("graders/references", "exercises/references", FOLDER):
        shutil.rmtree(course / name, ignore_errors=True)


def build(course: Path) -> None:
    """Run a build, which must succeed."""
    command = [sys.executable, "-m", "tensorgrade.cli", "build"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=course, env=environment, check=True, stdout=subprocess.DEVNULL)


def build_with(course: Path, old: str, new: str) -> None:
    """Make an edit, then run a build."""
    edit(course / GRADER, old, new)
    build(course)


def save(course: Path, old: str, new: str, grader: str = GRADER) -> None:
    """Make an edit, then run the build that `tensorgrade author` runs after a save."""
    edit(course / grader, old, new)
    terminal.build_apart(course, [course / grader])


def new_mistake(course: Path, grader: str, text: str) -> tuple[str, Callable[[], None]]:
    """Return the row of a table for a mistake that is added to another exercise and saved."""
    first = "MISTAKES = [\n"
    what = f"one in `{Path(grader).stem}`, saved under `author`"
    return what, lambda: save(course, first, first + text, grader)


def new_seed(course: Path) -> None:
    """Change the seed, then run a build."""
    path = course / "course_config.py"
    text, count = re.subn(r"seed=\d+", f"seed={secrets.randbits(128)}", path.read_text("utf-8"))
    assert count == 1, "the course has one seed"
    path.write_text(text, encoding="utf-8")
    build(course)


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text, which must be in the file."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


if __name__ == "__main__":
    main()
