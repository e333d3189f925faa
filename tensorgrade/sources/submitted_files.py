"""One learner's submission for one chapter: its bytes, its time, or the reason for its absence."""

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from ..course import Limits
from ..exchange.text import JOINERS
from ..lateness import read_time, written
from .candidates import CODE, File, Found, NotRead, read_bytes, shown

NOTHING = "nothing "  # start of the digests of empty submissions
LAST_WITHOUT_JOINERS = "\u05ff"  # scripts up to Hebrew are written without joiners
# Python calls these characters printable although readers cannot see them.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@dataclass(frozen=True)
class SubmittedFiles:
    """One learner's submission for one chapter, which travels to workers as bytes.

    filename, content: of the only file, or of the notebook.
    script: a script submitted along with a notebook, if any.
    reason: a sentence on why there is nothing to grade; empty if there is something.
    missing: True if nothing was submitted at all. no_file: True if something was, but not the
        chapter's file.
    submitted: the time, in the format of lateness.py; empty if it is unknown.
    team: of the learners who submitted it together; empty for one learner.
    """

    student: str
    chapter: str
    filename: str = ""
    content: bytes = b""
    reason: str = ""
    missing: bool = False
    no_file: bool = False
    script: bytes = b""
    submitted: str = ""
    team: str = ""

    @property
    def about(self) -> tuple[str, str]:
        """The student and the chapter."""
        return self.student, self.chapter

    @property
    def digest(self) -> str:
        """Return a digest that changes with the content, or with the reason for its absence."""
        whole = b"\0".join((self.content, self.script, self.reason.encode()))
        digest = hashlib.sha256(whole).hexdigest()[:32]
        return digest if self.content else f"{NOTHING}{digest}"

    def without_notebook(self) -> "SubmittedFiles":
        """Return the script alone, for a notebook that cannot be read."""
        name = Path(self.filename).with_suffix(".py").name
        return replace(self, filename=name, content=self.script, script=b"")


def escaped(name: str) -> str:
    """Return a learner's name as rows, reports and gradebooks show it.

    Invisible characters are escaped, so that names that look the same remain distinct. Characters
    that join or separate letters stay between letters of scripts that need them.

    >>> escaped("José"), escaped("Jo\u00adsé"), escaped("ad\u200ca")
    ('José', 'Jo\\\\xadsé', 'ad\\\\u200ca')
    >>> escaped("\u0646\u200c\u0647") == "\u0646\u200c\u0647"
    True
    """
    whole = name.replace("\\", "\\\\")
    characters = []
    for at, c in enumerate(whole):
        around = (whole[at - 1 : at], whole[at + 1 : at + 2])
        joins = c in JOINERS and all(one > LAST_WITHOUT_JOINERS for one in around)
        characters.append(
            c
            if joins or (c.isprintable() and not INVISIBLE.match(c))
            else c.encode("unicode_escape").decode()
        )
    return "".join(characters)


NOT_SUBMITTED = "There is no submission for this chapter."
STAMP = "timestamp.txt"  # written by nbgrader's exchange and by `tensorgrade collect`
LONGEST_STAMP = 64


def submission_of(
    student: str, chapter: str, found: Found, limits: Limits
) -> tuple[SubmittedFiles | None, str]:
    """Return the submission for a chapter, and a sentence on versions of other names; None if none.

    The newest readable version of each kind counts. If there are a notebook and a script and both
    can be read, the submission holds both, and `source_that_counts` (runner/reading.py) decides
    later which one is graded.
    """
    counted = [first_readable(student, found.of(chapter, kind), limits) for kind in CODE]
    there = [one for one in counted if one]
    if not there:
        return None, ""
    files = [one for one, _ in there]
    submitted, *rest = [one for one in files if not one.reason] or files[-1:]
    if rest:
        submitted = replace(submitted, script=rest[0].content)
    taken = [one for _, one in there]  # exact names are in the learner's folder
    told = [
        f"{one.shown} counts as {one.counts_as}"
        for one in taken
        if not one.is_exact and one.shown != one.counts_as
    ]
    left = [one for one in found.of(chapter) if one not in taken]
    told += [f"{one.shown} is older and does not count" for one in left]
    is_notebook = submitted.content.lstrip()[:1] == b"{" and b'"cells"' in submitted.content
    if submitted.filename.endswith(".py") and is_notebook:
        told.append(f"{submitted.filename} is a notebook, and read as one")
        submitted = replace(submitted, filename=f"{chapter}.ipynb")
    return submitted, f"{student}: {'; '.join(told)}" if told else ""


def first_readable(
    student: str, versions: list[File], limits: Limits
) -> tuple[SubmittedFiles, File] | None:
    """Return the first version that can be read; otherwise why the first one cannot be."""
    unread = None
    for one in versions:
        most = limits.notebook_bytes if one.kind == "ipynb" else limits.source_bytes
        named = SubmittedFiles(student, one.chapter, one.counts_as)
        name = one.shown if "/" in one.path and not one.is_exact else shown(one.name)
        try:
            content = one.read(most)
        except NotRead as error:
            unread = unread or (replace(named, reason=f"{name} {error}."), one)
            continue
        reason = "" if content.strip() else f"{name} is empty."  # a failed upload
        return replace(named, content=content, reason=reason), one
    return unread


def submission_time(folder: Path) -> str:
    """Return when a chapter was submitted, as its `timestamp.txt` says; "" if it is unknown."""
    try:
        stamp = read_bytes(folder / STAMP, LONGEST_STAMP).decode("ascii", "replace")
        return written(read_time(stamp))
    except (NotRead, ValueError):
        return ""
