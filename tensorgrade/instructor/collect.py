"""`tensorgrade collect`: sort a course system's download into `SUBMITTED/<student>/<chapter>/`.

systems.py says whose a file is and when it was submitted, sources/candidates.py which one counts. A
learner's folder of a chapter is replaced as a whole, and the earlier one is moved to `.replaced`.
Every file of the download has a line in `collected.csv`. One learner's file never affects others.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from ..course import Course, CourseError
from ..exchange.text import short
from ..folders import write_file
from ..lateness import is_zone
from ..sources.candidates import (
    CODE,
    File,
    Found,
    NotRead,
    are_tied,
    candidates_in,
    only_code,
    shown,
)
from ..sources.finding import named
from ..sources.submitted_files import escaped
from ..views.csv_cells import in_csv, read_table
from ..views.words import plural
from .collected import LINES, USED, brief, turns_in, write_lines
from .decisions import EXTENSION_COLUMNS, EXTENSIONS
from .downloads import LARGEST, files_in
from .folder_names import safe
from .people import People
from .roster import Person, Roster
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
from .systems import SUBMITTED_AT, SYSTEMS, Reading, granted
from .systems import plain as plain_name
from .teams import Teams, add_teams, read_teams

SAME = f"{USED}, as before"
MOST_KEPT = 20  # files of a learner that mean nothing
LONGEST_NOTE = 300  # characters: two lines of a wide terminal
MOST_TOLD = 12  # sentences of a kind


@dataclass
class Collected:
    """What becomes of a download.

    only: the asked chapter; "" for all of them. turns: the system's numbers of the submissions in
    SUBMITTED, by learner and chapter. lines: those of collected.csv. notes, lost: sentences about
    learners, and about submissions that could not be read, assigned or written. written, unchanged:
    the number of chapters' folders.
    """

    submitted: Path
    course: Course
    system: str
    download: str
    only: str
    turns: dict[tuple[str, str], int]
    lines: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    written: int = 0
    unchanged: int = 0

    def tell(self, file: File, student: str, chapter: str, result: str) -> None:
        """Add a line to collected.csv."""
        path, turn = shown(file.above + file.path), str(file.turn or "")
        cells = (self.download, path, student, chapter, file.submitted, turn, result)
        self.lines.append(dict(zip(LINES, cells, strict=True)))

    def leave_out(self, file: File, student: str, chapter: str, why: str, lost: bool) -> None:
        """Add a line about a file that does not count, and a sentence if it is lost."""
        self.tell(file, student, chapter, f"left out: it {why}")
        if lost:
            self.lost.append(f"{brief(file.above + file.path, 120)} {why}; it is left out")

    def told(self) -> list[str]:
        """Return all sentences, shortened, and at most a few of each kind."""
        found = []
        for kind in (self.lost, self.notes):
            found += [short(note, LONGEST_NOTE) for note in kind[:MOST_TOLD]]
            if len(kind) > MOST_TOLD:
                found.append(f"… and {len(kind) - MOST_TOLD} more like these")
        return found


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
    people.update(roster)
    teams = teams_in(read_teams(submitted, course), people, only)
    reading = Reading(source, files_in(source), people, roster, teams, zone)
    files = list(SYSTEMS[system](reading))
    check_reading(system, reading, files, course)
    wanted, extended = people.in_section(section), granted(reading)
    submitted.mkdir(parents=True, exist_ok=True)
    people.save()
    made = Collected(submitted, course, system, source.name, only, turns_in(submitted))
    made.notes += notes_on_people(reading, before)
    chapters = sort_files(made, by_student(files, wanted))
    for why, own in reading.lost.items():
        made.lost.append(f"{plural(len(own), 'file')} not collected: {why}")
        for file in own:
            made.tell(file, "", "", f"left out: {why}")
    submitters = {person["student"] for file in files for person in file.people}
    made.notes += notes_on_absent(reading, submitters, wanted) + notes_on_times(made)
    made.notes += write_extensions(submitted, course, extended, only or single(chapters))
    write_lines(submitted, made.lines)
    return made


def check_reading(system: str, reading: Reading, files: list[File], course: Course) -> None:
    """Raise CourseError if nobody is known, or if the deadlines need times that are missing."""
    if not files and not reading.texts:
        if not reading.lost:
            raise CourseError(f"{reading.source} does not look like a download from {system}")
        raise CourseError(f"nobody in {reading.source} is known: {next(iter(reading.lost))}")
    has_times = system != "moodle" or SUBMITTED_AT in reading.roster.columns
    if course.lateness.deadlines and not has_times:
        raise CourseError(
            "the worksheet has no column with submission times, so no submission would be late; "
            f"it has {', '.join(reading.roster.header)}"
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


def by_student(files: list[File], wanted: Collection[str]) -> dict[str, list[File]]:
    """Return the files of each person; those of a group are each member's.

    wanted: the only learners; all if empty.
    """
    own: dict[str, list[File]] = defaultdict(list)
    for file in files:
        for person in file.people:
            if not wanted or escaped(person["student"]) in wanted:
                own[person["student"]].append(file)
    return dict(sorted(own.items()))


# --- which files count ---------------------------------------------------------------------------


def sort_files(made: Collected, own: dict[str, list[File]]) -> set[str]:
    """Write the files of all learners, and return the chapters. Files without one come last."""
    teams: dict[tuple[str, str], str] = {}
    without = {}
    for student, files in own.items():
        found, rest = write_chapters(made, student, files)
        teams |= {(escaped(student), name): team for name, team in found.items()}
        if not found and rest:
            without[student] = rest
    chapters = {chapter for _, chapter in teams}
    for student, rest in without.items():
        write_aside(made, student, rest, made.only or single(chapters))
    if made.system in ("moodle", "gradescope"):
        add_teams(made.submitted, teams)
    return chapters


def single(chapters: set[str]) -> str:
    """Return the only chapter; "" if there are several or none."""
    return next(iter(chapters)) if len(chapters) == 1 else ""


def write_chapters(
    made: Collected, student: str, files: list[File]
) -> tuple[dict[str, str], list[File]]:
    """Write each chapter of a learner.

    Return the team by chapter ("" for one person), and the files whose names mean nothing.
    """
    names, only = [chapter.name for chapter in made.course.chapters], made.only
    found = candidates_in(files, names, made.course.limits)
    if only and not found.of(only):
        found.candidates += only_code(found.others, only)
    teams: dict[str, str] = {}
    for name in [only] if only else names:
        if chosen := choose(made, student, name, found):
            teams[name] = chosen[0][0].team
            write_chapter(made, student, name, chosen)
    for one in found.candidates:
        if only and one.chapter != only:
            why = f"belongs to {one.chapter} by its name, and not to {only}"
            made.leave_out(one, student, "", why, not teams and made.system != "git")
    counted = {one.above + one.path for one in found.candidates}
    rest = [file for file in found.others if file.above + file.path not in counted]
    for file in rest:
        if file.name.lower().endswith(".zip") and file.shown in found.unopened:
            path = brief(file.above + file.path, 120)
            made.lost.append(f"{path} is a damaged zip, or too large; nothing in it counts")
        if teams:
            made.leave_out(file, student, "", "does not name a chapter", lost=False)
    return teams, rest


Chosen = list[tuple[File, bytes]]


def choose(made: Collected, student: str, chapter: str, found: Found) -> Chosen:
    """Return the newest readable script and notebook of a chapter, and tell about the others.

    Empty if there is none, or if two different files are equally new.
    """
    chosen: Chosen = []
    for kind in CODE:
        read: Chosen = []
        for one in found.of(chapter, kind):
            if read and not are_tied(read[0][0], one):
                made.tell(one, student, chapter, f"older than {read[0][0].shown}")
                continue
            try:
                read.append((one, whole(one)))
            except NotRead as error:
                made.leave_out(one, student, chapter, str(error), lost=True)
        if len({content for _, content in read}) > 1:
            names = " or ".join(brief(one.shown, 90) for one, _ in read[:2])
            made.lost.append(f"cannot tell which counts of {student}: {names}")
            made.tell(read[0][0], student, chapter, "left out: another file is as new")
            return []
        chosen += read[:1]
    return chosen


def whole(file: File) -> bytes:
    """Return the content of a file. Raises NotRead."""
    content = file.read(LARGEST)
    if len(content) > LARGEST:
        raise NotRead(f"is larger than {LARGEST >> 20} MiB")
    return content


def write_chapter(made: Collected, student: str, chapter: str, chosen: Chosen) -> None:
    """Write a learner's folder of a chapter, unless a newer one is there."""
    new = {one.counts_as: content for one, content in chosen}
    latest = max((one for one, _ in chosen), key=lambda file: (file.time, file.turn))
    folder, result = made.submitted / student / chapter, USED
    try:
        refuse_links(made.submitted, folder)
        before = made.turns.get((student, chapter), 0)
        if new == content_of(folder):
            keep_earlier_time(folder, latest.submitted)
            result, made.unchanged = SAME, made.unchanged + 1
        elif is_newer(folder, latest.submitted, latest.turn, before):
            result = "older than the file in SUBMITTED, which stays"
            made.notes.append(f"{brief(str(folder), 150)} is newer, and stays")
        else:
            replace_folder(made.submitted, folder, new, latest.submitted)
            made.written += 1
    except (OSError, NotWritten) as error:
        why = f"cannot be written: {error.strerror}" if isinstance(error, OSError) else str(error)
        result = f"left out: it {why}"
        made.lost.append(f"{brief(str(folder), 150)} {why}")
    for one, _ in chosen:
        team = f"of the group {one.team}" if one.team else ""
        more = (team, "late, says Canvas" if one.late else "")
        made.tell(one, student, chapter, "; ".join(filter(None, (result, *more))))


