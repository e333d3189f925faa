"""`tensorgrade collect`: sort a course system's download into `SUBMITTED/<student>/<chapter>/`.

systems.py says whose a file is and when it was submitted, sources/candidates.py which one counts.
Every file of the download has a line in `collected.csv`. One learner's file never affects others.
A learner's folder of a chapter is written as a whole, and never through a link.
"""

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ..course import Course, CourseError
from ..exchange.text import joined
from ..folders import write_file
from ..lateness import in_zone, is_zone, read_time
from ..sources.candidates import CODE, File, Found, NotRead, are_tied, candidates_in
from ..sources.finding import PEOPLE, REPLACED, TEAMS, About, noted
from ..sources.submitted_files import STAMP, escaped, submission_time
from ..views.csv_cells import read_table, write_table
from ..views.words import plural
from .downloads import LINES, Download, brief, files_in
from .people import People, Roster, safe
from .rules import EXTENSION_COLUMNS, EXTENSIONS, TEAM_COLUMNS
from .systems import SYSTEMS, extensions_in

COLLECTED = "collected.csv"
USED = "used"
SAME, OLDER = f"{USED}, as before", "older than the file in SUBMITTED, which stays"
KEPT = "kept, but it does not name a chapter"
MOST_KEPT = 20  # files of a learner that do not name a chapter
LARGEST = 16 << 20  # bytes of one file
NO_CHAPTER = "left out: it does not name a chapter"
Chosen = dict[str, tuple[File, bytes]]  # by the name in SUBMITTED
Line = dict[str, str]  # of a table, by column


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
) -> Download:
    """Sort a download into SUBMITTED, complete people.csv, and return what became of each file.

    chapter: the only chapter to collect; it is assumed for files whose name shows none. zone: that
    of Moodle's dates, if it is not the course's own. section: collect only its people. Raises
    CourseError, also if nobody in the download is known.
    """
    if system not in SYSTEMS:
        raise CourseError(f"--from must be one of {', '.join(SYSTEMS)}, not {system}")
    if zone and not is_zone(zone):
        raise CourseError(f"--zone: there is no time zone {zone}")
    only, before = course.chapter(chapter).name if chapter else "", len(people.rows)
    people.update(roster)
    zone = zone or course.lateness.zone
    download = Download(source, files_in(source), submitted, course, people, roster, only, zone)
    files = list(SYSTEMS[system](download))
    if not files and not download.others:
        if not download.lost:
            raise CourseError(f"{source} does not look like a download from {system}")
        raise CourseError(f"nobody in {source} is known: {next(iter(download.lost))[1]}")
    wanted = people.in_section(section) if section else frozenset()
    extended = extensions_in(download) if system == "moodle" else {}
    submitted.mkdir(parents=True, exist_ok=True)
    people.save()
    earlier = [line for _, line in read_table(submitted / COLLECTED, LINES)]
    for line in earlier:
        if line["result"].startswith(USED) and line["submission"].isdecimal():
            download.turns[line["student"], line["chapter"]] = int(line["submission"])
    own: dict[str, list[File]] = defaultdict(list)
    for file in files:
        for person in file.people:
            if not wanted or escaped(person["student"]) in wanted:
                own[person["student"]].append(file)
    in_clone = system == "git"  # a repository also holds files that are not submissions
    unnamed = {name: sort_learner(download, name, own[name], in_clone) for name in sorted(own)}
    for student, rest in unnamed.items():
        if rest:
            keep_unnamed(download, student, rest)
    add_notes(download, before, {p["student"] for file in files for p in file.people}, wanted)
    if system in ("moodle", "gradescope"):  # which say who is in a group
        replace_teams(download)
    if system == "moodle":
        replace_extensions(download, extended)
    every = {tuple(o[name] for name in LINES[:4]): o for o in (*earlier, *download.lines)}
    write_table(submitted / COLLECTED, LINES, every.values())
    return download


# --- which files count ---------------------------------------------------------------------------


def sort_learner(download: Download, student: str, files: list[File], in_clone: bool) -> list[File]:
    """Write each chapter of a learner. Return all files if none of them counts.

    in_clone: files of other chapters than the asked one, and text, are not lost.
    """
    names, only = [chapter.name for chapter in download.course.chapters], download.only
    found, counts = candidates_in(files, names, download.course.limits, only), False
    for name in [only] if only else names:
        if chosen := choose(download, student, name, found):
            counts = True
            write_chapter(download, student, name, chosen)
    for one in found.candidates:
        if only and one.chapter != only:
            why = f"it belongs to {one.chapter} by its name, and not to {only}"
            leave_out = download.tell if counts or in_clone else download.lose
            leave_out(one, why, student)
    for file in found.others:
        if file.name.lower().endswith(".zip") and file.shown in found.unopened:
            download.lose(file, "the zip is damaged, or too large", student)
        if counts:
            download.tell(file, NO_CHAPTER, student)
    endings = (".py", ".ipynb") if in_clone else ("",)
    return [] if counts else [o for o in found.others if o.name.lower().endswith(endings)]


