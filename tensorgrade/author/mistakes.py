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
from pathlib import Path
from types import ModuleType

from ..cells import text_in
from ..course import CourseError, each
from ..exchange.stored import read_part, stored_path
from ..project import Project, import_from
from ..recognition.edits import EditError, Edits, make

HEAD = re.compile(r"(\w+)(?: (\d+)%)?:(?: +(.*))?")
OR = re.compile(r"    or(?: (\d+)%)?")
AS_HEAD = "a mistake starts with `name: message` or `name 30%: message`, without indentation"
AS_EDIT = (
    "write an edit as `old -> new`, or as lines that start with `- ` and then lines that start "
    "with `+ `, indented by 4 spaces; indent the rest of a message by 2"
)
Line = tuple[str, str]  # file:line, and the text of the line


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


@lru_cache(maxsize=256)  # a build asks for each text many times
def parse(text: str, path: Path, first: int) -> tuple[Mistake, ...]:
    """Return the mistakes of a text; one with a line `or` occurs once for each list of edits.

    first: the text's first line in the file. Raises CourseError, with a line for each problem.
    """
    blocks: list[list[Line]] = []
    for number, line in enumerate(text.split("\n"), first):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" ") or not blocks:
            blocks.append([])
        blocks[-1].append((f"{path}:{number}", line.rstrip()))
    return tuple(one for found in each(read, blocks) for one in found)


def read(lines: list[Line]) -> list[Mistake]:
    """Return the mistake of some lines, once for each list of edits. Raises CourseError."""
    (place, line), *rest = lines
    if not (head := HEAD.fullmatch(line)):
        raise CourseError(f"{place}: {AS_HEAD}")
    name, percent, *message = head.groups()
    price = int(percent) / 100 if percent else None
    versions: list[tuple[float | None, list[Line]]] = [(price, [])]
    for where, line in rest:
        if again := OR.fullmatch(line):
            versions.append((int(again[1]) / 100 if again[1] else price, []))
        elif line.startswith("    "):
            versions[-1][1].append((where, line[4:]))
        elif line.startswith("  ") and versions == [(price, [])]:
            message.append(line.strip())
        else:
            raise CourseError(f"{where}: {AS_EDIT}")
    said = " ".join(filter(None, message))
    return [
        Mistake(name, said, edits_in(place, name, written), cost, place)
        for cost, written in versions
    ]


def edits_in(place: str, name: str, lines: list[Line]) -> Edits:
    """Return the edits in some lines. Raises CourseError if there are none, or for a bad line."""
    found: list[tuple[list[str], list[str]]] = []
    for where, line in lines:
        old, arrow, new = f"{line} ".partition(" -> ")
        if line == "-" or line.startswith("- "):
            if not found or found[-1][1]:
                found.append(([], []))
            found[-1][0].append(line[2:])
        elif found and (line == "+" or line.startswith("+ ")):
            found[-1][1].append(line[2:])
        elif arrow and old.strip():
            found.append(([old.strip()], [new.strip()]))
        else:
            raise CourseError(f"{where}: {AS_EDIT}")
    if not found:
        raise CourseError(f"{place}: {name} has no edit; {AS_EDIT}")
    return tuple(("\n".join(old), "\n".join(new)) for old, new in found)


def written_in(module: ModuleType) -> tuple[Mistake, ...]:
    """Return the mistakes of a grader file. Raises CourseError, with a line for each problem."""
    text, path = getattr(module, "MISTAKES", ""), Path(str(module.__file__))
    before, _, _ = f"\n{text_in(path)}".partition("\nMISTAKES")
    first = before.count("\n") + 1
    if not isinstance(text, str):
        raise CourseError(f'{path}:{first}: MISTAKES has to be a text in triple quotes (""")')
    return parse(text, path, first)


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
    return [one for some in (*own, *each(shared_mistakes, [project])) for one in some]


def known(project: Project, exercise: str) -> list[Mistake]:
    """Return the mistakes that can occur in an exercise: its own ones, and then shared ones.

    A find-the-bug exercise has none.
    """
    chapter, itself = project.course.exercise(exercise)
    if itself.like:
        return []
    source = project.solution(chapter.name).read_text(encoding="utf-8")
    shared = fitting(shared_mistakes(project), source, exercise)
    return [*written_in(project.grader(chapter.name, exercise)), *shared]


@lru_cache(maxsize=256)
def fitting(shared: tuple[Mistake, ...], source: str, exercise: str) -> tuple[Mistake, ...]:
    """Return the shared mistakes whose text occurs once in an exercise's solution.

    Of several edits for the same mistake, the first that fits counts.
    """
    found: dict[str, Mistake] = {}
    for one in shared:
        with suppress(EditError):
            if one.name not in found:
                make(source, exercise, one.edits)
                found[one.name] = one
    return tuple(found.values())


def told_apart(project: Project, exercise: str) -> list[Mistake]:
    """Return the mistakes of an exercise without those that the last build left out.

    These are shared ones that change nothing on its hidden cases, or the same as an earlier one.
    """
    chapter = project.course.exercise(exercise)[0].name
    stored = read_part(stored_path(project.graders, chapter, exercise), "fingerprints")
    names = {name for names, *_ in stored["prints"] for name in names}
    return [one for one in known(project, exercise) if one.name in names]
