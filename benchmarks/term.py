"""Play a whole term with accidents, and compare the points in every place that shows them.

    python benchmarks/term.py [--learners 150] [--chapters 6] [--folder FOLDER]

Chapters come from Moodle, Canvas and nbgrader in turn. There are late files, resubmissions, teams,
an extension, overrides, new graders, lost rows and a power cut. At the end the points of every
learner and chapter are read from SQLite, CSV, two sheets of Excel, Moodle, Canvas and learners'
pages. The exit code is 1 if two of them differ, or if one of these events is missing.
"""

import argparse
import csv
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nbformat
from openpyxl import load_workbook

from tensorgrade.author.sample import assemble, choose, student_name
from tensorgrade.instructor.folder_names import safe
from tensorgrade.instructor.results import Results, rows_of
from tensorgrade.project import Project

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support import ROOT, begin, cli  # noqa: E402

MOODLE, CANVAS, NBGRADER = SYSTEMS = ("moodle", "canvas", "nbgrader")
ZONE, SHARE_A_DAY = "Europe/Berlin", 0.2
# Appended to the course's settings. The first chapters are a course of their own.
SETTINGS = """
from dataclasses import replace
from tensorgrade.course import Scheme
COURSE = replace(
    COURSE,
    chapters=COURSE.chapters[:{count}],
    lateness=Lateness(deadlines={deadlines}, zone="{zone}", share_a_day={share}, most=0.6),
    scheme=Scheme(drop_lowest=1, pass_mark=50),
)
"""
MORE_TIME = """
more = COURSE.limits.case_seconds + 1
COURSE = replace(COURSE, limits=replace(COURSE.limits, case_seconds=more))
"""
Cells = dict[tuple[str, str], float | str]  # by learner and chapter


