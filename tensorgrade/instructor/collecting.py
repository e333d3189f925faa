"""`tensorgrade collect`: a course system's download becomes `SUBMITTED/<student>/<chapter>/`.

`plan` reads everything and finds every fault, so that `--preview` shows the same as a real run;
submissions.py writes. Any byte of a learner's may cost that learner, and nobody else.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ..course import Course, CourseError
from ..lateness import read_time, zone_named
from ..sources.handins import shown
from ..sources.near_misses import Files, chapter_of, is_given
from ..views.words import plural
from .downloads import Unreadable, read_download
from .folder_names import Claim, safe, unique_folders
from .layouts import LAYOUTS, Learner, Reading, Submitted
from .roster import Roster

Meaning = tuple[str, str]  # a chapter and a kind
Meant = tuple[Submitted, Meaning | None]
ZIP = "zip"
SCRIPTS = ("py", "ipynb")
LARGEST = 16 << 20  # bytes of a file of which nobody knows what it is
MOST_KEPT = 20  # older versions of a file, zips of a learner, and files that mean no chapter
MOST_TOLD = 12  # sentences of a kind
LONGEST_NOTE = 300  # characters: two lines of a wide terminal


@dataclass(frozen=True)
class Place:
    """A file that is to be written: where, for which chapter, and of which kind it is.

    folder: the learner's. chapter: empty for a zip, which grading looks into. kind: of weights
    the name that they should have; empty for what counts as nothing, and is kept under its own
    name. instead_of: other versions that do not count, from the oldest on. too_large: its name
    means a chapter, and no answer has so many bytes.
    """

    submitted: Submitted
    folder: str
    chapter: str
    kind: str
    instead_of: tuple[Submitted, ...] = ()
    too_large: bool = False

    def path(self, submitted: Path) -> Path:
        """Return where it is written."""
        folder = submitted / self.folder / self.chapter
        if self.kind in ("", ZIP):
            return folder / safe(self.submitted.name)
        return folder / counts_as(self)


@dataclass
class Plan:
    """What is to be written, and what is to be said.

    aside: files of learners of whom nothing counts. left_out: sentences on files that are no
    submissions. lost: sentences on submissions that cannot be read, assigned or written. failed:
    how many could not be written.
    """

    places: list[Place] = field(default_factory=list)
    aside: list[Place] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    failed: int = 0

    def told(self) -> list[str]:
        """Return all sentences, each of them short, and few of each kind."""
        return [
            short_note(note)
            for kind in (self.lost, self.notes, self.left_out)
            for note in some_of(kind)
        ]


def plan(
    layout: str, source: Path, course: Course, roster: Roster, chapter: str = "", zone: str = "UTC"
) -> Plan:
    """Return who submitted what, from a download; nothing is written.

    chapter: what a file means if its name does not say. Raises CourseError.
    """
    if layout not in LAYOUTS:
        raise CourseError(f"--from is one of {', '.join(LAYOUTS)}, not {layout}")
    try:
        zone_named(zone)
    except ValueError as error:
        raise CourseError(f"--zone: {error}") from None
    reading = Reading(read_download(source), roster, zone)
    everything = list(LAYOUTS[layout](reading))
    if not everything and not reading.lost:
        raise CourseError(f"{source} holds nothing in the form in which {layout} gives it out")
    folders, notes = folders_of([one.learner for one in everything], roster)
    files = [one for one in everything if not one.entry.is_folder]
    found = Plan(lost=reading.lost + lost_links(reading, course))
    submitted = add_places(found, layout, files, folders, course, chapter)
    empty = {one.learner for one in everything} - {one.learner for one in files}
    on_class = [*notes, *notes_on_times(files)]
    on_class += notes_on_learners(submitted, empty, folders, roster)
    # First what is said once: of the rest only so many are shown.
    found.notes = [*roster.notes, *reading.notes, *on_class, *found.notes]
    found.left_out += reading.left_out + reading.download.notes
    return found


def lost_links(reading: Reading, course: Course) -> list[str]:
    """Return a sentence on links and odd paths whose names mean a chapter."""
    chapters = {chapter.name for chapter in course.chapters}
    lost = [
        path
        for path in reading.download.skipped.paths
        if chapter_of(path.rpartition("/")[2], chapters, course.beside)
    ]
    if not lost:
        return []
    why = "cannot be read, since no link and no odd path is followed"
    return [f"{plural(len(lost), 'file')} of a chapter {why}: {briefly(lost[:2], 90)}"]


def folders_of(learners: Iterable[Learner], roster: Roster) -> tuple[dict[Learner, str], list[str]]:
    """Return each learner's folder, and a note on those whose names lead to the same one.

    A learner on the roster has the folder that the roster gives, which export relies on, unless
    several learners claim that row.
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
        notes.append(f"{plural(len(changed), 'learner')} {why}: {briefly(sorted(changed))}")
    if odd := [safe(one.name) for one in others if safe(one.name) != one.name]:
        notes.append(
            f"{plural(len(odd), 'name')} cannot name a folder and had to be changed: {briefly(odd)}"
        )
    return sure | dict(zip(others, given, strict=True)), notes


