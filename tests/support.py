"""The door between the tests and the engine.

Commands run in forks of one process that has imported what they all need, because a fresh
interpreter spends seconds on importing torch. `Judge` turns a text into a verdict.
"""

import csv
import json
import multiprocessing
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import torch

from tensorgrade.attempts.lab import Lab
from tensorgrade.attempts.pipeline import unexplained_verdict, verdict
from tensorgrade.attempts.recognized import mistakes
from tensorgrade.attempts.scoring import judged_on
from tensorgrade.attempts.setup import Setup
from tensorgrade.author import case
from tensorgrade.author.mistakes import known, told_apart
from tensorgrade.course import CourseError as CourseError  # for tests that import no engine
from tensorgrade.course import Limits
from tensorgrade.exchange.observation import Loaded, Looked, Observation
from tensorgrade.exchange.references import References, load_references
from tensorgrade.instructor.grader import Grader, forget
from tensorgrade.project import Project
from tensorgrade.project import load_course as load_course
from tensorgrade.recognition.edits import Edits, make
from tensorgrade.sandbox.holes import examine
from tensorgrade.sandbox.processes import ForkServer
from tensorgrade.sources.program import Program, Source
from tensorgrade.sources.submitted_files import SubmittedFiles

from .answers.reader import rows_of as rows_in
from .container import contained
from .forked import MODULES, be_command

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
WARM = multiprocessing.get_context("forkserver")
WARM.set_forkserver_preload(
    ["torch", "safetensors.torch", "rich.prompt", "nbgrader.apps.nbgraderapp"]
)
# These two plugins import for a second at the end of a run, for nothing; learners do not have them.
PLUGINS = {"PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:anyio"}

PATIENCE = 20.0  # seconds for one case


# --- commands ---------------------------------------------------------------------------------


def cli(
    *words: object,
    program: str = "tensorgrade",
    cwd: Path = ROOT,
    timeout: float = 300,
    **environment: str,
) -> subprocess.CompletedProcess:
    """Run a command to its end, and return its status and what it writes.

    environment: variables in addition to this process's. Raises TimeoutExpired.
    """
    command = [program, *map(str, words)]
    with tempfile.TemporaryDirectory() as folder:
        written = [Path(folder) / name for name in ("stdout", "stderr")]
        more = os.environ | PLUGINS | environment
        process = WARM.Process(target=be_command, args=(command, cwd, more, written))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(command, timeout)
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in written]
        return subprocess.CompletedProcess(command, process.exitcode, *texts)


def run_pytest(*words: object, **options) -> subprocess.CompletedProcess:
    """Run pytest as a learner or an instructor does."""
    return cli("-p", "no:cacheprovider", *words, program="pytest", **options)


def nbgrader(*words: object, **options) -> subprocess.CompletedProcess:
    """Run one of nbgrader's commands."""
    return cli(*words, program="nbgrader", **options)


def release(course: Path) -> None:
    """Make the learners' notebooks of all chapters of a course with nbgrader."""
    done = nbgrader("generate_assignment", "*", "--force", "--no-db", cwd=course)
    assert done.returncode == 0, done.stdout + done.stderr


def begin(
    *words: object,
    program: str = "tensorgrade",
    cwd: Path = ROOT,
    written: Path | None = None,
    **environment: str,
) -> subprocess.Popen:
    """Start a command in a session of its own, for tests that send it signals.

    written: the file that gets its output; by default `communicate` returns it.
    """
    return subprocess.Popen(
        [sys.executable, "-m", MODULES.get(program, program), *map(str, words)],
        cwd=cwd,
        env=os.environ | PLUGINS | environment,
        stdout=written.open("wb") if written else subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )


