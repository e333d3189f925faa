"""`tensorgrade collect`: sort a course system's download into `SUBMITTED/<student>/<chapter>/`.

systems.py says whose a file is and when it was submitted, sources/candidates.py which one counts. A
learner's folder of a chapter is replaced as a whole, and the earlier one is moved to `.replaced`.
Every file of the download has a line in `collected.csv`. One learner's file never affects others.
"""

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ..course import Course, CourseError
from ..exchange.text import short
from ..folders import write_file
from ..lateness import in_zone, is_zone, read_time, written
from ..sources.candidates import (
    ARCHIVES,
    CODE,
    Candidate,
    File,
    Found,
    NotRead,
    are_tied,
    candidates_in,
    meaning,
    only_code,
    shown,
)
from ..sources.submitted_files import STAMP, escaped, submission_time
from ..views.csv_cells import in_csv
from ..views.words import plural
from .decisions import EXTENSION_COLUMNS, EXTENSIONS, read_table
from .downloads import LARGEST, files_in
from .folder_names import safe
from .people import People, Person
from .roster import Roster
from .systems import SUBMITTED_AT, SYSTEMS, Reading, Upload, granted
from .systems import plain as plain_name
from .teams import Teams, add_teams, read_teams

REPLACED = ".replaced"  # earlier folders; grading ignores it
COLLECTED = "collected.csv"
COLUMNS = ("download", "file", "student", "chapter", "submitted", "submission", "result")
USED, SAME = "used", "used, as before"
MOST_KEPT = 20  # files of a learner that mean nothing
MOST_TOLD = 12  # sentences of a kind
LONGEST_NOTE = 300  # characters: two lines of a wide terminal


class NotWritten(Exception):
    """A folder cannot be written; the message says why."""


@dataclass
class Collected:
    """What became of a download.

    lines: those of collected.csv. notes, lost: sentences about learners, and about submissions that
    could not be read, assigned or written. written, unchanged: the number of chapters' folders.
    """

    lines: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    written: int = 0
    unchanged: int = 0

    def told(self) -> list[str]:
        """Return all sentences, shortened, and at most a few of each kind."""
        kinds = (self.lost, self.notes)
        return [short(note, LONGEST_NOTE) for kind in kinds for note in some_of(kind)]


@dataclass(frozen=True)
class Target:
    """Where a download is sorted into. only: the asked chapter; "" for all of them."""

    submitted: Path
    course: Course
    only: str
    download: str
    system: str
    turns: dict[tuple[str, str], int]
    result: Collected

    def tell(self, file: File, student: str, chapter: str, result: str) -> None:
        """Add a line to collected.csv. file: its origin is an upload."""
        upload = file.origin
        inside = file.path.removeprefix(upload.name)  # of a zip
        path, turn = shown(upload.file.path + inside), str(upload.turn or "")
        cells = (self.download, path, student, chapter, upload.time, turn, result)
        self.result.lines.append(dict(zip(COLUMNS, cells, strict=True)))

    def lose(self, file: File, why: str) -> None:
        """Add a sentence about a lost file. file: its origin is an upload."""
        inside = file.path.removeprefix(file.origin.name)  # of a zip
        self.result.lost.append(f"{brief(file.origin.file.path + inside, 120)} {why}")


def collect(
    system: str,
    source: Path,
    submitted: Path,
    course: Course,
    people: People,
    roster: Roster,
    chapter: str = "",
    zone: str = "",
    section: str = "",
) -> Collected:
    """Sort a download into SUBMITTED, complete people.csv, and return what became of each file.

    chapter: the only chapter to collect; it is assumed for files whose name shows none. zone: that
    of Moodle's dates, if it is not the course's own. section: collect only its people. Raises
    CourseError, also if nobody in the download is known.
    """
    if system not in SYSTEMS:
        raise CourseError(f"--from must be one of {', '.join(SYSTEMS)}, not {system}")
    if zone and not is_zone(zone):
        raise CourseError(f"--zone: there is no time zone {zone}")
    only = course.chapter(chapter).name if chapter else ""
    zone, before = zone or course.lateness.zone, len(people.rows)
    listed = people.update(roster)
    teams = teams_in(read_teams(submitted, course), people, only)
    reading = Reading(source, files_in(source), people, roster, listed, teams, zone)
    uploads = list(SYSTEMS[system](reading))
    own = by_student(uploads)
    if not own and not reading.texts:
        raise CourseError(refusal(system, source, reading))
    check_dates(system, course, roster)
    wanted = people.in_section(section)
    submitted.mkdir(parents=True, exist_ok=True)
    result = Collected(notes=notes_on_people(reading, before))
    target = Target(submitted, course, only, source.name, system, turns_in(submitted), result)
    chapters = sort_files(
        target, {s: u for s, u in own.items() if not wanted or escaped(s) in wanted}
    )
    for why, files in reading.lost.items():
        result.lost.append(f"{plural(len(files), 'file')} not collected: {why}")
        for file in files:
            origin = Upload((), file.path, file)
            target.tell(File(file.path, file.read, origin=origin), "", "", f"left out: {why}")
    result.notes += notes_on_learners(reading, own, wanted)
    result.notes += notes_on_times(target, roster)
    result.notes += write_extensions(submitted, course, reading, only or single(chapters))
    write_lines(submitted, source.name, result.lines)
    people.save()
    return result


