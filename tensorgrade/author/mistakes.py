"""Known mistakes: wrong versions of a solution, declared as text.

An exercise's grader file has the exercise's own mistakes. `graders/mistakes.py` has the shared
ones, and each of these applies to every exercise in whose solution its text occurs once.

    no_scale 30%: The scores are not divided by the root of d_k. A percentage is the share of the
      exercise that the mistake costs; the default is what its checks take.
        / d_k**0.5 ->
    two_lines: A piece of several lines, or a long one, is written like this.
        - y = x.sum()
        - return y
        + return x.sum() + 1
        or
        x.mean() -> x.sum()

Edits are made one after another. One that changes nothing limits a mistake to solutions with its
text. A line `or` starts other edits, for solutions that those above it do not fit; `or 50%` sets
another share for them. Lines that start with `#` are comments.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import ModuleType

from ..cells import text_in
from ..course import CourseError, each
from ..exchange.stored import read_part, stored_path
from ..project import Project, import_from
from ..recognition.edits import EditError, Edits, make

HEAD = re.compile(r"(\w+)(?: (\d+)%)?: +(\S.*)")
OR = re.compile(r"    or(?: (\d+)%)?")
AS_EDIT = (
    "write an edit as `old -> new`, or as lines that start with `- ` and then lines that start "
    "with `+ `, indented by 4 spaces; indent the rest of a message by 2"
)
Pieces = list[tuple[list[str], list[str]]]  # by edit, the lines of the old text and the new one


@dataclass(frozen=True)
class Mistake:
    """One known mistake.

    name: short, with underscores. message: one or two sentences that point at the idea.
    price: the share of the exercise that it costs; None if the checks decide. place: `file:line`.
    shared: True if it is in `graders/mistakes.py`.
    """

    name: str
    message: str
    edits: Edits
    price: float | None = None
    place: str = ""
    shared: bool = False


@lru_cache(maxsize=256)
def written_in(module: ModuleType) -> tuple[Mistake, ...]:
    """Return the mistakes of a grader file. Raises CourseError, with a line for each problem.

    A mistake with a line `or` occurs once for each list of edits.
    """
    text, path = getattr(module, "MISTAKES", ""), Path(str(module.__file__))
    before, _, _ = f"\n{text_in(path)}".partition("\nMISTAKES")
    first = before.count("\n") + 1
    if not isinstance(text, str):
        raise CourseError(f'{path}:{first}: MISTAKES has to be a text in triple quotes (""")')
    found: list[tuple[Mistake, Pieces]] = []
    lines = ((f"{path}:{n}", line.rstrip()) for n, line in enumerate(text.split("\n"), first))
    each(lambda one: read(found, *one), (x for x in lines if x[1] and not x[1].startswith("#")))
    return tuple(each(lambda one: finished(*one), found))


def finished(mistake: Mistake, edits: Pieces) -> Mistake:
    """Return the mistake with its edits. Raises CourseError if it has none."""
    if not edits:
        raise CourseError(f"{mistake.place}: {mistake.name} has no edit; {AS_EDIT}")
    return replace(mistake, edits=tuple(("\n".join(old), "\n".join(new)) for old, new in edits))


def read(found: list[tuple[Mistake, Pieces]], place: str, line: str) -> None:
    """Add a line of a text to the mistakes so far. Raises CourseError if the line is wrong."""
    if not found or not line.startswith(" "):
        if not (head := HEAD.fullmatch(line)):
            allowed = "`name: message` or `name 30%: message`, without indentation"
            raise CourseError(f"{place}: a mistake starts with {allowed}")
        price = int(head[2]) / 100 if head[2] else None
        found.append((Mistake(head[1], head[3], (), price, place), []))
        return
    mistake, edits = found[-1]
    if again := OR.fullmatch(line):
        price = int(again[1]) / 100 if again[1] else mistake.price
        found.append((replace(mistake, price=price), []))
    elif line.startswith("    "):
        add_edit(edits, place, line[4:])
    elif line.startswith("  ") and not edits:
        found[-1] = replace(mistake, message=f"{mistake.message} {line.strip()}"), edits
    else:
        raise CourseError(f"{place}: {AS_EDIT}")


def add_edit(edits: Pieces, place: str, line: str) -> None:
    """Add a line to edits, or start another edit with it. Raises CourseError for a wrong line."""
    old, arrow, new = f"{line} ".partition(" -> ")
    if line == "-" or line.startswith("- "):
        if not edits or edits[-1][1]:
            edits.append(([], []))
        edits[-1][0].append(line[2:])
    elif edits and (line == "+" or line.startswith("+ ")):
        edits[-1][1].append(line[2:])
    elif arrow and old.strip():
        edits.append(([old.strip()], [new.strip()]))
    else:
        raise CourseError(f"{place}: {AS_EDIT}")


@lru_cache(maxsize=4)
def shared_mistakes(project: Project) -> tuple[Mistake, ...]:
    """Return the mistakes in `graders/mistakes.py`, which a course need not have."""
    if not (project.graders / "mistakes.py").exists():
        return ()
    written = written_in(import_from(project.graders, "mistakes"))
    return tuple(replace(one, shared=True) for one in written)


def every_mistake(project: Project) -> list[Mistake]:
    """Return the mistakes of a course: those of each exercise, and then the shared ones."""
    names = [(c.name, e.name) for c in project.course.chapters for e in c.exercises if not e.like]
    own = each(lambda name: written_in(project.grader(*name)), names)
    return [*chain(*own), *shared_mistakes(project)]


@lru_cache(maxsize=256)
def known(project: Project, exercise: str) -> list[Mistake]:
    """Return the mistakes that can occur in an exercise: its own ones, and then shared ones.

    These are the shared mistakes whose text occurs once in the exercise's solution. Of several
    edits for the same mistake, the first that fits counts. A find-the-bug exercise has none.
    """
    chapter, itself = project.course.exercise(exercise)
    if itself.like:
        return []
    source = project.solution(chapter.name).read_text(encoding="utf-8")
    found: dict[str, Mistake] = {}
    for one in shared_mistakes(project):
        with suppress(EditError):
            if one.name not in found:
                make(source, exercise, one.edits)
                found[one.name] = one
    return [*written_in(project.grader(chapter.name, exercise)), *found.values()]


def told_apart(project: Project, exercise: str) -> list[Mistake]:
    """Return the mistakes of an exercise without those that the last build left out.

    These are shared ones that change nothing on its hidden cases, or the same as an earlier one.
    """
    chapter = project.course.exercise(exercise)[0].name
    stored = read_part(stored_path(project.graders, chapter, exercise), "fingerprints")
    names = {name for names, *_ in stored["prints"] for name in names}
    return [one for one in known(project, exercise) if one.name in names]
