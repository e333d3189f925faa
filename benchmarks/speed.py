"""Measure the speed of grading and of self-checks: the times in docs/explanation/evidence.md.

    python benchmarks/speed.py [ROW …] [--chapter NAME] [--rounds 5] [--learners N]

Each row is a function below; its docstring says what it compares. What a row compares takes turns.
It prints the median of the rounds, and the median of the ratios to its last line in each round: the
ratios depend less on the machine, and on what else it does, than the seconds.
"""

import argparse
import io
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path

import torch
from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tensorgrade.attempts.setup import Setup  # noqa: E402
from tensorgrade.author.mistakes import told_apart  # noqa: E402
from tensorgrade.author.scaffolds import TROUBLE, invented_file  # noqa: E402
from tensorgrade.course import CourseError  # noqa: E402
from tensorgrade.instructor.channels import write_channel  # noqa: E402
from tensorgrade.instructor.grader import Grader  # noqa: E402
from tensorgrade.instructor.results import Results, rows_of  # noqa: E402
from tensorgrade.learner.kit import Kit  # noqa: E402
from tensorgrade.learner.watch import Watch  # noqa: E402
from tensorgrade.project import Project  # noqa: E402
from tensorgrade.recognition.edits import make  # noqa: E402
from tensorgrade.sources.submitted_files import SubmittedFiles  # noqa: E402

PROJECT = Project(ROOT)
PYTHON = sys.executable
PYTEST = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
KINDS = 20  # of different submissions in a class
MEGABYTES, CORE = 700, 0.5  # of a container


def submission(asked: argparse.Namespace) -> None:
    """Compare grading a submission in a new `pytest` process, in the sandbox, and without it."""
    made = texts(asked.chapter)
    graders = {how: Grader(Setup(PROJECT.graders, how)) for how in ("auto", "none")}
    with tempfile.TemporaryDirectory() as folder:

        def fresh(number: int) -> float:
            (Path(folder) / f"{asked.chapter}.py").write_text(made[number % KINDS], "utf-8")
            tests = [f"graders/{asked.chapter}", "--attempt", folder]
            return clock(lambda: run([*PYTEST, *tests], ROOT, (0, 1)))

        def warm(grader: Grader, number: int) -> float:
            content = made[number % KINDS].encode()
            files = SubmittedFiles("somebody", asked.chapter, f"{asked.chapter}.py", content)
            return clock(lambda: grader.grade(files))

        work = {f"isolation {how}": partial(warm, one) for how, one in graders.items()}
        for grader in graders.values():
            warm(grader, 0)  # the first one costs more
        compare(asked.rounds, {"a pytest process": fresh} | work)
    for grader in graders.values():
        grader.close()


