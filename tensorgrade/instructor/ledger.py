"""Keeps results safe: every row is written as it comes, once, and survives an interruption.

`results.jsonl` holds the rows. `graded.jsonl` says, after the rows are on disk, which hand-in
they belong to and with which graders they were made; only then do they count as written.
"""

import json
import os
from collections.abc import Collection
from pathlib import Path

from ..attempts.verdict import Verdict
from ..course import CourseError
from ..sources.handins import NOTHING, Handin


class Ledger:
    """The results of one run in its folder, kept over any number of starts.

    digests: what each chapter's graders are, by the chapter's name.
    """

    def __init__(self, out: Path, digests: dict[str, str]):
        make_folder(out)
        self.results, self.graded = out / "results.jsonl", out / "graded.jsonl"
        self.lock = Lock(out / "in-use")
        self.digests = digests
        self.stamps = {(e["student"], e["chapter"]): e["stamp"] for e in read_lines(self.graded)}
        self.before: dict[tuple, float] = {}

    def stamp(self, handin: Handin) -> str:
        """Names a hand-in together with the graders it was graded with."""
        return f"{handin.digest}-{self.digests[handin.chapter]}"

    def is_done(self, handin: Handin) -> bool:
        """Whether this very content was graded with these very graders."""
        return self.stamps.get((handin.student, handin.chapter)) == self.stamp(handin)

    def holds(self, handin: Handin, forget: Collection[str] = ()) -> bool:
        """Whether something that this learner handed in for this chapter was graded before."""
        before = self.stamps.get((handin.student, handin.chapter), NOTHING)
        return not before.startswith(NOTHING) and handin.student not in forget

    def prepare(self, handins: list[Handin], forget: Collection[str] = ()) -> list[Handin]:
        """Drop rows that are stale or half written; returns what is still to grade.

        What was graded before and is not among these hand-ins stays, but for learners to forget.
        """
        done = [handin for handin in handins if self.is_done(handin)]
        others = self.others(handins, forget)
        kept = {(handin.student, handin.chapter) for handin in done} | set(others)
        rows = read_lines(self.results)
        self.before = self.points_of(handins, rows, kept)
        write_lines(self.results, [r for r in rows if (r["student"], r["chapter"]) in kept])
        entries = [self.entry(handin) for handin in done]
        write_lines(self.graded, entries + [others[about] for about in sorted(others)])
        return [handin for handin in handins if not self.is_done(handin)]

    def others(self, handins: list[Handin], forget: Collection[str] = ()) -> dict[tuple, dict]:
        """Notes on what was graded before and is not among these hand-ins, by what they are on."""
        asked = {(handin.student, handin.chapter) for handin in handins}
        return {
            about: {"student": about[0], "chapter": about[1], "stamp": stamp}
            for about, stamp in self.stamps.items()
            if about not in asked and about[0] not in forget
        }

    def must_know(self, students: Collection[str]) -> None:
        """Raises CourseError for a learner of whom nothing was graded before."""
        known = {student for student, _ in self.stamps}
        if unknown := sorted(set(students) - known):
            raise CourseError(f"{self.results} holds no rows of {', '.join(unknown)}")

    def contents(self) -> dict[tuple[str, str], str]:
        """A digest of what each learner handed in for each chapter, of all that is graded."""
        entries = read_lines(self.graded)
        digests = {(e["student"], e["chapter"]): e["stamp"].split("-")[0] for e in entries}
        return {a: digest for a, digest in digests.items() if not digest.startswith(NOTHING)}

    def points_of(self, handins: list[Handin], rows: list[dict], kept: set) -> dict[tuple, float]:
        """Points of unchanged files that are to be graded anew, since the graders changed."""
        same = {
            (h.student, h.chapter)
            for h in handins
            if self.stamps.get((h.student, h.chapter), "").startswith(f"{h.digest}-")
        }
        old = [row for row in rows if (row["student"], row["chapter"]) in same - kept]
        return {key(row): row["points"] for row in old}

    def moved(self, rows: list[dict]) -> list[tuple[dict, float]]:
        """Rows of unchanged files whose points other graders moved, with the points before."""
        with_before = [(row, self.before.get(key(row), row["points"])) for row in rows]
        return [(row, points) for row, points in with_before if points != row["points"]]

    def entry(self, handin: Handin) -> dict:
        return {"student": handin.student, "chapter": handin.chapter, "stamp": self.stamp(handin)}

    def write(self, batch: list[tuple[Handin, list[Verdict]]]) -> None:
        """Append some hand-ins' rows, then the notes that they are complete."""
        append_lines(self.results, [v.row() for _, verdicts in batch for v in verdicts])
        append_lines(self.graded, [self.entry(handin) for handin, _ in batch])

    def rows(self) -> list[dict]:
        """All rows so far."""
        return read_lines(self.results)

    def finish(self, order: list[str]) -> list[dict]:
        """Sort the rows, so that the same class gives the same bytes; returns them."""
        place = {name: number for number, name in enumerate(order)}
        last = len(place)  # an exercise that the course no longer has
        rows = sorted(
            self.rows(),
            key=lambda r: (r["student"], r["chapter"], place.get(r["exercise"], last)),
        )
        write_lines(self.results, rows)
        return rows


def make_folder(out: Path) -> None:
    """The folder for results. Raises CourseError where there can be none."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"there can be no folder {out}: {error.strerror}") from None


class Lock:
    """Keeps a second run out of a folder, for as long as this process lives."""

    def __init__(self, path: Path):
        try:
            import fcntl
        except ImportError:  # not there on Windows
            return
        self.file = path.open("w")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CourseError(f"another run is writing into {path.parent} just now") from None


def key(row: dict) -> tuple:
    """What a row is about."""
    return row["student"], row["chapter"], row["exercise"]


def read_lines(path: Path) -> list[dict]:
    """The records of a file; a last line that was cut off in the middle does not count."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    try:
        records = [json.loads(line) for line in lines]
    except ValueError:
        records = [None]
    if not all(isinstance(r, dict) and {"student", "students"} & set(r) for r in records):
        raise CourseError(
            f"{path} holds something else than this program's rows; it was left alone"
        )
    return records


def append_lines(path: Path, records: list[dict]) -> None:
    """Write records at the end and wait until they are on disk. Raises CourseError."""
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}"
        raise CourseError(f"{why}. What was written before is kept") from None


def write_lines(path: Path, records: list[dict]) -> None:
    """Replace a file by these records, at once or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    temporary.touch()
    append_lines(temporary, records)
    temporary.replace(path)
