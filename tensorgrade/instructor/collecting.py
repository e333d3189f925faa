"""`tensorgrade collect`: a course system's download becomes `SUBMITTED/<student>/<chapter>/`."""

import os
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from ..course import Course, CourseError
from ..lateness import read_time, zone_named
from ..sources.finding import named
from ..sources.handins import NO_STAMP, STAMP, shown
from ..sources.near_misses import Files, chapter_of, is_given
from .layouts import LAYOUTS, Arrived, Download, pieces_in
from .roster import Roster

Meant = tuple[Arrived, tuple[str, str] | None]  # a file; the chapter and the kind that it means
OLDER = ".older"  # where versions stay that count no more; grading looks into nothing hidden
ZIP = "zip"


@dataclass(frozen=True)
class Place:
    """A file that is to be written: whose, for which chapter, and of which kind it is.

    chapter: empty for a zip, which grading looks into. kind: of weights the name that they should
    have; empty for what counts as nothing, and is kept under its own name. instead_of: other
    versions that do not count, from the oldest on.
    too_large: its name means a chapter, and no answer has so many bytes.
    """

    arrived: Arrived
    chapter: str
    kind: str
    instead_of: tuple[Arrived, ...] = ()
    too_large: bool = False

    def path(self, submitted: Path) -> Path:
        """Where it is written."""
        folder = submitted / safe(self.arrived.student) / self.chapter
        if self.kind in ("", ZIP):
            return folder / safe(self.arrived.name)
        return folder / counts_as(self)


@dataclass(frozen=True)
class Plan:
    """places: what is to be written. left_out: sentences on what is not. notes: others. aside: what
    is kept for learners of whom nothing counts.
    """

    places: list[Place]
    left_out: list[str]
    notes: list[str]
    aside: list[Place]


def plan(
    layout: str, source: Path, course: Course, roster: Roster, chapter: str = "", zone: str = "UTC"
) -> Plan:
    """Who handed in what, from a download; nothing is written.

    chapter: what a file means whose name does not say. Raises CourseError.
    """
    if layout not in LAYOUTS:
        raise CourseError(f"--from is one of {', '.join(LAYOUTS)}, not {layout}")
    try:
        zone_named(zone)
    except ValueError as error:
        raise CourseError(f"--zone: {error}") from None
    download = Download(pieces_in(source), roster, zone)
    arrived = [one for one in LAYOUTS[layout](download) if one.student]
    if not arrived:
        raise CourseError(f"{source} holds nothing in the form in which {layout} gives it out")
    chapters = {c.name for c in course.chapters}
    meant = [(one, meaning(one, chapters, course.beside)) for one in arrived]
    if chapter:
        meant = with_chapter(meant, course.chapter(chapter).name)
    return placed(layout, meant, course, roster, chapter)


def placed(layout: str, meant: list[Meant], course: Course, roster: Roster, chapter: str) -> Plan:
    """What is written of files of which it is known what they mean, and what is to be told."""
    most = {"py": course.limits.source_bytes, "ipynb": course.limits.notebook_bytes}
    most |= {name: size for name, (_, size) in course.beside.items()}
    kept = [(one, *m) for one, m in meant if m and one.piece.size <= most.get(m[1], LARGEST)]
    rest = [(one, m) for one, m in meant if (one, *(m or ())) not in kept]
    # A repository holds files that nobody handed in.
    own = [one for one, m in rest if layout != "git" or m or kind_of(one) in SCRIPTS]
    counted = {one.student for one, *_ in kept}
    aside = [
        Place(one, m[0] if m else chapter or only_chapter(kept), "", too_large=m is not None)
        for one, m in rest
        if one in own and one.student not in counted and one.piece.size <= LARGEST
    ]
    here = [place.arrived for place in aside]
    left = [f"{why_not(one, bool(m))}; it is left out" for one, m in rest if one not in here]
    notes = notes_on([one for one, *_ in kept] + own, roster)
    return Plan(newest_of(kept), left, notes + [kept_aside(p, chapter) for p in aside], aside)


SCRIPTS = ("py", "ipynb")
LARGEST = 16 << 20  # bytes of a file of which nobody knows what it is


MOST_TOLD = 12


