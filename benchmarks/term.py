"""Play a whole term with accidents, and compare the points in every place that shows them.

    python benchmarks/term.py [--learners 150] [--chapters 6]

Chapters come from Moodle, Canvas, Gradescope and nbgrader in turn. There are late files,
resubmissions, a team, an extension, overrides, new graders, lost rows and a power cut. At the end
the points of every learner and chapter are read from SQLite, JSONL, CSV, Excel, Moodle, Canvas and
learners' pages, and graded afresh. The exit code is 1 if two of them differ, or if an event of the
term is missing.
"""

import argparse
import csv
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from zoneinfo import ZoneInfo

import nbformat
from openpyxl import load_workbook

from tensorgrade.author.scaffolds import invented_file, student_name
from tensorgrade.instructor.people import safe
from tensorgrade.instructor.results import Results, rows_of
from tensorgrade.project import Project

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.instructor import downloads  # noqa: E402
from tests.instructor.runs import write_course  # noqa: E402
from tests.support import begin, cli  # noqa: E402
from tests.support import rows_of as rows_in  # noqa: E402

TIMES = {  # as each system writes them
    "moodle": "%d %B %Y, %I:%M %p",
    "canvas": "",
    "gradescope": "%Y-%m-%d %H:%M:%S %z",
    "nbgrader": "%Y-%m-%d %H:%M:%S",
}
SYSTEMS = tuple(TIMES)
ZONE = "Europe/Berlin"
OPEN = ("--isolation", "none")  # all files are our own
EXCUSED = -1.0
CLOSE = {"pages": 0.00501}  # the rounding of a place, in points
ROUNDING = 1e-4
Cells = dict[tuple[str, str], float]  # points by learner and chapter, or EXCUSED