@dataclass
class Term:
    """A course and a class in a folder. accidents: the number of effects seen, by accident."""

    folder: Path
    learners: list[str]
    count: int
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    commands: int = 0
    accidents: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.course, self.out = self.folder / "course", self.folder / "out"
        self.submitted = self.folder / "submitted"
        names = [f"{name}@uni.edu" for name in self.learners]
        self.emails = dict(zip(self.learners, names, strict=True))
        self.start = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
        self.start -= timedelta(days=100)

    def prepare(self) -> None:
        """Copy the course, with deadlines a week apart."""
        original = Project(ROOT).course.chapters[: self.count]
        self.names = [chapter.name for chapter in original]
        shutil.copytree(ROOT / "graders", self.course / "graders")
        for name in ("solutions", "exercises"):
            (self.course / name).symlink_to(ROOT / name)
        for chapter in Project(ROOT).course.chapters[self.count :]:
            shutil.rmtree(self.course / "graders" / chapter.name)
        self.due = {n: self.start + timedelta(days=7 * at) for at, n in enumerate(self.names, 1)}
        text = (ROOT / "course_config.py").read_text(encoding="utf-8")
        more = SETTINGS.format(
            count=self.count,
            deadlines={name: f"{due:%Y-%m-%d %H:%M} UTC" for name, due in self.due.items()},
            zone=ZONE,
            share=SHARE_A_DAY,
        )
        (self.course / "course_config.py").write_text(text + more, encoding="utf-8")
        self.project = Project(self.course)
        self.system = {name: SYSTEMS[at % len(SYSTEMS)] for at, name in enumerate(self.names)}

    def command(self, *arguments: object) -> str:
        """Run a command of tensorgrade, and return its output."""
        self.commands += 1
        done = cli(*arguments, cwd=self.course, timeout=3600)
        print(f"$ tensorgrade {' '.join(map(str, arguments))}".replace(f"{self.folder}/", ""))
        if done.returncode:
            raise SystemExit(f"{done.stdout}{done.stderr}\nexit code {done.returncode}")
        return done.stdout

    def grade(self) -> str:
        """Grade what is submitted so far."""
        return self.command("grade", self.submitted, "--out", self.out, *OPEN)

    # Learners.

    def file(self, learner: str, chapter: str, skill: float) -> bytes:
        """Return a learner's file: some exercises right, some with known mistakes, some empty."""
        exercises = self.project.course.chapter(chapter).exercises
        choices = [choose(self.project, one.name, skill, self.chance) for one in exercises]
        return f"{assemble(self.project, chapter, choices)}\n# {learner}\n".encode()

    def time(self, chapter: str) -> datetime:
        """Return a submission time; every fourth one is up to two days late."""
        late = self.chance.random() < 0.25
        hours = self.chance.randint(1, 48) if late else -self.chance.randint(1, 48)
        return self.due[chapter] + timedelta(hours=hours)

    def submit(self, chapter: str, learners: list[str], skill: float = 0.5, days: int = 0) -> None:
        """Let learners submit a chapter, and collect their files from the course system."""
        files = {one: self.file(one, chapter, skill) for one in learners}
        times = {one: self.time(chapter) + timedelta(days=days) for one in learners}
        {MOODLE: self.moodle, CANVAS: self.canvas, NBGRADER: self.nbgrader}[self.system[chapter]](
            chapter, files, times
        )

    def moodle(self, chapter: str, files: dict[str, bytes], times: dict[str, datetime]) -> None:
        """Write Moodle's download and worksheet, and collect them."""
        source = self.folder / "moodle.zip"
        worksheet = self.worksheet(chapter, times)
        with zipfile.ZipFile(source, "w") as archive:
            for number, one in enumerate(self.learners, 1000):
                if one in files:
                    folder = f"{one.title()} O'Neil_{number}_assignsubmission_file_"
                    archive.writestr(f"{folder}/{chapter}.py", files[one])
        told = ("--from", "moodle", "--chapter", chapter, "--roster", worksheet)
        self.command("collect", source, self.submitted, *told)

    def worksheet(self, chapter: str, times: dict[str, datetime]) -> Path:
        """Write Moodle's grading worksheet, whose maximum is 100."""
        header = (
            "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
            "Last modified (submission),Last modified (grade),Feedback comments"
        )
        lines = [header]
        for number, (one, email) in enumerate(self.emails.items(), 1000):
            local = times[one].astimezone(zone()) if one in times else None
            when = f'"{local:%d %B %Y, %I:%M %p}"' if local else "-"
            cells = f"Submitted for grading,,100.00,Yes,{when},-,"
            lines.append(f"Participant {number},{one.title()} O'Neil,{email},{cells}")
        path = self.folder / f"worksheet-{chapter}.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
        return path

    def canvas(self, chapter: str, files: dict[str, bytes], times: dict[str, datetime]) -> None:
        """Write Canvas' download, which holds no times, and collect it."""
        source = self.folder / "canvas.zip"
        with zipfile.ZipFile(source, "w") as archive:
            for user, one in enumerate(self.learners, 101):
                if one in files:
                    name = f"oneil{one}_{user}_{user + 5000}_{chapter}.py"
                    archive.writestr(name, files[one])
        told = ("--from", "canvas", "--chapter", chapter, "--roster", self.gradebook())
        self.command("collect", source, self.submitted, *told)

    def gradebook(self) -> Path:
        """Write Canvas' gradebook, with a column for each chapter."""
        chapters = self.project.course.chapters
        titles = [f'"{one.title} (70{at})"' for at, one in enumerate(chapters)]
        lines = [",".join(["Student,ID,SIS User ID,SIS Login ID,Section", *titles])]
        lines.append(",".join(["    Points Possible,,,,", *(f"{c.points:g}" for c in chapters)]))
        for user, (one, email) in enumerate(self.emails.items(), 101):
            section = f"Lab {user % 2 + 1}"
            lines.append(
                f'"O\'Neil, {one.title()}",{user},u{user},{email},{section}' + "," * len(chapters)
            )
        path = self.folder / "gradebook.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def nbgrader(self, chapter: str, files: dict[str, bytes], times: dict[str, datetime]) -> None:
        """Write notebooks and times as nbgrader's exchange collects them."""
        for one, content in files.items():
            folder = self.submitted / self.emails[one] / chapter
            folder.mkdir(parents=True, exist_ok=True)
            cell = nbformat.v4.new_code_cell(content.decode(), id="all")
            notebook = nbformat.v4.new_notebook(cells=[cell])
            (folder / f"{chapter}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
            (folder / "timestamp.txt").write_text(f"{times[one]:%Y-%m-%d %H:%M:%S} UTC\n")

    # The instructor.

    def extend(self) -> None:
        """Give a learner two more days for every chapter."""
        line = f"{self.emails[self.learners[0]]},all,,48,accommodation\n"
        (self.out / "extensions.csv").write_text(f"student,chapter,due,hours,reason\n{line}")

    def override(self) -> None:
        """Give points by hand for one exercise, and excuse a learner from a chapter."""
        first, second = (self.emails[one] for one in self.learners[1:3])
        exercise = self.project.course.chapters[0].exercises[0]
        lines = f"{first},{exercise.name},{exercise.points / 2:g},half of it\n"
        lines += f"{second},{self.names[-1]},excused,ill\n"
        (self.out / "overrides.csv").write_text(f"student,exercise,points,reason\n{lines}")

    def team_up(self) -> None:
        """Make a team of two learners for the second chapter, of whom one submits."""
        own = [f"{self.emails[one]},falcons,{self.names[1]}\n" for one in self.learners[-2:]]
        self.submitted.mkdir(exist_ok=True)
        (self.submitted / "teams.csv").write_text(f"student,team,chapter\n{''.join(own)}")

    # Accidents.

    def change_graders(self) -> None:
        """Give each case a second more, which makes other graders of all chapters."""
        with (self.course / "course_config.py").open("a", encoding="utf-8") as config:
            config.write(MORE_TIME)
        self.project = Project(self.course)

    def lose_rows(self) -> int:
        """Delete results.jsonl, which every run writes again; return the number of its rows."""
        path = self.out / "results.jsonl"
        rows = path.read_text(encoding="utf-8").count("\n")
        path.unlink()
        return rows

    def cut_power(self) -> int:
        """Kill a run, with all its processes, after its first new results; return their number."""
        told = ("grade", self.submitted, "--out", self.out, *OPEN)
        before = self.judged()
        process = begin(*told, cwd=self.course)
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

    # The comparison.

    def places(self) -> dict[str, Cells]:
        """Export everything, and return each place's points by learner and chapter."""
        for form in ("csv", "xlsx", "pages"):
            self.command("export", self.out, "--format", form)
        self.command("export", self.out, "--format", "canvas", "--roster", self.gradebook())
        for name in self.names:
            sheet = ("--roster", self.worksheet(name, {}))
            self.command("export", self.out, "--format", "moodle", "--chapter", name, *sheet)
        return {
            "SQLite": self.in_sqlite(),
            "CSV": self.in_csv(),
            "Excel": self.in_excel(),
            "Excel, class": self.in_class_sheet(),
            "Moodle": self.in_moodle(),
            "Canvas": self.in_canvas(),
            "pages": self.on_pages(),
        }

    def events(self) -> dict[str, int]:
        """Return the number of rows with each event of the term, so that none is missing."""
        lines = (self.out / "results.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        names = ("penalty", "extension", "override", "team", "mistakes")
        counts = {f"rows with {name}": sum(bool(row.get(name)) for row in rows) for name in names}
        results = Results(self.out)
        moved = sum(len(results.changes(email)) for email in self.emails.values())
        files = [{one.file for one in own} for own in results.attempts().values()]
        counts |= {"changed points": moved, "resubmissions": sum(len(own) > 1 for own in files)}
        return counts | self.accidents

    def in_sqlite(self) -> Cells:
        """Return the points that today's rules make of the attempts."""
        sums: dict[tuple[str, str], list[float]] = {}
        for row in rows_of(self.out, self.project.course):
            own = sums.setdefault((row["student"], row["chapter"]), [0.0, 0.0])
            own[0] += row["points"]
            own[1] += row["max_points"]
        return {about: points if most else EXCUSED for about, (points, most) in sums.items()}

    def in_csv(self) -> Cells:
        """Return the points in grades.csv."""
        lines = csv.DictReader((self.out / "export" / "grades.csv").open(encoding="utf-8"))
        return {
            (line["student"], line["chapter"]): cell(line["points"], line["max_points"])
            for line in lines
        }

    def in_excel(self) -> Cells:
        """Return the points in the workbook's first sheet."""
        header, *lines = load_workbook(self.out / "export" / "grades.xlsx")["grades"].values
        rows = [dict(zip(header, line, strict=True)) for line in lines]
        return {(r["student"], r["chapter"]): cell(r["points"], r["max_points"]) for r in rows}

    def in_class_sheet(self) -> Cells:
        """Return the points in the workbook's sheet with one line for each learner."""
        header, *lines = load_workbook(self.out / "export" / "grades.xlsx")["class"].values
        return {
            (line[0], title.split(" (of ")[0]): EXCUSED if value is None else float(value)
            for line in lines
            for title, value in zip(header, line, strict=True)
            if title.endswith(")")
        }

    def in_moodle(self) -> Cells:
        """Return the points in the worksheets, whose maximum is 100."""
        found: Cells = {}
        for chapter in self.project.course.chapters:
            path = self.out / "export" / f"moodle-{chapter.name}.csv"
            for line in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))):
                grade = line["Grade"]
                points = float(grade) * chapter.points / 100 if grade else EXCUSED
                found[line["Email address"], chapter.name] = points
        return found

    def in_canvas(self) -> Cells:
        """Return the points in the gradebook that Canvas imports."""
        text = (self.out / "export" / "canvas.csv").read_text(encoding="utf-8")
        _, *lines = csv.DictReader(io.StringIO(text))
        titles = {re.sub(r" \(\d+\)$", "", name): name for name in lines[0]}
        return {
            (line["SIS Login ID"], one.name): EXCUSED
            if line[titles[one.title]] == "EX"
            else float(line[titles[one.title]])
            for one in self.project.course.chapters
            for line in lines
        }

    def on_pages(self) -> Cells:
        """Return the points on learners' pages, which are rounded to two digits."""
        found: Cells = {}
        for email in self.emails.values():
            text = (self.out / "export" / "pages" / f"{safe(email)}.html").read_text()
            for chapter in self.project.course.chapters:
                part = text.split(f"<h2>{chapter.title}</h2>")[1]
                points, most = re.search(r"<b>([\d.]+) of ([\d.]+) points</b>", part).groups()
                found[email, chapter.name] = cell(points, most)
        return found


