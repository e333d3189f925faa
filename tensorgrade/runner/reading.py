"""Read the Python in a submission: a script as it is, and the definitions in a notebook.

Of a notebook, imports, functions and classes remain, and simple values such as literals. They also
remain in the branches of an `if` or a `try` that defines a function or a class or imports
something. Calls, prints, plots, loops, `await`, magics and shell lines are dropped, so long-running
cells cost no time. A class that depends on a value computed by another cell therefore fails
visibly. Tags, outputs and other metadata are ignored, except nbgrader's marks of exercises. All
code cells count, in their order in the notebook.

An exercise has a cell of its own. If other cells define it too, its own cell counts once it is
solved. A last line `mean = 3` or a scratch version below therefore does no harm.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .facts import changes, written
from .loading import is_definition
from .source import Source, Text, Unreadable, decode, with_plain_ends
from .syntax import (
    CELL,
    DEFINITIONS,
    IMPORTS,
    bound_names,
    branches,
    is_unfinished,
    leaves,
    piece,
    pieces,
)

PYTHON_MAGICS = ("time", "timeit", "capture", "prun", "python", "python3")
# This matches a line without its indentation, which would make matching quadratic in its length.
ESCAPED = re.compile(r"%{1,2}\w.*|[!?].*|[\w.*]+\?+|[\w, .]+=\s*(?:%\w|!).*")
MOST_CHARACTERS = 1 << 18


def source_in(content: bytes, filename: str) -> Source:
    """Return the Python in a script or a notebook. Raises only Unreadable, with a sentence.

    An unexpected error of a parser affects only that file.
    """
    name = Path(filename).name
    try:
        text = decode(content, name)
        if not filename.endswith(".ipynb"):
            return Source(text, filename)
        return extract(code_cells(text, name), filename)
    except Unreadable:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise Unreadable(f"{name} cannot be read: looking for its code ends in a {kind}.") from None


def source_that_counts(
    content: bytes, filename: str, script: bytes, exercises: Mapping[str, str]
) -> Source:
    """Return the source to grade from a notebook and the script submitted along with it.

    exercises: by name, the given code of a find-the-bug exercise; empty for other exercises.
    The notebook counts if any exercise in it is solved. Unchanged given code, a helper alone and an
    unreadable file are not answers. Learners who work in a script often submit an untouched
    notebook too. Raises Unreadable.
    """
    try:
        source = source_in(content, filename)
        if answered(source.text, exercises):
            return source
    except (Unreadable, RecursionError):  # an answer too deep to be examined is not one
        pass
    return source_in(script, str(Path(filename).with_suffix(".py")))


def answered(text: str, exercises: Mapping[str, str]) -> bool:
    """Return True if a text solves an exercise, or changes the code of a find-the-bug exercise."""
    given = {name: code for name, code in exercises.items() if code}
    untouched = {name for name, changed in changes(text, given).items() if not changed}
    return bool((exercises.keys() & written(text)) - untouched)


@dataclass(frozen=True)
class Cell:
    """One code cell: its source, and its name in messages.

    exercise: the exercise that owns it, or "". place: its position among the code cells, in words.
    """

    source: str
    name: str
    exercise: str = ""
    place: str = ""


def code_cells(text: str, filename: str) -> list[Cell]:
    """Return the code cells of an `.ipynb` file's content. Raises Unreadable with a sentence."""
    if not text.strip():
        raise Unreadable(f"{filename} is empty.")
    try:
        notebook = json.loads(text, parse_int=float)  # an integer may have too many digits
        cells = [cell for cell in notebook["cells"] if cell.get("cell_type") == "code"]
        return [read_cell(cell, number) for number, cell in enumerate(cells, 1)]
    except json.JSONDecodeError as error:
        why = f"is damaged: line {error.lineno} is not valid JSON"
        raise Unreadable(f"{filename} {why}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unreadable(f"{filename} is not a notebook: it cannot be read as one.") from None


def read_cell(cell: dict, number: int) -> Cell:
    """Return a cell, named after the exercise that nbgrader marks, or by its number."""
    source = cell.get("source", "")
    text = with_plain_ends(source if isinstance(source, str) else "".join(source))
    marks: Any = (cell.get("metadata") or {}).get("nbgrader")
    owned = isinstance(marks, dict) and marks.get("solution")
    name = marks.get("grade_id") if owned else None
    exercise = name[:80] if isinstance(name, str) else ""
    return Cell(text, f"`{exercise}`" if exercise else str(number), exercise, f"code cell {number}")


class Part(NamedTuple):
    """A statement of a cell, or a block that cannot be parsed.

    cell: the cell's position. names: that it defines. begin, end: its place in the cell's text.
    stays: False if it is not a definition. is_written: True if it defines a function or a class
    that is finished.
    """

    cell: int
    names: list[str]
    begin: int
    end: int
    stays: bool
    is_written: bool


def extract(cells: list[Cell], filename: str = "the notebook") -> Source:
    """Return the definitions of the cells as one text, with a line above each cell that marks it.

    Lines keep their place in their cell. In a broken cell only broken parts are lost. Raises
    Unreadable if there is more code than any answer needs.
    """
    if sum(len(cell.source) for cell in cells) > MOST_CHARACTERS:
        raise Unreadable(f"{filename} has more than {MOST_CHARACTERS} characters of code.")
    texts = [Text(without_magics(without_indentation(cell.source))) for cell in cells]
    parts = [part for at, text in enumerate(texts) for part in parts_in(text, at)]
    overruled, notes = with_one_definition(cells, parts)
    lines, starts = [], []
    for at, text in enumerate(texts):
        lines.append(f"{CELL} cell {at + 1}")  # without its name, which the learner chose
        starts.append(len(lines))
        dropped = (p for p in parts if p.cell == at and (not p.stays or p in overruled))
        lines += without(text, dropped).split("\n")
    names = tuple(cell.name for cell in cells)
    return Source("\n".join(lines) + "\n", filename, tuple(starts), names, tuple(notes))


def parts_in(text: Text, cell: int) -> Iterator[Part]:
    """Yield the parts of a cell, in order."""
    for one in pieces(text.text):
        if one.error:
            begin = text.starts[one.above]
            yield Part(cell, one.names, begin, begin + len(one.text), bool(one.names), True)
        for made in each_statement(one.body):
            stays = not branches(made) and is_definition(made)
            yield Part(cell, bound_names(made), *text.span(made), stays, is_written(made))


def each_statement(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements; of an `if` or a `try` with definitions, those in its branches.

    Any other `if` is one statement, because its condition may take long.
    """
    for one in body:
        if any(isinstance(part, (*DEFINITIONS, *IMPORTS)) for part in leaves(one)):
            yield from each_statement(branches(one))
        else:
            yield one


def is_written(made: ast.stmt) -> bool:
    """Return True if a statement defines a function or a class, and that is finished."""
    named = isinstance(made, ast.Assign) and isinstance(made.value, (ast.Lambda, ast.Name))
    return named or (isinstance(made, DEFINITIONS) and not is_unfinished(made))


def with_one_definition(
    cells: list[Cell], parts: list[Part]
) -> tuple[list[Part], list[tuple[str, str]]]:
    """Return the parts that the definition of an exercise overrules, and notes.

    That is the exercise's last solved own one, otherwise the last solved one, otherwise the last
    unsolved own one. A note is a pair of an exercise and a sentence on which definition counts.
    """
    overruled, notes = [], []
    for name in dict.fromkeys(cell.exercise for cell in cells if cell.exercise):
        made = [part for part in parts if part.stays and name in part.names]
        own = [part for part in made if cells[part.cell].exercise == name]
        solved = [part for part in made if part.is_written]
        ranked = [part for part in own if part.is_written], solved, own
        chosen = next((found[-1] for found in ranked if found), None)
        if chosen is None:
            continue
        overruled += made[made.index(chosen) + 1 :]
        meant = {part.cell for part in (*own, *solved)} - {chosen.cell}
        if others := [cells[at].place for at in sorted(meant)]:
            elsewhere = " and ".join(others[-2:])
            place = cells[chosen.cell].place
            notes.append((name, f"`{name}` is taken from {place}, not from {elsewhere}."))
    return overruled, notes


def without(text: Text, parts: Iterable[Part]) -> str:
    """Return a cell with `pass` in place of some parts; other lines stay in place."""
    ends = ((part.begin, part.end) for part in parts)
    return text.put([(a, b, "pass" + "\n" * text.text.count("\n", a, b)) for a, b in ends])


def without_indentation(source: str) -> str:
    """Return a cell without the indentation of its first line, which a notebook also removes.

    >>> without_indentation("  x = 1\\n  y = 2")
    'x = 1\\ny = 2'
    """
    lines = source.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return "\n".join(line.removeprefix(indent) for line in lines) if indent else source


def without_magics(source: str) -> str:
    """Return a cell without IPython's own syntax: `%magics`, `!shell` lines and `help?`.

    >>> without_magics("%time f()\\nx = 7 \\\\\\n  % 4\\n!ls")
    'pass\\nx = 7 \\\\\\n  % 4\\npass'
    """
    lines = source.split("\n")
    if source.startswith("%%"):
        if lines[0][2:].split(" ")[0].strip() not in PYTHON_MAGICS:
            return "\n" * source.count("\n")
        lines[0] = ""
    if not piece("\n".join(lines)).error:
        return "\n".join(lines)
    return "\n".join(passed_over(one) if ESCAPED.fullmatch(one.lstrip()) else one for one in lines)


def passed_over(line: str) -> str:
    """Return `pass` with the indentation of a line, as its replacement."""
    return line[: len(line) - len(line.lstrip())] + "pass"