def choose(download: Download, student: str, chapter: str, found: Found) -> Chosen:
    """Return the newest readable script and notebook of a chapter, and tell about the others.

    Empty if there is none, or if two different files are equally new.
    """
    chosen: Chosen = {}
    for kind in CODE:
        read: list[tuple[File, bytes]] = []
        for one in found.of(chapter, kind):
            if read and not are_tied(read[0][0], one):
                download.tell(one, f"older than {read[0][0].shown}", student, chapter)
                continue
            try:
                read.append((one, one.read(LARGEST)))
            except NotRead as error:
                download.lose(one, f"it {error}", student, chapter)
        if len({content for _, content in read}) > 1:
            names = " or ".join(brief(one.shown, 90) for one, _ in read[:2])
            why = f"cannot tell which counts of {student}: {names}"
            download.lose(read[0][0], why, student, chapter)
            return {}
        chosen |= {one.counts_as: (one, content) for one, content in read[:1]}
    return chosen


def keep_unnamed(download: Download, student: str, rest: list[File]) -> None:
    """Write the files of a learner of which none counts, so that rows of the chapter name them.

    They replace no file that counts, and need the only chapter of the download.
    """
    chapter = download.chapter
    folder = download.submitted / student / chapter
    may_write = chapter and not any((folder / f"{chapter}.{kind}").exists() for kind in CODE)
    kept: Chosen = {}
    for number, file in enumerate(rest):
        if not may_write or number >= MOST_KEPT:
            download.tell(file, NO_CHAPTER, student)
            continue
        try:
            kept[safe(file.name)] = file, file.read(LARGEST)
        except NotRead as error:
            download.lose(file, f"it {error}", student, chapter)
    if kept:
        write_chapter(download, student, chapter, kept, KEPT)
    advice = f"run again with `--chapter {chapter or 'CHAPTER'}`"
    if download.only:
        advice = "rename the file; of archives, only zips are opened"
    names = brief(", ".join(kept or [file.name for file in rest]), 90)
    told = f"cannot tell which chapter {names} of {brief(student)} belongs to"
    download.notes.append(f"{told}; it will get 0 points. To change this, {advice}")


# --- a learner's folder --------------------------------------------------------------------------


def write_chapter(
    download: Download, student: str, chapter: str, chosen: Chosen, result: str = ""
) -> None:
    """Write a learner's folder of a chapter, unless a newer one is there.

    result: what becomes of the files, if they do not count.
    """
    latest = max((one for one, _ in chosen.values()), key=lambda file: (file.time, file.turn))
    folder, new = download.submitted / student / chapter, {n: c for n, (_, c) in chosen.items()}
    is_older = download.turns.get((student, chapter), 0) > latest.turn > 0
    try:
        done = store(download.submitted, folder, new, latest.submitted, is_older)
    except OSError as error:
        for one, _ in chosen.values():
            why = f"{brief(str(folder), 150)} cannot be written: {error.strerror}"
            download.lose(one, why, student, chapter)
        return
    if not result:
        download.done[escaped(student), chapter] = done, latest.team
    if done == OLDER:
        download.notes.append(f"{brief(str(folder), 150)} is newer, and stays")
    for one, _ in chosen.values():
        team = f"of the group {one.team}" if one.team else ""
        late = "late, says Canvas" if one.late else ""
        told = joined(done if done == OLDER else result or done, team, late)
        download.tell(one, told, student, chapter)


def store(
    submitted: Path, folder: Path, new: dict[str, bytes], time: str, is_older: bool = False
) -> str:
    """Write a folder, unless it has the same files or newer ones; return USED, SAME or OLDER.

    new: the files. time: when they were submitted; "" if unknown. The same files keep the first
    time. is_older: what is there is newer although a time is unknown. An earlier folder is moved to
    `.replaced`. Raises OSError.
    """
    if folder.is_symlink() or folder.parent.is_symlink():
        raise OSError(0, "a link is in its path")
    paths = [path for path in folder.iterdir() if path.name != STAMP] if folder.is_dir() else []
    are_plain = {path: path.is_file() and not path.is_symlink() for path in paths}
    there = {path.name: path.read_bytes() if plain else b"" for path, plain in are_plain.items()}
    at, stamp = submission_time(folder), f"{time}\n".encode()
    if new == there:
        if time and (not at or time < at):
            write_file(folder / STAMP, stamp)
        return SAME
    if at > time if at and time else is_older and folder.is_dir():
        return OLDER
    replace_folder(submitted, folder, new | ({STAMP: stamp} if time else {}))
    return USED