class Term:
    """A course and a class in a folder."""

    def __init__(self, folder: Path, learners: list[str], count: int):
        self.folder, self.learners, self.random = folder, learners, random.Random(1)
        self.course, self.submitted, self.out = (folder / n for n in ("course", "in", "out"))
        self.chapters = Project(ROOT).course.chapters[:count]
        start = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
        days = {one.name: 7 * week - 100 for week, one in enumerate(self.chapters, 1)}
        self.due = {name: start + timedelta(days=own) for name, own in days.items()}
        self.settle()

    def settle(self, **settings: object) -> None:
        """Write the course with its deadlines and these settings."""
        deadlines = {name: f"{due:%Y-%m-%d %H:%M} UTC" for name, due in self.due.items()}
        rule = {"deadlines": deadlines, "zone": ZONE, "share_a_day": 0.2, "most": 0.6}
        scheme = {"drop_lowest": 1, "pass_mark": 50}
        write_course(self.course, lateness=rule, scheme=scheme, **settings)
        self.project = Project(self.course)

    def command(self, *arguments: object) -> None:
        """Run a command of tensorgrade."""
        print(f"$ tensorgrade {' '.join(map(str, arguments))}".replace(f"{self.folder}/", ""))
        done = cli(*arguments, cwd=self.course, timeout=3600)
        if done.returncode:
            raise SystemExit(f"{done.stdout}{done.stderr}\nexit code {done.returncode}")

    def grade(self, out: Path) -> None:
        """Grade what is submitted so far."""
        self.command("grade", self.submitted, "--out", out, *OPEN)

    def file(self, learner: str, chapter: str, skill: float) -> bytes:
        """Return a learner's file: some exercises right, some with known mistakes, some empty."""
        asked = self.project.course.chapter(chapter)
        return f"{invented_file(self.project, asked, skill, self.random)}\n# {learner}\n".encode()

    def submit(self, chapter: str, learners: list[str], skill: float = 0.5, days: int = 0) -> None:
        """Let learners submit a chapter, every fourth one up to two days late, and collect it."""
        system = SYSTEMS[list(self.due).index(chapter) % len(SYSTEMS)]
        files: dict[str, downloads.Files] = {one: {} for one in self.learners}
        when, folder = {}, self.folder / "download"
        for one in learners:
            hours = self.random.choice((-1, -1, -1, 1)) * self.random.randint(1, 48)
            at = self.due[chapter] + timedelta(days=days, hours=hours)
            when[one] = at.astimezone(ZoneInfo(ZONE)).strftime(TIMES[system])
            files[one] = {f"{chapter}.py": self.file(one, chapter, skill)}
        if system == "nbgrader":
            self.put_notebooks(chapter, files, when)
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        source, roster = downloads.given_out(system, folder, files, when if TIMES[system] else {})
        listed = ("--roster", roster) if roster.exists() else ()
        told = ("--from", system, "--chapter", chapter, *listed)
        self.command("collect", source, self.submitted, *told)

    def put_notebooks(self, chapter: str, files: dict, when: dict[str, str]) -> None:
        """Write notebooks and times as nbgrader's exchange collects them."""
        for one, at in when.items():
            folder = self.submitted / email(one) / chapter
            folder.mkdir(parents=True, exist_ok=True)
            (content,) = files[one].values()
            cells = [nbformat.v4.new_code_cell(content.decode(), id="all")]
            text = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
            (folder / f"{chapter}.ipynb").write_text(text, encoding="utf-8")
            (folder / "timestamp.txt").write_text(f"{at} {ZONE}\n")

    def decide(self) -> None:
        """Extend deadlines, give points by hand, excuse, and make a team of which one submits."""
        first, second, third, *_, fourth, fifth = map(email, self.learners)
        exercise, names = self.chapters[0].exercises[0], list(self.due)
        half, out = f"{exercise.name},{exercise.points / 2:g}", self.out
        write(out / "extensions.csv", "student,chapter,due,hours,reason", f"{first},all,,48,needs")
        own = (f"{second},{half},right in part", f"{third},{names[-1]},excused,ill")
        write(out / "overrides.csv", "student,exercise,points,reason", *own)
        team = [f"{one},falcons,{names[1]}" for one in (fourth, fifth)]
        write(self.submitted / "teams.csv", "student,team,chapter", *team)

    def cut_power(self) -> int:
        """Kill a run, with all its processes, after its first new results; return their number."""
        before = self.judged()
        process = begin("grade", self.submitted, "--out", self.out, *OPEN, cwd=self.course)
        while self.judged() == before and process.poll() is None:
            time.sleep(0.01)
        if process.poll() is not None:
            raise SystemExit("the run ended before the power cut")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return self.judged() - before

    def judged(self) -> int:
        """Return the number of attempts on disk."""
        return sum(map(len, Results(self.out).attempts().values()))

    def exported(self) -> dict[str, Cells]:
        """Export everything, and return each file's points."""
        nobody, folder = {one: {} for one in self.learners}, self.out / "export"
        gradebook = downloads.canvas(self.folder / "c.zip", nobody, set())
        worksheet = downloads.moodle(self.folder / "m.zip", nobody, {})
        for form in ("csv", "xlsx", "pages"):
            self.command("export", self.out, "--format", form)
        self.command("export", self.out, "--format", "canvas", "--roster", gradebook)
        titles, *lines = load_workbook(folder / "grades.xlsx")["class"].values
        sheet = [dict(zip(titles, line, strict=True)) for line in lines]
        found = {"CSV": summed(lines_in(folder / "grades.csv"))}
        for chapter in self.chapters:
            told = ("--format", "moodle", "--chapter", chapter.name, "--roster", worksheet)
            self.command("export", self.out, *told)
            column = f"{chapter.name} (of {chapter.points:g})"
            places = {
                "Excel": {line["student"]: line[column] for line in sheet},
                "Canvas": {
                    line["SIS Login ID"]: line[chapter.title].replace("EX", "")
                    for line in lines_in(folder / "canvas.csv")[1:]
                },
                "Moodle": {
                    line["Email address"]: line["Grade"]
                    and float(line["Grade"]) * chapter.points / 100
                    for line in lines_in(folder / f"moodle-{chapter.name}.csv")
                },
                "pages": {
                    one: on_page(folder / "pages" / f"{safe(one)}.html", chapter.title)
                    for one in map(email, self.learners)
                },
            }
            for place, own in places.items():
                for student, value in own.items():
                    points = EXCUSED if value in (None, "") else float(value)
                    found.setdefault(place, {})[student, chapter.name] = points
        return found

    def events(self) -> dict[str, int]:
        """Return the number of rows with each event of the term, so that none is missing."""
        names = ("penalty", "extension", "override", "team", "mistakes")
        counts = {
            f"rows with {name}": sum(bool(row.get(name)) for row in rows_in(self.out).values())
            for name in names
        }
        results = Results(self.out)
        counts["changed points"] = sum(len(results.changes(email(one))) for one in self.learners)
        files = [{rows[0]["file"] for rows in own} for own in results.attempts().values()]
        return counts | {"resubmissions": sum(len(own) > 1 for own in files)}


