"""Write `report.html`, a self-contained page about the class, from its rows."""

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ...attempts.verdict import NO_FILE, NOTHING_SUBMITTED, Status
from ...course import Chapter, Course
from ...lateness import in_zone
from ...recognition.fingerprints import read_mistakes
from ...sources.submitted_files import NOTHING
from ...views.words import plural, with_code
from ..class_terminal import in_trouble
from ..folder_names import safe
from ..groups import groups_of
from ..overrides import decision_sentence
from ..points_breakdown import is_changed, late, points_steps
from ..results_folder import in_order
from ..store import Store

# By status: a mark that needs no colour, and words.
STATES = {
    "passed": ("✓", "right"),
    "partial": ("◐", "partly right"),
    "failed": ("✗", "wrong"),
    "not_attempted": ("○", "not begun"),
    "error": ("⚠", "raises an error"),
    "timeout": ("∞", "timed out"),
    "killed": ("⊘", "was killed"),
}
PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def breakable(name: str) -> Markup:
    """Return a name that may break after its underscores.

    >>> breakable("no_<b>")
    Markup('no_<wbr>&lt;b&gt;')
    """
    return escape(name).replace("_", Markup("_<wbr>"))


PAGES.filters["points"] = "{:g}".format
PAGES.filters["percent"] = "{:.0%}".format
PAGES.filters["late"] = late
PAGES.filters["of"] = plural
PAGES.filters["breakable"] = breakable
PAGES.filters["with_code"] = with_code
PAGES.filters["said"] = decision_sentence
PAGES.filters["points_steps"] = points_steps
PAGES.filters["in_zone"] = in_zone
PAGES.tests["changed"] = is_changed
PAGES.tests["loaded"] = lambda rows: any(row["status"] != Status.ERROR for row in rows)
PAGES.tests["missing"] = lambda row: is_missing(row)


def messages_in(references: Path) -> dict[str, str]:
    """Return the course's messages about its known mistakes, by name. Raises CourseError."""
    found: dict[str, str] = {}
    for path in sorted(references.glob("*/mistakes.json")):
        found |= read_mistakes(path)["messages"]
    return found


def write_report(
    out: Path,
    course: Course,
    messages: Mapping[str, str],
    section: str = "",
    learners: Collection[str] = (),
) -> Path:
    """Write the page for a folder of results, and return its path. Raises CourseError.

    messages: the course's messages about mistakes, by name. Other mistakes show the message that a
    learner got. section: the name of the section whose learners these are. Its page has no
    history, because that is about the whole class.
    """
    store = Store(out)
    rows = rows_of(store, course, learners)
    identical = identical_files(store, learners)
    history = [] if learners else store.history()
    view = class_view(course, rows, identical, history)
    view["mistakes"] = [
        one | {"message": messages.get(one["name"], one["message"])} for one in view["mistakes"]
    ]
    view["groups"] = groups_of(rows, store)[:MOST_GROUPS]
    page = PAGES.get_template("page.html").render(view, states=STATES)
    name = f"report{f'-{safe(section)}' if section else ''}.html"
    path, temporary = out / name, out / f"report-{os.getpid()}.tmp"  # a run may write it, too
    # Characters that cannot be UTF-8, such as in names of folders, become "?".
    temporary.write_bytes(page.encode("utf-8", "replace"))
    os.replace(temporary, path)
    return path


def rows_of(store: Store, course: Course, learners: Collection[str] = ()) -> list[dict]:
    """Return the rows in a folder of results, in order. Raises CourseError if there are none.

    Rows of chapters that the course no longer has are left out. learners: the only ones; all if
    empty.
    """
    rows = store.rows()
    store.refuse_empty()
    chapters = {chapter.name for chapter in course.chapters}
    own = [
        row
        for row in rows
        if row["chapter"] in chapters and (not learners or row["student"] in learners)
    ]
    return sorted(own, key=in_order(course.exercise_names))


def identical_files(kept: Store, learners: Collection[str]) -> list[dict]:
    """Return `chapter` and `students` of each file that several learners share.

    Learners without any exercise begun are left out, because untouched stubs are always equal.
    A team counts as one learner. learners: only files that one of them submitted; all files if
    empty.
    """
    groups = defaultdict(list)
    rows = [((row["student"], row["chapter"]), row) for row in kept.rows()]
    teams = {a: row["team"] for a, row in rows if row.get("team")}
    begun = {a for a, row in rows if row["status"] != "not_attempted"}
    for a, own in sorted(kept.attempts().items()):
        content = own[-1].content
        if a in begun and content and not content.startswith(NOTHING):
            groups[a[1], content].append(a[0])
    return [
        {"chapter": chapter, "students": students}
        for (chapter, _), students in groups.items()
        if len({teams.get((student, chapter), (student,)) for student in students}) > 1
        and (not learners or set(students) & set(learners))
    ]


