"""One reader for each course system, which finds the learner and the time of each file.

Moodle, Canvas and Gradescope give a zip (or the folder that it was unpacked to), git hosts a folder
for each learner. A reader yields a `Submitted` for each file, and for each folder without files to
collect.

Learners choose their display names and file names, and everything inside their files. So a reader
takes the identity only from the course system's own data, and from the roster.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

import yaml

from ..course import CourseError
from ..lateness import exists, is_possible, is_twice, now, read_time, written, zone_named
from ..sources.submitted_files import shown
from ..views.words import plural
from .commit_dates import commit_dates
from .downloads import Download, Entry, Unreadable
from .roster import Roster
from .worksheet import IDENTIFIER, number_of, order_of, read_date


@dataclass(frozen=True)
class Learner:
    """A learner as the course system identifies one; two are equal if their ids are.

    id: different for different learners. known_as: the display name. name: the folder name of a
    learner who is not on the roster. row: the index of the learner's row in the roster; None if
    there is none. tag: a short form of the id, for folder names that would be equal.
    """

    id: str
    known_as: str = field(default="", compare=False)
    name: str = field(default="", compare=False)
    row: int | None = field(default=None, compare=False)
    tag: str = field(default="", compare=False)


@dataclass(frozen=True)
class Submitted:
    """A file of a learner, or a folder without files to collect.

    name: the file name that the learner gave. time: the submission time in lateness.py's format; ""
    if unknown. time_note: why `time` replaces the system's own time. turn: a number that is larger
    for later versions. remark: a note for the table, such as "late, says Canvas". team: the name of
    a team that submitted together; "" for one learner.
    """

    learner: Learner
    name: str
    entry: Entry
    time: str = ""
    time_note: str = ""
    turn: int = 0
    remark: str = ""
    team: str = ""


@dataclass(frozen=True)
class Reading:
    """The input of a reader, and the sentences that it adds.

    zone: the time zone of the system; "" if unknown. date_order: dmy or mdy, if the instructor gave
    it. lost: about submissions that could not be assigned to a learner. left_out: about files that
    are not submissions. notes: about names that imitate those of the system, and about ambiguous
    times. texts: learners who submitted an online text, which is not collected.
    """

    download: Download
    roster: Roster
    zone: str = ""
    date_order: str = ""
    lost: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    texts: set[Learner] = field(default_factory=set)

    @cached_property
    def participants(self) -> dict[str, int]:
        """The roster's row numbers by Moodle's participant number."""
        cells = (row.get(IDENTIFIER, "") for row in self.roster.rows)
        return {number: at for at, cell in enumerate(cells) if (number := number_of(cell))}

    @cached_property
    def submitted_at(self) -> dict[int, datetime]:
        """The submission time of each row of a worksheet. Raises CourseError.

        If clocks show an hour twice, the first one counts, in the learner's favour.
        """
        cells = {at: row.get(SUBMITTED_AT, "-") for at, row in enumerate(self.roster.rows)}
        told = {at: cell for at, cell in cells.items() if cell not in ("", "-")}
        if not told:
            return {}
        if not self.zone:
            raise CourseError(
                "the time zone of the worksheet's dates is not known; set zone in the Lateness of "
                "course_config.py, or give --zone Europe/Berlin"
            )
        order = order_of(told.values(), self.date_order)
        local = {at: read_date(cell, order) for at, cell in told.items()}
        header = dict(zip(self.roster.columns, self.roster.header, strict=True))[SUBMITTED_AT]
        if odd := [told[at] for at, moment in local.items() if moment is None]:
            raise CourseError(f"a date in the column {header!r} is not understood: {odd[0]!r}")
        found = {at: moment for at, moment in local.items() if moment is not None}
        if odd := [told[at] for at, moment in found.items() if not exists(moment, self.zone)]:
            why = f"{odd[0]!r} does not exist in {self.zone}, where clocks skip this hour"
            raise CourseError(f"{why}; which zone does Moodle show? Give it as --zone")
        if twice := [told[at] for at, moment in found.items() if is_twice(moment, self.zone)]:
            why = "when clocks go back, an hour happens twice; the first one counts for"
            self.notes.append(f"{why} {plural(len(twice), 'learner')}, as in {twice[0]!r}")
        return {at: utc(moment, self.zone) for at, moment in found.items()}


def utc(local: datetime, zone: str) -> datetime:
    """Return a local time in UTC."""
    try:
        return local.replace(tzinfo=zone_named(zone)).astimezone(UTC)
    except OverflowError:  # in the first or the last hours of the calendar
        return datetime.min.replace(tzinfo=UTC)


def counted(count: int, what: str) -> list[str]:
    """Return a sentence on files that are not submissions; [] if there are none."""
    return [f"left out: {plural(count, 'file')} ({what})"] if count else []


def checked(moment: datetime | None, said: str) -> tuple[str, str]:
    """Return a time, and the reason if it was replaced; "" if it was not.

    A missing or impossible time is replaced by the current one. said: the time as the course system
    wrote it.
    """
    if moment is not None and is_possible(moment):
        return written(moment), ""
    why = f"{shown(said)[:40]} is not a possible submission time; the time of collecting counts"
    return written(now()), why


MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d{1,18})_assignsubmission_(?P<kind>[a-z]+)_?", re.DOTALL)
MOODLE_FILE = re.compile(
    r"(?P<name>.+?)_(?P<id>\d{1,18})_assignsubmission_(?P<kind>[a-z]+)_(?P<file>.+)", re.DOTALL
)
MOODLE_MARK = "_assignsubmission_"
SUBMITTED_AT = "last modified (submission)"


def moodle(reading: Reading) -> Iterator[Submitted]:
    """Yield `Ada Lovelace_12345_assignsubmission_file_/ch1.py`, or the same without folders.

    The number is the one in the grading worksheet's `Participant 12345`. Only this number
    identifies a learner, because learners can choose their names and file names.
    """
    others, texts, ambiguous, imitating = 0, 0, 0, set()
    for entry in reading.download.entries:
        found, depth = moodle_owner(entry)
        if found is None:
            others += 1
        elif found["kind"] != "file":
            texts += 1
            if found["kind"] == "onlinetext":
                reading.texts.add(moodle_learner(reading, found["name"], found["id"]))
        elif "file" in found.groupdict() and entry.path.count(MOODLE_MARK) > 1:
            ambiguous += 1
        else:
            name = found["file"] if "file" in found.groupdict() else entry.parts[-1]
            imitating |= {found["id"]} if MOODLE_MARK in found["name"] else set()
            kept = reading.download.visible(entry, entry.parts[depth:])
            yield moodle_file(reading, kept, found["name"], found["id"], name)
    reading.left_out.extend(counted(texts, "online texts"))
    reading.left_out.extend(counted(others, "in no learner's folder"))
    if imitating:
        why = "each file was assigned by its participant number"
        names = plural(len(imitating), "display name")
        reading.notes.append(f"{names} could be taken for another learner's folder; {why}")
    if ambiguous:
        why = "the names match several participants; download the submissions in folders"
        reading.lost.append(f"{plural(ambiguous, 'file')} cannot be assigned to a learner: {why}")


def moodle_owner(entry: Entry) -> tuple[re.Match[str] | None, int]:
    """Return the match for the first part of a path that names a participant, and its depth."""
    for depth, part in enumerate(entry.parts, 1):
        is_file = depth == len(entry.parts) and not entry.is_folder
        if found := (MOODLE_FILE if is_file else MOODLE).fullmatch(part):
            return found, depth
    return None, 0


def moodle_learner(reading: Reading, known_as: str, number: str) -> Learner:
    """Return the participant with this number, with the row of the worksheet if there is one."""
    at = reading.participants.get(number)
    return Learner(number, known_as, f"{known_as}_{number}", at, number)


def moodle_file(reading: Reading, entry: Entry, known_as: str, number: str, name: str) -> Submitted:
    """Return one file of the participant with this number, with the worksheet's time."""
    learner = moodle_learner(reading, known_as, number)
    moment = None if learner.row is None else reading.submitted_at.get(learner.row)
    # Only worksheets of assignments with group submissions have this column.
    team = "" if learner.row is None else reading.roster.rows[learner.row].get("group", "")
    if moment is None:
        return Submitted(learner, name, entry, team=team)
    said = reading.roster.rows[learner.row or 0][SUBMITTED_AT]
    return Submitted(learner, name, entry, *checked(moment, said), team=team)


