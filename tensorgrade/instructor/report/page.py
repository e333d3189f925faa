"""Write `report.html`, a self-contained page about the class, from its rows."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from jinja2 import StrictUndefined
from markupsafe import Markup, escape

from ...attempts.verdict import NO_FILE, NOTHING_SUBMITTED, Status
from ...course import Chapter, Course
from ...folders import write_file
from ...lateness import in_zone
from ...project import Project
from ...recognition.fingerprints import read_mistakes
from ...sources.submitted_files import NOTHING
from ...views.pages import pages_in
from ...views.words import STATES, plural
from .. import rules
from ..people import safe
from ..results import Results, rows_of


def breakable(name: str) -> Markup:
    """Return a name that may break after its underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


def is_missing(row: dict) -> bool:
    """Return True if a row exists only because the learner submitted nothing."""
    return row.get("message_id") == NOTHING_SUBMITTED


PAGES = pages_in(Path(__file__).parent)
PAGES.undefined = StrictUndefined
PAGES.filters |= {
    "points": "{:g}".format,
    "percent": "{:.0%}".format,
    "late": rules.late,
    "of": plural,
    "breakable": breakable,
    "points_steps": rules.points_steps,
    "in_zone": in_zone,
}
PAGES.tests |= {
    "loaded": lambda rows: any(row["status"] != Status.ERROR for row in rows),
    "missing": is_missing,
}


def write_report(
    out: Path, project: Project, section: str = "", learners: Collection[str] = ()
) -> Path:
    """Write the page for a folder of results, and return its path. Raises CourseError.

    section: the name of the section whose learners these are.
    """
    every = rows_of(out, project.course)
    messages: dict[str, str] = {}
    for references in sorted((project.graders / "references").glob("*/mistakes.json")):
        messages |= read_mistakes(references)["messages"]
    waiting = [a for a in Results(out).waiting() if not learners or a[0] in learners]
    rows = [row for row in every if not learners or row["student"] in learners]
    view = class_view(project.course, rows) | {
        "waiting": len(waiting),
        "mistakes": mistake_counts(rows, messages),
        "identical": identical_files(every, learners),
    }
    page = PAGES.get_template("page.html").render(view, states=STATES)
    path = out / f"report{f'-{safe(section)}' if section else ''}.html"
    # Characters that cannot be UTF-8, such as in names of folders, become "?".
    write_file(path, page.encode("utf-8", "replace"))
    return path


def identical_files(rows: list[dict], learners: Collection[str]) -> list[dict]:
    """Return `chapter` and `students` of each file that several learners share.

    Learners without any exercise begun are left out, because untouched stubs are always equal.
    A team counts as one learner. learners: only files that one of them submitted; all files if
    empty.
    """
    owners: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in rows:
        if row["status"] != Status.NOT_ATTEMPTED and not row["file"].startswith(NOTHING):
            owner = f"team {row['team']}" if row.get("team") else row["student"]
            owners[row["chapter"], row["file"]][row["student"]] = owner
    found = [
        {"chapter": chapter, "students": sorted(own)}
        for (chapter, _), own in owners.items()
        if len({*own.values()}) > 1 and (not learners or own.keys() & set(learners))
    ]
    return sorted(found, key=lambda group: (group["chapter"], -len(group["students"])))


MOST_HARD = 5  # exercises that are listed as the hardest ones
BINS = 10
MOST_MISTAKES = 15
MOST_GROUPS = 15
NEEDS_HELP = 0.5  # a learner with a smaller share of the points is listed
ENOUGH_HELP = 40  # the most learners that are listed


@dataclass(frozen=True)
class Person:
    """One learner. number: replaces a hidden name; its order reveals nothing. chapters: rows."""

    name: str
    number: int
    chapters: dict[str, list[dict]]

    @property
    def rows(self) -> list[dict]:
        """All rows of this learner."""
        return [row for rows in self.chapters.values() for row in rows]

    @property
    def points(self) -> float:
        """The earned points."""
        return rules.total(self.rows)

    @property
    def most(self) -> float:
        """The possible points of everything that counts."""
        return rules.total(self.rows, "max_points")

    @property
    def share(self) -> float:
        """The share of the possible points that the learner earned, from 0 to 1."""
        return self.points / self.most if self.most else 0.0


def people_of(rows: list[dict]) -> dict[str, Person]:
    """Return all learners by name."""
    own: dict[str, dict[str, list[dict]]] = defaultdict(dict)
    for (name, chapter), found in rules.grouped(rows, "student", "chapter").items():
        own[name][chapter] = found
    # An order that is always the same and reveals nothing about a name.
    mixed = sorted(own, key=lambda name: hashlib.sha256(ascii(name).encode()).digest())
    numbers = {name: number for number, name in enumerate(mixed, 1)}
    return {name: Person(name, numbers[name], own[name]) for name in sorted(own)}


