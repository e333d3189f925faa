"""Keeps results safe: every row is written as it comes, once, and survives an interruption.

`results.jsonl` holds the rows, `unnamed.jsonl` the code of one wrong answer of each group that has
no name. `graded.jsonl` says, after the rows are on disk, which hand-in
they belong to and with which graders they were made; only then do they count as written. Rows
that replace others wait in `anew.jsonl`: until they are all there, `results.jsonl` shows the old
ones, and never both. `before.jsonl` is how it all stood when the last run had ended; it is gone
when this one has.
"""

import json
import os
from collections import defaultdict
from collections.abc import Collection
from multiprocessing.util import register_after_fork
from pathlib import Path

from ..attempts.verdict import Verdict
from ..course import CourseError
from ..lateness import BEST, Lateness
from ..sources.handins import NOTHING, WEIGHTS, Handin
from .history import HISTORY, OTHER_FILE, record
from .overrides import Key, Override, as_found, overridden


class Ledger:
    """The results of one run in its folder, kept over any number of starts.

    digests: what each chapter's graders are, by the chapter's name. lateness: what late work loses.
    overrides: what an instructor decided against the graders. regraded: messages of rows that do
    not count as graded.
    """

    def __init__(
        self,
        out: Path,
        digests: dict[str, str],
        lateness: Lateness | None = None,
        overrides: dict[Key, Override] | None = None,
        regraded: Collection[str] = (),
    ):
        make_folder(out)
        self.results, self.graded = out / "results.jsonl", out / "graded.jsonl"
        self.anew, self.earlier = out / "anew.jsonl", out / "before.jsonl"
        self.unnamed = out / "unnamed.jsonl"
        self.groups = {record["group"] for record in read_lines(self.unnamed)}
        self.lock = Lock(out / "in-use")
        self.digests, self.lateness = digests, lateness or Lateness()
        self.overrides = overrides or {}
        notes = {about_note(entry): entry for entry in read_lines(self.graded)}
        self.stamps = {a: note["stamp"] for a, note in notes.items()}
        # The (student, chapter) of rows that the graders could not judge.
        self.failed = {key(row)[:2] for row in self.rows() if row.get("message") in regraded}
        # Whose rows are those of an attempt before the last one, which had more points.
        self.of_earlier = {a for a, note in notes.items() if note.get("earlier")}
        self.stale: set[tuple] = set()
        self.moves: list[dict] = []

    def stamp(self, handin: Handin) -> str:
        """Names a hand-in together with the graders it was graded with."""
        return f"{handin.digest}-{self.digests[handin.chapter]}"

    def is_done(self, handin: Handin) -> bool:
        """Return True if this very content was judged by these very graders, and counts."""
        if about(handin) in self.failed:
            return False
        counts = self.lateness.attempts == BEST or about(handin) not in self.of_earlier
        return counts and self.stamps.get(about(handin)) == self.stamp(handin)

    def holds(self, handin: Handin, forget: Collection[str] = ()) -> bool:
        """Whether something that this learner handed in for this chapter was graded before."""
        before = self.stamps.get(about(handin), NOTHING)
        return not before.startswith(NOTHING) and handin.student not in forget

    def prepare(self, handins: list[Handin], forget: Collection[str] = ()) -> list[Handin]:
        """Drop rows that are half written; returns what is still to grade.

        Earlier rows of other submissions stay, except those of learners to forget. Earlier rows
        of these submissions stay until they are graded again.
        """
        if not self.earlier.exists():
            write_lines(self.earlier, self.snapshot())
        todo = [h for h in handins if not self.is_done(h) or h.student in forget]
        asked, others = {about(handin) for handin in handins}, self.others(handins, forget)
        self.stale = {about(handin) for handin in todo} & set(self.stamps)
        kept = {a for a in self.stamps if a in asked or a in others}
        rows = [row for row in self.rows() if key(row)[:2] in kept]
        self.settle(rows, [self.note(a, self.stamps[a]) for a in sorted(kept)])
        if forget:  # their code too
            left = [r for r in read_lines(self.unnamed) if r["student"] not in forget]
            write_lines(self.unnamed, left)
        return todo

    def snapshot(self) -> list[dict]:
        """A record for each hand-in: its stamp and its rows."""
        own = by_handin(self.rows())
        return [self.note(a, stamp) | {"rows": own[a]} for a, stamp in self.stamps.items()]

    def settle(self, rows: list[dict], notes: list[dict]) -> None:
        """Make these rows and notes all that there is. Cut off anywhere, it can be done again."""
        write_lines(self.results, rows)
        write_lines(self.graded, notes)
        self.anew.unlink(missing_ok=True)

    def others(self, handins: list[Handin], forget: Collection[str] = ()) -> set[tuple]:
        """(student, chapter) of what was graded before and is not among these hand-ins."""
        asked = {about(handin) for handin in handins}
        return {a for a in self.stamps if a not in asked and a[0] not in forget}

    def by_other_graders(self, those: Collection[tuple]) -> set[tuple]:
        """Those of them whose rows were made with other graders than today's."""
        return {a for a in those if not self.stamps[a].endswith(f"-{self.digests.get(a[1])}")}

    def without_isolation(self, todo: Collection[Handin]) -> set[tuple]:
        """Return the (student, chapter) of rows without isolation that this run leaves."""
        replaced = {about(handin) for handin in todo}
        loose = {key(row)[:2] for row in self.rows() if row.get("isolation") == "none"}
        return loose - replaced

    def must_know(self, students: Collection[str]) -> None:
        """Raises CourseError for a learner of whom nothing was graded before."""
        known = {student for student, _ in self.stamps}
        if unknown := sorted(set(students) - known):
            raise CourseError(f"{self.results} holds no rows of {', '.join(unknown)}")

    def contents(self) -> dict[tuple[str, str], str]:
        """A digest of the code that each learner handed in for each chapter, of all graded."""
        entries = read_lines(self.graded)
        digests = {about_note(e): e["stamp"].split("-")[0].split(WEIGHTS)[0] for e in entries}
        return {a: digest for a, digest in digests.items() if not digest.startswith(NOTHING)}

    def moved(self) -> list[dict]:
        """What the history says of rows whose points moved although no learner moved them."""
        mine = (one for one in self.moves if one["why"] != OTHER_FILE)
        return [one for one in mine if one["points"][0] != one["points"][1]]

    def note(self, about: tuple, stamp: str, **more: bool) -> dict:
        """A line of `graded.jsonl`. anew: whether the rows are in `anew.jsonl`. earlier: whether
        they are those of an attempt before the one that the stamp names.
        """
        more |= {"earlier": True} if about in self.of_earlier else {}
        return {"student": about[0], "chapter": about[1], "stamp": stamp, **more}

    def write(self, batch: list[tuple[Handin, list[Verdict]]]) -> None:
        """Append some hand-ins' rows, then the notes that they are complete."""
        self.keep_code([verdict for _, verdicts in batch for verdict in verdicts])
        notes = []
        for path, replaces in ((self.results, False), (self.anew, True)):
            own = [(h, v) for h, v in batch if (about(h) in self.stale) == replaces]
            if own:
                append_lines(
                    path, [self.dated(v.row(), h) for h, verdicts in own for v in verdicts]
                )
            mark = {"anew": True} if replaces else {}
            self.of_earlier -= {about(h) for h, _ in own}
            notes += [self.note(about(h), self.stamp(h), **mark) for h, _ in own]
        append_lines(self.graded, notes)

    def keep_code(self, verdicts: list[Verdict]) -> None:
        """Keep the text of the first wrong answer of each group that has none yet."""
        first = {v.group: v for v in reversed(verdicts) if v.group and v.group not in self.groups}
        if first:
            append_lines(self.unnamed, [representative(v) for v in first.values()])
            self.groups |= first.keys()

    def dated(self, row: dict, handin: Handin | None) -> dict:
        """A row with its dates and less its penalty; without a hand-in, with the date it has."""
        if handin is None:
            return self.lateness.applied(row, row.get("submitted"))
        note = {"time_note": handin.time_note} if handin.time_note else {}
        bare = {name: value for name, value in row.items() if name != "time_note"}
        return self.lateness.applied(bare | note, handin.submitted)

    def rows(self) -> list[dict]:
        """All rows so far: of each hand-in the newest that are complete."""
        notes = read_lines(self.graded)
        replaced = {(n["student"], n["chapter"]) for n in notes if n.get("anew")}
        old = [row for row in read_lines(self.results) if key(row)[:2] not in replaced]
        return old + [row for row in read_lines(self.anew) if key(row)[:2] in replaced]

    def finish(self, order: list[str], handins: Collection[Handin] = ()) -> list[dict]:
        """Date and sort the rows, so that the same class gives the same bytes; returns them.

        What an instructor decided comes last, and stays until it is taken back.
        What has moved since the last run goes into the history.
        """
        place = {name: number for number, name in enumerate(order)}
        last = len(place)  # an exercise that the course no longer has
        stamps = {(n["student"], n["chapter"]): n["stamp"] for n in read_lines(self.graded)}
        now = {about(handin): handin for handin in handins if not handin.missing}
        dated = [self.dated(as_found(row), now.get(key(row)[:2])) for row in self.rows()]
        before = {about_note(n): (n["stamp"], n["rows"]) for n in read_lines(self.earlier)}
        rows = sorted(
            (overridden(row, self.overrides) for row in self.best_of(dated, before, stamps)),
            key=lambda r: (r["student"], r["chapter"], place.get(r["exercise"], last)),
        )
        self.settle(rows, [self.note(a, stamp) for a, stamp in stamps.items()])
        if (changes := record(before, stamps, rows)) is not None:
            append_lines(self.results.with_name(HISTORY), [changes])
            self.moves = changes["moved"]
        self.earlier.unlink(missing_ok=True)
        return rows

    def best_of(self, rows: list[dict], before: dict, stamps: dict) -> list[dict]:
        """The rows; where the course lets the best attempt count, earlier ones that have more.

        Only among files that the same graders judged: what others gave may have been wrong.
        """
        own = by_handin(rows)
        for about, (stamp, old) in before.items() if self.lateness.attempts == BEST else ():
            same = stamp.rpartition("-")[2] == stamps.get(about, "").rpartition("-")[2]
            dated = [self.dated(as_found(row), None) for row in old]
            if same and about in own and points(dated) > points(own[about]):
                own[about] = dated
                self.of_earlier.add(about)
        return [row for of_one in own.values() for row in of_one]