def add_places(
    found: Plan,
    layout: str,
    files: list[Submitted],
    folders: dict[Learner, str],
    course: Course,
    chapter: str,
) -> set[Learner]:
    """Add to a plan what each file means, and what is to be said of it.

    Returns the learners who submitted something.
    """
    chapters = {c.name for c in course.chapters}
    meant = [(one, meaning(one, chapters, course.beside)) for one in files]
    if chapter:
        meant = with_chapter(meant, course.chapter(chapter).name)
    most = {"py": course.limits.source_bytes, "ipynb": course.limits.notebook_bytes}
    most |= {name: size for name, (_, size) in course.beside.items()}
    kept: list[Meant] = []
    rest: list[Meant] = []
    for one, m in meant:
        fits = m is not None and one.entry.size <= most.get(m[1], LARGEST)
        (kept if fits else rest).append((one, m))
    found.places = list(newest_of(kept, folders, found))
    counted = {place.submitted.learner for place in found.places}
    submitted = {one.learner for one, _ in kept}
    only = chapter or only_chapter([m for _, m in kept if m])
    aside: dict[Learner, list[Place]] = defaultdict(list)
    for one, m in rest:
        # A repository holds files that nobody submitted.
        is_own = layout != "git" or m is not None or kind_of(one) in SCRIPTS
        why = why_not(one, m is not None)
        submitted |= {one.learner} if is_own else set()
        if m is not None and one.entry.size > LARGEST:
            found.lost.append(f"{why}; it is left out")
        elif not is_own or one.learner in counted or one.entry.size > LARGEST:
            found.left_out.append(f"{why}; it is left out")
        else:
            place = Place(
                one, folders[one.learner], m[0] if m else only, "", too_large=m is not None
            )
            aside[one.learner].append(place)
    for places in aside.values():
        add_aside(found, places, chapter)
    return submitted


def add_aside(found: Plan, places: list[Place], chapter: str) -> None:
    """Add the files of a learner of whom nothing counts to a plan: a bounded number of them."""
    kept = [place for place in places[:MOST_KEPT] if is_readable(place.submitted, found)]
    found.aside += kept
    found.notes += [kept_aside(place, chapter) for place in kept[:3]]
    of_whom = brief(places[0].folder)
    if len(kept) > 3:
        found.notes.append(f"{len(kept) - 3} more files of {of_whom} are kept like these")
    if len(places) > MOST_KEPT:
        more = len(places) - MOST_KEPT
        found.left_out.append(f"{more} more files of {of_whom} mean no chapter, and are left out")


def is_readable(one: Submitted, found: Plan) -> bool:
    """Return True if a file can be read to its end; add a sentence to the plan otherwise."""
    try:
        one.entry.check()
    except Unreadable as error:
        found.lost.append(f"{brief(one.entry.path, 120)} {error}; it is left out")
        return False
    return True


def newest_of(kept: list[Meant], folders: dict[Learner, str], found: Plan) -> Iterator[Place]:
    """Yield of all versions of a file the newest that can be read, by time and by number."""
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
            yield Place(last, folder, chapter, kind, tuple(older))


def age(one: Submitted) -> tuple[float, int, int, str]:
    """Return what versions are sorted by; a browser calls a second copy `name (1).py`."""
    copied = re.search(r"\((\d{1,6})\)", one.name)
    number = int(copied[1]) if copied else 0
    return moment(one.time), one.turn, number, one.entry.path


def moment(submitted: str) -> float:
    """Return a time as a number; the least if there is none."""
    try:
        return read_time(submitted).timestamp()
    except ValueError:
        return 0.0


def meaning(one: Submitted, chapters: set[str], beside: Files) -> Meaning | None:
    """Return the chapter and the kind that a file's name means; a zip has no chapter yet."""
    if one.name.lower().endswith(".zip"):
        return "", ZIP
    if is_given(one.entry.parts):
        return None
    return chapter_of(one.name, chapters, beside)