def heed_interrupts() -> None:
    """Heed Ctrl-C even if the tests were started by a shell that ignores it in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def submit(submitted: Path, student: str, chapter: str, text: str) -> None:
    """Write a script into a folder of submissions."""
    path = submitted / student / chapter / f"{chapter}.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Graded:
    """A graded class: its rows by student, chapter and exercise, what the command said, and OUT."""

    rows: dict[tuple[str, str, str], dict]
    said: str
    out: Path
    status: int


def grade(submitted: Path, out: Path, *options: object, **more) -> Graded:
    """Grade a folder of submissions with `tensorgrade grade`."""
    done = cli("grade", submitted, "--out", out, *options, **more)
    return Graded(rows_of(out), done.stdout + done.stderr, out, done.returncode)


def rows_of(out: Path) -> dict[tuple[str, str, str], dict]:
    """Return the rows of `results.jsonl` by student, chapter and exercise; {} without the file."""
    path = out / "results.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row["student"], row["chapter"], row["exercise"]): row for row in rows}


def points_in_nbgrader(course: Path, chapter: str) -> dict[str, float]:
    """Return nbgrader's points for a solved chapter, `ada`'s, and for an unwritten one, `bo`'s.

    Without a sandbox: both are ours. Changes the course's settings, and leaves folders there.
    """
    config = course / "course_config.py"
    text = config.read_text(encoding="utf-8")
    config.write_text(f'{text}    c.HiddenGraders.isolation = "none"\n', encoding="utf-8")

    def run(*words: str) -> None:
        done = nbgrader(*words, cwd=course, PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}")
        assert done.returncode == 0, done.stdout + done.stderr

    run("generate_assignment", chapter, "--force")
    for student, notebook in (("ada", "source"), ("bo", "release")):
        folder = course / "submitted" / student / chapter
        folder.mkdir(parents=True)
        shutil.copy(course / notebook / chapter / f"{chapter}.ipynb", folder)
    run("autograde", chapter)
    run("export")
    with (course / "grades.csv").open(encoding="utf-8", newline="") as rows:
        return {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(rows)}


# --- verdicts ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What an exercise gets: the fields of a row that others build on."""

    exercise: str
    points: float
    max_points: float
    status: str
    mistakes: tuple[str, ...]
    message: str
    line: int | None


class Judge:
    """One warm grader for each side of a course: hidden checks, and the learner's own."""

    def __init__(self, root: Path = ROOT):
        torch.set_num_threads(1)
        self.project = Project(root)
        self.graders: dict[bool, Grader] = {}

    def __call__(
        self, chapter: str, exercise: str, text: str, public: bool = False, explain: bool = True
    ) -> Verdict:
        """Return the verdict on one exercise. The cases of the others do not run.

        explain=False saves the time for the message: points, status and names only.
        """
        return self.chapter(chapter, text, [exercise], public, explain)[exercise]

    def chapter(
        self,
        chapter: str,
        text: str,
        exercises: Sequence[str] = (),
        public: bool = False,
        explain: bool = True,
    ) -> dict[str, Verdict]:
        """Return the verdicts on a chapter's exercises (default: all), by name."""
        grader = self.grader(public)
        files = SubmittedFiles("somebody", chapter, f"{chapter}.py", text.encode())
        attempt = grader.maker.attempt_from_source(files.chapter, files)
        try:
            found = {}
            for name, judged in judged_on(attempt, exercises or attempt.exercises).items():
                if explain:
                    row = verdict("somebody", judged).row()
                else:
                    row = unexplained_verdict("somebody", judged).row()
                    row["mistakes"] = list(mistakes(judged.answer))
                found[name] = verdict_of(row)
            return found
        finally:
            attempt.lab.close()

    def grader(self, public: bool) -> Grader:
        """Return the grader of one side. A busy machine gets more time for a case than learners."""
        if public not in self.graders:
            made = Grader(Setup(self.project.exercises if public else self.project.graders, "none"))
            limits = replace(made.maker.course.limits, case_seconds=PATIENCE)
            made.maker.course = replace(made.maker.course, limits=limits)
            self.graders[public] = made
        return self.graders[public]

    def stub(self, chapter: str) -> str:
        """Return the text of a chapter that learners begin with."""
        return (self.project.exercises / f"{chapter}.py").read_text(encoding="utf-8")

    def forget(self) -> None:
        """Free what the last verdict left, as a grader does between two submissions."""
        forget()

    def close(self) -> None:
        """End the warm processes."""
        for grader in self.graders.values():
            grader.close()


def known_mistakes(project: Project) -> list[tuple[str, str, str]]:
    """Return (chapter, exercise, name) of each known mistake in each exercise that can have it."""
    return [
        (chapter.name, exercise.name, name)
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        for name in [
            *(one.name for one in told_apart(project, exercise.name)),
            *merged(exercise.name),
        ]
    ]


def stored_references(project: Project, chapter: str, hidden: bool = True) -> References:
    """Return a chapter's references, for graders or for learners."""
    folder = project.graders if hidden else project.exercises
    names = [exercise.name for exercise in project.course.chapter(chapter).exercises]
    return load_references(folder, chapter, names)


def merged(exercise: str) -> dict[str, Edits]:
    """Return the edits of an exercise's mistakes that were merged with their twins, by name.

    Learners still make them, so they stay answers.
    """
    rows = [row for row in rows_in("twins.jsonl") if row["exercise"] == exercise]
    return {row["name"]: tuple(map(tuple, row["edits"])) for row in rows if "edits" in row}


def with_mistakes(project: Project, chapter: str, exercise: str, *names: str) -> str:
    """Return the solution of a chapter with known mistakes in one exercise."""
    source = project.solution(chapter).read_text(encoding="utf-8")
    edits = {one.name: one.edits for one in known(project, exercise)} | merged(exercise)
    return make(source, exercise, [edit for name in names for edit in edits[name]])