def refusal(system: str, source: Path, reading: Reading) -> str:
    """Return why nothing of a download can be collected."""
    if not reading.lost:
        return f"{source} does not look like a download from {system}"
    return f"nobody in {source} is known: {next(iter(reading.lost))}"


def check_dates(system: str, course: Course, roster: Roster) -> None:
    """Raise CourseError if the course has deadlines, but the worksheet has no submission times."""
    if system == "moodle" and course.lateness.deadlines and SUBMITTED_AT not in roster.columns:
        raise CourseError(
            "the worksheet has no column with submission times, so no submission would be late; "
            f"it has {', '.join(roster.header)}"
        )


def teams_in(teams: Teams, people: People, only: str) -> dict[str, tuple[Person, ...]]:
    """Return the members of each team in teams.csv, by its plain name. Raises CourseError."""
    found: dict[str, dict[str, Person]] = defaultdict(dict)
    known = {escaped(row["student"]): row for row in people.rows}
    for (student, chapter), team in teams.of.items():
        if not only or chapter == only:
            if student not in known:
                raise CourseError(f"teams.csv names {student}, who is not in people.csv")
            found[plain_name(team)][student] = known[student]
    return {team: tuple(members.values()) for team, members in found.items()}


def by_student(uploads: list[Upload]) -> dict[str, list[Upload]]:
    """Return the uploads of each person; those of a group are each member's."""
    own: dict[str, list[Upload]] = defaultdict(list)
    for one in uploads:
        for person in one.people:
            own[person["student"]].append(one)
    return dict(sorted(own.items()))


def sort_files(target: Target, own: dict[str, list[Upload]]) -> set[str]:
    """Write the files of all learners, and return the chapters. Files without one come last."""
    chapters: set[str] = set()
    without = {}
    teams: dict[tuple[str, str], str] = {}
    for student, uploads in own.items():
        found, rest = chapters_of(target, student, uploads)
        chapters |= found.keys()
        if not found and rest:
            without[student] = rest
        teams |= {(escaped(student), name): team for name, team in found.items()}
    for student, rest in without.items():
        write_aside(target, student, rest, target.only or single(chapters))
    if target.system in ("moodle", "gradescope"):
        add_teams(target.submitted, teams)
    return chapters


def single(chapters: set[str]) -> str:
    """Return the only chapter; "" if there are several or none."""
    return next(iter(chapters)) if len(chapters) == 1 else ""


def chapters_of(
    target: Target, student: str, uploads: list[Upload]
) -> tuple[dict[str, str], list[Upload]]:
    """Write each chapter of a learner.

    Return the team by chapter ("" for one person), and the files whose names mean nothing.
    """
    only, names = target.only, [chapter.name for chapter in target.course.chapters]
    files = [
        File(one.name, one.file.read, moment(one.time), one.turn, one)  # its name is the learner's
        for one in uploads
    ]
    found = candidates_in(files, names, target.course.limits)
    if only and not found.of(only):
        found.candidates += only_code([f for f in files if not meaning(f.path, names)], only)
    teams: dict[str, str] = {}
    for name in [only] if only else names:
        if chosen := choose(target, student, name, found):
            teams[name] = chosen[0][0].file.origin.team
            write_chapter(target, student, name, chosen)
    return teams, tell_others(target, student, uploads, found, not teams)


Chosen = list[tuple[Candidate, bytes]]


