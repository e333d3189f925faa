"""The door of these tests to grading: runs that are begun and disturbed, and fast runs.

A fast run is `tensorgrade grade` in this very process, with workers that read the points from the
submitted file instead of running it. It shows everything that happens around the grading.
"""

import io
import os
import re
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from tensorgrade.attempts.setup import Setup
from tensorgrade.attempts.verdict import GRADING_FAILED, Status, Verdict
from tensorgrade.cli import main
from tensorgrade.instructor import grader as grading
from tensorgrade.instructor import run as running
from tensorgrade.instructor.results import NAME, RESULTS, Results
from tensorgrade.lateness import written
from tensorgrade.project import load_course
from tensorgrade.sources.submitted_files import SubmittedFiles

from .. import support
from ..support import ROOT, Graded

COURSE = load_course(ROOT / "graders")
CHAPTER = COURSE.chapters[0]
CH1, CH2, CH3 = (chapter.name for chapter in COURSE.chapters[:3])
MOST = CHAPTER.points
NAMES = [exercise.name for exercise in CHAPTER.exercises]
WHEN = 1_800_000_000  # 2027-01-15 08:00 UTC, when submissions come in by default

# --- real runs, to disturb ---------------------------------------------------------------------


def begin(submitted: Path, out: Path, *options: object, **environment: str) -> subprocess.Popen:
    """Begin a run in a process group of its own."""
    told = ("--out", out, "--isolation", "none", *options)
    return support.begin("grade", submitted, *told, **environment)


def end_of(process: subprocess.Popen) -> str:
    """Wait for a run, and return its output."""
    said, _ = process.communicate(timeout=400)
    assert process.returncode == 0, said
    return said


def wait_for(out: Path, submissions: int, process: subprocess.Popen) -> None:
    """Wait until this many submissions are graded. The run must still be at work then."""
    while len(graded_in(out)) < submissions:
        assert process.poll() is None, "the run ended before it could be disturbed"
        time.sleep(0.01)


def graded_in(out: Path) -> list[tuple[str, str]]:
    """Return the learners and chapters that are graded so far."""
    try:
        return list(Results(out).attempts())
    except support.CourseError:  # the run has not made the file yet
        return []


# --- rows without any run ----------------------------------------------------------------------


def put_rows(out: Path, rows: list[dict]) -> None:
    """Make a folder hold these rows and no others."""
    out.mkdir(exist_ok=True)
    for name in (NAME, RESULTS):
        (out / name).unlink(missing_ok=True)
    found: dict[SubmittedFiles, list[dict]] = {}
    for one in rows:
        whose = one["student"], one["chapter"]
        file = SubmittedFiles(*whose, content=one["student"].encode("utf-8", "surrogateescape"))
        found.setdefault(file, []).append(one)
    results = Results(out, writes=True)
    graders = {one.chapter: "" for one in found}
    results.expect({one: {} for one in found}, graders, is_whole=True)
    results.add("", found)


def row(student: str, number: int = 0, status: str = "passed", share: float = 1.0, **more) -> dict:
    """Return a row on the n-th exercise of the first chapter."""
    exercise = CHAPTER.exercises[number]
    found = {
        "student": student,
        "chapter": CH1,
        "exercise": exercise.name,
        "status": status,
        "points": exercise.points * share,
        "max_points": float(exercise.points),
        "mistakes": [],
        "message": "Right.",
        "isolation": "sandbox",
    }
    return found | more


def chapter_rows(student: str, **more) -> list[dict]:
    """Return a row for every exercise of the first chapter."""
    return [row(student, number, **more) for number in range(len(NAMES))]


# --- fast runs ---------------------------------------------------------------------------------