def write_aside(made: Collected, student: str, rest: list[File], chapter: str) -> None:
    """Write the files of a learner of which none counts, so that rows can name them.

    They replace no file that counts.
    """
    if made.system == "git":  # a repository also holds files that are not submissions
        rest = [file for file in rest if file.name.lower().endswith((".py", ".ipynb"))]
    new = {}
    for file in rest[:MOST_KEPT]:
        try:
            new[safe(file.name)] = whole(file)
            made.tell(file, student, chapter, "kept, but it does not name a chapter")
        except NotRead as error:
            made.leave_out(file, student, chapter, str(error), lost=True)
    if not new:
        return
    folder = made.submitted / student / chapter
    try:
        refuse_links(made.submitted, folder)
        there = content_of(folder) if chapter else {}
        if new != there and not any(f"{chapter}.{kind}" in there for kind in CODE):
            time = max(file.submitted for file in rest)
            write_files(made.submitted, folder, new, time, chapter)
    except (OSError, NotWritten) as error:
        made.lost.append(f"{brief(str(folder), 150)} cannot be written: {error}")
    advice = f"run again with `--chapter {chapter or 'CHAPTER'}`"
    if made.only:
        advice = "rename the file; of archives, only zips are opened"
    told = f"cannot tell which chapter {brief(', '.join(new), 90)} of {brief(student)} belongs to"
    made.notes.append(f"{told}; it will get 0 points. To change this, {advice}")
    if len(rest) > MOST_KEPT:
        more = f"{len(rest) - MOST_KEPT} more files of {brief(student)}"
        made.notes.append(f"{more} do not count, and are left out")