def some_of(sentences: list[str]) -> list[str]:
    """The first of them, and how many more there are: a repository holds hundreds of files."""
    more = len(sentences) - MOST_TOLD
    return sentences[:MOST_TOLD] + ([f"… and {more} more like these"] if more > 0 else [])


def kind_of(arrived: Arrived) -> str:
    """What a file's name ends in."""
    return arrived.name.rpartition(".")[2].lower()


def only_chapter(kept: list[tuple[Arrived, str, str]]) -> str:
    """The chapter that all files mean whose names say one; empty where they are of several."""
    chapters = {chapter for _, chapter, _ in kept if chapter}
    return chapters.pop() if len(chapters) == 1 else ""


def why_not(arrived: Arrived, too_large: bool) -> str:
    """Why a file counts as nothing."""
    why = "is larger than any answer" if too_large else "means no chapter"
    return f"{shown(arrived.piece.path)} {why}"


def kept_aside(place: Place, chapter: str) -> str:
    """Where a file is kept of whose learner nothing counts, and what to do about it."""
    why = why_not(place.arrived, place.too_large)
    where = f"{why}; it is kept as {shown(str(place.path(Path())))} and earns nothing"
    if place.too_large:
        return where
    if chapter:
        return f"{where}: `--chapter` takes a learner's only script or notebook; rename it"
    return f"{where}: `--chapter {place.chapter or 'CHAPTER'}` says what it means"


def meaning(arrived: Arrived, chapters: set[str], beside: Files) -> tuple[str, str] | None:
    """The chapter and the kind that a file's name means; a zip has no chapter yet."""
    if arrived.name.lower().endswith(".zip"):
        return "", ZIP
    if is_given(arrived.piece.parts):
        return None
    return chapter_of(arrived.name, chapters, beside)


def with_chapter(meant: list[Meant], chapter: str) -> list[Meant]:
    """The same, where a learner's only script or notebook means the chapter whatever its name.

    Not beside a file whose name does mean it: whoever named one so meant that one.
    """
    unknown: dict[tuple[str, str], list[Arrived]] = defaultdict(list)
    for one, m in meant:
        if m is None and kind_of(one) in SCRIPTS:
            unknown[one.student, kind_of(one)].append(one)
    known = {one.student for one, m in meant if m and m[0] == chapter and m[1] in SCRIPTS}
    only = {
        (student, of_kind[0].piece.path): (chapter, kind)
        for (student, kind), of_kind in unknown.items()
        if len(of_kind) == 1 and student not in known
    }
    return [(one, m or only.get((one.student, one.piece.path))) for one, m in meant]


def newest_of(kept: list[tuple[Arrived, str, str]]) -> list[Place]:
    """Of all versions of a file the newest: by time, by number (the system's, a copy's)."""
    versions: dict[tuple, list[Arrived]] = defaultdict(list)
    for one, chapter, kind in kept:
        name = one.name if not chapter else ""  # zips may hold different chapters
        versions[one.student, chapter, kind, name].append(one)
    places = []
    for (_, chapter, kind, _), of_one in sorted(versions.items()):
        *older, last = sorted(of_one, key=age)
        places.append(Place(last, chapter, kind, tuple(older)))
    return places


def age(arrived: Arrived) -> tuple[float, int, int, str]:
    """What versions of a file are put in order by; a browser calls a second copy `name (1).py`."""
    copied = re.search(r"\((\d{1,6})\)", arrived.name)
    number = int(copied[1]) if copied else 0
    return moment(arrived.submitted), arrived.turn, number, arrived.piece.path


def moment(submitted: str) -> float:
    """A time as a number; of no time, the least."""
    return read_time(submitted).timestamp() if submitted else 0.0


def notes_on(arrived: list[Arrived], roster: Roster) -> list[str]:
    """Who is not on the roster, who handed in nothing, and names that two people share."""
    people: dict[str, set[str]] = defaultdict(set)
    for one in arrived:
        people[safe(one.student)].add(one.known_as)
    shared = [
        f"{name} is several people: {named(sorted(k))}"
        for name, k in people.items()
        if k and len(k) > 1
    ]
    if not roster.names:
        return shared
    strange = sorted(people.keys() - {safe(name) for name in roster.names})
    absent = sorted({safe(name) for name in roster.names} - people.keys())
    told = [(strange, "not on the roster"), (absent, "handed in nothing")]
    return shared + [f"{words}: {named(names)}" for names, words in told if names]


