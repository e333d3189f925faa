"""Near-miss files: a chapter's file under a nearly right name or in a nearly right place.

Examples are `ch1 (1).py`, `ch1.py.txt`, `CH1.PY`, a folder too deep or too shallow, and a zip.
This module looks at names and bytes only. The learner's own process opens the text.
"""

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from pathlib import Path

from ..course import Limits
from .submitted_files import SubmittedFiles, of_both, read_file, reason_if_empty, shown

# Suffixes that browsers, Finder, Explorer and course systems append to a name already in use.
COPY = r"(?:[ _-]*\(\d+\)|[ _-]+\d{1,3}|[ _-]*(?:copy|kopie)(?:[ _-]*\(?\d+\)?)?)?"
KINDS = {"py": "py", "txt": "py", "py.txt": "py", "ipynb": "ipynb", "ipynb.txt": "ipynb"}
CODE = ("ipynb", "py")
DEEPEST = 3  # folders between the learner's and the file
MOST_FILES = 300
MOST_MEMBERS = 1000
MOST_ARCHIVES = 20  # archives examined for one learner
MOST_LEFT = 2  # versions that do not count, or archives in one zip, that are listed by name
# Errors raised by reading a file that is not a zip, or a damaged or encrypted zip.
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OverflowError)
NO_ARCHIVE = (OSError, RuntimeError, ValueError, KeyError, *DAMAGED)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MEMBER = b"PK\x01\x02"  # the first bytes of each entry in a zip's table of contents
SAME_MOMENT = 2.0  # seconds: copied files differ slightly in time, and zips store even seconds


@dataclass(frozen=True)
class Version:
    """A file that is recognized as a chapter's.

    kind: `py` or `ipynb`. where: its path in the learner's folder. path: the file itself, or the
    zip that contains it as `member`. modified: seconds since 1970. exact: its name and place are
    already right.
    """

    chapter: str
    kind: str
    where: str
    path: Path
    modified: float
    member: str = ""
    exact: bool = False

    @property
    def counts_as(self) -> str:
        """Return the name that the file should have."""
        return f"{self.chapter}.{self.kind}"


def chapter_of(name: str, chapters: set[str]) -> tuple[str, str] | None:
    """Return the chapter and the kind that a file's name suggests, or None.

    >>> chapter_of("CH1 (1).py", {"ch1"}), chapter_of("ch1 - Copy.ipynb", {"ch1"})
    (('ch1', 'py'), ('ch1', 'ipynb'))
    >>> chapter_of("ch1.py.txt", {"ch1"}), chapter_of("my_ch1.py", {"ch1", "ch11"})
    (('ch1', 'py'), None)
    """
    stem, dot, kind = name.lower().partition(".")
    if not dot or kind not in KINDS:
        return None
    for chapter in chapters:
        if is_copy(stem, chapter):
            return chapter, KINDS[kind]
    return None


def is_copy(stem: str, name: str) -> bool:
    """Return True if a lower-case name without its extension is this name, or that of a copy."""
    return bool(re.fullmatch(re.escape(name.lower()) + COPY, stem))


def versions_in(folder: Path, chapters: set[str], limits: Limits) -> list[Version]:
    """Return all versions of all chapters in a learner's folder.

    Folders and zips that cannot be read are skipped.
    """
    found, archives = [], 0
    for number, (entry, where) in enumerate(files_below(folder)):
        if number >= MOST_FILES:
            break
        meant = None
        if not is_given(where.split("/")):
            meant = chapter_of(entry.name, chapters)
        is_zip = entry.name.lower().endswith(".zip")
        if not meant and not is_zip:
            continue
        modified = entry.stat(follow_symlinks=False).st_mtime
        if meant:
            version = Version(*meant, where, Path(entry.path), modified)
            exact = where == f"{version.chapter}/{version.counts_as}"
            found.append(replace(version, exact=exact))
        elif (archives := archives + 1) <= MOST_ARCHIVES:
            found += versions_in_zip(Path(entry.path), where, modified, chapters, limits)
    return found


