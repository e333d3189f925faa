"""`tensorgrade collect`: sort a course system's download into `SUBMITTED/<student>/<chapter>/`.

`plan` reads everything and finds every fault, so that `--preview` shows the same as a real run;
write_submissions.py writes. A malformed file of a learner never affects other learners.
"""

import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ..course import Course, CourseError
from ..lateness import in_zone, is_zone, read_time
from ..sources.near_misses import (
    MEMBER,
    METHODS,
    MOST_MEMBERS,
    NO_ARCHIVE,
    chapter_of,
    is_given,
    members_of,
)
from ..sources.submitted_files import escaped, shown
from ..views.words import plural
from .downloads import Entry, Unreadable, read_download
from .folder_names import Claim, safe, unique_folders
from .layouts import LAYOUTS, SUBMITTED_AT, Learner, Reading, Submitted
from .roster import NAMED_BY, Roster
from .sections import learners_in

Meaning = tuple[str, str]  # a chapter and a kind
Meant = tuple[Submitted, Meaning | None]
ZIP = "zip"
ASIDE = ".set_aside"  # a hidden folder, which grading ignores
DAMAGED_ZIP = "is a damaged zip"
SCRIPTS = ("py", "ipynb")
LARGEST = 16 << 20  # bytes of a file of unknown kind
MOST_KEPT = 20  # older versions of a file, zips of a learner, and files without a chapter
MOST_TOLD = 12  # sentences of a kind
LONGEST_NOTE = 300  # characters: two lines of a wide terminal


@dataclass(frozen=True)
class PlannedFile:
    """A file to write, and its meaning for grading.

    folder: the learner's folder name. chapter: empty for a zip, which grading opens. kind: `py`,
    `ipynb` or ZIP. It is empty if the file does not count; then the file keeps its own name.
    instead_of: other versions, oldest first, that do not count. fault: the reason why a file with a
    clear name does not count.
    """

    submitted: Submitted
    folder: str
    chapter: str
    kind: str
    instead_of: tuple[Submitted, ...] = ()
    fault: str = ""

    def path(self, submitted: Path) -> Path:
        """Return the path at which the file is written."""
        folder = submitted / self.folder / self.chapter
        if self.fault == OTHER_CHAPTER:
            return folder / ASIDE / safe(self.submitted.name)
        if self.kind in ("", ZIP):
            return folder / safe(self.submitted.name)
        return folder / counts_as(self)


