"""Write collected files into SUBMITTED, each on its own and under a temporary name first.

A file that cannot be written affects no other file. Nothing is written through a link.
"""

import os
from collections.abc import Collection
from pathlib import Path

from ..course import CourseError
from ..folders import write_file
from ..sources.submitted_files import NO_STAMP, REPLACED, STAMP, shown, stamped
from ..views.words import plural
from .collecting import (
    MOST_KEPT,
    OTHER_CHAPTER,
    SCRIPTS,
    Plan,
    PlannedFile,
    brief,
    kind_of,
    moment,
    some_names,
)
from .downloads import Unreadable
from .folder_names import safe

# Names in learners' folders. They are hidden, so that grading ignores them.
OLDER = ".older"  # holds versions that no longer count
IDENTITY = ".collected_as"  # the course system and its id of the learner
LONGEST_IDENTITY = 200  # characters


class NotWritten(Exception):
    """A file cannot be written; the message says why."""


def write(found: Plan, submitted: Path) -> list[str]:
    """Write the planned files, add failures to the plan, and return notes on existing files.

    An existing different version is moved to `.older`, unless it is newer: then it stays and
    counts. The other form of a chapter's file is moved too, if an earlier collect wrote it and the
    learner has withdrawn it. Raises CourseError if the folder cannot be made.
    """
    planned = {place.path(submitted) for place in found.places + found.aside}
    notes = []
    try:
        submitted.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"{submitted} cannot be written: {error.strerror}") from None
    for place in found.places + found.aside:
        path = place.path(submitted)
        try:
            withdrawn = withdrawn_by(place, submitted, planned)
            write_identity(submitted, place, identity(found, place))
            if why := write_one(place, path, submitted):
                found.stayed += 1
                notes.append(f"{brief(str(path), 150)} {why}")
            else:
                notes += [note for file in withdrawn for note in withdraw(file, path)]
        except OSError as error:
            found.failed += 1
            found.lost.append(f"{brief(str(path), 150)} cannot be written: {error.strerror}")
        except (NotWritten, Unreadable) as error:
            found.failed += 1
            found.lost.append(f"{brief(str(path), 150)} {error}; it is left out")
    return notes


def notes_on_second_folders(found: Plan, submitted: Path) -> list[str]:
    """Return a note on learners who already have a folder under another name, with the same id.

    This happens if a class is collected with its roster and then without it.
    """
    names = {identity(found, place): place.folder for place in found.places + found.aside}
    folders = sorted(submitted.iterdir()) if submitted.is_dir() else []
    twice = [
        f"{folder.name} is {names[said]}"
        for folder in folders
        if (said := read_start(folder / IDENTITY)) in names and folder.name != names[said]
    ]
    if not twice:
        return []
    are = f"{plural(len(twice), 'learner')} {'is' if len(twice) == 1 else 'are'}"
    why = "in SUBMITTED under another name already, and would be graded twice"
    return [f"{are} {why}: {some_names(twice, 90)}; delete one of the two"]


def identities(submitted: Path) -> dict[str, str]:
    """Return the course system's id of each learner, by the name of the learner's folder."""
    folders = [folder for folder in submitted.iterdir() if not folder.is_symlink()]
    said = {folder.name: read_start(folder / IDENTITY) for folder in sorted(folders)}
    return {name: one for name, one in said.items() if one}


def identity(found: Plan, place: PlannedFile) -> str:
    """Return the course system and its id of a learner, on one line."""
    return shown(f"{found.layout} {place.submitted.learner.id}")[:LONGEST_IDENTITY]


def write_identity(submitted: Path, place: PlannedFile, said: str) -> None:
    """Write the id of a learner into the learner's folder. Raises OSError or NotWritten."""
    path = submitted / place.folder / IDENTITY
    check_no_links(submitted, path)
    if read_start(path) != said:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, said.encode(errors="replace"))


def withdrawn_by(place: PlannedFile, submitted: Path, planned: Collection[Path]) -> list[Path]:
    """Return the chapter's files of an earlier collect that a newer submission does not contain.

    A notebook that stayed would count instead of the script that has replaced it. planned: the
    paths of all files to write. Raises OSError.
    """
    folder = submitted / place.folder / place.chapter
    is_code = place.kind in SCRIPTS or (not place.kind and kind_of(place.submitted) in SCRIPTS)
    was_collected = (submitted / place.folder / IDENTITY).is_file()
    if not place.chapter or place.fault == OTHER_CHAPTER or not is_code or not was_collected:
        return []
    said = read_start(folder / STAMP)
    stamp = said if stamped(said) else ""
    names = [f"{place.chapter}.{kind}" for kind in SCRIPTS]
    stored = [file for name in names if is_plain_file(file := folder / name)]
    return [
        file
        for file in stored
        if file not in planned and is_newer(place, submitted, submitted_at(file, stamp))
    ]


def is_newer(place: PlannedFile, submitted: Path, stored: float) -> bool:
    """Return True if a collected file is newer than a stored one. stored: its time; 0 if unknown.

    A file without a time is newer if it differs from the stored version of itself.
    """
    if place.submitted.time:
        return moment(place.submitted.time) > stored
    path = place.path(submitted)
    return not is_plain_file(path) or path.read_bytes() != place.submitted.entry.read()