BINS = 10
MOST_MISTAKES = 15
MOST_GROUPS = 15
NEEDS_HELP = 0.5  # a learner with a smaller share of the points is listed
ENOUGH_HELP = 40  # the most learners that are listed


@dataclass
class Person:
    """One learner. number: replaces a hidden name; its order reveals nothing.

    points, most: the earned and the possible points. chapters: the rows by chapter.
    """

    name: str
    number: int
    points: float = 0.0
    most: float = 0.0
    chapters: dict[str, list[dict]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the possible points that the learner earned, from 0 to 1."""
        return self.points / self.most if self.most else 0.0

    @property
    def rows(self) -> list[dict]:
        """All rows of this learner."""
        return [row for rows in self.chapters.values() for row in rows]


def people_of(rows: list[dict], most: float) -> dict[str, Person]:
    """Return all learners by name. most: the points of all submitted chapters."""
    names = {row["student"] for row in rows}
    numbers = {n: i for i, n in enumerate(sorted(names, key=in_no_order), 1)}
    people = {name: Person(name, numbers[name], most=most) for name in sorted(names)}
    for row in rows:
        person = people[row["student"]]
        person.points += row["points"]
        if told := row.get("override"):  # excused exercises do not count
            person.most -= told["of"] - row["max_points"]
        person.chapters.setdefault(row["chapter"], []).append(row)
    return people


def in_no_order(name: str) -> str:
    """Return a sort key that is always the same and reveals nothing about a name."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def is_missing(row: dict) -> bool:
    """Return True if a row exists only because the learner submitted nothing."""
    return row.get("message_id") == NOTHING_SUBMITTED


def is_without_file(row: dict) -> bool:
    """Return True if the learner submitted something, but not the chapter's file."""
    return row.get("message_id") == NO_FILE


def submissions_where(rows: list[dict], holds: Callable[[dict], bool]) -> int:
    """Return the number of submissions with a row that fulfils a condition."""
    return len({(row["student"], row["chapter"]) for row in rows if holds(row)})


def class_view(
    course: Course,
    rows: list[dict],
    identical: list[dict],
    history: Sequence[dict],
) -> dict:
    """Return the data for the template."""
    order = [chapter.name for chapter in course.chapters]
    identical = sorted(
        (g for g in identical if g["chapter"] in order),
        key=lambda g: (order.index(g["chapter"]), -len(g["students"])),
    )
    handed_in = [c for c in course.chapters if any(row["chapter"] == c.name for row in rows)]
    people = people_of(rows, sum(chapter.points for chapter in handed_in))
    troubled = [row for row in rows if in_trouble(row["status"], row["mistakes"])]
    shares = [person.share for person in people.values()]
    return {
        "course": course,
        "people": list(people.values()),
        "most": sum(chapter.points for chapter in handed_in),
        "submissions": submissions_where(
            rows, lambda r: not is_missing(r) and not is_without_file(r)
        ),
        "missing": submissions_where(rows, is_missing),
        "without_file": submissions_where(rows, is_without_file),
        "late": submissions_where(rows, lambda row: bool(row.get("late_seconds"))),
        "changes": changes(history, people),
        "median": median(shares) if shares else 0.0,
        "bins": bins(shares),
        "chapters": [(c, exercise_counts(c, rows, len(people))) for c in handed_in],
        "averages": [averages(chapter, rows) for chapter in handed_in],
        "hardest": hardest(course, rows),
        "mistakes": mistake_counts(rows),
        "groups": [],
        "helped": needing_help(people),
        "trouble": troubles(troubled, people),
        "troubled": len({(row["student"], row["chapter"]) for row in troubled}),
        "identical": [
            g | {"people": [people[s] for s in g["students"] if s in people]} for g in identical
        ],
        "by_hand": [
            {"row": row, "person": people[row["student"]]} for row in rows if row.get("override")
        ],
        "isolations": sorted(Counter(row["isolation"] for row in rows).items()),
    }


MOST_MOVES = 40


def changes(history: Sequence[dict], people: dict[str, Person]) -> dict | None:
    """Return the changes of the last run that changed anything; None if no run did."""
    last = next((r for r in reversed(history) if r["moved"] or r["came"] or r["gone"]), None)
    if last is None:
        return None
    moved = [one | {"person": people.get(one["student"])} for one in last["moved"]]
    known = [one for one in moved if one["person"]]
    return {
        "at": last["at"],
        "why": sorted(Counter(one["why"] for one in moved).items()),
        "moved": known[:MOST_MOVES],
        "more": max(0, len(known) - MOST_MOVES),
        "came": len({student for student, _ in last["came"]}),
        "gone": len({student for student, _ in last["gone"]}),
    }


def bins(shares: list[float]) -> list[int]:
    """Return the number of learners with 0–10 % of the points, …; the last includes 100 %."""
    counts = Counter(min(int(share * BINS + 1e-9), BINS - 1) for share in shares)
    return [counts[number] for number in range(BINS)]


def exercise_counts(chapter: Chapter, rows: list[dict], learners: int) -> list[dict]:
    """Return for each exercise how many learners passed, tried without passing, and never began."""
    statuses: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        statuses[row["chapter"], row["exercise"]][row["status"]] += 1
    counts = []
    for exercise in chapter.exercises:
        seen = statuses[chapter.name, exercise.name]
        passed = seen["passed"]
        tried = sum(seen.values()) - passed - seen["not_attempted"]
        counts.append(
            {
                "name": exercise.name,
                "passed": passed,
                "tried": tried,
                "never": learners - passed - tried,
            }
        )
    return counts


def averages(chapter: Chapter, rows: list[dict]) -> dict:
    """Return a chapter's title, mean share of the points, and numbers of submissions."""
    own = [row for row in rows if row["chapter"] == chapter.name and row["max_points"]]
    most = sum(row["max_points"] for row in own)
    return {
        "title": chapter.title,
        "share": sum(row["points"] for row in own) / most if most else 0.0,
        "submitted": submissions_where(own, lambda row: not is_missing(row)),
        "missing": submissions_where(own, is_missing),
        "late": submissions_where(own, lambda row: bool(row.get("late_seconds"))),
    }


MOST_HARD = 5  # exercises that are listed as the hardest ones


def hardest(course: Course, rows: list[dict]) -> list[dict]:
    """Return the exercises with the smallest shares of the points, among learners who began."""
    found = []
    for chapter in course.chapters:
        for exercise in chapter.exercises:
            own = [
                r for r in rows if (r["chapter"], r["exercise"]) == (chapter.name, exercise.name)
            ]
            begun = [r for r in own if r["max_points"] and r["status"] != Status.NOT_ATTEMPTED]
            if most := sum(row["max_points"] for row in begun):
                counts = Counter(name for row in begun for name in row["mistakes"])
                share = sum(row["points"] + row.get("penalty", 0.0) for row in begun) / most
                told = [name for name, _ in counts.most_common(2)]
                found.append({"name": exercise.name, "share": share, "mistakes": told})
    return [one for one in sorted(found, key=lambda one: one["share"]) if one["share"] < 1][
        :MOST_HARD
    ]


def mistake_counts(rows: list[dict]) -> list[dict]:
    """Return the most frequent mistakes: name, number of learners, exercises and message."""
    who: dict[str, set[str]] = defaultdict(set)
    where: dict[str, set[str]] = defaultdict(set)
    messages: dict[str, str] = {}
    for row in rows:
        for name in row["mistakes"]:
            who[name].add(row["student"])
            where[name].add(row["exercise"])
            if len(row["mistakes"]) == 1:  # the shortest has the fewest remarks on other faults
                known = messages.get(name, row["message"])
                messages[name] = min(known, row["message"], key=len)
    frequent = sorted(who, key=lambda name: (-len(who[name]), name))[:MOST_MISTAKES]
    return [
        {
            "name": name,
            "count": len(who[name]),
            "where": sorted(where[name]),
            "message": messages.get(name, ""),
        }
        for name in frequent
    ]


def needing_help(people: dict[str, Person]) -> dict:
    """Return the learners with few points, fewest first, each with the reasons."""
    low = sorted(
        (p for p in people.values() if p.most and p.share < NEEDS_HELP),
        key=lambda p: (p.share, p.name),
    )
    listed = [{"person": p, "why": obstacles(p)} for p in low[:ENOUGH_HELP]]
    return {"listed": listed, "more": len(low) - len(listed), "below": NEEDS_HELP}


def obstacles(person: Person) -> str:
    """Return a text like `4 not begun, 3 wrong; repeatedly: no_scale`."""
    absent = len({row["chapter"] for row in person.rows if is_missing(row)})
    rows = [row for row in person.rows if not is_missing(row)]
    broken = sum(in_trouble(row["status"], row["mistakes"]) for row in rows)
    seen = Counter(row["status"] for row in rows)
    wrong = len(rows) - seen["passed"] - seen["not_attempted"] - broken
    parts = [
        (seen["not_attempted"], "not begun"),
        (wrong, "wrong"),
        (broken, "could not be graded"),
    ]
    told = [f"no submission for {plural(absent, 'chapter')}"] if absent else []
    counts = ", ".join(told + [f"{count} {words}" for count, words in parts if count])
    again = [
        name for name, n in Counter(m for r in person.rows for m in r["mistakes"]).items() if n > 1
    ]
    return counts + (f"; repeatedly: {', '.join(again)}" if again else "")


def troubles(troubled: list[dict], people: dict[str, Person]) -> list[dict]:
    """Return the files that could not be graded as usual, with learner, exercises and reason."""
    grouped = defaultdict(list)
    for row in troubled:
        about = row["student"], row["chapter"], row["status"], row["message"]
        grouped[about].append(row["exercise"])
    return [
        {
            "person": people[student],
            "chapter": chapter,
            "status": status,
            "message": message,
            "exercises": exercises,
        }
        for (student, chapter, status, message), exercises in grouped.items()
    ]
