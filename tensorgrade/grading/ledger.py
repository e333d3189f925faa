"""Keeps results safe: every row is written as it comes, once, and survives an interruption.

`results.jsonl` holds the rows. `graded.jsonl` says, after the rows are on disk, which hand-in
they belong to and with which graders they were made; only then do they count as written.
"""

import json
import os
from pathlib import Path

from ..course import CourseError
from ..results import Verdict
from .submissions import Handin


class Ledger:
    """The results of one run in its folder, kept over any number of starts.

    digests: what each chapter's graders are, by the chapter's name.
    """

    def __init__(self, out: Path, digests: dict[str, str]):
        out.mkdir(parents=True, exist_ok=True)
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

    def prepare(self, handins: list[Handin]) -> list[Handin]:
        """Drop rows that are stale or half written; returns what is still to grade."""
        done = [handin for handin in handins if self.is_done(handin)]
        kept = {(handin.student, handin.chapter) for handin in done}
        rows = read_lines(self.results)
        self.before = self.points_of(handins, rows, kept)
        write_lines(self.results, [r for r in rows if (r["student"], r["chapter"]) in kept])
        write_lines(self.graded, [self.entry(handin) for handin in done])
        return [handin for handin in handins if not self.is_done(handin)]

    def points_of(self, handins: list[Handin], rows: list[dict], kept: set) -> dict[tuple, float]:
        """Points of unchanged files that are to be graded anew, since the graders changed."""
        same = {
            (h.student, h.chapter) for h in handins
            if self.stamps.get((h.student, h.chapter), "").startswith(f"{h.digest}-")
        }
        old = [row for row in rows if (row["student"], row["chapter"]) in same - kept]
        return {key(row): row["points"] for row in old}

    def moved(self, rows: list[dict]) -> list[tuple[dict, float]]:
        """Rows of unchanged files whose points other graders moved, with the points before."""
        found = [(row, self.before.get(key(row), row["points"])) for row in rows]
        return [(row, points) for row, points in found if points != row["points"]]

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
        rows = sorted(self.rows(), key=lambda r: (r["student"], r["chapter"], place[r["exercise"]]))
        write_lines(self.results, rows)
        return rows


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
    return [json.loads(line) for line in lines]


def append_lines(path: Path, records: list[dict]) -> None:
    """Write records at the end and wait until they are on disk."""
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
        file.flush()
        os.fsync(file.fileno())


def write_lines(path: Path, records: list[dict]) -> None:
    """Replace a file by these records, at once or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    temporary.touch()
    append_lines(temporary, records)
    temporary.replace(path)