def growth(asked: argparse.Namespace) -> None:
    """Compare a submission's time in a class of N (default: 1,000) and in a tenth of it.

    The clock runs while all workers are busy, so the start of a run does not count.
    """
    large = asked.learners or 1000
    small = large // 10
    settled, made = small * 2 // 5, texts(asked.chapter)

    def one_run(size: int, _: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(size):
                path = Path(folder) / "in" / f"s{number}" / asked.chapter / f"{asked.chapter}.py"
                path.parent.mkdir(parents=True)
                path.write_text(f"{made[number % KINDS]}# learner {number}\n", "utf-8")
            out, graded, times = Path(folder) / "out", 0, {}
            command = [PYTHON, "-m", "tensorgrade.cli", "grade", f"{folder}/in", "--out", out]
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
            while process.poll() is None:
                with suppress(CourseError):  # before the run has made the file
                    graded = len(Results(out).attempts())
                times.setdefault(graded, time.perf_counter())
                time.sleep(0.02)
            assert process.returncode == 0
        first, *_, last = (count for count in times if count >= settled)
        return (times[last] - times[first]) / (last - first)

    compare(asked.rounds, {f"each of {size}": partial(one_run, size) for size in (large, small)})


def rows(asked: argparse.Namespace) -> None:
    """Measure how long the rows of N submissions (default: 20,000) take, from stored attempts."""
    course, chapter = PROJECT.course, PROJECT.course.chapter(asked.chapter)
    told = {"chapter": chapter.name, "status": "passed", "mistakes": []}
    own = [
        told | {"exercise": e.name, "points": e.points, "max_points": e.points, "message": "Right."}
        for e in chapter.exercises
    ]
    with tempfile.TemporaryDirectory() as folder:
        students = [f"s{number}" for number in range(asked.learners or 20_000)]
        files = {s: SubmittedFiles(s, chapter.name, content=s.encode()) for s in students}
        results = Results(Path(folder), writes=True)
        graders = {chapter.name: ""}
        results.expect({one: {} for one in files.values()}, graders, is_whole=True)
        found = {files[s]: [row | {"student": s} for row in own] for s in students}
        results.add("", found)
        compare(asked.rounds, {"all rows": lambda _: clock(lambda: rows_of(Path(folder), course))})


def watch(asked: argparse.Namespace) -> None:
    """Measure `tensorgrade watch` from a save to the verdict, each time with another mistake."""
    mistakes = [
        (chapter.name, exercise.name, known)
        for chapter in PROJECT.course.chapters
        for exercise in chapter.exercises
        if len(known := told_apart(PROJECT, exercise.name)) > asked.rounds
    ]
    chapter, exercise, known = mistakes[-1]
    source = PROJECT.solution(chapter).read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{chapter}.py"
        path.write_text(source, "utf-8")
        kit = Kit(PROJECT.root, Path(folder))
        session = Watch(kit, Console(file=io.StringIO(), width=80))
        session.look()

        def save(number: int) -> float:
            begun = time.perf_counter()
            path.write_text(make(source, exercise, known[number].edits), "utf-8")
            while not session.look():
                time.sleep(0.01)
            return time.perf_counter() - begun

        compare(asked.rounds, {"from a save to the verdict": save})
        session.close()


def selfcheck(asked: argparse.Namespace) -> None:
    """Compare the processor time of `pytest exercises/` with that of `import torch`."""

    def processor(command: list[str], _: int) -> float:
        return run(command, ROOT, (0, 1))

    commands = {
        "pytest exercises/, stubs": [*PYTEST, "exercises"],
        "pytest exercises/, solutions": [*PYTEST, "exercises", "--attempt", "solutions"],
        "import torch": [PYTHON, "-c", "import torch"],
    }
    compare(asked.rounds, {n: partial(processor, command) for n, command in commands.items()})


def memory(asked: argparse.Namespace) -> None:
    """Measure Gradescope's archive of a chapter in a container of half a core and 700 MB.

    The memory is the peak of all processes together. The files are a right one, one that is wrong
    in every exercise, and one with an endless loop. It needs root.
    """
    from tests.answers.reader import rows_of as rows_of_answers
    from tests.container import measured

    right = wrong = PROJECT.solution(asked.chapter).read_text("utf-8")
    first: dict[str, list] = {}
    for row in rows_of_answers("edits.jsonl"):
        if (row["corpus"], row["chapter"]) == ("wrong_edits", asked.chapter):
            first.setdefault(row["exercise"], row["edits"])
    for old, new in chain.from_iterable(first.values()):
        wrong = wrong.replace(old, new, 1)
    files = {"right": right, "wrong": wrong, "endless": right.replace(*TROUBLE["endless loop"], 1)}
    for name, text in files.items():
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder) / "autograder"
            (base / "submission").mkdir(parents=True)
            (base / "submission" / f"{asked.chapter}.py").write_text(text, "utf-8")
            archive = base / "autograder.zip"
            write_channel("gradescope", PROJECT, asked.chapter, archive)
            zipfile.ZipFile(archive).extractall(base / "source")
            for path in (base.parent, base):
                path.chmod(0o755)
            script = ["/bin/bash", str(base / "source" / "run_autograder")]
            told = {"PATH": f"{Path(PYTHON).parent}:/usr/bin:/bin", "AUTOGRADER": str(base)}
            status, peak, seconds = measured(script, base.parent, False, MEGABYTES, CORE, **told)
            assert status == 0, "run_autograder failed"
            tests = json.loads((base / "results" / "results.json").read_text())["tests"]
        points = sum(test["score"] for test in tests)
        print(f"  {name:<38}{peak:8.0f} MB{seconds:9.1f} s of a processor, {points:g} points")