def files_below(folder: Path, depth: int = 0, above: str = "") -> Iterator[tuple[os.DirEntry, str]]:
    """Yield files and their paths in a fixed order; skip links, hidden and deeply nested files."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() or not is_meant(entry.name):
            continue
        if entry.is_file():
            yield entry, above + entry.name
        elif entry.is_dir() and depth < DEEPEST:
            yield from files_below(Path(entry.path), depth + 1, f"{above}{entry.name}/")


def is_meant(name: str) -> bool:
    """Return True unless a file or folder is hidden, or made by Python or a zip program."""
    return not name.startswith(".") and name not in ("__MACOSX", "__pycache__")


def is_given(parts: Sequence[str]) -> bool:
    """Return True if a file is a substitute that learners were given.

    Such a file has an earlier chapter's name. It comes with the checks: in `checks.zip`, in the
    kit, or in a repository created from the kit.

    >>> is_given("exercises/given/ch4/ch3.py".split("/"))
    True
    >>> is_given("given/ch3.py".split("/")), is_given("given/ch3/ch3.py".split("/"))
    (False, False)
    """
    return len(parts) > 2 and parts[-3] == "given" and not parts[-1].startswith(parts[-2])


def versions_in_zip(
    path: Path, where: str, modified: float, chapters: set[str], limits: Limits
) -> list[Version]:
    """Return the versions in a zip; none if it is not a zip or is too large."""
    found = []
    for info in members(path, limits) or ():
        parts = info.filename.split("/")
        ours = is_given(parts) or not all(map(is_meant, parts))
        meant = None if ours else chapter_of(parts[-1], chapters)
        if meant and not stat.S_ISLNK(info.external_attr >> 16):
            place = f"{where}/{info.filename}"
            found.append(Version(*meant, place, path, modified, info.filename))
    return found


def members(path: Path, limits: Limits) -> list[zipfile.ZipInfo] | None:
    """Return the members that a zip lists: [] if it is too large, None if it cannot be opened."""
    try:
        is_small = path.stat().st_size <= limits.file_bytes
        return members_of(path.read_bytes()) if is_small else []
    except OSError:
        return None


def members_of(content: bytes) -> list[zipfile.ZipInfo] | None:
    """Return the members of a zip: [] if there are too many, None if it cannot be opened."""
    if content.count(MEMBER) > MOST_MEMBERS:
        return []
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            return archive.infolist()
    except NO_ARCHIVE:
        return None


OTHER_ARCHIVES = (".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz")


def archives_in(folder: Path, limits: Limits) -> tuple[list[str], list[str]]:
    """Return the paths of damaged zips in a learner's folder, and of archives that stay closed.

    The latter are archives other than zips, and any archives in zips.
    """
    damaged, closed, zips = [], [], 0
    for entry, where in islice(files_below(folder), MOST_FILES):
        name = entry.name.lower()
        if name.endswith(OTHER_ARCHIVES):
            closed.append(shown(where))
        elif name.endswith(".zip") and (zips := zips + 1) <= MOST_ARCHIVES:
            inside = members(Path(entry.path), limits)
            if inside is None:
                damaged.append(shown(where))
            names = [one.filename for one in inside or []]
            archives = [n for n in names if n.lower().endswith((".zip", *OTHER_ARCHIVES))]
            closed += [shown(f"{where}/{name}") for name in archives[:MOST_LEFT]]
    return damaged, closed


def rescued(student: str, versions: list[Version], limits: Limits) -> tuple[SubmittedFiles, str]:
    """Return the submission made from the versions of one chapter, and a sentence on them.

    The sentence names the versions that count and those that do not. It is empty if there is
    nothing to report. The newest version of each kind counts. Among versions of about the same
    time, the one with the right name counts.
    """
    chapter = versions[0].chapter
    by_kind = {kind: [v for v in versions if v.kind == kind] for kind in CODE}
    chosen = {kind: newest(of) for kind, of in by_kind.items() if of}
    read = {k: read_version(student, v, limits) for k, v in chosen.items()}
    submitted_files = of_both(read.get("ipynb"), read.get("py")) or SubmittedFiles(student, chapter)
    taken = [v for v in chosen.values() if not v.exact]
    counted = set(chosen.values())
    left = [v for v in versions if v not in counted]
    told = [
        f"{shown(v.where)} counts as {v.counts_as}"
        for v in taken
        if v.where != v.counts_as  # otherwise it is in the learner's folder itself
    ]
    told += [f"{shown(v.where)} is older and does not count" for v in left[:MOST_LEFT]]
    if len(left) > MOST_LEFT:
        told.append(f"{len(left) - MOST_LEFT} more are older and do not count")
    sentence = f"{student}: {'; '.join(told)}" if told else ""
    return submitted_files, sentence


def newest(versions: list[Version]) -> Version:
    """Return the newest version; one with the right name counts first if it is as new.

    Versions count as equally new if their times differ by less than SAME_MOMENT.
    """
    latest = max(version.modified for version in versions)
    last = [v for v in versions if latest - v.modified < SAME_MOMENT]
    return next((v for v in last if v.exact), max(last, key=lambda v: v.modified))


def read_version(student: str, version: Version, limits: Limits) -> SubmittedFiles | None:
    """Return a version's bytes under the chapter's file name, or the reason why there are none.

    None if the file has disappeared.
    """
    most = limits.notebook_bytes if version.kind == "ipynb" else limits.source_bytes
    if not version.member:
        read = read_file(student, version.path, most)
        return read and replace(read, chapter=version.chapter, filename=version.counts_as)
    content, reason = member_content(version, most)
    if len(content) > most:
        content, reason = b"", f"{shown(version.where)} has more than {most} bytes."
    reason = reason or reason_if_empty(shown(version.where), content)
    return SubmittedFiles(student, version.chapter, version.counts_as, content, reason)


def member_content(version: Version, most: int) -> tuple[bytes, str]:
    """Return a file in a zip, at most one byte more than `most`; or no bytes and the reason.

    Only stored or deflated members are read, because other methods can expand a kilobyte to
    gigabytes at once. The declared size may be wrong, so only the real size counts.
    """
    try:
        with zipfile.ZipFile(version.path) as archive:
            info = archive.getinfo(version.member)
            if info.compress_type not in METHODS:
                why = "is compressed in a way that is not read; make a usual zip"
                return b"", f"{shown(version.where)} {why}."
            with archive.open(info) as file:
                return file.read(most + 1), ""
    except NO_ARCHIVE:
        return b"", f"{shown(version.where)} cannot be read out of its zip."