CANVAS = re.compile(
    r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<user>\d{1,20})_(?P<id>\d{1,20})_(?P<file>.+)", re.DOTALL
)


CANVAS_TEXT = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<user>\d{1,20})_(?:text|link)\.html")
CANVAS_ANONYMOUS = re.compile(r"(?:LATE_)?anon_[0-9A-Za-z]+_.+", re.DOTALL)


def canvas(reading: Reading) -> Iterator[Submitted]:
    """Yield `lovelaceada_LATE_101_456_ch1.py`, only from the top of the download.

    Canvas removes underscores from names. Logins are known if the roster is the gradebook's CSV.
    """
    others, texts, anonymous = 0, 0, 0
    for entry in reading.download.entries:
        is_file = "/" not in entry.path and not entry.is_folder
        found = CANVAS.fullmatch(entry.path) if is_file else None
        if found is None:
            text = CANVAS_TEXT.fullmatch(entry.path) if is_file else None
            hidden = is_file and not text and bool(CANVAS_ANONYMOUS.fullmatch(entry.path))
            if text:
                reading.texts.add(canvas_learner(reading, text))
            texts, anonymous = texts + bool(text), anonymous + hidden
            others += not text and not hidden
            continue
        learner = canvas_learner(reading, found)
        remark = "late, says Canvas" if found["late"] else ""
        kept = reading.download.visible(entry, [found["file"]])
        yield Submitted(learner, found["file"], kept, turn=int(found["id"]), remark=remark)
    reading.left_out.extend(counted(texts, "online texts and links"))
    reading.left_out.extend(counted(others, "in a subfolder, or without Canvas' ids"))
    if anonymous:
        why = "Canvas hides who submitted them, because the assignment is graded anonymously"
        then = "post the grades or turn this off, and download again"
        reading.lost.append(f"{plural(anonymous, 'file')} cannot be assigned: {why}; {then}")