def autograde(asked: argparse.Namespace) -> None:
    """Compare `nbgrader autograde` with nbgrader's own `Execute` and with ours, for N notebooks.

    The default is 30 notebooks. In turn they are right, not begun, and wrong in one exercise.
    """
    chapter, own = asked.chapter, "nbgrader.preprocessors.Execute"
    right, stub = (
        (ROOT / kind / chapter / f"{chapter}.ipynb").read_text("utf-8")
        for kind in ("source", "release")
    )
    answers = right, stub, right.replace("### BEGIN SOLUTION", "return None", 1)

    def one_run(settings: str, _: int) -> float:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shutil.copytree(ROOT / "source" / chapter, folder / "source" / chapter)
            for linked in ("graders", "exercises", "solutions", "nbgrader_config.py"):
                (folder / linked).symlink_to(ROOT / linked)
            text = (ROOT / "course_config.py").read_text("utf-8") + settings
            (folder / "course_config.py").write_text(text, "utf-8")
            for number in range(asked.learners or 30):
                place = folder / "submitted" / f"learner{number}" / chapter
                place.mkdir(parents=True)
                (place / f"{chapter}.ipynb").write_text(answers[number % 3], "utf-8")
            command = [PYTHON, "-m", "nbgrader"]
            run([*command, "generate_assignment", chapter], folder)
            return clock(lambda: run([*command, "autograde", chapter], folder))

    settings = f'    c.Autograde.autograde_preprocessors[0] = "{own}"\n'
    compare(asked.rounds, {own: partial(one_run, settings), "tensorgrade": partial(one_run, "")})


def texts(chapter: str) -> list[str]:
    """Return different submissions of a chapter: solutions, known mistakes and stubs, mixed."""
    chance, asked = random.Random(1), PROJECT.course.chapter(chapter)
    skills = [chance.random() for _ in range(KINDS)]
    return [invented_file(PROJECT, asked, skill, chance) for skill in skills]


def clock(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def run(command: list[str], folder: Path, allowed: tuple[int, ...] = (0,)) -> float:
    """Run a command, and return the processor seconds of its processes."""
    path = f"{Path(PYTHON).parent}{os.pathsep}{os.environ['PATH']}"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert done.returncode in allowed, done.stdout + done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(rounds: int, work: dict[str, Callable[[int], float]]) -> None:
    """Do each kind of work once a round, and print its median seconds and its ratio to the last."""
    taken = [{name: seconds(number) for name, seconds in work.items()} for number in range(rounds)]
    last = [*work][-1]
    for name in work:
        middle = statistics.median(one[name] for one in taken)
        ratio = statistics.median(one[name] / one[last] for one in taken)
        print(f"  {name:<38}{middle:8.3f} s{ratio:9.2f} times", flush=True)


ROWS = (submission, growth, rows, watch, selfcheck, memory, autograde)


def main() -> None:
    """Measure the rows."""
    rows = {row.__name__: row for row in ROWS}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(rows)}")
    parser.add_argument("--chapter", default="ch4_multi_head_attention")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--learners", type=int, help="in `growth`, `rows` and `autograde`")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name in asked.rows or rows:
        print(f"{name}: {(rows[name].__doc__ or '').partition(chr(10))[0]}")
        rows[name](asked)


if __name__ == "__main__":
    main()