def choose(target: Target, student: str, chapter: str, found: Found) -> Chosen:
    """Return the newest readable script and notebook of a chapter, and tell about the others.

    Empty if there is none, or if two different files are equally new.
    """
    chosen: Chosen = []
    for kind in CODE:
        read: Chosen = []
        for one in found.of(chapter, kind):
            if read and not are_tied(read[0][0], one):
                target.tell(one.file, student, chapter, f"older than {read[0][0].where}")
                continue
            try:
                read.append((one, whole(one.file)))
            except NotRead as error:
                target.lose(one.file, f"{error}; it is left out")
                target.tell(one.file, student, chapter, f"left out: it {error}")
        if len({content for _, content in read}) > 1:
            names = " or ".join(brief(one.where, 90) for one, _ in read[:2])
            target.result.lost.append(f"cannot tell which counts of {student}: {names}")
            target.tell(read[0][0].file, student, chapter, "left out: another file is as new")
            return []
        chosen += read[:1]
    return chosen


def whole(file: File) -> bytes:
    """Return the content of a file. Raises NotRead."""
    content = file.read(LARGEST)
    if len(content) > LARGEST:
        raise NotRead(f"is larger than {LARGEST >> 20} MiB")
    return content


def write_chapter(target: Target, student: str, chapter: str, chosen: Chosen) -> None:
    """Write a learner's folder of a chapter, unless a newer one is there."""
    new = {one.counts_as: content for one, content in chosen}
    upload = max((one.file.origin for one, _ in chosen), key=lambda u: (moment(u.time), u.turn))
    folder = target.submitted / student / chapter
    try:
        refuse_links(target.submitted, folder)
        if new == content_of(folder):
            keep_earlier_time(folder, upload.time)
            result, target.result.unchanged = SAME, target.result.unchanged + 1
        elif is_newer(target, folder, upload):
            result = "older than the file in SUBMITTED, which stays"
            target.result.notes.append(f"{brief(str(folder), 150)} is newer, and stays")
        else:
            replace_folder(target.submitted, folder, new, upload.time)
            result, target.result.written = USED, target.result.written + 1
    except (OSError, NotWritten) as error:
        why = f"cannot be written: {error.strerror}" if isinstance(error, OSError) else str(error)
        result = f"left out: it {why}"
        target.result.lost.append(f"{brief(str(folder), 150)} {why}")
    for one, _ in chosen:
        team, late = one.file.origin.team, one.file.origin.late
        more = (f"of the group {team}" if team else "", "late, says Canvas" if late else "")
        target.tell(one.file, student, chapter, "; ".join(filter(None, (result, *more))))


