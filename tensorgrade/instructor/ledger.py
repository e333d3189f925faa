"""Store results safely: each submission is written once, in one transaction, when it is graded.

The results are stored in `OUT/results.sqlite` (store.py). `results.jsonl` is written from it when a
run ends.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from sqlite3 import Connection

from ..attempts.verdict import Verdict
from ..course import CourseError
from ..lateness import in_zone, read_time
from ..sources.finding import named
from ..sources.submitted_files import NOTHING, SubmittedFiles, escaped
from . import store
from .history import OTHER_FILE, moves
from .results_folder import (
    SETTINGS,
    Lock,
    digest_of_text,
    in_order,
    lines_of,
    make_folder,
    note_on_export,
    write_text,
)
from .store import RESULTS, About, Attempt, Basis, Store
from .what_counts import Rules


class Ledger:
    """The results in a folder. They survive interrupted runs, and later runs add to them.

    digests: the digest of each chapter's graders, by the chapter's name. rules: decide which
    attempt counts. regraded: ids of messages; a row with one of them does not count as graded.
    exercises: the exercises of each chapter; a submission counts as graded only if each of them has
    a row. waits: called before this run waits for another one; None raises CourseError instead.
    notes: sentences for the instructor, such as about damaged rows.
    """

    def __init__(
        self,
        out: Path,
        digests: dict[str, str],
        rules: Rules | None = None,
        regraded: Collection[str] = (),
        exercises: Mapping[str, Collection[str]] | None = None,
        waits: Callable[[], None] | None = None,
    ):
        make_folder(out)
        self.out, self.lock = out, Lock(out / "in-use", waits)
        self.digests, self.rules = digests, rules or Rules()
        self.regraded, self.exercises = regraded, exercises or {}
        self.store = Store(out, writes=True)
        self.attempts, self.results = self.store.attempts(), self.store.results()
        self.has_earlier = bool(self.attempts or self.results)
        self.groups = set(self.store.unnamed())
        # On results of earlier runs; a first run has none to compare with.
        self.notes = self.notes_on_changes() if self.has_earlier else []
        self.is_first = not self.store.history()
        self.moves: list[dict] = []
        self.run = 0

    def belongs_to(self, course: str) -> None:
        """Record the course's name. Raises CourseError if the results are of another course."""
        if (known := self.store.meta(COURSE)) not in ("", course):
            of = f"the course {known}, not of {course}"
            raise CourseError(f"{self.out} holds results of {of}; choose another --out")
        with self.store.transaction() as connection:
            store.set_meta(connection, COURSE, course)

    def notes_on_changes(self) -> list[str]:
        """Return notes on results that were changed by hand after they were written."""
        notes = []
        changed = {a for a, one in self.results.items() if not one.is_sound}
        if changed := changed | self.store.without_result():
            why = "were changed or deleted in results.sqlite; what the graders found counts again"
            notes.append(f"results of {whose(changed)} {why}")
        return notes + note_on_export(self.store, "it is written again")

    def newest(self, about: About) -> Attempt | None:
        """Return the newest attempt of a learner at a chapter."""
        own = self.attempts.get(about)
        return own[-1] if own else None

    def is_done(self, submitted_files: SubmittedFiles) -> bool:
        """Return True if today's graders judged the same content and all its rows exist."""
        newest = self.newest(about(submitted_files))
        if newest is None or not self.is_whole(newest):
            return False
        if any(row.get("message_id") in self.regraded for row in newest.rows):
            return False
        return (newest.content, newest.graders) == (
            submitted_files.digest,
            self.digests[submitted_files.chapter],
        )

    def is_whole(self, attempt: Attempt) -> bool:
        """Return True if every row exists once and unchanged."""
        if not attempt.is_sound or attempt.chapter not in self.exercises:
            return attempt.is_sound
        there = [row["exercise"] for row in attempt.rows]
        return sorted(there) == sorted(self.exercises[attempt.chapter])

    def holds(self, submitted_files: SubmittedFiles, forget: Collection[str] = ()) -> bool:
        """Return True if this learner's submission for this chapter was graded before."""
        newest = self.newest(about(submitted_files))
        is_there = newest is not None and not newest.content.startswith(NOTHING)
        return is_there and submitted_files.student not in forget

    def prepare(
        self, submissions: list[SubmittedFiles], forget: Collection[str] = (), again: bool = False
    ) -> list[SubmittedFiles]:
        """Return the submissions that must be graded, and delete the rows of learners to forget.

        again: grade all of these, even if nothing has changed.

        Earlier rows of other submissions stay. Earlier rows of these submissions stay until they
        are graded again.
        """
        todo = [h for h in submissions if again or not self.is_done(h) or h.student in forget]
        asked = {about(submitted_files) for submitted_files in submissions}
        if self.has_earlier:
            self.note_incomplete(todo, asked)
            self.note_older(todo)
        gone = [a for a in self.results if a[0] in forget and a not in asked]
        with self.store.transaction() as connection:
            self.run = store.begin_run(connection)
            for student, chapter in gone:
                told = {"student": student, "chapter": chapter}
                store.add_event(connection, self.run, "gone", told)
            store.forget(connection, forget, asked)
            connection.executemany("DELETE FROM pending WHERE (student, chapter) = (?, ?)", asked)
            left = [about(submitted_files) for submitted_files in todo]
            connection.executemany("INSERT OR REPLACE INTO pending VALUES (?, ?)", left)
        for a in gone:
            del self.results[a]
        for a in [a for a in self.attempts if a[0] in forget]:
            del self.attempts[a]
        return todo

    def note_incomplete(self, todo: list[SubmittedFiles], asked: set[About]) -> None:
        """Note submissions with rows that are missing or were changed."""
        broken = {a for a in self.attempts if (n := self.newest(a)) and not self.is_current(n)}
        broken |= self.results.keys() - self.attempts.keys()
        again = broken & {about(submitted_files) for submitted_files in todo}
        what = "rows are missing or were changed"
        if again:
            self.notes.append(f"{what}, so these are graded again: {whose(again)}")
        if others := broken - asked:
            why = "which are not in SUBMITTED and cannot be graded again"
            self.notes.append(f"{what} of {whose(others)}, {why}")

    def note_older(self, todo: list[SubmittedFiles]) -> None:
        """Note files that are older than the files graded before."""
        zone = self.rules.lateness.zone
        older = [
            f"{'/'.join(about(one))} ({in_zone(one.submitted, zone)}, and before "
            f"{in_zone(known, zone)})"
            for one in todo
            if (newest := self.newest(about(one))) and newest.content != one.digest
            if (known := submitted(newest)) and is_before(one.submitted, known)
        ]
        if older:
            why = "files are older than those that were graded before, and replace them"
            self.notes.append(f"{why}: {named(older)}")

    def is_current(self, attempt: Attempt) -> bool:
        """Return True if an attempt is unchanged and no rows by today's graders are missing."""
        graders = self.digests.get(attempt.chapter)
        return attempt.is_sound and (attempt.graders != graders or self.is_whole(attempt))

    def others(self, submissions: list[SubmittedFiles], forget: Collection[str] = ()) -> set[About]:
        """Return (student, chapter) of earlier graded submissions that are not among these."""
        asked = {about(submitted_files) for submitted_files in submissions}
        return {a for a in self.attempts if a not in asked and a[0] not in forget}

    def must_know(self, students: Collection[str]) -> None:
        """Raise CourseError for a learner without rows."""
        known = {student for student, _ in [*self.attempts, *self.store.pending()]}
        if unknown := sorted(set(students) - known):
            raise CourseError(f"{self.out} holds no rows of {', '.join(unknown)}")

    def moved(self) -> list[dict]:
        """Return the rows whose points changed, unless a learner's new file earns no less.

        If a new file earns less, `total` of each row has the chapter's points before and now.
        """
        gains: dict[About, float] = defaultdict(float)
        for one in self.moves:
            before, now = one["points"]
            gains[one["student"], one["chapter"]] += now - before
        found = []
        for one in self.moves:
            a = one["student"], one["chapter"]
            if one["points"][0] == one["points"][1] or (one["why"] == OTHER_FILE and gains[a] >= 0):
                continue
            now = round(sum(row["points"] for row in self.results[a].rows), 6)
            total = {"total": [round(now - gains[a], 6), now]} if one["why"] == OTHER_FILE else {}
            found.append(one | total)
        return found

    def write(self, batch: list[tuple[SubmittedFiles, list[Verdict]]]) -> None:
        """Write the rows of some submissions completely or not at all."""
        added, graded = [], [verdict for _, verdicts in batch for verdict in verdicts]
        codes = [v for v in graded if v.group and v.group not in self.groups]
        with self.store.transaction() as connection:
            for verdict in codes:
                store.add_unnamed(connection, verdict.group, representative(verdict))
            for submitted_files, verdicts in batch:
                rows = [with_time(v.row(), submitted_files) for v in verdicts]
                graders = self.digests[submitted_files.chapter]
                one = store.add_attempt(
                    connection, about(submitted_files), submitted_files.digest, graders, rows
                )
                added.append(one)
                self.settle(connection, [*self.attempts.get(about(submitted_files), []), one])
                done = "DELETE FROM pending WHERE (student, chapter) = (?, ?)"
                connection.execute(done, about(submitted_files))
        self.groups |= {verdict.group for verdict in codes}
        for one in added:
            self.attempts.setdefault((one.student, one.chapter), []).append(one)

    def settle(self, connection: Connection, attempts: list[Attempt]) -> None:
        """Write the rows that count for a learner's chapter, and record their changes."""
        a, newest = (attempts[-1].student, attempts[-1].chapter), attempts[-1]
        counted, rows = self.rules.counted_attempt(attempts)
        basis = Basis(counted.content, counted.graders, newest.number, self.rules.lateness.attempts)
        old = self.results.get(a)
        if old and old.is_sound and (old.basis, old.text) == (basis, store.as_text(rows)):
            return
        if not rows and old:
            return  # damaged and not graded again: the rows that counted stay
        if old is None:
            told = {"student": a[0], "chapter": a[1]}
            store.add_event(connection, self.run, "came", told)
        for change in moves(old, basis, rows) if old else []:
            store.add_event(connection, self.run, store.MOVED, change)
        self.results[a] = store.put_result(connection, a, basis, rows)

    def rename(self, identities: dict[str, str]) -> list[str]:
        """Apply overrides and extensions of a learner's earlier name to the new name.

        Returns a note on learners with a new name.

        identities: the course system's id of each learner, by today's folder name.
        """
        now = {said: escaped(name) for name, said in identities.items()}
        known: dict[str, list[str]] = json.loads(self.store.meta(NAMES) or "{}")
        folders = set(now.values())
        new = {
            old: name
            for said, name in now.items()
            for old in known.get(said, [])
            if old not in folders
        }
        for said, name in now.items():
            known[said] = [*(old for old in known.get(said, []) if old != name), name]
        with self.store.transaction() as connection:
            store.set_meta(connection, NAMES, json.dumps(known))
        self.rules.rename(new)
        told = ", ".join(f"{old} is {name} now" for old, name in sorted(new.items()))
        why = "overrides and extensions count for the new name"
        return [f"{told}: {why}; `--forget NAME` drops the rows of the old one"] if new else []

    def old_overrides(
        self, submissions: list[SubmittedFiles], most: dict[tuple[str, str], float]
    ) -> list[str]:
        """Return a note on overrides that are older than the file or the maximum.

        An override belongs to the file that existed when it was first seen. A new reason or new
        points make it a new override. For an excuse, the maximum does not matter. most: today's
        points of each exercise.
        """
        now = {about(submitted_files): submitted_files.digest for submitted_files in submissions}
        known = json.loads(self.store.meta(OVERRIDES_SEEN) or "{}")
        seen: dict[str, list] = {}
        old = []
        for a, given in self.rules.overrides.items():
            name, before = "/".join(a), known.get("/".join(a))
            if a[:2] not in now:  # this run does not have the file
                seen |= {name: before} if before else {}
                continue
            current = [given.points, given.reason, now[a[:2]], most.get(a[1:], 0.0)]
            seen[name] = current
            matters = 3 if given.points is None else 4
            if before and before[:2] == current[:2] and before[:matters] != current[:matters]:
                seen[name] = before
                what = "the file" if before[2] != current[2] else "the maximum"
                old.append(f"{name} (older than {what})")
        with self.store.transaction() as connection:
            store.set_meta(connection, OVERRIDES_SEEN, json.dumps(seen))
        advice = "change the reason to keep one without this note, or delete its line"
        return [f"old overrides still count: {named(sorted(old))}; {advice}"] if old else []

    def rows(self) -> list[dict]:
        """Return all rows that currently count."""
        return [row for one in self.results.values() for row in one.rows]

    def finish(self, order: list[str], submissions: Collection[SubmittedFiles] = ()) -> list[dict]:
        """Update the times of the rows, write `results.jsonl`, and return its rows in order.

        Changes since the last run are recorded with their causes.
        """
        now = {
            about(submitted_files): submitted_files
            for submitted_files in submissions
            if not submitted_files.missing
        }
        with self.store.transaction() as connection:
            for a, own in self.attempts.items():
                if submitted_files := now.get(a):
                    own[-1] = redated(connection, own[-1], submitted_files)
                self.settle(connection, own)
            self.end_run(connection)
            rows = sorted(self.rows(), key=in_order(order))
            text = lines_of(rows)
            store.set_meta(connection, RESULTS, digest_of_text(text))
            store.set_meta(connection, SETTINGS, json.dumps(self.rules.settings))
        write_text(self.out / RESULTS, text)
        return rows

    def end_run(self, connection: Connection) -> None:
        """Record the run if it is the first one or changed anything; otherwise delete its entry."""
        events = store.events_of(connection, self.run)
        self.moves = store.moved(events)
        if not events and not self.is_first:
            connection.execute("DELETE FROM runs WHERE number = ?", (self.run,))
            return
        whom: dict[str, set[About]] = {"came": set(), "gone": set()}
        for event in [event for event in events if event["kind"] in whom]:
            whom[event["kind"]].add((event["student"], event["chapter"]))
        came = [] if self.is_first else sorted(whom["came"])
        record = {"at": store.moment(), "came": came, "gone": sorted(whom["gone"])}
        connection.execute(
            "UPDATE runs SET record = ? WHERE number = ?", (json.dumps(record), self.run)
        )