class ByContent:
    """A worker that gives the share of the points that a file starts with: `0.5` is half of each.

    left: submissions until the power fails. finds: what other graders find, by learner. fails: the
    graders have a fault. ends: learners whose files this machine cannot grade now.
    """

    count = ahead = 1

    def __init__(self, course, left: float, finds: dict, fails: bool, ends: set[str]):
        self.course, self.left, self.finds, self.fails = course, left, finds, fails
        self.ends = ends

    def submit(self, one, last: bool) -> Future:
        if self.left <= 0:
            raise PowerCut
        self.left -= 1
        done: Future = Future()
        if one.student in self.ends:
            done.set_result(None)
            return done
        if self.fails:
            done.set_result(grading.set_aside(one, self.course, GRADING_FAILED))
            return done
        share = float((one.content.split() or [b"0"])[0]) if not one.reason else 0.0
        share = self.finds.get(one.student, share)
        status = {0.0: Status.FAILED, 1.0: Status.PASSED}.get(share, Status.PARTIAL)
        status = Status.NOT_ATTEMPTED if one.missing else status
        about, exercises = (one.student, one.chapter), self.course.chapter(one.chapter).exercises
        done.set_result(
            [Verdict(*about, e.name, e.points * share, e.points, status) for e in exercises]
        )
        return done


class PowerCut(BaseException):
    """The end of a run, at any moment."""


def run_here(*words: object, cwd: Path) -> subprocess.CompletedProcess:
    """Run a command in this process; return its status and what it writes."""
    said, wrong = io.StringIO(), io.StringIO()
    before = Path.cwd(), os.umask(0o022), sys.argv, sys.excepthook
    sys.argv = ["tensorgrade", *map(str, words)]
    os.chdir(cwd)
    try:
        with redirect_stdout(said), redirect_stderr(wrong):
            main()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        os.chdir(before[0])
        os.umask(before[1])
        *_, sys.argv, sys.excepthook = before
    return subprocess.CompletedProcess(words, status, said.getvalue(), wrong.getvalue())


class WarmGrader(grading.Grader):
    """A grader that stays for the next command. A new one starts for seconds."""

    made: "ClassVar[WarmGrader | None]" = None

    def close(self) -> None:
        """Stay."""

    @classmethod
    def get(cls, setup: Setup) -> "WarmGrader":
        """Return the only one, with the course's own deadlines."""
        cls.made = cls.made or cls(Setup(ROOT / "graders", "none"))
        cls.made.maker.course = load_course(setup.tests)
        return cls.made


def put(submitted: Path, student: str, chapter: str, share: float, at: int = 0, text="") -> Path:
    """Write a learner's file for `ByContent`. at: when it was submitted, in seconds."""
    path = submitted / student / chapter / f"{chapter}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{share} {text}")
    when = written(datetime.fromtimestamp(at or WHEN, UTC))
    (path.parent / "timestamp.txt").write_text(when)
    return path