def refuse_links(submitted: Path, folder: Path) -> None:
    """Raise NotWritten if a part of a path below SUBMITTED is a link."""
    for part in (folder, *folder.parents):
        if part == submitted:
            return
        if part.is_symlink():
            raise NotWritten("has a link in its path")


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder but the time, by name; {} without it. Raises OSError."""
    if not folder.is_dir():
        return {}
    paths = [path for path in folder.iterdir() if path.name != STAMP]
    return {path.name: path.read_bytes() if is_plain(path) else b"" for path in paths}


def is_plain(path: Path) -> bool:
    """Return True for a file that is not a link."""
    return path.is_file() and not path.is_symlink()


def is_newer(target: Target, folder: Path, upload: Upload) -> bool:
    """Return True if a folder was submitted after an upload. Without times the numbers decide."""
    at = submission_time(folder)[0]
    if at and upload.time:
        return moment(at) > moment(upload.time)
    about = folder.parent.name, folder.name
    return folder.is_dir() and target.turns.get(about, 0) > upload.turn > 0


def keep_earlier_time(folder: Path, time: str) -> None:
    """Date an unchanged file by the first time that it was submitted."""
    at = submission_time(folder)[0]
    if time and (not at or moment(time) < moment(at)):
        write_file(folder / STAMP, f"{time}\n".encode())


def replace_folder(submitted: Path, folder: Path, new: dict[str, bytes], time: str) -> None:
    """Write a folder as a whole, and move an earlier one to `.replaced`. Raises OSError."""
    made = Path(tempfile.mkdtemp(prefix=".tmp-", dir=submitted))
    try:
        for name, content in (new | ({STAMP: f"{time}\n".encode()} if time else {})).items():
            write_file(made / name, content)
        folder.parent.mkdir(exist_ok=True)
        made.chmod(folder.parent.stat().st_mode & 0o777)
        if folder.exists():
            own = submitted / REPLACED / folder.parent.name
            own.mkdir(parents=True, exist_ok=True)
            os.replace(folder, own / f"{folder.name}-{1 + len(list(own.iterdir()))}")
        os.replace(made, folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        raise


def tell_others(
    target: Target, student: str, uploads: list[Upload], found: Found, nothing: bool
) -> list[Upload]:
    """Tell about the files of a learner that are no candidate; return those that mean nothing.

    nothing: no file of the learner counts, so that these may be what was meant.
    """
    used = {id(one.file.origin) for one in found.candidates}
    for one in found.candidates:
        if target.only and one.chapter != target.only:
            target.tell(one.file, student, "", f"left out: it belongs to {one.chapter}")
            if nothing and target.system != "git":
                why = f"belongs to {one.chapter} by its name, and not to {target.only}"
                target.lose(one.file, f"{why}; it is left out")
    rest = [one for one in uploads if id(one) not in used]
    for upload in rest:
        file = File(upload.name, upload.file.read, origin=upload)
        if shown(upload.name) in found.damaged:
            target.lose(file, "is a damaged zip; nothing in it counts")
        if not nothing:
            target.tell(file, student, "", "left out: it does not name a chapter")
    return rest


def write_aside(target: Target, student: str, rest: list[Upload], chapter: str) -> None:
    """Write the files of a learner of which none counts, so that rows can name them.

    They replace no file that counts.
    """
    if target.system == "git":  # a repository also holds files that are not submissions
        rest = [one for one in rest if one.name.lower().endswith((".py", ".ipynb"))]
    new = {}
    for one in rest[:MOST_KEPT]:
        file = File(one.name, one.file.read, origin=one)
        try:
            new[safe(file.name)] = whole(file)
        except NotRead as error:
            target.lose(file, f"{error}; it is left out")
            continue
        target.tell(file, student, chapter, "kept, but it does not name a chapter")
    folder = target.submitted / student / chapter
    try:
        refuse_links(target.submitted, folder)
        there = content_of(folder) if chapter else {}
        if new and new != there and not any(f"{chapter}.{kind}" in there for kind in CODE):
            write_files(target.submitted, folder, new, max(one.time for one in rest), chapter)
    except (OSError, NotWritten) as error:
        target.result.lost.append(f"{brief(str(folder), 150)} cannot be written: {error}")
    target.result.notes += notes_on_aside(student, list(new), chapter, target.only)
    if len(rest) > MOST_KEPT:
        more = f"{len(rest) - MOST_KEPT} more files of {brief(student)}"
        target.result.notes.append(f"{more} do not count, and are left out")


def write_files(
    submitted: Path, folder: Path, new: dict[str, bytes], time: str, chapter: str
) -> None:
    """Write files that mean nothing: a chapter's folder, or into the learner's. Raises OSError."""
    if chapter:
        replace_folder(submitted, folder, new, time)
        return
    folder.mkdir(exist_ok=True)
    for name, content in new.items():
        write_file(folder / name, content)


def notes_on_aside(student: str, names: list[str], chapter: str, only: str) -> list[str]:
    """Return why files get no points, and how to change that."""
    if not names:
        return []
    told = some_names(names)
    if all(name.lower().endswith(ARCHIVES) for name in names):
        only_zips = "only zips are opened. Ask for a zip or for the file itself"
        return [f"{told} of {brief(student)} will get 0 points: {only_zips}"]
    advice = f"run again with `--chapter {chapter or 'CHAPTER'}`"
    if only:
        advice = "`--chapter` works only for a learner's single script or notebook; rename the file"
    why = f"cannot tell which chapter {told} of {brief(student)} belongs to; it will get 0 points"
    return [f"{why}. To change this, {advice}"]


def notes_on_people(reading: Reading, before: int) -> list[str]:
    """Return notes on people.csv, and on people that the class list does not name."""
    people = reading.people
    notes = [f"people.csv: {before} as before, {people.new} new"]
    if reading.roster.staff:
        notes.append(
            f"left out: {plural(reading.roster.staff, 'person')} of the staff in the roster"
        )
    listed = {one["number"] for one in reading.rows}
    new = [one["student"] for one in people.rows[before:] if one["number"] not in listed]
    if new and reading.rows:
        notes.append(f"not on the roster: {some_names(sorted(new))}")
    return notes


def notes_on_learners(
    reading: Reading, own: dict[str, list[Upload]], section: frozenset
) -> list[str]:
    """Return notes on people without a file."""

    def names(people: list[Person]) -> list[str]:
        found = {one["student"] for one in people} - own.keys()
        return sorted(one for one in found if not section or escaped(one) in section)

    texts, drafts = names(reading.texts), names(reading.drafts)
    absent = [one for one in names(reading.people.rows) if one not in {*texts, *drafts}]
    told = {
        "submitted nothing": absent,
        "submitted only an online text or link, which is not collected": texts,
        "only have a draft that is not submitted": drafts,
    }
    return [f"{words}: {some_names(students)}" for words, students in told.items() if students]


def notes_on_times(target: Target, roster: Roster) -> list[str]:
    """Return a note on files that will never be late, although their chapter has a deadline."""
    due = target.course.lateness.deadlines
    lines = [one for one in target.result.lines if one["chapter"] in due]
    unknown = sum(one["result"].startswith(USED) and not one["submitted"] for one in lines)
    if not unknown:
        return []
    count = plural(unknown, "file")
    advice = "to set a time, write it into timestamp.txt in the chapter's folder"
    return [f"the submission times of {count} are unknown, so they will not be late; {advice}"]


def write_extensions(submitted: Path, course: Course, reading: Reading, chapter: str) -> list[str]:
    """Write the extensions in Moodle's worksheet into SUBMITTED/extensions.csv; return notes.

    They replace earlier ones of this chapter, if the class has a deadline for it.
    """
    before = course.lateness.deadlines.get(chapter, "")
    later = {
        who: due for who, due in granted(reading).items() if not before or due > before_utc(before)
    }
    if later and not before:
        return ["extensions in the worksheet are not read: name the chapter with --chapter"]
    path = submitted / EXTENSIONS
    lines = [line for _, line in read_table(path, EXTENSION_COLUMNS) if line["chapter"] != chapter]
    kept = [[line[column] for column in EXTENSION_COLUMNS] for line in lines]
    new = [[who, chapter, due, "", "extension in Moodle"] for who, due in later.items()]
    if new or path.is_file():
        write_file(path, in_csv(EXTENSION_COLUMNS, kept + new).encode())
    return [f"extensions in {path.name}: {some_names(sorted(later))}"] if later else []


def before_utc(deadline: str) -> str:
    """Return a deadline in UTC, so that it can be compared with times of a download."""
    return written(read_time(deadline))


def turns_in(submitted: Path) -> dict[tuple[str, str], int]:
    """Return the system's number of the submission that counts, by learner and chapter."""
    lines = [line for _, line in read_table(submitted / COLLECTED, COLUMNS)]
    return {
        (line["student"], line["chapter"]): int(line["submission"])
        for line in lines
        if line["result"].startswith(USED) and line["submission"].isdecimal()
    }