def is_plain_file(path: Path) -> bool:
    """Return True for a file that is not a link."""
    return path.is_file() and not path.is_symlink()


def withdraw(file: Path, by: Path) -> list[str]:
    """Move a file to `.older`; return a note. by: the newer file that replaces it."""
    if not keep_older(file.parent, file.name, file.read_bytes()):
        return [f"{brief(str(file), 150)} is older than {by.name}, but {OLDER} is full; it stays"]
    file.unlink()
    why = f"is not in the newer submission with {brief(by.name)}"
    return [f"{brief(str(file), 150)} {why}, and was moved to {OLDER}"]


def was_withdrawn(place: PlannedFile, path: Path, content: bytes, stamp: str) -> bool:
    """Return True if an earlier collect moved this version away, for a newer file that is there."""
    others = [path.with_suffix(f".{kind}") for kind in SCRIPTS if kind != place.kind]
    if place.kind not in SCRIPTS or not place.submitted.time or path.exists():
        return False
    at = moment(place.submitted.time)
    if not any(is_plain_file(one) and submitted_at(one, stamp) > at for one in others):
        return False
    kept = (path.parent / OLDER).glob(f"*-{path.name}")
    return any(is_plain_file(one) and one.read_bytes() == content for one in kept)


def write_one(place: PlannedFile, path: Path, submitted: Path) -> str:
    """Write one file and its time; return why not if a newer file stays instead.

    Raises OSError, NotWritten or Unreadable.
    """
    one, folder = place.submitted, path.parent
    content = one.entry.read()
    check_no_links(submitted, path, folder / OLDER)
    said = read_start(folder / STAMP)
    stamp = said if stamped(said) else ""
    if was_withdrawn(place, path, content, stamp):
        return f"is not in the newest submission; it stays in {OLDER}"
    is_same = path.exists() and path.read_bytes() == content
    if path.exists() and not is_same:
        if one.time and submitted_at(path, stamp) > moment(one.time):
            return "is newer than the collected file, and stays"
        keep_older(folder, path.name, path.read_bytes())
    folder.mkdir(parents=True, exist_ok=True)
    for older in place.instead_of:
        keep_older(folder, safe(older.name), older.entry.read())
    if not is_same:
        write_file(path, content)
    if stamp and is_same and (one.time_note or not one.time):
        return ""  # a replaced time is the time of the first collection
    # Other files in the folder may be newer. A real time replaces a substitute time.
    is_replaced = (folder / REPLACED).exists() and not one.time_note
    if place.chapter and (is_replaced or not stamp or not moment(stamp) > moment(one.time) > 0):
        write_stamp(folder, one.time, one.time_note)
    if one.time:
        os.utime(path, (moment(one.time),) * 2)
    return ""


def submitted_at(path: Path, stamp: str) -> float:
    """Return the submission time of the existing file, as a number; 0 if it is unknown.

    The stamp is the time of the newest file in the folder. A file has its own time as well, unless
    it was copied later.
    """
    return min(moment(stamp), path.stat().st_mtime) if stamp else 0.0


def check_no_links(submitted: Path, *paths: Path) -> None:
    """Raise NotWritten if any part of a path below SUBMITTED is a link."""
    for path in paths:
        below = path.relative_to(submitted).parts
        for depth in range(1, len(below) + 1):
            if submitted.joinpath(*below[:depth]).is_symlink():
                raise NotWritten("has a link in its path")


def read_start(path: Path) -> str:
    """Return the beginning of a small text file; "" if it is a link or no file."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(4 * LONGEST_IDENTITY).decode(errors="replace").strip()


def write_stamp(folder: Path, submitted: str, replaced: str) -> None:
    """Write the submission time of a chapter, or that it is unknown, over an earlier stamp.

    replaced: why this time replaces the system's own; "" if it does not.
    """
    content = {
        STAMP: f"{submitted}\n" if submitted else "",
        NO_STAMP: "" if not submitted else None,
        REPLACED: f"{replaced}\n" if replaced else None,
    }
    for name, text in content.items():
        if text is None or (name == STAMP and not text):
            (folder / name).unlink(missing_ok=True)
        else:
            write_file(folder / name, text.encode())


def keep_older(parent: Path, name: str, content: bytes) -> bool:
    """Store a version that does not count, unless it is already stored; return True if it is.

    False if too many versions are stored. Raises OSError or NotWritten.
    """
    folder = parent / OLDER
    if folder.is_symlink():
        raise NotWritten("has a link in its path")
    folder.mkdir(parents=True, exist_ok=True)
    kept = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
    same = [p for p in kept if p.stat().st_size == len(content) and p.read_bytes() == content]
    if same or len(kept) >= 5 * MOST_KEPT:
        return bool(same)
    numbers = [path.name.partition("-")[0] for path in kept]
    number = max((int(one) for one in numbers if one.isdecimal() and len(one) < 9), default=0) + 1
    write_file(folder / f"{number}-{name}", content)
    return True