def verdict_of(row: dict) -> Verdict:
    """Return a row of `results.jsonl` as a verdict."""
    names = Verdict.__dataclass_fields__
    return Verdict(**{name: row[name] for name in names} | {"mistakes": tuple(row["mistakes"])})


# --- programs ---------------------------------------------------------------------------------


def program_of(source: str | SubmittedFiles, **settings) -> Program:
    """Return a program of a text, or of files that are still to be read."""
    text = Source(source, "learner.py") if isinstance(source, str) else source
    return Program("learner", text, **settings)


def lab_of(server: ForkServer | None) -> Lab:
    """Return a lab whose programs run in children of a server; by default in this process."""
    return Lab(server, server.limits if server else Limits())


def looked(
    source: str | SubmittedFiles, exercises: dict[str, str] | None = None, server=None
) -> Looked:
    """Return the facts about a text that does not run. exercises: by name, their given code."""
    with closing(lab_of(server)) as lab:
        return lab.look(program_of(source), exercises)


def loaded(source: str | SubmittedFiles, server=None, **settings) -> Loaded:
    """Return what loading a text reports."""
    with closing(lab_of(server)) as lab:
        program = program_of(source, **settings)
        return lab.load(replace(program, source=lab.look(program).source))


def ran(source: str | SubmittedFiles, exercise: str, *steps, server=None) -> Observation:
    """Return the observation of one case: an author's steps for an exercise."""
    with closing(lab_of(server)) as lab:
        program = program_of(source)
        program = replace(program, source=lab.look(program).source)
        return lab.run(program, [case("one/1", *steps).recorded(exercise, 1)])[0]


# --- what the machine has, and how much to try ------------------------------------------------


def browser() -> str | None:
    """Return the path of Chromium or Chrome."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def postgresql() -> Path | None:
    """Return the folder of PostgreSQL's programs; Debian's is not on the PATH."""
    servers = Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")
    newest = max(servers, key=lambda path: float(path.parts[-3]), default=shutil.which("pg_ctl"))
    return Path(newest).parent if newest else None


@cache
def isolates() -> bool:
    """Return True if the sandbox holds on this machine."""
    return not examine({})["holes"]


@cache
def can_contain() -> bool:
    """Return True if this user can make a container (tests/container.py), on this processor."""
    if os.geteuid() or platform.machine() != "x86_64":
        return False
    return not subprocess.run(contained(["true"]), cwd=ROOT, capture_output=True).returncode


def reachable() -> bool:
    """Return True if another user can enter the folder of this project."""
    return all(folder.stat().st_mode & 0o001 for folder in (ROOT, *ROOT.parents))


def write_patch_without_isolation(folder: Path) -> None:
    """Write a module that Python imports at its start if the folder is on its path.

    With it, the sandbox of this machine has a hole.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import tensorgrade.sandbox.holes as trial\n"
        "trial.holes = lambda *_: ['read the solutions']\n",
        encoding="utf-8",
    )


# What a test may need, and how to get it; "" if nothing to install helps.
NEEDS: dict[str, tuple[Callable[[], object], str]] = {
    "Chromium": (browser, "sudo apt-get install chromium"),
    "PostgreSQL": (postgresql, "sudo apt-get install postgresql"),
    "the sandbox": (isolates, "tensorgrade doctor (says what to do)"),
    "containers, made by root": (can_contain, "sudo make test"),
    "a course that other users can reach": (reachable, ""),
}


def needs(name: str) -> pytest.MarkDecorator:
    """Return a mark for tests that need this."""
    assert name in NEEDS
    return pytest.mark.needs(name)


def require(name: str) -> None:
    """Skip the test if this is missing; fail it with REQUIRE_TOOLS=1 if it can be installed."""
    found, command = NEEDS[name]
    if not found():
        required = command and os.environ.get("REQUIRE_TOOLS") == "1"
        (pytest.fail if required else pytest.skip)(f"needs {name}: {command}".rstrip(": "))


AMOUNT = 1  # `--amount`, which conftest.py sets
BY_NAME = False  # True if the command line selects tests by a name in brackets or a keyword


def amount(normal: int) -> int:
    """Return how many of many similar cases to try: this number by default."""
    return normal * AMOUNT


def some(cases: Iterable, normal: int) -> list:
    """Return `amount(normal)` of the cases, evenly spread; all if a name selects among them."""
    cases = list(cases)
    wanted = amount(normal)
    if BY_NAME or wanted >= len(cases):
        return cases
    return [cases[at * len(cases) // wanted] for at in range(wanted)]