def canvas_learner(reading: Reading, found: re.Match[str]) -> Learner:
    """Return the learner with the id in a file's name, with the row of the gradebook."""
    user, name = found["user"], found["name"]
    return Learner(user, name, f"{name}_{user}", reading.roster.find("id", user), user)


GRADESCOPE = re.compile(r"submission_\d{1,20}")
METADATA = "submission_metadata.yml"
LARGEST_METADATA = 64 << 20  # bytes
LONGEST_RECORD = 100_000  # characters about one submission


def gradescope(reading: Reading) -> Iterator[Submitted]:
    """Yield `assignment_1_export/submission_2/ch1.py`.

    `submission_metadata.yml` next to the `submission_N` folders names the learners of each. A file
    of that name inside such a folder was written by a learner, so it is not trusted.
    """
    metadata = {metadata_root(entry): entry for entry in reading.download.entries}
    told = {
        root: gradescope_metadata(entry, reading.roster)
        for root, entry in metadata.items()
        if root is not None
    }
    if not told:
        raise CourseError(f"there is no {METADATA}; pass the whole folder that Gradescope exported")
    others, unknown, forged = 0, set(), 0
    for entry in reading.download.entries:
        at = next((n for n, part in enumerate(entry.parts) if GRADESCOPE.fullmatch(part)), None)
        if at is None or (at == len(entry.parts) - 1 and not entry.is_folder):
            others += metadata_root(entry) is None
            continue
        root, key = "/".join(entry.parts[:at]), entry.parts[at]
        people = told.get(root, {}).get(key, [])
        forged += entry.parts[-1] == METADATA
        if not people:
            unknown.add((root, key))
        else:
            kept = reading.download.visible(entry, entry.parts[at + 1 :])
            team = key if len(people) > 1 else ""
            for learner, time, why in people:
                yield Submitted(learner, entry.parts[-1], kept, time, why, team=team)
    reading.left_out.extend(counted(others, "in no submission's folder"))
    if forged:
        why = "only the file next to the submissions counts as Gradescope's"
        reading.notes.append(f"learners submitted {plural(forged, 'file')} named {METADATA}; {why}")
    if unknown:
        some = ", ".join(key for _, key in sorted(unknown)[:3])
        reading.lost.append(
            f"{METADATA} names no learner for {plural(len(unknown), 'submission')}: {some}"
            + (" and more" if len(unknown) > 3 else "")
        )