def write_course(folder: Path, **settings: object) -> None:
    """Write a copy of the course with other settings; what it is made of is linked.

    settings: of Settings or Limits, by name; lateness and scheme are dicts.
    """
    folder.mkdir(exist_ok=True)
    for name in ("graders", "exercises", "solutions", "source", "release", "kit"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    text = (ROOT / "course_config.py").read_text(encoding="utf-8")
    text = text.replace("import Lateness,", "import Lateness, Scheme,")
    for name, value in settings.items():
        new = f"{name}={name.title()}(**{value!r})" if isinstance(value, dict) else None
        new = f"{new or f'{name}={value!r}'},"
        text, count = re.subn(rf"\b{name}=[\w\"(){{}}=.]+,", lambda _, new=new: new, text, count=1)
        if not count:  # a setting that the course does not have
            text = text.replace("    lateness=", f"    {new}\n    lateness=", 1)
    (folder / "course_config.py").write_text(text, encoding="utf-8")


class Term:
    """A copy of the course with settings of its own, its submissions, and their results."""

    def __init__(self, folder: Path, monkeypatch):
        self.folder = folder
        self.course, self.submitted, self.out = (folder / n for n in ("course", "in", "out"))
        for made in (folder, self.submitted, self.out):
            made.mkdir(exist_ok=True)
        self.settings()
        self.left: float = float("inf")  # submissions that are graded before the power fails
        self.finds: dict[str, float] = {}  # the share that graders find, by learner
        self.fails = False  # the graders have a fault
        self.ends: set[str] = set()  # learners whose files this machine cannot grade now
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(running, "workers_for", self.workers)

    def workers(self, contents: int, course, run) -> nullcontext:
        """Return what grades in place of processes."""
        return nullcontext(ByContent(course, self.left, self.finds, self.fails, self.ends))

    def settings(self, graders: int = 5, more: dict | None = None, **lateness: object) -> None:
        """Set deadlines and the like. graders: another number stands for other graders.

        more: other settings, such as the scheme.
        """
        write_course(self.course, lateness=lateness, case_seconds=graders, **(more or {}))

    def put(self, student: str, share: float, at: int = 0, text="", chapter: str = CH1) -> Path:
        """Write a learner's file that is worth this share of the points."""
        return put(self.submitted, student, chapter, share, at, text)

    def write(self, name: str, *lines: str) -> Path:
        """Write a file of the instructor's: a class list into the folder, others into OUT."""
        where = {"teams.csv": self.submitted, "roster.csv": self.folder}.get(name, self.out)
        (where / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return where / name

    def run(self, *words: object) -> subprocess.CompletedProcess:
        """Run a command in the course's folder, in this process."""
        return run_here(*words, cwd=self.course)

    def grade(self, *options: object, refused: bool = False) -> Graded:
        """Grade the class; the rows are by learner, chapter and exercise."""
        told = ("--out", self.out, *(() if "--isolation" in options else ("--isolation", "none")))
        done = self.run("grade", self.submitted, *told, *options)
        said = done.stdout + done.stderr
        assert (done.returncode != 0) is refused, said
        rows = support.rows_of(self.out) if done.returncode != 2 else {}
        return Graded(rows, said, self.out, done.returncode)

    def points(self, *options: object) -> dict[str, float]:
        """Grade the class, and return the points of each learner."""
        return points_of(self.grade(*options))

    def use(self, command: str, *options: object, refused: bool = False) -> str:
        """Run a command on the results; return what it writes."""
        done = self.run(command, self.out, *options)
        said = done.stdout + done.stderr
        assert (done.returncode != 0) is refused, said
        return said

    def log(self, student: str) -> list[str]:
        """Return the lines of `tensorgrade log`."""
        return self.use("log", student).splitlines()

    def explain(self, student: str, exercise: str, *options: object) -> str:
        """Return what `tensorgrade explain` writes; its grader may be the warm one."""
        told = ("--submitted", self.submitted, "--isolation", "none", *options)
        done = self.run("explain", student, exercise, *told)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def page(self, *options: object) -> str:
        """Return the class report."""
        said = self.use("report", *options).splitlines()
        (path,) = [line for line in said if line.endswith(".html")]
        return Path(path).read_text(encoding="utf-8")

    def exported(self, path: str, *options: object) -> str:
        """Export, and return a file's text; its folder is OUT/export/."""
        self.said = self.use("export", *options)
        return (self.out / "export" / path).read_text(encoding="utf-8-sig")


def points_of(graded: Graded, chapter: str = "") -> dict[str, float]:
    """Return the sum of each learner's points, of one chapter or of all."""
    found: dict[str, float] = {}
    for (student, where, _), one in graded.rows.items():
        if where == chapter or not chapter:
            found[student] = round(found.get(student, 0.0) + one["points"], 6)
    return found


def notes_in(said: str, word: str) -> list[str]:
    """Return the notes of a run that contain this word."""
    return [line for line in said.splitlines() if line.startswith("note: ") and word in line]


def squeezed(text: str) -> str:
    """Return a page's text without tags and line breaks."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())
