"""`OUT/results.sqlite`: the graders' results, the rows that count, and all changes.

attempts: every judged submission, with the graders' rows. results: the rows that count, after late
penalties and overrides. events: changes, each with the number of its run. runs: a record of each
run that changed something. pending: submissions that a run has not graded yet. unnamed: the code of
one wrong answer of each group without a known mistake. The view `grades` is for people who open the
file.

One run writes at a time, and each submission is written in one transaction. Attempts and
results have a checksum, so that later changes are noticed.
"""

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ..course import CourseError
from ..lateness import written
from ..sources.finding import named

NAME, RESULTS = "results.sqlite", "results.jsonl"
VERSION = 1
MOVED = "moved"  # the kind of event for a row whose points or status changed
About = tuple[str, str]  # student, chapter
SECONDS_TO_WAIT = 60  # for another process that is reading or writing
SCHEMA = (
    """CREATE TABLE attempts (number INTEGER PRIMARY KEY, student TEXT NOT NULL,
    chapter TEXT NOT NULL, content TEXT NOT NULL, graders TEXT NOT NULL, judged TEXT NOT NULL,
    rows TEXT NOT NULL, checksum TEXT NOT NULL)""",
    "CREATE INDEX attempts_of ON attempts (student, chapter)",
    """CREATE TABLE results (student TEXT NOT NULL, chapter TEXT NOT NULL, basis TEXT NOT NULL,
    rows TEXT NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (student, chapter))""",
    """CREATE TABLE events (number INTEGER PRIMARY KEY, run INTEGER NOT NULL,
    student TEXT NOT NULL, record TEXT NOT NULL)""",
    "CREATE INDEX events_in ON events (run)",
    "CREATE INDEX events_of ON events (student)",
    "CREATE TABLE runs (number INTEGER PRIMARY KEY, record TEXT)",
    "CREATE TABLE pending (student TEXT, chapter TEXT, PRIMARY KEY (student, chapter))",
    """CREATE TABLE unnamed (name TEXT PRIMARY KEY, student TEXT NOT NULL,
    record TEXT NOT NULL)""",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE VIEW grades AS SELECT results.student, results.chapter,
    json_extract(value, '$.exercise') AS exercise, json_extract(value, '$.points') AS points,
    json_extract(value, '$.max_points') AS max_points, json_extract(value, '$.status') AS status,
    json_extract(value, '$.message') AS message FROM results, json_each(results.rows)""",
)


@dataclass(frozen=True)
class Attempt:
    """A judged submission. number: larger for later ones. content, graders: digests.

    text: the rows as JSON. judged: the time. is_sound: True if the record is unchanged.
    """

    number: int
    student: str
    chapter: str
    content: str
    graders: str
    text: str
    judged: str
    is_sound: bool = True

    @property
    def rows(self) -> list[dict]:
        """The graders' rows with the submission time, without any penalty; [] if not sound."""
        return json.loads(self.text) if self.is_sound else []


@dataclass(frozen=True)
class Basis:
    """The attempt behind the rows that count, by its digests, and the newest attempt.

    policy: the rule that selected it, such as `best`; "" if unknown.
    """

    content: str
    graders: str
    newest: int
    policy: str = ""


@dataclass(frozen=True)
class Result:
    """The rows that count for a learner's chapter. text: the rows as JSON."""

    student: str
    chapter: str
    basis: Basis
    text: str
    is_sound: bool = True

    @property
    def rows(self) -> list[dict]:
        """The rows, after late penalties and overrides; [] if not sound."""
        return json.loads(self.text) if self.is_sound else []


class Store:
    """The results in a folder. writes: create the file if there is none.

    Raises CourseError for a damaged file, for results without the file, such as those of an earlier
    version, and if there is nothing to read.
    """

    def __init__(self, out: Path, writes: bool = False):
        self.out, self.path = out, out / NAME
        if self.is_ready():
            if writes:
                self.check()
        elif (out / RESULTS).exists():
            raise CourseError(
                f"{out} holds results of an earlier version, or {NAME} is missing there; choose "
                "another --out or restore a backup"
            )
        elif writes:
            self.create()
        else:
            raise CourseError(no_results(out))

    def is_ready(self) -> bool:
        """Return True if the file holds results of this version."""
        if not self.path.exists():
            return False
        with self.connected() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise CourseError(f"{self.path} was written by a newer version of tensorgrade")
        return version == VERSION

    def check(self) -> None:
        """Raise CourseError if the file is damaged."""
        with self.connected() as connection:
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise CourseError(damaged(self.path, said.splitlines()[-1]))

    def create(self) -> None:
        """Make the tables."""
        with self.transaction() as connection:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """Open the file briefly, because no connection survives a fork. Raises CourseError."""
        try:
            wanted = sqlite3.connect(self.path, timeout=SECONDS_TO_WAIT, isolation_level=None)
            with closing(wanted) as connection:
                yield connection
        except sqlite3.OperationalError as error:
            why = f"{self.path} cannot be read or written: {error}"
            raise CourseError(f"{why}. Earlier results are kept") from None
        except sqlite3.DatabaseError as error:
            raise CourseError(damaged(self.path, str(error))) from None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write everything inside this context or nothing. Raises CourseError."""
        with self.connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def attempts(self) -> dict[About, list[Attempt]]:
        """Return all attempts at each learner's chapter, oldest first."""
        found: dict[About, list[Attempt]] = defaultdict(list)
        columns = "number, student, chapter, content, graders, rows, judged, checksum"
        with self.connected() as connection:
            for *own, text, judged, known in connection.execute(
                f"SELECT {columns} FROM attempts ORDER BY number"
            ):
                number, student, chapter, content, graders = own
                sound = checksum(student, chapter, content, graders, text) == known
                attempt = Attempt(number, student, chapter, content, graders, text, judged, sound)
                found[student, chapter].append(attempt)
        return dict(found)

    def results(self) -> dict[About, Result]:
        """Return the rows that count for each learner's chapter."""
        with self.connected() as connection:
            lines = connection.execute(
                "SELECT student, chapter, basis, rows, checksum FROM results"
            ).fetchall()
        found = {}
        for student, chapter, basis, text, known in lines:
            sound = checksum(student, chapter, basis, text) == known
            about = Basis(**json.loads(basis)) if sound else Basis("", "", 0)
            found[student, chapter] = Result(student, chapter, about, text, sound)
        return found

    def rows(self) -> list[dict]:
        """Return all rows that count, by learner and chapter.

        Raises CourseError if any was changed or is missing.
        """
        results = self.results()
        broken = {a for a, one in results.items() if not one.is_sound} | self.without_result()
        if broken:
            whose = named(sorted("/".join(a) for a in broken))
            why = f"{self.path}: the rows of {whose} are missing or have been changed"
            raise CourseError(f"{why}; run `tensorgrade grade` again")
        return [row for _, one in sorted(results.items()) for row in one.rows]

    def without_result(self) -> set[About]:
        """Return judged submissions without rows that count, because these were deleted by hand."""
        both = "SELECT student, chapter FROM {}"
        statement = f"{both.format('attempts')} EXCEPT {both.format('results')}"
        with self.connected() as connection:
            return {*connection.execute(statement)}

    def count(self) -> int:
        """Return the number of submissions with rows."""
        with self.connected() as connection:
            return connection.execute("SELECT COUNT(*) FROM results").fetchone()[0]

    def refuse_empty(self) -> None:
        """Raise CourseError if the folder holds no results."""
        if not self.count():
            raise CourseError(no_results(self.out))

    def pending(self) -> set[About]:
        """Return the submissions that a run found and has not graded yet."""
        with self.connected() as connection:
            return {*connection.execute("SELECT student, chapter FROM pending")}

    def unnamed(self) -> dict[str, dict]:
        """Return a record of one wrong answer of each unrecognized group, by the group's name."""
        with self.connected() as connection:
            lines = connection.execute("SELECT name, record FROM unnamed ORDER BY rowid").fetchall()
        return {name: json.loads(record) for name, record in lines}

    def history(self) -> list[dict]:
        """Return a record of each run that changed something, oldest first, with changed rows."""
        with self.connected() as connection:
            runs = connection.execute(
                "SELECT number, record FROM runs WHERE record IS NOT NULL ORDER BY number"
            ).fetchall()
            return [
                json.loads(record) | {"moved": moved(events_of(connection, number))}
                for number, record in runs
            ]

    def events(self, student: str = "") -> list[dict]:
        """Return the changes for a learner, or for all, oldest first."""
        with self.connected() as connection:
            lines = connection.execute(
                "SELECT record FROM events WHERE ? IN ('', student) ORDER BY number", (student,)
            ).fetchall()
        return [json.loads(record) for (record,) in lines]

    def meta(self, name: str) -> str:
        """Return a setting of this folder; "" if there is none."""
        with self.connected() as connection:
            found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return found[0] if found else ""


def damaged(path: Path, why: str) -> str:
    """Return a sentence on a file that SQLite cannot read."""
    return f"{path} is damaged ({why}). Restore it from a backup, or choose another --out"


def no_results(out: Path) -> str:
    """Return a sentence on a folder without results."""
    return f"{out} holds no results; `tensorgrade grade` makes them"


def checksum(*parts: str) -> str:
    """Return a digest of some texts."""
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:32]