OPEN = ("--isolation", "none")  # all files are our own
EXCUSED = "excused"
CLOSE = {"pages": 0.00501}  # the rounding of a place, in points
ROUNDING = 1e-4


def zone():
    """Return the time zone of the course."""
    from zoneinfo import ZoneInfo

    return ZoneInfo(ZONE)


def cell(points: object, most: object) -> float | str:
    """Return points as a number; EXCUSED if the maximum is empty or 0."""
    return float(str(points)) if float(str(most or 0)) else EXCUSED


def play(term: Term) -> None:
    """Play the term, one chapter a week, and report the accidents."""
    term.prepare()
    term.team_up()
    for week, chapter in enumerate(term.names, 1):
        learners = term.learners[:-1] if week == 2 else term.learners[week % 3 :]
        print(f"\nWeek {week}: {len(learners)} learners submit {chapter} on {term.system[chapter]}")
        term.submit(chapter, learners)
        term.grade()
        if week == 1:
            print("\nAn extension, overrides, and a third of the class submits again")
            term.extend()
            term.override()
            term.submit(chapter, term.learners[::3], skill=0.9, days=1)
            term.grade()
    print("\nNew graders, and the power is cut while all is graded again")
    term.change_graders()
    term.accidents["submissions graded before the power cut"] = term.cut_power()
    told = term.grade()
    print("\n".join(line for line in told.splitlines() if "graded before" in line))
    print("\nresults.jsonl is lost")
    lost = term.lose_rows()
    term.grade()
    term.accidents["rows written again"] = term.lose_rows()
    term.grade()
    if lost != term.accidents["rows written again"]:
        raise SystemExit(f"{lost} rows were lost")