# Settings of a folder: the file and the maximum for which each override was made; the earlier names
# of each learner, by the course system's id; the course's name.
OVERRIDES_SEEN, NAMES, COURSE = "overrides", "names", "course"


def whose(abouts: Collection[About]) -> str:
    """Return a few learners and chapters as text."""
    return named(sorted("/".join(about) for about in abouts))


def redated(connection: Connection, attempt: Attempt, submitted_files: SubmittedFiles) -> Attempt:
    """Return an attempt with its current submission time, which may have been corrected."""
    if attempt.content != submitted_files.digest:
        return attempt
    rows = [with_time(row, submitted_files) for row in attempt.rows]
    if store.as_text(rows) == attempt.text or not attempt.is_sound:
        return attempt
    return store.change_attempt(connection, attempt, rows)


def with_time(row: dict, submitted_files: SubmittedFiles) -> dict:
    """Return a row with the time of a submission, and a note if that time was replaced.

    A row of a notebook says so, because its line counts from the start of a cell. If there is a
    script too, it may be the one that counts.
    """
    own = ("time_note", "submitted", "notebook")
    bare = {name: value for name, value in row.items() if name not in own}
    note: dict = {"time_note": submitted_files.time_note} if submitted_files.time_note else {}
    if submitted_files.filename.endswith(".ipynb") and not submitted_files.script:
        note["notebook"] = True
    return bare | note | {"submitted": submitted_files.submitted or None}


def submitted(attempt: Attempt) -> str:
    """Return the submission time of an attempt, as in its rows; "" if it is unknown."""
    return next((row["submitted"] for row in attempt.rows if row.get("submitted")), "")


def is_before(one: str, other: str) -> bool:
    """Return True if both times are known and the first is earlier."""
    try:
        return read_time(one) < read_time(other)
    except ValueError:
        return False


def representative(verdict: Verdict) -> dict:
    """Return the record that represents a group of wrong answers without a known mistake."""
    return {
        "student": verdict.student,
        "chapter": verdict.chapter,
        "exercise": verdict.exercise,
        "group": verdict.group,
        "code": verdict.code,
    }


def about(submitted_files: SubmittedFiles) -> About:
    """Return the student and the chapter of a submission."""
    return submitted_files.student, submitted_files.chapter


def key(row: dict) -> tuple[str, str, str]:
    """Return the student, chapter and exercise of a row."""
    return row["student"], row["chapter"], row["exercise"]