def metadata_root(entry: Entry) -> str | None:
    """Return the folder of Gradescope's own metadata; None for any other file."""
    *folders, name = entry.parts
    if name != METADATA or entry.is_folder or any(map(GRADESCOPE.fullmatch, folders)):
        return None
    return "/".join(folders)


Person = tuple[Learner, str, str]  # with the time, and why it replaces the system's own


def gradescope_metadata(entry: Entry, roster: Roster) -> dict[str, list[Person]]:
    """Return the submitters of each submission. Raises CourseError if the file names none.

    Each submission's part is read separately, so that a malformed part affects no other.
    """
    try:
        if entry.size > LARGEST_METADATA:
            raise Unreadable("is too large")
        text = entry.read().decode("utf-8-sig")
    except (Unreadable, UnicodeDecodeError) as error:
        raise CourseError(f"{shown(entry.path)} cannot be read: {error}") from None
    records = re.split(r"(?m)^(?=submission_\d+:)", text.replace("\r\n", "\n"))
    keys = Counter(record.partition(":")[0] for record in records)
    found = {
        key: submitters(record, key, entry.path, roster)
        for record in records
        if GRADESCOPE.fullmatch(key := record.partition(":")[0]) and keys[key] == 1
    }
    if not any(found.values()):
        raise CourseError(f"{shown(entry.path)} does not say who submitted what")
    return found


def submitters(record: str, key: str, where: str, roster: Roster) -> list[Person]:
    """Return the learners of one submission; [] if its record cannot be understood."""
    try:
        if len(record) > LONGEST_RECORD:
            return []
        told = yaml.load(record, yaml.BaseLoader)[key]  # every scalar stays a text
        people = [person for person in told[":submitters"] if isinstance(person, dict)]
        said = told.get(":created_at", "")
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, KeyError, AttributeError):
        return []
    text = said if isinstance(said, str) else "no date"
    time, why = checked(time_in(text), text) if text else ("", "")
    learners = [submitter(one, f"{where}/{key}/{n}", roster) for n, one in enumerate(people)]
    return [(learner, time, why) for learner in dict.fromkeys(learners) if learner]


def submitter(person: dict, place: str, roster: Roster) -> Learner | None:
    """Return a submitter as a learner; None if nothing identifies one.

    The email address of an account identifies it. Learners may set their own sid.
    """
    texts = [person.get(name) for name in (":sid", ":email", ":name")]
    sid, email, name = (text if isinstance(text, str) else "" for text in texts)
    if not sid and not email and not name:
        return None
    row = gradescope_row(roster, sid, email)
    tag = email or place.split("/")[-2]
    return Learner(email.casefold() or place, name or email, sid or email or name, row, tag)