@dataclass
class Plan:
    """The files to write and the sentences to print.

    layout: the course system. places: files that count. aside: files that are written but do not
    count: those of learners without any file that counts, and those of another chapter. notes,
    left_out, lost: sentences about learners, about files that are not submissions, and about
    submissions that cannot be read, assigned or written. failed: the number of files that could not
    be written. stayed: the number of files that were not written, because a newer version stays.
    teams: the team of each member, by learner and chapter.
    """

    layout: str = ""
    places: list[PlannedFile] = field(default_factory=list)
    aside: list[PlannedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    failed: int = 0
    stayed: int = 0
    teams: dict[tuple[str, str], str] = field(default_factory=dict)

    def told(self) -> list[str]:
        """Return all sentences, shortened, and at most a few of each kind."""
        return [
            short_note(note)
            for kind in (self.lost, self.notes, self.left_out)
            for note in some_of(kind)
        ]


def plan(
    layout: str,
    source: Path,
    course: Course,
    roster: Roster,
    chapter: str = "",
    zone: str = "",
    date_order: str = "",
    section: str = "",
) -> Plan:
    """Return the submissions in a download; write nothing.

    chapter: the only chapter to collect; it is assumed for files whose name shows none. zone,
    date_order: settings for Moodle's worksheet, if they differ from those of the course and of the
    dates. section: the only section of the roster to collect. Raises CourseError.
    """
    if layout not in LAYOUTS:
        raise CourseError(f"--from must be one of {', '.join(LAYOUTS)}, not {layout}")
    if zone and not is_zone(zone):
        raise CourseError(f"--zone: there is no time zone {zone}")
    if date_order not in ("", "dmy", "mdy"):
        raise CourseError(f"--date-order must be dmy or mdy, not {date_order}")
    only = course.chapter(chapter).name if chapter else ""
    zone = zone or course.lateness.zone
    reading = Reading(read_download(source), roster, zone, date_order)
    everything = list(LAYOUTS[layout](reading))
    if not everything and not reading.lost:
        raise CourseError(f"{source} does not look like a download from {layout}")
    learners = [*(one.learner for one in everything), *sorted(reading.texts, key=by_id)]
    folders, notes = folders_of(learners, roster)
    if own := learners_in(roster, section):
        others = {learner for learner, folder in folders.items() if escaped(folder) not in own}
        everything = [one for one in everything if one.learner not in others]
        reading.texts.difference_update(others)
        if others:
            reading.left_out.append(f"left out: {plural(len(others), 'learner')} of other sections")
    files = [one for one in everything if not one.entry.is_folder]
    found = Plan(layout, lost=reading.lost + lost_links(reading, course))
    check_roster(learners, roster)
    if layout == "moodle":
        check_dates(course, roster)
    submitted = add_places(found, files, folders, course, only)
    found.teams = {  # a zip of unknown chapters is about all of them
        (escaped(place.folder), place.chapter or only): place.submitted.team
        for place in found.places
        if place.submitted.team
    }
    empty = {one.learner for one in everything} - {one.learner for one in files}
    on_class = [*notes, *notes_on_times(files), *notes_on_unknown_times(found, course, roster)]
    on_class += notes_on_learners(submitted, reading.texts, empty, roster, folders, own)
    # First the notes that occur once, because only a limited number of the others is shown.
    found.notes = [*roster.notes, *reading.notes, *on_class, *found.notes]
    found.left_out += reading.left_out + reading.download.notes
    return found


def check_roster(learners: Sequence[Learner], roster: Roster) -> None:
    """Raise CourseError if several learners are in the download, but none is on the roster."""
    people = set(learners)
    if len(people) < 2 or not roster.rows or any(one.row is not None for one in people):
        return
    there, listed = brief(learners[0].id or learners[0].known_as), roster.rows[0]
    cells = [f"{name}: {brief(listed[name])}" for name in NAMED_BY if listed.get(name)]
    raise CourseError(
        f"none of the {len(people)} learners in the download is on the roster. The "
        f"download has {there}; the roster has {', '.join(cells)}, and the columns "
        f"{', '.join(roster.header)}"
    )


def check_dates(course: Course, roster: Roster) -> None:
    """Raise CourseError if the course has deadlines, but the worksheet has no submission times."""
    if course.lateness.deadlines and roster.rows and SUBMITTED_AT not in roster.columns:
        raise CourseError(
            "the worksheet has no column with submission times, so no submission would be late; "
            f"it has {', '.join(roster.header)}"
        )


def lost_links(reading: Reading, course: Course) -> list[str]:
    """Return a sentence on links and odd paths whose names match a chapter."""
    chapters = {chapter.name for chapter in course.chapters}
    lost = [
        path
        for path in reading.download.skipped.paths
        if chapter_of(path.rpartition("/")[2], chapters)
    ]
    if not lost:
        return []
    why = "were not read, because links and unusual paths are not followed"
    return [f"{plural(len(lost), 'file')} of a chapter {why}: {some_names(lost[:2], 90)}"]


def folders_of(learners: Iterable[Learner], roster: Roster) -> tuple[dict[Learner, str], list[str]]:
    """Return each learner's folder, and notes on names that collide or had to be changed.

    A learner on the roster gets the folder that the roster gives, because export relies on it. This
    does not apply if several learners claim that row.
    """
    once = list(dict.fromkeys(learners))
    claims = Counter(one.row for one in once)
    sure = {
        one: roster.folders[one.row] for one in once if one.row is not None and claims[one.row] == 1
    }
    others = [one for one in once if one not in sure]
    wanted = [
        Claim(one.name if one.row is None else roster.folders[one.row], one.tag or one.id, one.id)
        for one in others
    ]
    given = unique_folders(wanted, roster.folders)
    changed = [
        folder for claim, folder in zip(wanted, given, strict=True) if folder != safe(claim.name)
    ]
    notes = []
    if changed:
        why = "would share a folder name with another, so their ids are added"
        notes.append(f"{plural(len(changed), 'learner')} {why}: {some_names(sorted(changed))}")
    if odd := [safe(one.name) for one in others if safe(one.name) != one.name]:
        notes.append(
            f"{plural(len(odd), 'name')} cannot be folder names and were changed: {some_names(odd)}"
        )
    return sure | dict(zip(others, given, strict=True)), notes


def add_places(
    found: Plan,
    files: list[Submitted],
    folders: dict[Learner, str],
    course: Course,
    chapter: str,
) -> set[Learner]:
    """Add the files to a plan, with sentences on those that do not count.

    Returns the learners who submitted something.
    """
    chapters = {c.name for c in course.chapters}
    meant = [(one, meaning(one, chapters)) for one in files]
    submitted: set[Learner] = set()
    if chapter:
        meant = with_chapter(meant, chapter)
        meant, others = split_by_chapter(meant, chapter, course, found.notes)
        submitted = set_aside(found, others, folders, chapter)
    most = {"py": course.limits.source_bytes, "ipynb": course.limits.notebook_bytes}
    faults = [fault_of(one, m, most) for one, m in meant]
    kept = [pair for pair, fault in zip(meant, faults, strict=True) if pair[1] and not fault]
    rest = [(*pair, f) for pair, f in zip(meant, faults, strict=True) if f or not pair[1]]
    found.places = list(newest_of(kept, folders, found))
    counted = {place.submitted.learner for place in found.places}
    submitted |= {one.learner for one, _ in kept}
    named = {m[0] for _, m in kept if m and m[0]}
    only = chapter or (named.pop() if len(named) == 1 else "")
    aside: dict[Learner, list[PlannedFile]] = defaultdict(list)
    for one, m, fault in rest:
        # A repository also holds files that are not submissions.
        is_own = found.layout != "git" or m is not None or kind_of(one) in SCRIPTS
        why = f"{brief(one.entry.path, 120)} {fault or 'does not name a chapter'}"
        submitted |= {one.learner} if is_own else set()
        is_kept = is_own and one.learner not in counted and one.entry.size <= LARGEST
        if fault == DAMAGED_ZIP or (fault and one.entry.size > LARGEST):
            found.lost.append(f"{why}; {'nothing in it counts' if is_kept else 'it is left out'}")
        elif not is_kept:
            found.left_out.append(f"{why}; it is left out")
        if is_kept:
            place = PlannedFile(one, folders[one.learner], m[0] if m else only, "", fault=fault)
            aside[one.learner].append(place)
    for places in aside.values():
        add_aside(found, places, chapter)
    return submitted


def fault_of(one: Submitted, m: Meaning | None, most: dict[str, int]) -> str:
    """Return the reason why a file with a clear name does not count; "" if it does.

    most: limits in bytes by kind.
    """
    if m is None:
        return ""
    if one.entry.size > most.get(m[1], LARGEST):
        return "is larger than any answer"
    return DAMAGED_ZIP if m[1] == ZIP and is_damaged_zip(one.entry) else ""


Other = tuple[Submitted, list[str]]  # with the chapters that match its name or the names in a zip
OTHER_CHAPTER = "belongs to another chapter"


def split_by_chapter(
    meant: list[Meant], chapter: str, course: Course, notes: list[str]
) -> tuple[list[Meant], list[Other]]:
    """Return the files that may belong to the collected chapter, and those of other chapters.

    From a zip with several chapters, only that chapter's part is collected, with a note.
    """
    own: list[Meant] = []
    others: list[Other] = []
    for one, m in meant:
        found = {m[0]} if m and m[0] else set()
        if m and m[1] == ZIP:
            found, one = part_of_zip(one, chapter, course)
        strange = sorted(found - {chapter})
        if not strange:
            own.append((one, m))
        elif chapter not in found:
            others.append((one, strange))
        else:
            own.append((one, m))
            notes.append(f"{brief(one.entry.path, 120)} holds {', '.join(strange)}, left out")
    return own, others


def part_of_zip(one: Submitted, chapter: str, course: Course) -> tuple[set[str], Submitted]:
    """Return the chapters that match names in a zip, and the zip without files of other chapters.

    An unreadable zip matches none. Later steps report it.
    """
    names = {c.name for c in course.chapters}
    try:
        content = one.entry.read()
        if content.count(MEMBER) > MOST_MEMBERS:
            return set(), one
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            meant = [
                (info, chapter_of(info.filename.rpartition("/")[2], names))
                for info in archive.infolist()
            ]
            found = {m[0] for _, m in meant if m}
            if not found - {chapter} or chapter not in found:
                return found, one
            own = [info for info, m in meant if m is None or m[0] == chapter]
            rest = zip_of(archive, own, course.limits.file_bytes)
    except (Unreadable, *NO_ARCHIVE):
        return set(), one
    return found, replace(one, entry=Entry(one.entry.path, len(rest), lambda: io.BytesIO(rest)))


def zip_of(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], left: int) -> bytes:
    """Return a zip of some members, without unreadable ones. left: the most bytes to unpack."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for info in members:
            left -= info.file_size
            if info.is_dir() or info.compress_type not in METHODS or left < 0:
                continue
            with suppress(*NO_ARCHIVE):
                new.writestr(info.filename, archive.read(info))
    return out.getvalue()


def set_aside(
    found: Plan, others: list[Other], folders: dict[Learner, str], chapter: str
) -> set[Learner]:
    """Plan to write files of other chapters where they replace nothing; return their learners.

    The place is `.set_aside`, which grading ignores. A repository normally holds all chapters, so
    its files of other chapters are left out, and no learners are returned.
    """
    if found.layout == "git":
        names = f"{plural(len(others), 'file')} of other chapters"
        found.left_out += [f"{names} than {chapter}"] if others else []
        return set()
    count: Counter[str] = Counter()
    for one, named in others:
        folder = folders[one.learner]
        count[folder] += 1
        what = f"{brief(one.entry.path, 120)} belongs to {', '.join(named)} by its name"
        if count[folder] > MOST_KEPT or one.entry.size > LARGEST:
            found.lost.append(f"{what}, and not to {chapter}. It is left out")
        elif is_readable(one, found):
            found.lost.append(
                f"{what}, and not to {chapter}. It is set aside and counts for nothing"
            )
            found.aside.append(PlannedFile(one, folder, chapter, "", fault=OTHER_CHAPTER))
    return {one.learner for one, _ in others}


def is_damaged_zip(entry: Entry) -> bool:
    """Return True if the content can be read and is not a zip."""
    try:
        return members_of(entry.read()) is None
    except Unreadable:
        return False  # is_readable reports the reason


def add_aside(found: Plan, places: list[PlannedFile], chapter: str) -> None:
    """Add up to MOST_KEPT files of one learner, which are written although they do not count."""
    kept = [place for place in places[:MOST_KEPT] if is_readable(place.submitted, found)]
    found.aside += kept
    found.notes += [no_points(p, chapter) for p in kept[:3] if p.fault != DAMAGED_ZIP]
    of_whom = brief(places[0].folder)
    if len(kept) > 3:
        found.notes.append(f"{len(kept) - 3} more files of {of_whom} will get 0 points as well")
    if len(places) > MOST_KEPT:
        more = len(places) - MOST_KEPT
        found.left_out.append(f"{more} more files of {of_whom} do not count, and are left out")


def is_readable(one: Submitted, found: Plan) -> bool:
    """Return True if a file can be read completely; otherwise add a sentence to the plan."""
    try:
        one.entry.check()
    except Unreadable as error:
        found.lost.append(f"{brief(one.entry.path, 120)} {error}; it is left out")
        return False
    return True


def newest_of(kept: list[Meant], folders: dict[Learner, str], found: Plan) -> Iterator[PlannedFile]:
    """Yield the newest readable version of each file of each learner.

    Versions are sorted by time, then by the number that a browser adds to a name.
    """
    versions: dict[tuple, list[Submitted]] = defaultdict(list)
    for one, m in kept:
        chapter, kind = m or ("", "")
        name = "" if chapter else safe(one.name)  # zips may hold different chapters
        versions[folders[one.learner], chapter, kind, name].append(one)
    zips: Counter[str] = Counter()
    for (folder, chapter, kind, _), of_one in sorted(versions.items()):
        zips[folder] += kind == ZIP
        if kind == ZIP and zips[folder] > MOST_KEPT:
            if zips[folder] == MOST_KEPT + 1:
                why = f"has over {MOST_KEPT} zips; the others are left out"
                found.lost.append(f"{brief(folder)} {why}")
            continue
        readable = [one for one in sorted(of_one, key=age)[-MOST_KEPT:] if is_readable(one, found)]
        if len(of_one) > MOST_KEPT:
            more = len(of_one) - MOST_KEPT
            found.left_out.append(f"{more} older versions of {brief(folder)} are left out")
        if readable:
            *older, last = readable
            yield PlannedFile(last, folder, chapter, kind, tuple(older))


def by_id(learner: Learner) -> str:
    """Return the sort key of learners."""
    return learner.id


def age(one: Submitted) -> tuple[float, int, int, str]:
    """Return the sort key of versions; a browser names a second copy `name (1).py`."""
    copied = re.search(r"\((\d{1,6})\)", one.name)
    number = int(copied[1]) if copied else 0
    return moment(one.time), one.turn, number, one.entry.path


def moment(submitted: str) -> float:
    """Return a time in seconds since 1970; 0 if the text is not a time."""
    try:
        return read_time(submitted).timestamp()
    except ValueError:
        return 0.0


def meaning(one: Submitted, chapters: set[str]) -> Meaning | None:
    """Return the chapter and the kind that a file's name shows; a zip has no chapter yet."""
    if one.name.lower().endswith(".zip"):
        return "", ZIP
    if is_given(one.entry.parts):
        return None
    return chapter_of(one.name, chapters)