def as_text(rows: Iterable[dict]) -> str:
    """Return rows as JSON: the same text for the same fields in the same order."""
    return json.dumps(list(rows))


def moment() -> str:
    """Return the current time, to the second."""
    return written(datetime.now(UTC).replace(microsecond=0))


def plain(name: str) -> str:
    """Return a name that a database can store, whatever its characters."""
    return name.encode("utf-8", "backslashreplace").decode()


def add_attempt(
    connection: sqlite3.Connection, about: About, content: str, graders: str, rows: list[dict]
) -> Attempt:
    """Insert a judged submission."""
    student, chapter = map(plain, about)
    text, judged = as_text(rows), moment()
    known = checksum(student, chapter, content, graders, text)
    values = (student, chapter, content, graders, judged, text, known)
    done = connection.execute("INSERT INTO attempts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", values)
    return Attempt(done.lastrowid or 0, student, chapter, content, graders, text, judged)


def change_attempt(connection: sqlite3.Connection, attempt: Attempt, rows: list[dict]) -> Attempt:
    """Replace the rows of an attempt, because its submission time was corrected."""
    changed = replace(attempt, text=as_text(rows))
    parts = changed.student, changed.chapter, changed.content, changed.graders, changed.text
    connection.execute(
        "UPDATE attempts SET rows = ?, checksum = ? WHERE number = ?",
        (changed.text, checksum(*parts), attempt.number),
    )
    return changed