def gradescope_row(roster: Roster, sid: str, email: str) -> int | None:
    """Return the row of a submitter, by email address, or by sid unless it has another email."""
    by_email = next(filter_found(roster.find(column, email) for column in EMAILS), None)
    if by_email is not None:
        return by_email
    by_sid = roster.find("sid", sid)
    if by_sid is None or not email:
        return by_sid
    its_own = {roster.rows[by_sid].get(column, "").casefold() for column in EMAILS}
    return by_sid if its_own <= {"", email.casefold()} else None


EMAILS = ("email", "email address")


def filter_found(rows: Iterator[int | None]) -> Iterator[int]:
    """Yield the rows that were found."""
    return (row for row in rows if row is not None)


def time_in(text: str) -> datetime | None:
    """Return the time of a submission; None for anything else."""
    try:
        return read_time(re.sub(r"(\.\d{6})\d{1,6}", r"\1", text))
    except ValueError:
        return None


LOGINS = ("github_username", "username")  # the second is in Classroom 50's own list


def git(reading: Reading) -> Iterator[Submitted]:
    """Yield the files of repositories in sibling folders.

    A folder's name is the assignment's name, a dash and the login. A clone does not contain the
    time of a push, so a file's time is that of its last commit. Logins ignore case, so the roster
    decides their spelling.
    """
    folders = {entry.parts[0] for entry in reading.download.entries if is_in_clone(entry)}
    prefix = assignment_prefix(sorted(folders), reading.roster)
    learners = {}
    for folder in folders:
        login = folder.removeprefix(prefix)
        learners[folder] = Learner(folder, folder, login, login_row(login, reading.roster), folder)
    root = reading.download.root
    dates = {folder: commit_dates(root / folder) if root else {} for folder in folders}
    others = 0
    for entry in reading.download.entries:
        if not is_in_clone(entry):
            others += 1
        else:
            learner = learners[entry.parts[0]]
            kept = reading.download.visible(entry, entry.parts[1:])
            date = dates[entry.parts[0]].get("/".join(entry.parts[1:]), "")
            time, why = checked(time_in(date), date) if date else ("", "")
            yield Submitted(learner, entry.parts[-1], kept, time, why)
    reading.left_out.extend(counted(others, "in no clone"))


def is_in_clone(entry: Entry) -> bool:
    """Return True for a file in a folder at the top, and for such a folder if it is empty."""
    return (len(entry.parts) > 1 or entry.is_folder) and not entry.path.startswith(".")


def login_row(login: str, roster: Roster) -> int | None:
    """Return the row of a login."""
    return next(filter_found(roster.find(column, login) for column in LOGINS), None)


def assignment_prefix(folders: list[str], roster: Roster) -> str:
    """Return the assignment's part of the folder names, with which all of them begin.

    With a roster, take the prefix after which most folder names are logins. If several are equal,
    take the shortest, so that a login may contain a dash. A single folder counts only if exactly
    one prefix leaves a login. If no folder is a login after any prefix, or without a roster, take
    the longest prefix that the names share.
    """
    longest = common_prefix(folders)
    possible = folders[0] if len(folders) == 1 else longest
    cuts = ["", *(possible[: at + 1] for at, letter in enumerate(possible) if letter == "-")]
    known = {
        cut: sum(login_row(f.removeprefix(cut), roster) is not None for f in folders)
        for cut in cuts
    }
    is_unclear = len(folders) == 1 and sum(known.values()) > 1
    if is_unclear or not any(known.values()):
        return longest
    return max(cuts, key=lambda cut: known[cut])


def common_prefix(names: list[str]) -> str:
    """Return the common beginning of several names, up to its last dash.

    >>> common_prefix(["hw-1-ada", "hw-1-adam"]), common_prefix(["ada", "adam"])
    ('hw-1-', '')
    """
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    same = next(
        (n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    return first[: first.rfind("-", 0, same) + 1]


LAYOUTS: dict[str, Callable[[Reading], Iterator[Submitted]]] = {
    "moodle": moodle,
    "canvas": canvas,
    "gradescope": gradescope,
    "git": git,
}
