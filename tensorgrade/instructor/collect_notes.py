"""Sentences of `tensorgrade collect` about people and files, and its table."""

from collections.abc import Collection, Sequence

from rich.table import Table
from rich.text import Text

from ..lateness import in_zone
from ..sources.candidates import ARCHIVES, shown
from ..sources.submitted_files import escaped
from ..views.words import plural
from .people import Person
from .systems import Reading

MOST_TOLD = 12  # sentences of a kind


def notes_on_people(reading: Reading, before: int) -> list[str]:
    """Return notes on people.csv, and on people that the class list does not name."""
    people = reading.people
    notes = [f"people.csv: {before} as before, {people.new} new"]
    if reading.roster.staff:
        notes.append(
            f"left out: {plural(reading.roster.staff, 'person')} of the staff in the roster"
        )
    listed = {one["number"] for one in reading.rows}
    new = [one["student"] for one in people.rows[before:] if one["number"] not in listed]
    if new and reading.rows:
        notes.append(f"not on the roster: {some_names(sorted(new))}")
    return notes


def notes_on_learners(
    reading: Reading, own: Collection[str], section: Collection[str]
) -> list[str]:
    """Return notes on people without a file."""

    def names(people: list[Person]) -> list[str]:
        found = {one["student"] for one in people} - set(own)
        return sorted(one for one in found if not section or escaped(one) in section)

    texts, drafts = names(reading.texts), names(reading.drafts)
    absent = [one for one in names(reading.people.rows) if one not in {*texts, *drafts}]
    told = {
        "submitted nothing": absent,
        "submitted only an online text or link, which is not collected": texts,
        "only have a draft that is not submitted": drafts,
    }
    return [f"{words}: {some_names(students)}" for words, students in told.items() if students]


def notes_on_aside(student: str, names: list[str], chapter: str, only: str) -> list[str]:
    """Return why files get no points, and how to change that."""
    if not names:
        return []
    told = some_names(names)
    if all(name.lower().endswith(ARCHIVES) for name in names):
        only_zips = "only zips are opened. Ask for a zip or for the file itself"
        return [f"{told} of {brief(student)} will get 0 points: {only_zips}"]
    advice = f"run again with `--chapter {chapter or 'CHAPTER'}`"
    if only:
        advice = "`--chapter` works only for a learner's single script or notebook; rename the file"
    why = f"cannot tell which chapter {told} of {brief(student)} belongs to; it will get 0 points"
    return [f"{why}. To change this, {advice}"]


def some_names(names: Sequence[str], most: int = 45) -> str:
    """Return a few names and the number of the others. most: characters of each name."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(brief(name, most) for name in names[:5]) + more


def brief(name: str, most: int = 45) -> str:
    """Return a name on one line, with its middle left out if it is long."""
    plain = shown(name)
    return plain if len(plain) <= most else f"{plain[: most // 2]}…{plain[-(most // 2) :]}"


def some_of(sentences: list[str]) -> list[str]:
    """Return the first MOST_TOLD sentences, and a line with the number of the others.

    >>> some_of(["a"] * 14)[-1]
    '… and 2 more like these'
    """
    more = len(sentences) - MOST_TOLD
    return sentences[:MOST_TOLD] + ([f"… and {more} more like these"] if more > 0 else [])


def table(lines: list[dict[str, str]], zone: str = "") -> Table:
    """Return a table of the lines about files that count or are kept. zone: that of times."""
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("learner", "file", "chapter", "submitted", ""):
        made.add_column(title, overflow="fold")
    for line in lines:
        if line["student"] and not line["result"].startswith("left out"):
            when = in_zone(line["submitted"], zone) or "unknown"
            cells = (line["student"], line["file"], line["chapter"], when, line["result"])
            made.add_row(*(Text(shown(brief(cell, 100))) for cell in cells))  # it is no markup
    return made