def put_result(
    connection: sqlite3.Connection, about: About, basis: Basis, rows: list[dict]
) -> Result:
    """Insert or replace the rows that count for a learner's chapter."""
    student, chapter = map(plain, about)
    text, told = as_text(rows), json.dumps(asdict(basis))
    values = (student, chapter, told, text, checksum(student, chapter, told, text))
    connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", values)
    return Result(student, chapter, basis, text)


def forget(connection: sqlite3.Connection, students: Iterable[str], kept: Iterable[About]) -> None:
    """Delete the data of some learners. kept: submissions whose results stay until replaced."""
    for student in students:
        for table in ("attempts", "pending", "unnamed"):
            connection.execute(f"DELETE FROM {table} WHERE student = ?", (student,))
        stay = {chapter for name, chapter in kept if name == student}
        own = connection.execute("SELECT chapter FROM results WHERE student = ?", (student,))
        for (chapter,) in own.fetchall():
            if chapter not in stay:
                connection.execute(
                    "DELETE FROM results WHERE student = ? AND chapter = ?", (student, chapter)
                )


def add_unnamed(connection: sqlite3.Connection, group: str, record: dict) -> None:
    """Store the code of a wrong answer of a group, if the group has none yet."""
    values = (group, plain(record["student"]), json.dumps(record))
    connection.execute("INSERT OR IGNORE INTO unnamed VALUES (?, ?, ?)", values)


def add_event(connection: sqlite3.Connection, run: int, kind: str, record: dict) -> None:
    """Record a change for a learner. kind: came, gone, moved or regraded."""
    told = json.dumps({"kind": kind, "at": moment()} | record)
    values = (run, plain(record["student"]), told)
    connection.execute("INSERT INTO events VALUES (NULL, ?, ?, ?)", values)


def events_of(connection: sqlite3.Connection, run: int) -> list[dict]:
    """Return the changes of a run, oldest first."""
    lines = connection.execute("SELECT record FROM events WHERE run = ? ORDER BY number", (run,))
    return [json.loads(record) for (record,) in lines]


def moved(events: list[dict]) -> list[dict]:
    """Return the changed rows among some events."""
    own = [event for event in events if event["kind"] == MOVED]
    return [{name: told for name, told in e.items() if name not in ("kind", "at")} for e in own]


def begin_run(connection: sqlite3.Connection) -> int:
    """Return the number of the unfinished run, or of a new one."""
    going = connection.execute("SELECT number FROM runs WHERE record IS NULL").fetchone()
    if going:
        return going[0]
    return connection.execute("INSERT INTO runs VALUES (NULL, NULL)").lastrowid or 0


def set_meta(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Set a setting of this folder."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