# --- notes ---------------------------------------------------------------------------------------


def notes_on_people(reading: Reading, before: int) -> list[str]:
    """Return notes on people.csv, and on people that the class list does not name."""
    people, rows = reading.people, reading.roster.rows
    notes = [f"people.csv: {before} as before, {len(people.rows) - before} new"]
    if reading.roster.staff:
        count = plural(reading.roster.staff, "person")
        notes.append(f"left out: {count} of the staff in the roster")
    listed = {row.person["number"] for row in rows}
    new = [one["student"] for one in people.rows[before:] if one["number"] not in listed]
    if new and rows:
        notes.append(f"not on the roster: {named(sorted(new))}")
    return notes


def notes_on_absent(reading: Reading, own: set[str], section: Collection[str]) -> list[str]:
    """Return notes on people without a file. own: people with one. section: the only people."""

    def names(people: list[Person]) -> list[str]:
        found = {one["student"] for one in people} - own
        return sorted(one for one in found if not section or escaped(one) in section)

    texts, drafts = names(reading.texts), names(reading.drafts)
    told = {
        "submitted nothing": sorted({*names(reading.people.rows)} - {*texts, *drafts}),
        "submitted only an online text or link, which is not collected": texts,
        "only have a draft that is not submitted": drafts,
    }
    return [f"{words}: {named(students)}" for words, students in told.items() if students]


def notes_on_times(made: Collected) -> list[str]:
    """Return a note on files that will never be late, although their chapter has a deadline."""
    lines = [one for one in made.lines if one["chapter"] in made.course.lateness.deadlines]
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
    return [f"extensions in {path.name}: {named(sorted(later))}"] if later else []