def differences(places: dict[str, Cells]) -> list[tuple[str, tuple[str, str], object, object]]:
    """Return the place, the learner and chapter, and both values of every cell that differs."""
    first, *others = places
    found = []
    for place in others:
        close = CLOSE.get(place, ROUNDING)
        for about in sorted(places[first].keys() | places[place].keys()):
            expected, got = places[first].get(about), places[place].get(about)
            if not same(expected, got, close):
                found.append((place, about, expected, got))
    return found


def same(one: object, other: object, close: float) -> bool:
    """Return True if two cells are equal up to rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= close
    return one == other


def fresh(term: Term) -> Cells:
    """Return the points of a folder that has seen no accident, graded from the same files."""
    untouched, term.out = term.out, term.folder / "fresh"
    term.out.mkdir()
    for name in ("extensions.csv", "overrides.csv"):
        shutil.copy(untouched / name, term.out)
    term.grade()
    found, term.out = term.in_sqlite(), untouched
    return found


def main(arguments: list[str] | None = None) -> int:
    """Play a term and print a table. Return 1 if any two places differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--learners", type=int, default=150)
    parser.add_argument("--chapters", type=int, default=6)
    parser.add_argument("--folder", type=Path, help="Keep everything in this new folder.")
    asked = parser.parse_args(arguments)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        home = asked.folder or Path(folder) / "term"
        home.mkdir(parents=True)
        term = Term(home.resolve(), [*map(student_name, range(asked.learners))], asked.chapters)
        play(term)
        print("\nThe end of the term: everything is exported")
        places = term.places() | {"graded afresh": fresh(term)}
        wrong, events = differences(places), term.events()
    count = Counter(place for place, *_ in wrong)
    print(f"\n{'place':<16}{'cells':>7}{'differ':>8}")
    for place, cells in places.items():
        print(f"{place:<16}{len(cells):>7}{count[place]:>8}")
    for place, about, expected, got in wrong[:20]:
        print(f"{place}, {'/'.join(about)}: {got} instead of {expected}")
    print("  ".join(f"{name}: {many}" for name, many in events.items()))
    whole = sum(points for points in places["SQLite"].values() if isinstance(points, float))
    seconds = time.monotonic() - begun
    print(f"{whole:g} points; {term.commands} commands, {seconds:.0f} s")
    return int(bool(wrong) or not all(events.values()))


if __name__ == "__main__":
    sys.exit(main())