def with_chapter(meant: list[Meant], chapter: str) -> list[Meant]:
    """Assign the chapter to files whose name shows none, and return all files.

    Only a learner's single script and single notebook are assigned. Nothing is assigned if the
    learner has another file whose name shows this chapter.
    """
    known = {one.learner for one, m in meant if m and m[0] == chapter and m[1] in SCRIPTS}
    unnamed = Counter(
        (one.learner, kind_of(one)) for one, m in meant if m is None and kind_of(one) in SCRIPTS
    )

    def taken(one: Submitted, m: Meaning | None) -> Meaning | None:
        kind = kind_of(one)
        is_only = unnamed[one.learner, kind] == 1 and one.learner not in known
        return (chapter, kind) if m is None and is_only and kind in SCRIPTS else m

    return [(one, taken(one, m)) for one, m in meant]


def kind_of(one: Submitted) -> str:
    """Return the ending of a file's name."""
    return one.name.rpartition(".")[2].lower()


def no_points(place: PlannedFile, chapter: str) -> str:
    """Return the reason why a file in `aside` gets no points, and how to change that."""
    file = brief(place.submitted.entry.path, 120)
    if place.fault:
        return f"{file} {place.fault}; it will get 0 points"
    if kind_of(place.submitted) in ("rar", "7z", "tar", "tgz", "gz", "bz2", "xz"):
        only = "only zips are opened. Ask for a zip or for the file itself"
        return f"{file} is an archive that stays closed, because {only}; it will get 0 points"
    why = f"cannot tell which chapter {file} belongs to; it will get 0 points"
    if chapter:
        only = "`--chapter` works only for a learner's single script or notebook"
        return f"{why}. {only}; rename the file"
    if place.chapter:
        return f"{why}. If it is {place.chapter}, run again with `--chapter {place.chapter}`"
    return f"{why}. Run again with `--chapter CHAPTER`, with the name of its chapter"


