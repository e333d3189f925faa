"""`OUT/results.sqlite`: what the graders found in each file, and which points changed.

attempts: a line for each graded file, which never changes. waiting: submissions that the last run
found and has not graded yet. changes: each change of a row, with its cause. The rows that count are
computed from the attempts by today's rules (rules.py). `results.jsonl` is an export of them.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..course import Course, CourseError
from ..folders import write_file
from ..lateness import written
from .decisions import read_rules
from .rules import About, Row, Rules, counted

NAME, RESULTS = "results.sqlite", "results.jsonl"
VERSION = 2
SECONDS_TO_WAIT = 60  # for another process that is writing
# place: the number of an older attempt at the same file, if earlier graders made that attempt.
SCHEMA = (
    """CREATE TABLE IF NOT EXISTS attempts (number INTEGER PRIMARY KEY, at TEXT NOT NULL,
    course TEXT NOT NULL, student TEXT NOT NULL, chapter TEXT NOT NULL, file TEXT NOT NULL,
    graders TEXT NOT NULL, place INTEGER, rows TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS waiting (student TEXT NOT NULL, chapter TEXT NOT NULL,
    PRIMARY KEY (student, chapter))""",
    """CREATE TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY, at TEXT NOT NULL,
    student TEXT NOT NULL, chapter TEXT NOT NULL, exercise TEXT NOT NULL, record TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS attempts_of ON attempts (student)",
    "CREATE INDEX IF NOT EXISTS changes_of ON changes (student, exercise)",
    f"PRAGMA user_version = {VERSION}",
)
NEEDED = {"student", "chapter", "exercise", "points", "max_points", "status", "mistakes", "message"}


@dataclass(frozen=True)
class Attempt:
    """What graders found in one file of a learner. file, graders: digests. at: when.

    rows: without penalties and decisions; each has the two digests too.
    """

    number: int
    at: str
    student: str
    chapter: str
    file: str
    graders: str
    rows: list[Row]