def with_chapter(meant: list[Meant], chapter: str) -> list[Meant]:
    """Return the same, with the chapter for a learner's only script or notebook of another name.

    Not if another file's name does mean the chapter: that one was meant then.
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
    """Return what a file's name ends in."""
    return one.name.rpartition(".")[2].lower()


def only_chapter(meanings: list[Meaning]) -> str:
    """Return the chapter that all names mean; empty if they mean several."""
    chapters = {chapter for chapter, _ in meanings if chapter}
    return chapters.pop() if len(chapters) == 1 else ""


def why_not(one: Submitted, too_large: bool) -> str:
    """Return why a file counts as nothing."""
    why = "is larger than any answer" if too_large else "means no chapter"
    return f"{brief(one.entry.path, 120)} {why}"


def kept_aside(place: Place, chapter: str) -> str:
    """Return where a file is kept of a learner of whom nothing counts, and what to do about it."""
    why = why_not(place.submitted, place.too_large)
    where = f"{why}; it is kept as {brief(str(place.path(Path())), 120)} and earns nothing"
    if place.too_large:
        return where
    if chapter:
        return f"{where}: `--chapter` takes a learner's only script or notebook; rename it"
    return f"{where}: `--chapter {place.chapter or 'CHAPTER'}` says what it means"


def notes_on_times(files: list[Submitted]) -> list[str]:
    """Return a note on impossible times, which were replaced."""
    replaced = [one for one in files if one.time_note]
    if not replaced:
        return []
    first, count = replaced[0], len({one.learner for one in replaced})
    return [f"impossible times of {plural(count, 'learner')} were replaced: {first.time_note}"]


def notes_on_learners(
    submitted: set[Learner], empty: set[Learner], folders: dict[Learner, str], roster: Roster
) -> list[str]:
    """Return notes on empty folders, on who is not on the roster, and on who submitted nothing."""
    rostered = {learner.row for learner in submitted}
    absent = [folder for n, folder in enumerate(roster.folders) if n not in rostered]
    strange = [folders[learner] for learner in submitted if learner.row is None and roster.rows]
    told = {
        "not on the roster": strange,
        "submitted nothing": absent,
        "submitted an empty folder": [folders[learner] for learner in empty],
    }
    return [f"{words}: {briefly(sorted(names))}" for words, names in told.items() if names]


def briefly(names: Sequence[str], most: int = 45) -> str:
    """Return a few names, and how many more there are. most: characters of each."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(brief(name, most) for name in names[:5]) + more


def brief(name: str, most: int = 45) -> str:
    """Return a name on one line, with its middle left out if it is long."""
    plain = shown(name)
    return plain if len(plain) <= most else f"{plain[: most // 2]}…{plain[-(most // 2) :]}"


def short_note(note: str) -> str:
    """Return a note of two lines at most."""
    return note if len(note) <= LONGEST_NOTE else f"{note[: LONGEST_NOTE - 1]}…"


def some_of(sentences: list[str]) -> list[str]:
    """Return the first of them, and how many more there are: a repository holds hundreds of files.

    >>> some_of(["a"] * 14)[-1]
    '… and 2 more like these'
    """
    more = len(sentences) - MOST_TOLD
    return sentences[:MOST_TOLD] + ([f"… and {more} more like these"] if more > 0 else [])


def table(found: Plan) -> Table:
    """Return a line for every file that is to be written: who is who."""
    shown_as = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("learner", "known as", "file", "counts as", "submitted", ""):
        shown_as.add_column(title, overflow="fold")
    for place in found.places + found.aside:
        one = place.submitted
        older = f"older: {briefly([*map(version_name(one), place.instead_of)], 90)}"
        when = one.time or "unknown"
        remarks = (one.remark, one.time_note, older if place.instead_of else "")
        cells = (place.folder, one.learner.known_as, one.name, counts_as(place), when)
        shorter = [*(brief(cell, 100) for cell in cells), "; ".join(filter(None, remarks))]
        shown_as.add_row(*(Text(shown(cell)) for cell in shorter))  # no markup of a learner's
    return shown_as


def version_name(counted: Submitted) -> Callable[[Submitted], str]:
    """Return what names versions: their path, if the one that counts has the same name."""
    return lambda one: one.entry.path if one.name == counted.name else one.name


def counts_as(place: Place) -> str:
    """Return what grading takes a file for."""
    if place.kind in ("", ZIP):
        return "a zip" if place.kind else "nothing"
    return f"{place.chapter}.{place.kind}" if place.kind in SCRIPTS else place.kind