def notes_on_times(files: list[Submitted]) -> list[str]:
    """Return a note on impossible times, which were replaced."""
    replaced = [one for one in files if one.time_note]
    if not replaced:
        return []
    first, count = replaced[0], len({one.learner for one in replaced})
    return [f"impossible times of {plural(count, 'learner')} were replaced: {first.time_note}"]


def notes_on_unknown_times(found: Plan, course: Course, roster: Roster) -> list[str]:
    """Return a note on files that will never be late, although their chapter has a deadline."""
    due = course.lateness.deadlines
    unknown = [
        place
        for place in found.places
        if not place.submitted.time and (place.chapter in due or (due and place.kind == ZIP))
    ]
    if not unknown:
        return []
    advice = "to set a time, write it into timestamp.txt in the chapter's folder"
    if found.layout == "moodle" and not roster.rows:
        advice = "give Moodle's grading worksheet with --roster"
    count = plural(len(unknown), "file")
    return [f"the submission times of {count} are unknown, so they will not be late; {advice}"]


def notes_on_learners(
    submitted: set[Learner],
    texts: set[Learner],
    empty: set[Learner],
    roster: Roster,
    folders: dict[Learner, str],
    section: Collection[str],
) -> list[str]:
    """Return notes on learners without a file, and on learners who are not on the roster.

    section: the only learners that are collected; all if empty. texts, empty: learners with an
    online text, and with a folder that holds no file to collect.
    """
    known = {learner.row for learner in submitted | texts | empty}
    absent = [folder for n, folder in enumerate(roster.folders) if n not in known]
    absent = [folder for folder in absent if not section or escaped(folder) in section]
    strange = [folders[learner] for learner in submitted if learner.row is None and roster.rows]
    only_text = texts - submitted
    told = {
        "not on the roster": strange,
        "submitted nothing": absent,
        "submitted only an online text or link, which is not collected": [
            folders[x] for x in only_text
        ],
        "submitted no file that is collected": [folders[x] for x in empty - submitted - only_text],
    }
    return [f"{words}: {some_names(sorted(names))}" for words, names in told.items() if names]


