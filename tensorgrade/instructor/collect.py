"""`tensorgrade collect`: sort a course system's download into `SUBMITTED/<student>/<chapter>/`.

systems.py says whose a file is and when it was submitted, sources/candidates.py which one counts. A
learner's folder of a chapter is replaced as a whole, and the earlier one is moved to `.replaced`.
Every file of the download has a line in `collected.csv`. One learner's file never affects others.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ..course import Course, CourseError
from ..exchange.text import short
from ..folders import write_file
from ..lateness import is_zone
from ..sources.candidates import (
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
from ..sources.submitted_files import escaped
from ..views.csv_cells import in_csv
from ..views.words import plural
from .collect_notes import (
    brief,
    notes_on_aside,
    notes_on_learners,
    notes_on_people,
    some_names,
    some_of,
)
from .decisions import EXTENSION_COLUMNS, EXTENSIONS, read_table
from .downloads import LARGEST, files_in
from .folder_names import safe
from .people import People, Person
from .roster import Roster
from .submitted_folder import (
    NotWritten,
    content_of,
    is_newer,
    keep_earlier_time,
    moment,
    refuse_links,
    replace_folder,
    write_files,
)
from .systems import SUBMITTED_AT, SYSTEMS, Reading, Upload, granted
from .systems import plain as plain_name
from .teams import Teams, add_teams, read_teams

COLLECTED = "collected.csv"
LINES = ("download", "file", "student", "chapter", "submitted", "submission", "result")
USED, SAME = "used", "used, as before"
MOST_KEPT = 20  # files of a learner that mean nothing
LONGEST_NOTE = 300  # characters: two lines of a wide terminal


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
        self.result.lines.append(dict(zip(LINES, cells, strict=True)))

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
    wanted, extended = people.in_section(section), granted(reading)
    submitted.mkdir(parents=True, exist_ok=True)
    people.save()
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
    result.notes += write_extensions(submitted, course, extended, only or single(chapters))
    write_lines(submitted, result.lines)
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
        elif is_newer(folder, upload.time, upload.turn, target.turns.get((student, chapter), 0)):
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


def write_extensions(
    submitted: Path, course: Course, extended: dict[str, str], chapter: str
) -> list[str]:
    """Write later deadlines of a chapter into SUBMITTED/extensions.csv, if the class has one.

    They replace earlier ones. extended: by learner, in UTC. Return a note.
    """
    due = course.lateness.deadlines.get(chapter, "")
    if extended and not due:
        return ["extensions in the worksheet are not read: give --chapter, and set a deadline"]
    later = {who: own for who, own in extended.items() if moment(own) > moment(due)}
    path = submitted / EXTENSIONS
    lines = [line for _, line in read_table(path, EXTENSION_COLUMNS) if line["chapter"] != chapter]
    new = [[who, chapter, own, "", "extension in Moodle"] for who, own in later.items()]
    if new or path.is_file():
        kept = [[line[column] for column in EXTENSION_COLUMNS] for line in lines]
        write_file(path, in_csv(EXTENSION_COLUMNS, kept + new).encode())
    return [f"extensions in {path.name}: {some_names(sorted(later))}"] if later else []


def turns_in(submitted: Path) -> dict[tuple[str, str], int]:
    """Return the system's number of the submission that counts, by learner and chapter."""
    lines = [line for _, line in read_table(submitted / COLLECTED, LINES)]
    return {
        (line["student"], line["chapter"]): int(line["submission"])
        for line in lines
        if line["result"].startswith(USED) and line["submission"].isdecimal()
    }


def where_files_went(submitted: Path, student: str, chapter: str) -> list[str]:
    """Return what became of a learner's files in all downloads, for a chapter or for none."""
    lines = [line for _, line in read_table(submitted / COLLECTED, LINES)]
    return [
        f"{line['download']}: {line['file']}: {line['result']}"
        for line in lines
        if escaped(line["student"]) == student and line["chapter"] in ("", chapter)
    ]


def write_lines(submitted: Path, lines: list[dict[str, str]]) -> None:
    """Add lines to collected.csv, in place of earlier ones about the same files."""
    before = [line for _, line in read_table(submitted / COLLECTED, LINES)]
    new = {tuple(line[column] for column in LINES[:4]) for line in lines}
    kept = [line for line in before if tuple(line[column] for column in LINES[:4]) not in new]
    cells = [[line[column] for column in LINES] for line in kept + lines]
    write_file(submitted / COLLECTED, in_csv(LINES, cells).encode("utf-8", "replace"))