def write_lines(submitted: Path, download: str, lines: list[dict[str, str]]) -> None:
    """Add a download's lines to collected.csv, in place of its earlier ones."""
    before = [line for _, line in read_table(submitted / COLLECTED, COLUMNS)]
    kept = [line for line in before if line["download"] != download]
    cells = [[line[column] for column in COLUMNS] for line in kept + lines]
    write_file(submitted / COLLECTED, in_csv(COLUMNS, cells).encode("utf-8", "replace"))


def moment(submitted: str) -> float:
    """Return a time in seconds since 1970; 0 if it is unknown."""
    return read_time(submitted).timestamp() if submitted else 0.0


def some_names(names: Sequence[str], most: int = 45) -> str:
    """Return a few names and the number of the others. most: characters of each name."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(brief(name, most) for name in names[:5]) + more


def brief(name: str, most: int = 45) -> str:
    """Return a name on one line, with its middle left out if it is long."""
    plain = shown(name)
    return plain if len(plain) <= most else f"{plain[: most // 2]}…{plain[-(most // 2) :]}"


def some_of(sentences: list[str]) -> list[str]:
    """Return the first MOST_TOLD sentences, and a line with the number of the others.

    >>> some_of(["a"] * 14)[-1]
    '… and 2 more like these'
    """
    more = len(sentences) - MOST_TOLD
    return sentences[:MOST_TOLD] + ([f"… and {more} more like these"] if more > 0 else [])


def table(found: Collected, zone: str = "") -> Table:
    """Return a table of the files that count or are kept. zone: the time zone of times."""
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("learner", "file", "chapter", "submitted", ""):
        made.add_column(title, overflow="fold")
    for line in found.lines:
        if line["student"] and not line["result"].startswith("left out"):
            when = in_zone(line["submitted"], zone) or "unknown"
            cells = (line["student"], line["file"], line["chapter"], when, line["result"])
            made.add_row(*(Text(shown(brief(cell, 100))) for cell in cells))  # it is no markup
    return made
