"""`tensorgrade collect`: sort a course system's download into `SUBMITTED/<student>/<chapter>/`.

systems.py says whose a file is and when it was submitted, sources/candidates.py which one counts.
Every file of the download has a line in `collected.csv`. One learner's file never affects others.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from ..course import Course, CourseError
from ..exchange.text import short
from ..folders import write_file
from ..lateness import is_zone, read_time
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
from .decisions import EXTENSION_COLUMNS, EXTENSIONS
from .downloads import LARGEST, Download, files_in, letters
from .people import People, safe
from .roster import Person, Roster
from .submitted_folder import (
    LINES,
    OLDER,
    SAME,
    USED,
    NotWritten,
    add_lines,
    brief,
    collected_lines,
    store,
)
from .systems import SYSTEMS, extensions_in
from .teams import add_teams, read_teams

KEPT = "kept, but it does not name a chapter"
MOST_KEPT = 20  # files of a learner that do not name a chapter
LONGEST_NOTE = 300  # characters: two lines of a wide terminal
MOST_TOLD = 12  # sentences of a kind
Chosen = dict[str, tuple[File, bytes]]  # by the name in SUBMITTED


@dataclass
class Collected:
    """What becomes of a download.

    only: the asked chapter; "" for all of them. turns: the system's number of the submission that
    counts, by learner and chapter. lines: those of collected.csv. notes, lost: sentences about
    learners, and about submissions that could not be read, assigned or written. written, unchanged:
    the number of chapters' folders. teams: of learners' chapters; "" for a learner alone.
    """

    submitted: Path
    course: Course
    system: str
    download: str
    only: str
    turns: dict[tuple[str, str], int] = field(default_factory=dict)
    lines: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    written: int = 0
    unchanged: int = 0
    teams: dict[tuple[str, str], str] = field(default_factory=dict)

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

    def read(self, file: File, student: str, chapter: str) -> bytes | None:
        """Return the content of a file; None if it cannot be read, which is told."""
        try:
            content = file.read(LARGEST)
            if len(content) > LARGEST:
                raise NotRead(f"is larger than {LARGEST >> 20} MiB")
            return content
        except NotRead as error:
            self.leave_out(file, student, chapter, str(error), lost=True)
            return None

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
    before = len(people.rows)
    people.update(roster)
    teams, zone = teams_in(submitted, course, people, only), zone or course.lateness.zone
    download = Download(source, files_in(source), people, roster, teams, zone)
    files = list(SYSTEMS[system](download))
    if not files and not download.others:
        if not download.lost:
            raise CourseError(f"{source} does not look like a download from {system}")
        raise CourseError(f"nobody in {source} is known: {next(iter(download.lost))}")
    wanted, extended = people.in_section(section), extensions_in(download)
    submitted.mkdir(parents=True, exist_ok=True)
    people.save()
    made = Collected(submitted, course, system, source.name, only)
    for line in collected_lines(submitted):
        if line["result"].startswith(USED) and line["submission"].isdecimal():
            made.turns[line["student"], line["chapter"]] = int(line["submission"])
    made.notes += notes_on_people(download, before)
    sort_files(made, files, wanted)
    for why, own in download.lost.items():
        made.lost.append(f"{plural(len(own), 'file')} not collected: {why}")
        for file in own:
            made.tell(file, "", "", f"left out: {why}")
    submitters = {person["student"] for file in files for person in file.people}
    made.notes += notes_on_absent(download, submitters, wanted) + notes_on_times(made)
    made.notes += write_extensions(made, extended)
    add_lines(submitted, made.lines)
    return made


def teams_in(
    submitted: Path, course: Course, people: People, only: str
) -> dict[str, tuple[Person, ...]]:
    """Return the members of each team in teams.csv, by the letters of its name.

    only: the chapter; "" for all of them. Raises CourseError.
    """
    found: dict[str, dict[str, Person]] = defaultdict(dict)
    known = {escaped(row["student"]): row for row in people.rows}
    for (student, chapter), team in read_teams(submitted, course).of.items():
        if not only or chapter == only:
            if student not in known:
                raise CourseError(f"teams.csv names {student}, who is not in people.csv")
            found[letters(team)][student] = known[student]
    return {team: tuple(members.values()) for team, members in found.items()}


# --- which files count ---------------------------------------------------------------------------


def sort_files(made: Collected, files: list[File], wanted: Collection[str]) -> None:
    """Write the files of all learners; those that name no chapter come last.

    Files of a group are each member's. wanted: the only learners; all if empty.
    """
    own: dict[str, list[File]] = defaultdict(list)
    for file in files:
        for person in file.people:
            if not wanted or escaped(person["student"]) in wanted:
                own[person["student"]].append(file)
    unnamed = {student: sort_learner(made, student, own[student]) for student in sorted(own)}
    for student, rest in unnamed.items():
        if rest:
            keep_unnamed(made, student, rest)
    if made.system in ("moodle", "gradescope"):
        add_teams(made.submitted, made.teams)


def sort_learner(made: Collected, student: str, files: list[File]) -> list[File]:
    """Write each chapter of a learner. Return all files if none of them names a chapter."""
    names, only = [chapter.name for chapter in made.course.chapters], made.only
    found = candidates_in(files, names, made.course.limits)
    if only and not found.of(only):
        found.candidates += only_code(found.others, only)
    count = len(made.teams)
    for name in [only] if only else names:
        if chosen := choose(made, student, name, found):
            made.teams[escaped(student), name] = next(iter(chosen.values()))[0].team
            write_chapter(made, student, name, chosen)
    is_lost = len(made.teams) == count and made.system != "git"
    for one in found.candidates:
        if only and one.chapter != only:
            why = f"belongs to {one.chapter} by its name, and not to {only}"
            made.leave_out(one, student, "", why, is_lost)
    counted = {one.above + one.path for one in found.candidates}
    rest = [file for file in found.others if file.above + file.path not in counted]
    for file in rest:
        if file.name.lower().endswith(".zip") and file.shown in found.unopened:
            path = brief(file.above + file.path, 120)
            made.lost.append(f"{path} is a damaged zip, or too large; nothing in it counts")
    if len(made.teams) == count:
        return rest
    for file in rest:
        made.leave_out(file, student, "", "does not name a chapter", lost=False)
    return []


def choose(made: Collected, student: str, chapter: str, found: Found) -> Chosen:
    """Return the newest readable script and notebook of a chapter, and tell about the others.

    Empty if there is none, or if two different files are equally new.
    """
    chosen: Chosen = {}
    for kind in CODE:
        read: list[tuple[File, bytes]] = []
        for one in found.of(chapter, kind):
            if read and not are_tied(read[0][0], one):
                made.tell(one, student, chapter, f"older than {read[0][0].shown}")
            elif (content := made.read(one, student, chapter)) is not None:
                read.append((one, content))
        if len({content for _, content in read}) > 1:
            names = " or ".join(brief(one.shown, 90) for one, _ in read[:2])
            made.lost.append(f"cannot tell which counts of {student}: {names}")
            made.tell(read[0][0], student, chapter, "left out: another file is as new")
            return {}
        chosen |= {one.counts_as: (one, content) for one, content in read[:1]}
    return chosen


def write_chapter(
    made: Collected, student: str, chapter: str, chosen: Chosen, result: str = USED
) -> None:
    """Write a learner's folder of a chapter, unless a newer one is there.

    result: what becomes of files that are written.
    """
    latest = max((one for one, _ in chosen.values()), key=lambda file: (file.time, file.turn))
    folder, new = made.submitted / student / chapter, {n: c for n, (_, c) in chosen.items()}
    is_older = folder.is_dir() and made.turns.get((student, chapter), 0) > latest.turn > 0
    try:
        done = store(made.submitted, folder, new, latest.submitted, is_older)
        if done == OLDER:
            made.notes.append(f"{brief(str(folder), 150)} is newer, and stays")
        if result == USED:
            made.written += done == USED
            made.unchanged += done == SAME
        result = done if result == USED or done == OLDER else result
    except NotWritten as error:
        result = f"left out: it {error}"
        made.lost.append(f"{brief(str(folder), 150)} {error}")
    for one, _ in chosen.values():
        team = f"of the group {one.team}" if one.team else ""
        more = (team, "late, says Canvas" if one.late else "")
        made.tell(one, student, chapter, "; ".join(filter(None, (result, *more))))


def keep_unnamed(made: Collected, student: str, rest: list[File]) -> None:
    """Write the files of a learner of which none counts, so that rows can name them.

    They replace no file that counts, and need the only chapter of the download.
    """
    if made.system == "git":  # a repository also holds files that are not submissions
        rest = [file for file in rest if file.name.lower().endswith((".py", ".ipynb"))]
    chapters = {made.only} if made.only else {chapter for _, chapter in made.teams}
    chapter = next(iter(chapters)) if len(chapters) == 1 else ""
    there = made.submitted / student / chapter / chapter
    may_write = chapter and not any(there.with_name(f"{chapter}.{kind}").exists() for kind in CODE)
    kept: Chosen = {}
    for number, file in enumerate(rest):
        if not may_write or number >= MOST_KEPT:
            made.leave_out(file, student, chapter, "does not name a chapter", lost=False)
        elif (content := made.read(file, student, chapter)) is not None:
            kept[safe(file.name)] = file, content
    if kept:
        write_chapter(made, student, chapter, kept, KEPT)
    if rest:
        advice = f"run again with `--chapter {chapter or 'CHAPTER'}`"
        if made.only:
            advice = "rename the file; of archives, only zips are opened"
        names = brief(", ".join(kept or [file.name for file in rest]), 90)
        told = f"cannot tell which chapter {names} of {brief(student)} belongs to"
        made.notes.append(f"{told}; it will get 0 points. To change this, {advice}")


# --- notes ---------------------------------------------------------------------------------------


def notes_on_people(download: Download, before: int) -> list[str]:
    """Return notes on people.csv, and on people that the class list does not name.

    before: the number of people so far.
    """
    people, roster = download.people, download.roster
    notes = [f"people.csv: {before} as before, {len(people.rows) - before} new"]
    if roster.staff:
        notes.append(f"left out: {plural(roster.staff, 'person')} of the staff in the roster")
    listed = {row.person["number"] for row in roster.rows}
    new = [one["student"] for one in people.rows[before:] if one["number"] not in listed]
    if new and listed:
        notes.append(f"not on the roster: {named(sorted(new))}")
    return notes


def notes_on_absent(download: Download, own: set[str], section: Collection[str]) -> list[str]:
    """Return notes on people without a file. own: people with one. section: the only people."""
    absent = {one for one in download.people.students if not section or escaped(one) in section}
    told = {
        words: absent & {person["student"] for person in people} - own
        for words, people in download.others.items()
    }
    told["submitted nothing"] = absent.difference(own, *told.values())
    return [f"{words}: {named(sorted(names))}" for words, names in sorted(told.items()) if names]


def notes_on_times(made: Collected) -> list[str]:
    """Return a note on files that will never be late, although their chapter has a deadline."""
    lines = [one for one in made.lines if one["chapter"] in made.course.lateness.deadlines]
    unknown = sum(one["result"].startswith(USED) and not one["submitted"] for one in lines)
    if not unknown:
        return []
    told = f"submission times of {plural(unknown, 'file')} are unknown, so they count as on time"
    return [f"{told}; to set a time, write it into timestamp.txt in the chapter's folder"]


def write_extensions(made: Collected, extended: dict[str, str]) -> list[str]:
    """Write later deadlines of a chapter into SUBMITTED/extensions.csv, if the class has one.

    They replace earlier ones. extended: by learner, in UTC. Return a note.
    """
    chapters = {made.only} if made.only else {chapter for _, chapter in made.teams}
    chapter = next(iter(chapters)) if len(chapters) == 1 else ""
    due = made.course.lateness.deadlines.get(chapter)
    if extended and not due:
        return ["extensions in the worksheet are not read: give --chapter, and set a deadline"]
    later = {who: own for who, own in extended.items() if read_time(own) > read_time(due or own)}
    path = made.submitted / EXTENSIONS
    lines = [line for _, line in read_table(path, EXTENSION_COLUMNS) if line["chapter"] != chapter]
    new = [[who, chapter, own, "", "extension in Moodle"] for who, own in later.items()]
    if new or path.is_file():
        kept = [[line[column] for column in EXTENSION_COLUMNS] for line in lines]
        write_file(path, in_csv(EXTENSION_COLUMNS, kept + new).encode())
    if not later:
        return []
    return [f"extensions from the worksheet, now in {path.name}: {named(sorted(later))}"]