def some_names(names: Sequence[str], most: int = 45) -> str:
    """Return a few names and the number of the others. most: characters of each name."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(brief(name, most) for name in names[:5]) + more


def brief(name: str, most: int = 45) -> str:
    """Return a name on one line, with its middle left out if it is long."""
    plain = shown(name)
    return plain if len(plain) <= most else f"{plain[: most // 2]}…{plain[-(most // 2) :]}"


def short_note(note: str) -> str:
    """Return a note shortened to two lines."""
    return note if len(note) <= LONGEST_NOTE else f"{note[: LONGEST_NOTE - 1]}…"


def some_of(sentences: list[str]) -> list[str]:
    """Return the first MOST_TOLD sentences, and a line with the number of the others.

    >>> some_of(["a"] * 14)[-1]
    '… and 2 more like these'
    """
    more = len(sentences) - MOST_TOLD
    return sentences[:MOST_TOLD] + ([f"… and {more} more like these"] if more > 0 else [])


def table(found: Plan, zone: str = "") -> Table:
    """Return a table with a line for every file to be written. zone: the time zone of times."""
    shown_as = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("learner", "known as", "file", "counts as", "submitted", ""):
        shown_as.add_column(title, overflow="fold")
    for place in found.places + found.aside:
        one = place.submitted
        versions = [v.entry.path if v.name == one.name else v.name for v in place.instead_of]
        older = f"older: {some_names(versions, 90)}"
        when = in_zone(one.time, zone) or "unknown"
        remarks = (one.remark, one.time_note, older if place.instead_of else "")
        cells = (place.folder, one.learner.known_as, one.name, counts_as(place), when)
        shorter = [*(brief(cell, 100) for cell in cells), "; ".join(filter(None, remarks))]
        shown_as.add_row(*(Text(shown(cell)) for cell in shorter))  # a learner's text is not markup
    return shown_as


def counts_as(place: PlannedFile) -> str:
    """Return the name under which grading uses a file."""
    if place.fault == DAMAGED_ZIP:
        return "a damaged zip"
    if place.kind in ("", ZIP):
        return "a zip" if place.kind else "nothing"
    return f"{place.chapter}.{place.kind}"