class Results:
    """The results in a folder. writes: make the file if there is none.

    Raises CourseError for a damaged file, for results of another version, and, unless this writes,
    for a folder without results.
    """

    def __init__(self, out: Path, writes: bool = False):
        self.out, self.path = out, out / NAME
        if not self.path.exists() and (out / RESULTS).exists():
            where = f"{out} holds results of an earlier version, or {NAME} is missing there"
            raise CourseError(f"{where}; choose another --out or restore a backup")
        is_ready = self.path.exists() and self.check()
        if not (is_ready or writes):
            raise CourseError(no_results(out))
        if not is_ready:
            make_folder(out)
            with self.writing("rwc") as connection:
                for statement in SCHEMA:
                    connection.execute(statement)

    def check(self) -> bool:
        """Return True if the file holds tables; False if a run was killed while it made them.

        Raises CourseError for a damaged file, and for one of another version.
        """
        with self.connected() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise CourseError(damaged(self.path, said.splitlines()[-1]))
        if version not in (0, VERSION):
            kind = "an earlier" if version < VERSION else "a newer"
            raise CourseError(
                f"{self.out} holds results of {kind} version of tensorgrade; grade into a new "
                "folder, or finish the term with that version"
            )
        return version == VERSION

    @contextmanager
    def connected(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        """Open the file briefly, because no connection survives a fork. Raises CourseError."""
        where = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            wanted = sqlite3.connect(where, uri=True, timeout=SECONDS_TO_WAIT, isolation_level=None)
            with closing(wanted) as connection:
                yield connection
        except sqlite3.OperationalError as error:
            why = f"{self.path} cannot be read or written: {error}"
            raise CourseError(f"{why}. Earlier results are kept") from None
        except sqlite3.DatabaseError as error:
            raise CourseError(damaged(self.path, str(error))) from None

    @contextmanager
    def writing(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        """Write everything inside this context or nothing. Raises CourseError."""
        with self.connected(mode) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def add(self, course: str, attempts: Iterable[list[Row]], place: int | None = None) -> None:
        """Store the rows of attempts completely or not at all. place: see SCHEMA."""
        with self.writing() as connection:
            for rows in attempts:
                first = rows[0]
                values = [first[name] for name in ("student", "chapter", "file", "graders")]
                connection.execute(
                    "INSERT INTO attempts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (moment(), course, *values, place, json.dumps(rows)),
                )
                if place is None:
                    done = "DELETE FROM waiting WHERE (student, chapter) = (?, ?)"
                    connection.execute(done, values[:2])

    def attempts(self, student: str = "") -> dict[About, list[Attempt]]:
        """Return all attempts at each learner's chapter, oldest file first. Raises CourseError.

        student: the only learner; all if empty.
        """
        found: dict[About, list[Attempt]] = defaultdict(list)
        with self.connected() as connection:
            lines = connection.execute(
                "SELECT number, at, student, chapter, file, graders, rows FROM attempts "
                "WHERE ? IN ('', student) ORDER BY COALESCE(place, number), number",
                (student,),
            )
            for number, at, student, chapter, file, graders, text in lines:
                one = Attempt(number, at, student, chapter, file, graders, self.read(text))
                found[student, chapter].append(one)
        return dict(found)

    def read(self, text: str) -> list[Row]:
        """Return the rows in a line of the table. Raises CourseError if somebody changed them."""
        try:
            rows = json.loads(text)
            if rows and all(row.keys() >= NEEDED for row in rows):
                return rows
        except (ValueError, TypeError, AttributeError):
            pass
        raise CourseError(damaged(self.path, "a line of attempts has no rows"))

    def belongs_to(self, course: str) -> None:
        """Raise CourseError if the results are of another course."""
        with self.connected() as connection:
            known = {name for (name,) in connection.execute("SELECT DISTINCT course FROM attempts")}
        if others := known - {course}:
            of = f"the course {min(others)}, not of {course}"
            raise CourseError(f"{self.out} holds results of {of}; choose another --out")

    def expect(self, todo: Iterable[About], asked: Collection[About] | None = None) -> None:
        """Note which submissions a run is going to grade.

        asked: those that a run on a part of the class looked at; None for a run on all of it.
        """
        with self.writing() as connection:
            if asked is None:
                connection.execute("DELETE FROM waiting")
            else:
                done = "DELETE FROM waiting WHERE (student, chapter) = (?, ?)"
                connection.executemany(done, asked)
            connection.executemany("INSERT OR IGNORE INTO waiting VALUES (?, ?)", todo)

    def waiting(self) -> set[About]:
        """Return the submissions that a run found and has not graded yet."""
        with self.connected() as connection:
            return {*connection.execute("SELECT student, chapter FROM waiting")}

    def note(self, changes: Iterable[Row]) -> None:
        """Store changes of rows. One that a killed run has stored already is left out."""
        with self.writing() as connection:
            for one in changes:
                whose = one["student"], one["chapter"], one["exercise"]
                record = json.dumps(one)
                connection.execute(
                    "INSERT INTO changes SELECT NULL, ?, ?, ?, ?, ? WHERE ? IS NOT (SELECT record "
                    "FROM changes WHERE (student, chapter, exercise) = (?, ?, ?) "
                    "ORDER BY number DESC LIMIT 1)",
                    (moment(), *whose, record, record, *whose),
                )

    def changes(self, student: str) -> list[Row]:
        """Return the changes of a learner's rows, oldest first, each with its time `at`."""
        with self.connected() as connection:
            lines = connection.execute(
                "SELECT at, record FROM changes WHERE student = ? ORDER BY number", (student,)
            ).fetchall()
        return [json.loads(record) | {"at": at} for at, record in lines]

    def rows(self, rules: Rules, order: list[str], student: str = "") -> list[Row]:
        """Return the rows that count, by learner, chapter, and the course's order of exercises."""
        place = {name: number for number, name in enumerate(order)}
        found = [
            {name: told for name, told in row.items() if name != "code"}
            for own in self.attempts(student).values()
            for row in counted([one.rows for one in own], rules)
        ]
        last = len(place)  # for exercises that the course no longer has
        return sorted(
            found,
            key=lambda row: (row["student"], row["chapter"], place.get(row["exercise"], last)),
        )

    def codes(self) -> dict[str, str]:
        """Return the code of one wrong answer of each group without a known mistake."""
        found: dict[str, str] = {}
        for row in (row for own in self.attempts().values() for one in own for row in one.rows):
            if row.get("code"):
                found.setdefault(row["group"], row["code"])
        return found

    def exported(self) -> list[Row]:
        """Return the rows in `results.jsonl`; [] if it is missing or damaged."""
        try:
            lines = (self.out / RESULTS).read_text(encoding="utf-8").split("\n")
            rows = [json.loads(line) for line in filter(None, lines)]
            whole = all(row.keys() >= NEEDED | {"file", "graders"} for row in rows)
        except (OSError, ValueError, AttributeError):
            return []
        return rows if whole else []

    def export(self, rows: Iterable[Row]) -> None:
        """Replace `results.jsonl` completely or not at all. Raises CourseError."""
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        try:
            write_file(self.out / RESULTS, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            why = f"{self.out / RESULTS} cannot be written: {error.strerror}"
            raise CourseError(f"{why}. Earlier results are kept") from None


def rows_of(out: Path, course: Course) -> list[Row]:
    """Return the rows that count in a folder of results, in order. Raises CourseError.

    Rows of chapters that the course no longer has are left out.
    """
    rules, known = read_rules(out, course), {chapter.name for chapter in course.chapters}
    rows = Results(out).rows(rules, course.exercise_names)
    if not rows:
        raise CourseError(no_results(out))
    return [row for row in rows if row["chapter"] in known]


def make_folder(out: Path) -> None:
    """Make the folder for results, for its owner only. Raises CourseError."""
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"the folder {out} cannot be created: {error.strerror}") from None


def moment() -> str:
    """Return the current time, to the second."""
    return written(datetime.now(UTC).replace(microsecond=0))


def damaged(path: Path, why: str) -> str:
    """Return a sentence on a file that SQLite cannot read."""
    return f"{path} is damaged ({why}). Restore it from a backup, or choose another --out"


def no_results(out: Path) -> str:
    """Return a sentence on a folder without results."""
    return f"{out} holds no results; `tensorgrade grade` makes them"