def class_view(course: Course, rows: list[dict]) -> dict:
    """Return the data for the template."""
    submitted = [c for c in course.chapters if any(row["chapter"] == c.name for row in rows)]
    most = sum(chapter.points for chapter in submitted)
    people = people_of(rows)
    shares = [person.share for person in people.values()]
    first = {rules.key(row)[:2]: row for row in rows}.values()  # a row of each submission
    kinds = Counter(row.get("message_id") for row in first)
    # The last one includes 100 %.
    counts = Counter(min(int(share * BINS + 1e-9), BINS - 1) for share in shares)
    alike = rules.grouped((row for row in rows if row.get("group")), "group").values()
    troubled = rules.grouped(
        filter(rules.in_trouble, rows), "student", "chapter", "status", "message"
    )
    low = [person for person in people.values() if person.most and person.share < NEEDS_HELP]
    low.sort(key=lambda person: (person.share, person.name))
    return {
        "course": course,
        "people": people,
        "most": most,
        "submissions": len(first) - kinds[NO_FILE] - kinds[NOTHING_SUBMITTED],
        "missing": kinds[NOTHING_SUBMITTED],
        "without_file": kinds[NO_FILE],
        "late": sum(bool(row.get("late_seconds")) for row in first),
        "median": median(shares) if shares else 0.0,
        "bins": [counts[number] for number in range(BINS)],
        "chapters": [chapter_view(chapter, rows, len(people)) for chapter in submitted],
        "hardest": hardest(rows),
        "helped": [(person, obstacles(person)) for person in low],
        "needs_help": NEEDS_HELP,
        "most_helped": ENOUGH_HELP,
        "trouble": troubled,
        "troubled": len({rules.key(row)[:2] for row in filter(rules.in_trouble, rows)}),
        "groups": sorted(alike, key=lambda own: (-len(own), own[0]["exercise"]))[:MOST_GROUPS],
        "by_hand": [row for row in rows if row.get("override")],
        "isolations": sorted(Counter(row["isolation"] for row in rows).items()),
    }


def chapter_view(chapter: Chapter, rows: list[dict], learners: int) -> dict:
    """Return a chapter's mean share of the points, its submissions, and counts by exercise.

    The counts say how many learners passed, tried without passing, and never began.
    """
    own = [row for row in rows if row["chapter"] == chapter.name]
    counts = []
    for name in (exercise.name for exercise in chapter.exercises):
        statuses = Counter(row["status"] for row in own if row["exercise"] == name)
        passed, begun = statuses["passed"], statuses.total() - statuses["not_attempted"]
        never = learners - begun
        counts.append({"name": name, "passed": passed, "tried": begun - passed, "never": never})
    asked = [row for row in own if row["max_points"]]  # not excused
    first = {row["student"]: row for row in asked}.values()  # a row of each submission
    missing = sum(map(is_missing, first))
    return {
        "title": chapter.title,
        "counts": counts,
        "share": rules.total(asked) / (rules.total(asked, "max_points") or 1),
        "submitted": len(first) - missing,
        "missing": missing,
        "late": sum(bool(row.get("late_seconds")) for row in first),
    }


def hardest(rows: list[dict]) -> list[dict]:
    """Return the exercises with the smallest shares of the points, among learners who began."""
    begun = (row for row in rows if row["max_points"] and row["status"] != Status.NOT_ATTEMPTED)
    listed: list[dict[str, Any]] = []
    for (name,), own in rules.grouped(begun, "exercise").items():
        share = sum(map(rules.found, own)) / sum(map(rules.most_of, own))
        counts = Counter(mistake for row in own for mistake in row["mistakes"])
        told = [mistake for mistake, _ in counts.most_common(2)]
        listed += [{"name": name, "share": share, "mistakes": told}] if share < 1 else []
    return sorted(listed, key=lambda one: one["share"])[:MOST_HARD]


def mistake_counts(rows: list[dict], messages: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the most frequent mistakes: name, number of learners, exercises and message."""
    made = rules.grouped((row | {"name": n} for row in rows for n in row["mistakes"]), "name")
    counts = [
        {
            "name": name,
            "count": len({row["student"] for row in own}),
            "where": sorted({row["exercise"] for row in own}),
            "message": messages.get(name, ""),
        }
        for (name,), own in made.items()
    ]
    return sorted(counts, key=lambda one: (-one["count"], one["name"]))[:MOST_MISTAKES]


def obstacles(person: Person) -> str:
    """Return a text like `4 not begun, 3 wrong; repeatedly: no_scale`."""
    absent = len({row["chapter"] for row in person.rows if is_missing(row)})
    rows = [row for row in person.rows if not is_missing(row)]
    broken = sum(map(rules.in_trouble, rows))
    seen = Counter(row["status"] for row in rows)
    wrong = len(rows) - seen["passed"] - seen["not_attempted"] - broken
    counts = {"not begun": seen["not_attempted"], "wrong": wrong, "could not be graded": broken}
    told = [f"no submission for {plural(absent, 'chapter')}"] if absent else []
    told += [f"{count} {word}" for word, count in counts.items() if count]
    made = Counter(name for row in person.rows for name in row["mistakes"])
    again = ", ".join(name for name, count in made.items() if count > 1)
    return ", ".join(told) + (f"; repeatedly: {again}" if again else "")