def safe(name: str) -> str:
    """A name that is one folder's, and no other place's.

    >>> safe("../ada"), safe(".hidden"), safe("Ada Lovelace_1"), safe("a@b.org")
    ('_._ada', '_hidden', 'Ada Lovelace_1', 'a@b.org')
    """
    plain = re.sub(r"[/\\\0\n\r\t]", "_", name).strip()
    return f"_{plain[1:]}" if plain.startswith(".") else plain or "_"


def table(found: Plan) -> Table:
    """Who is who: a line for every file that is to be written."""
    shown_as = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("learner", "known as", "file", "counts as", "handed in", ""):
        shown_as.add_column(title, overflow="fold")
    for place in found.places + found.aside:
        one = place.arrived
        older = f"older: {', '.join(map(told_apart(one), place.instead_of))}"
        target = counts_as(place)
        when = one.submitted or "unknown"
        remark = "; ".join(filter(None, (one.remark, older if place.instead_of else "")))
        cells = (safe(one.student), one.known_as, one.name, target, when, remark)
        shown_as.add_row(*(shown(cell).replace("[", "\\[") for cell in cells))
    return shown_as


def told_apart(counted: Arrived) -> Callable[[Arrived], str]:
    """What versions are called: by their path, where the one that counts has the same name."""
    return lambda one: one.piece.path if one.name == counted.name else one.name


def counts_as(place: Place) -> str:
    """What grading takes a file for."""
    if place.kind in ("", ZIP):
        return "a zip" if place.kind else "nothing"
    return f"{place.chapter}.{place.kind}" if place.kind in SCRIPTS else place.kind


def write(found: Plan, submitted: Path) -> list[str]:
    """Write what was found; returns notes on what was kept instead. Raises CourseError.

    What is there already and differs stays beside it, and stays what counts if it is newer.
    """
    notes = []
    try:
        for place in found.places + found.aside:
            notes += write_one(place, place.path(submitted))
    except OSError as error:
        raise CourseError(f"{submitted} cannot be written: {error.strerror}") from None
    return notes


def write_one(place: Place, path: Path) -> list[str]:
    """Write one file and when it was handed in."""
    content, stamp = place.arrived.piece.read(), path.parent / STAMP
    for link in (path, path.parent, path.parent.parent):
        if link.is_symlink():
            raise CourseError(f"{link} is a link; nothing is written through it")
    if path.exists() and path.read_bytes() != content:
        before = stamp.read_text(encoding="ascii").strip() if stamp.exists() else ""
        if before and place.arrived.submitted and moment(before) > moment(place.arrived.submitted):
            return [f"{path} is newer than what is collected now, and stays"]
        put_aside(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for older in place.instead_of:
        keep_older(path.parent, safe(older.name), older.piece.read())
    path.write_bytes(content)
    if place.chapter:
        write_stamp(path.parent, place.arrived.submitted)
    if place.arrived.submitted:
        os.utime(path, (moment(place.arrived.submitted),) * 2)
    return []


def write_stamp(folder: Path, submitted: str) -> None:
    """Say when a chapter was handed in, or that nobody knows; what was said before goes."""
    name, other = (STAMP, NO_STAMP) if submitted else (NO_STAMP, STAMP)
    (folder / name).write_text(f"{submitted}\n" if submitted else "", encoding="ascii")
    (folder / other).unlink(missing_ok=True)


def put_aside(path: Path) -> None:
    """Keep a version that counts no more, in place of the one that comes."""
    keep_older(path.parent, path.name, path.read_bytes())
    path.unlink()


def keep_older(parent: Path, name: str, content: bytes) -> None:
    """Keep a version that does not count, unless it is kept already."""
    folder = parent / OLDER
    folder.mkdir(exist_ok=True)
    kept = [path for path in folder.iterdir() if path.is_file()]
    if not any(path.read_bytes() == content for path in kept):
        numbers = [path.name.partition("-")[0] for path in kept]
        number = max((int(one) for one in numbers if one.isdecimal()), default=0) + 1
        (folder / f"{number}-{name}").write_bytes(content)