def representative(verdict: Verdict) -> dict:
    """The record that stands for a group of wrong answers without a name."""
    return {
        "student": verdict.student,
        "chapter": verdict.chapter,
        "exercise": verdict.exercise,
        "group": verdict.group,
        "code": verdict.code,
    }


def make_folder(out: Path) -> None:
    """The folder for results. Raises CourseError where there can be none."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"there can be no folder {out}: {error.strerror}") from None
    if not os.access(out, os.W_OK | os.X_OK):
        raise CourseError(f"nobody may write into {out}; choose another --out")


class Lock:
    """Keeps a second run out of a folder, for as long as this process lives.

    Its forks have no part in it: a worker that dies after it keeps nobody out.
    """

    def __init__(self, path: Path):
        try:
            import fcntl
        except ImportError:  # not there on Windows
            return
        try:
            self.file = path.open("w")
        except OSError as error:
            raise CourseError(f"{path} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CourseError(f"another run is writing into {path.parent} just now") from None
        register_after_fork(self, lambda lock: lock.file.close())


def is_in_use(out: Path) -> bool:
    """Whether a run is writing into a folder just now; where nobody can tell, it is not."""
    try:
        import fcntl

        with (out / "in-use").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False


def about(handin: Handin) -> tuple[str, str]:
    """Whose hand-in for which chapter."""
    return handin.student, handin.chapter


def about_note(note: dict) -> tuple[str, str]:
    """The same of a line that a ledger wrote."""
    return note["student"], note["chapter"]


def by_handin(rows: list[dict]) -> dict[tuple, list[dict]]:
    """Rows by (student, chapter)."""
    found: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        found[key(row)[:2]].append(row)
    return found


def points(rows: list[dict]) -> float:
    """Their sum."""
    return sum(row["points"] for row in rows)


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
        # Half a character, which no file can hold, is written as JSON's own escape of it.
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}"
        raise CourseError(f"{why}. What was written before is kept") from None


def write_lines(path: Path, records: list[dict]) -> None:
    """Replace a file by these records, at once or not at all."""
    temporary = path.with_suffix(".tmp")
    try:
        temporary.unlink(missing_ok=True)
        temporary.touch()
        append_lines(temporary, records)
        temporary.replace(path)
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}"
        raise CourseError(f"{why}. What was written before is kept") from None
