"""`OUT/results.sqlite`: what the graders found in each file, and which points changed.

files: a line for each file of a learner, with its time, team and extension. attempts: a line for
each time that a file was graded, which never changes. changes: each change of a row, with its
cause. The rows that count are computed by today's rules (rules.py). `results.jsonl` is an export of
them.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from ..course import Course, CourseError
from ..folders import write_file
from ..lateness import now, written
from ..sources.finding import About
from ..sources.submitted_files import SubmittedFiles
from .rules import Row, counted, read_rules

NAME, RESULTS = "results.sqlite", "results.jsonl"
VERSION = 4
SECONDS_TO_WAIT = 60  # for another process that is writing
NOT_EXPORTED = ("code", "at")
# In files, number: of a file that was put back, a new one. graders, facts: see `Results.expect`;
# only a learner's newest file has graders.
SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS files (number INTEGER PRIMARY KEY, student TEXT NOT NULL,
    chapter TEXT NOT NULL, file TEXT NOT NULL, graders TEXT NOT NULL, facts TEXT NOT NULL,
    UNIQUE (student, chapter, file));
CREATE TABLE IF NOT EXISTS attempts (number INTEGER PRIMARY KEY, at TEXT NOT NULL,
    student TEXT NOT NULL, chapter TEXT NOT NULL, file TEXT NOT NULL, graders TEXT NOT NULL,
    rows TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY, student TEXT NOT NULL,
    record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS attempts_of ON attempts (student, chapter, file, graders);
PRAGMA user_version = {VERSION};
COMMIT;
"""


class Results:
    """The results in a folder. writes: make the file if there is none.

    Raises CourseError for results of another version, and, unless this writes, for a folder without
    results. Every method raises CourseError if the file is damaged, or cannot be read or written.
    """

    def __init__(self, out: Path, writes: bool = False):
        self.out, self.path, self.mode = out, out / NAME, "rwc" if writes else "rw"
        if not self.path.exists():
            if (out / RESULTS).exists():
                where = f"{out} holds results of an earlier version, or {NAME} is missing there"
                raise CourseError(f"{where}; choose another --out or restore a backup")
            if not writes:
                raise CourseError(f"{out} holds no results; `tensorgrade grade` makes them")
            out.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.connected() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, VERSION):
                where = f"{out} holds results of another version of tensorgrade"
                raise CourseError(f"{where}; grade into a new folder, or finish the term with it")
            if writes:
                connection.executescript(SCHEMA)

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """Open the file briefly, because no connection survives a fork.

        Everything that the context writes is stored at its end, or nothing.
        """
        where = f"{self.path.absolute().as_uri()}?mode={self.mode}"
        try:
            found = sqlite3.connect(where, SECONDS_TO_WAIT, isolation_level="IMMEDIATE", uri=True)
            with closing(found) as connection, connection:
                yield connection
        except (sqlite3.Error, json.JSONDecodeError) as error:
            why = f"{self.path} cannot be read or written: {error}. Earlier results are kept"
            raise CourseError(f"{why}; if it is damaged, restore it from a backup") from None

    def expect(
        self, found: Mapping[SubmittedFiles, Row], graders: Mapping[str, str], is_whole: bool
    ) -> None:
        """Store the newest files of learners, and the graders that a run expects to judge them.

        found: what rows say about a file besides what graders find: time, team and so on. graders:
        by chapter. is_whole: the run looked at the whole class, so no other file waits.
        """
        no_longer = "UPDATE files SET graders = '' WHERE (student, chapter) = (?, ?)"
        with self.connected() as connection:
            if is_whole:
                connection.execute("UPDATE files SET graders = ''")
            for one, facts in found.items():
                connection.execute(no_longer, one.about)
                line = (*one.about, one.digest, graders[one.chapter], json.dumps(facts))
                connection.execute(
                    "INSERT OR REPLACE INTO files VALUES (NULL, ?, ?, ?, ?, ?)", line
                )

    def waiting(self) -> set[About]:
        """Return the submissions that a run found and has not graded yet."""
        ours = "(student, chapter, file, graders)"
        wait = f"graders != '' AND {ours} NOT IN (SELECT {ours[1:-1]} FROM attempts)"
        with self.connected() as connection:
            return {*connection.execute(f"SELECT student, chapter FROM files WHERE {wait}")}

    def add(self, graders: str, found: Mapping[SubmittedFiles, list[Row]]) -> None:
        """Store attempts, all or none of them. found: what graders found in each file."""
        with self.connected() as connection:
            for one, rows in found.items():
                line = (moment(), *one.about, one.digest, graders, json.dumps(rows))
                connection.execute("INSERT INTO attempts VALUES (NULL, ?, ?, ?, ?, ?, ?)", line)

    def attempts(self, student: str = "") -> dict[About, list[list[Row]]]:
        """Return the rows of each attempt at a learner's chapter; the newest file's come last.

        They have no penalties and decisions. Each has the digests `file` and `graders`, the time of
        grading, `at`, and the facts on the file. student: the only learner; all if empty.
        """
        found: dict[About, list[list[Row]]] = defaultdict(list)
        with self.connected() as connection:
            lines = connection.execute(
                "SELECT at, student, chapter, file, attempts.graders, rows, facts "
                "FROM attempts JOIN files USING (student, chapter, file) "
                "WHERE ? IN ('', student) ORDER BY files.number, attempts.number",
                (student,),
            )
            for at, name, chapter, file, graders, rows, facts in lines:
                more = {"at": at, "file": file, "graders": graders} | json.loads(facts)
                found[name, chapter].append([row | more for row in json.loads(rows)])
        return dict(found)

    def note(self, changes: Iterable[Row]) -> None:
        """Store changes of rows, with the time `at`."""
        with self.connected() as connection:
            connection.executemany(
                "INSERT INTO changes VALUES (NULL, ?, ?)",
                [(one["student"], json.dumps(one | {"at": moment()})) for one in changes],
            )

    def changes(self, student: str) -> list[Row]:
        """Return the changes of a learner's rows, oldest first."""
        ours = "SELECT record FROM changes WHERE student = ? ORDER BY number"
        with self.connected() as connection:
            return [json.loads(record) for (record,) in connection.execute(ours, (student,))]

    def rows(self, course: Course, student: str = "") -> list[Row]:
        """Return the rows that count, by learner and chapter, in the order of the exercises.

        student: the only learner; all if empty. Raises CourseError.
        """
        rules, attempts = read_rules(self.out, course), self.attempts(student)
        return [row for about in sorted(attempts) for row in counted(attempts[about], rules)]

    def exported(self) -> list[Row]:
        """Return the rows in `results.jsonl`; [] if it is missing or damaged."""
        try:
            lines = (self.out / RESULTS).read_text(encoding="utf-8").split("\n")
            return [json.loads(line) for line in filter(None, lines)]
        except (OSError, ValueError):
            return []

    def export(self, rows: Iterable[Row]) -> None:
        """Replace `results.jsonl` completely or not at all. Raises OSError."""
        shown = ({n: told for n, told in row.items() if n not in NOT_EXPORTED} for row in rows)
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in shown)
        write_file(self.out / RESULTS, text.encode("utf-8", "backslashreplace"))


def rows_of(out: Path, course: Course) -> list[Row]:
    """Return the rows that count in a folder of results, in order. Raises CourseError.

    Rows of chapters that the course no longer has are left out.
    """
    known = {chapter.name for chapter in course.chapters}
    return [row for row in Results(out).rows(course) if row["chapter"] in known]


def moment() -> str:
    """Return the current time, to the second."""
    return written(now().replace(microsecond=0))
