"""What an author waits for: seconds of a build after one change, and of a save under `author`.

    python benchmarks/author_seconds.py [--seed] [--nothing]

In a copy of the course, with what builds have kept before. Seconds by the clock, and of all
processors together; on two of them that have nothing else to do a build by many workers takes half
of these. --nothing: first of all from nothing, without pairs of mistakes. --seed: last, a new seed.
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
from tensorgrade.author.kept import FOLDER
from tensorgrade.author.recording.origin import engine_digest

ROOT = Path(__file__).parents[1]
COPIED = ("solutions", "graders", "exercises", "source", "release", "kit", FOLDER)
GRADER = "graders/ch4_multi_head_attention/MultiHeadAttention.py"
MESSAGE = (
    "The scale is taken from all of d_out. Each",
    "The scale is taken from all of d_out; each",
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
    """Take the measurements, one after another, and print them."""
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
        finally:  # also where a build fails, or is ended
            Console(width=80).print(table)


def changes(course: Path, seed: bool) -> list[tuple[str, Callable[[], None]]]:
    """What is measured, in words, and how, in this order."""
    engine_digest()  # as `tensorgrade author` has both before the first save
    terminal.read_ahead(course, terminal.look(course))
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
    """How long something takes: by the clock, and of all processors that work at it."""
    clock, work = time.perf_counter(), processor_seconds()
    action()
    return f"{time.perf_counter() - clock:.1f} s", f"{processor_seconds() - work:.1f} s"


def processor_seconds() -> float:
    """What the processes that this one has waited for have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def copy_of_the_course(to: Path) -> Path:
    """The course's own folders and settings, and what its builds have kept, if anything."""
    for name in filter(lambda name: (ROOT / name).exists(), COPIED):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("*_config.py"), ROOT / "pyproject.toml"):
        shutil.copy(path, to)
    return to


def forget(course: Path) -> None:
    """Delete all that a build makes of references, and all that it keeps."""
    for name in ("graders/references", "exercises/references", FOLDER):
        shutil.rmtree(course / name, ignore_errors=True)


def build(course: Path) -> None:
    """A build, which has to come out well."""
    command = [sys.executable, "-m", "tensorgrade.cli", "build"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=course, env=environment, check=True, stdout=subprocess.DEVNULL)


def build_with(course: Path, old: str, new: str) -> None:
    """A build after an edit."""
    edit(course / GRADER, old, new)
    build(course)


def save(course: Path, old: str, new: str, grader: str = GRADER) -> None:
    """What `tensorgrade author` does when an edit is saved."""
    edit(course / grader, old, new)
    terminal.build_apart(course, [course / grader])


def new_mistake(course: Path, grader: str, text: str) -> tuple[str, Callable[[], None]]:
    """The row of a table for a mistake that is added to another exercise, and saved."""
    first = "MISTAKES = [\n"
    what = f"one in `{Path(grader).stem}`, saved under `author`"
    return what, lambda: save(course, first, first + text, grader)


def new_seed(course: Path) -> None:
    """A build after the seed has been changed."""
    path = course / "course_config.py"
    text, count = re.subn(r"seed=\d+", f"seed={secrets.randbits(128)}", path.read_text("utf-8"))
    assert count == 1, "the course has one seed"
    path.write_text(text, encoding="utf-8")
    build(course)


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that is there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


if __name__ == "__main__":
    main()