def replace_folder(submitted: Path, folder: Path, new: dict[str, bytes]) -> None:
    """Write a folder as a whole, and move an earlier one to `.replaced`. Raises OSError."""
    made = Path(tempfile.mkdtemp(prefix=".tmp-", dir=submitted))
    try:
        for name, content in new.items():
            write_file(made / name, content)
        folder.parent.mkdir(exist_ok=True)
        made.chmod(folder.parent.stat().st_mode & 0o777)
        if folder.exists():
            own = submitted / REPLACED / folder.parent.name
            own.mkdir(parents=True, exist_ok=True)
            names = (own / f"{folder.name}-{number}" for number in count(1))
            os.replace(folder, next(path for path in names if not path.exists()))
        os.replace(made, folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        raise


@contextmanager
def copy_of(submitted: Path) -> Iterator[Path]:
    """Give a copy of SUBMITTED and people.csv, which is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, submitted.name)
        if submitted.is_dir():
            shutil.copytree(submitted, copy, symlinks=True)
        people = submitted.absolute().parent / PEOPLE
        if people.is_file():
            shutil.copy(people, folder)
        yield copy


# --- notes and tables ----------------------------------------------------------------------------


def add_notes(download: Download, before: int, own: set[str], section: Collection[str]) -> None:
    """Add notes on people.csv, and on people without a file.

    before: the number of people so far. own: people with a file. section: the only people.
    """
    people, roster, notes = download.people.rows, download.roster, download.notes
    notes.append(f"people.csv: {before} as before, {len(people) - before} new")
    if roster.staff:
        notes.append(f"left out: {plural(roster.staff, 'person')} of the staff in the roster")
    listed = {row.person["number"] for row in roster.rows}
    new = {one["student"] for one in people[before:] if one["number"] not in listed}
    students = {one["student"] for one in people}
    absent = {one for one in students if not section or escaped(one) in section} - own
    told = {"not on the roster": new if listed else set()}
    for words, others in sorted(download.others.items()):
        told[words] = absent & {person["student"] for person in others}
    told["submitted nothing"] = absent.difference(*list(told.values())[1:])
    notes += noted(told)


def replace_teams(download: Download) -> None:
    """Write the download's groups into teams.csv, in place of these learners' earlier lines."""
    done = sorted(download.done.items())
    new = [{"student": s, "team": team, "chapter": c} for (s, c), (_, team) in done if team]
    replace_lines(download.submitted / TEAMS, TEAM_COLUMNS, download.done, new)


def replace_extensions(download: Download, extended: dict[str, str]) -> None:
    """Write later deadlines of a chapter into SUBMITTED/extensions.csv, in place of earlier ones.

    extended: by learner, in UTC.
    """
    chapter = download.chapter
    due = download.course.lateness.deadlines.get(chapter)
    if extended and not due:
        why = "extensions in the worksheet are not read: give --chapter, and set a deadline"
        download.notes.append(why)
        return
    later = {who: own for who, own in extended.items() if read_time(own) > read_time(due or own)}
    new = [
        {"student": who, "chapter": chapter, "due": own, "reason": "extension in Moodle"}
        for who, own in later.items()
    ]
    earlier = {(row.student, chapter) for row in download.roster.rows}
    replace_lines(download.submitted / EXTENSIONS, EXTENSION_COLUMNS, earlier, new)
    download.notes += noted({f"extensions from the worksheet, now in {EXTENSIONS}": later})


def replace_lines(
    path: Path, columns: tuple[str, ...], earlier: Collection[About], new: list[Line]
) -> None:
    """Write new lines into a table in place of those on the same learners' chapters."""
    lines = [
        line
        for _, line in read_table(path, columns[:2])
        if (line["student"], line.get("chapter", "")) not in earlier
    ]
    if lines + new or path.is_file():
        write_table(path, columns, lines + new)


def where_files_went(submitted: Path, student: str, chapter: str) -> list[str]:
    """Return what became of a learner's files in all downloads, for a chapter or for none."""
    return [
        f"{line['download']}: {line['file']}: {line['result']}"
        for _, line in read_table(submitted / COLLECTED, LINES)
        if escaped(line["student"]) == student and line["chapter"] in ("", chapter)
    ]


def table(lines: list[Line], zone: str = "") -> Table:
    """Return a table of the lines about files that count or are kept. zone: that of times."""
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("learner", "file", "chapter", "submitted", ""):
        made.add_column(title, overflow="fold")
    for line in lines:
        if line["student"] and not line["result"].startswith("left out"):
            when = in_zone(line["submitted"], zone) or "unknown"
            cells = (line["student"], line["file"], line["chapter"], when, line["result"])
            made.add_row(*(Text(brief(cell, 100)) for cell in cells))  # it is no markup
    return made