def email(learner: str) -> str:
    """Return a learner's address, the name of the folder."""
    return f"{learner}@uni.edu"


def write(path: Path, *lines: str) -> None:
    """Write a text of lines."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def lines_in(path: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV by column."""
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def summed(rows: Iterable[dict]) -> Cells:
    """Return the points of rows, by learner and chapter."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        own = sums.setdefault((row["student"], row["chapter"]), [0.0, 0.0])
        own[0] += float(row["points"] or 0)
        own[1] += float(row["max_points"] or 0)
    return {about: points if most else EXCUSED for about, (points, most) in sums.items()}


def on_page(path: Path, title: str) -> str:
    """Return the points that a learner's page shows for a chapter; "" if it is excused."""
    part = path.read_text(encoding="utf-8").split(f"<h2>{title}</h2>")[1]
    points, most = re.search(r"<b>([\d.]+) of ([\d.]+) points</b>", part).groups()
    return points if float(most) else ""


def play(term: Term) -> int:
    """Play the term, one chapter a week; return the submissions graded before the power cut."""
    for week, chapter in enumerate(term.due, 1):
        term.submit(chapter, term.learners[:-1] if week == 2 else term.learners[week % 3 :])
        term.grade(term.out)
        if week == 1:
            term.decide()
            term.submit(chapter, term.learners[::3], skill=0.9, days=1)
            term.grade(term.out)
    term.settle(load_seconds=16.0)  # all graders change, and grade every file again
    before_cut = term.cut_power()
    (term.out / "results.jsonl").unlink()
    term.grade(term.out)
    return before_cut


def differences(places: dict[str, Cells]) -> list[str]:
    """Return a sentence on each cell that differs from SQLite's by more than rounding."""
    wrong = []
    for place, cells in places.items():
        for about in sorted(places["SQLite"].keys() | cells.keys()):
            expected, got = places["SQLite"].get(about, inf), cells.get(about, -inf)
            if abs(expected - got) > CLOSE.get(place, ROUNDING):
                wrong.append(f"{place}, {'/'.join(about)}: {got} instead of {expected}")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    """Play a term and print a table. Return 1 if any two places differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--learners", type=int, default=150)
    parser.add_argument("--chapters", type=int, default=6)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        learners = [student_name(number) for number in range(asked.learners)]
        term = Term(Path(folder).resolve(), learners, asked.chapters)
        before_cut = play(term)
        fresh = Path(folder, "fresh")  # a folder that has seen no accident
        fresh.mkdir()
        for name in ("extensions.csv", "overrides.csv"):
            shutil.copy(term.out / name, fresh)
        term.grade(fresh)
        course = term.project.course
        places = {
            "SQLite": summed(rows_of(term.out, course)),
            "JSONL": summed(rows_in(term.out).values()),
        }
        places |= term.exported() | {"graded afresh": summed(rows_of(fresh, course))}
        events = term.events() | {"submissions graded before the power cut": before_cut}
    wrong = differences(places)
    for place, cells in places.items():
        count = sum(one.startswith(f"{place}, ") for one in wrong)
        print(f"{place:<16}{len(cells):>7} cells, {count} differ")
    print("\n".join(wrong[:20]))
    print("  ".join(f"{name}: {many}" for name, many in events.items()))
    return int(bool(wrong) or not all(events.values()))


if __name__ == "__main__":
    sys.exit(main())
