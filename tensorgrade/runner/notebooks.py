"""Takes the Python out of a notebook: what defines something, and nothing that merely runs.

Kept are imports, functions, classes, and assignments of literals, lambdas and plain names. A class
that leans on a value which another cell computes is so found out. Dropped are calls, prints,
plots, loops, `await`, magics and shell lines, so long-running cells cost no time. Tags, outputs
and other metadata mean nothing; every code cell counts, in the order in which they stand.

An exercise has a cell of its own. If other cells define it too, that one counts as soon as it is
written: a last line `name = 3` or a scratch version below takes nothing away. A copy of the
cell that is written counts before one that is untouched.
"""

import ast
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from .errors import BLOCK
from .loading import bound_names, is_definition, statements, top_level_blocks
from .source import UNPARSABLE, Source, Unreadable, with_plain_ends

PYTHON_MAGICS = ("time", "timeit", "capture", "prun", "python", "python3")
# After its indentation, on which a pattern would spend time by the square of its length.
ESCAPED = re.compile(r"[%!?].*|.*\?|[\w, .]+=\s*[%!].*")
OWN_TOOLS = "tensorgrade"
MOST_REPAIRS = 20
MOST_CHARACTERS = 1 << 18
# What to put in the place of a broken block, given its text and the names that it would define.
Broken = Callable[[str, list[str]], str]


@dataclass(frozen=True)
class Cell:
    """One code cell: its source, and how it is called in messages.

    exercise: whose cell it is, if any. place: which of all cells it is, in words. is_code: False
    for a cell of an exercise that somebody has turned into text.
    """

    source: str
    name: str
    exercise: str = ""
    place: str = ""
    is_code: bool = True


def code_cells(text: str, filename: str) -> list[Cell]:
    """The code cells of an `.ipynb` file's content. Raises Unreadable with a sentence."""
    if not text.strip():
        raise Unreadable(f"{filename} is empty.")
    try:
        notebook = json.loads(text, parse_int=float)  # a whole number may have too many digits
        sheets = notebook.get("worksheets") or [notebook]  # the oldest notebooks have sheets
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        numbers = itertools.accumulate(int(cell.get("cell_type") == "code") for cell in cells)
        numbered = zip(cells, numbers, strict=True)
        return [read_cell(cell, number) for cell, number in numbered if is_read(cell)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unreadable(f"{filename} is no notebook: it cannot be read as one.") from None


def source_of(cell: dict) -> str:
    """A cell's text: a string or a list of lines, under its new or its old name."""
    source = cell.get("source", cell.get("input", ""))
    return with_plain_ends(source if isinstance(source, str) else "".join(source))


def is_read(cell: dict) -> bool:
    """Return True for code cells, and for an exercise's cell that somebody has turned into text."""
    return cell.get("cell_type") == "code" or bool(exercise_of(cell))


def read_cell(cell: dict, number: int) -> Cell:
    """Return a cell, called by its exercise or by its number among the code cells."""
    exercise, is_code = exercise_of(cell), cell.get("cell_type") == "code"
    place = f"code cell {number}" if is_code else f"the text cell `{exercise}`"
    return Cell(
        source_of(cell), f"`{exercise}`" if exercise else str(number), exercise, place, is_code
    )


def exercise_of(cell: dict) -> str:
    """Return the exercise whose cell it is, as nbgrader marks it; empty if it is none's."""
    marks: Any = (cell.get("metadata") or {}).get("nbgrader")
    named = (
        isinstance(marks, dict) and marks.get("solution") and isinstance(marks.get("grade_id"), str)
    )
    return marks["grade_id"][:80] if named else ""


def extract(cells: list[Cell], filename: str = "the notebook") -> Source:
    """All definitions of the cells as one text. A broken cell costs only what is broken in it.

    Raises Unreadable where there is more code than any answer needs.
    """
    if sum(len(cell.source) for cell in cells) > MOST_CHARACTERS:
        raise Unreadable(f"{filename} has more than {MOST_CHARACTERS} characters of code.")
    cells, notes = with_one_definition(cells)
    as_written = replace(assemble(cells, filename, keep_broken), notes=notes)
    if line_of_error(as_written.text) is None:
        return as_written
    # Beside a broken cell, a file is read block by block; where that would cut through a string
    # of another cell, say of the broken block only that it is broken.
    sound = assemble(cells, filename, drop_broken)
    lost = names_in(sound.text) - names_in(as_written.text)
    return replace(assemble(cells, filename, name_broken), notes=notes) if lost else as_written


def with_one_definition(cells: list[Cell]) -> tuple[list[Cell], tuple[tuple[str, str], ...]]:
    """Return the cells without what would replace a definition that counts, and notes on that."""
    notes = []
    for name in dict.fromkeys(cell.exercise for cell in cells if cell.exercise):
        found = {at: made for at, cell in enumerate(cells) if (made := last_made(cell, name))}
        chosen = which_counts(cells, name, found)
        meant = [at for at in found if is_written(found[at]) or cells[at].exercise == name]
        others = [at for at in meant if at != chosen]
        if chosen is not None and (others or not cells[chosen].is_code):
            notes.append((name, which_counted(name, cells[chosen], [cells[at] for at in others])))
        for at in found:
            if chosen is not None and at > chosen:
                cells = [*cells[:at], without(cells[at], name), *cells[at + 1 :]]
        if chosen is not None:
            cells = [*cells[:chosen], replace(cells[chosen], is_code=True), *cells[chosen + 1 :]]
    return [cell if cell.is_code else replace(cell, source="") for cell in cells], tuple(notes)


def which_counts(cells: list[Cell], name: str, found: dict[int, ast.stmt]) -> int | None:
    """Return which cell's definition of an exercise counts; None if no cell has one.

    That is the last of its own that is written, as code or as text, or else of all that are.
    """
    own = [at for at in found if cells[at].exercise == name]
    written = [at for at in found if is_written(found[at])]
    ranked = (
        [at for at in own if at in written and cells[at].is_code],
        [at for at in own if at in written],
        [at for at in written if cells[at].is_code],
        [at for at in own if cells[at].is_code],
    )
    return next((places[-1] for places in ranked if places), None)


def which_counted(name: str, chosen: Cell, others: list[Cell]) -> str:
    """Return a sentence on which of several definitions counts, and which does not."""
    said = f"`{name}` is taken from {chosen.place}"
    if not chosen.is_code:
        said += ", which is no code cell any more"
    elsewhere = " and ".join(cell.place for cell in others[-2:])
    return f"{said}, not from {elsewhere}." if others else f"{said}."


def last_made(cell: Cell, name: str) -> ast.stmt | None:
    """Return the last statement of a cell that gives a name something, None if there is none.

    For a definition that is no Python another one stands: what is wrong with it is to be said.
    """
    text = definitions(cell.source, drop_broken)
    made = [one for one in statements(text, "notebook", []) if name in bound_names(one)]
    if made or not re.search(
        rf"^(?:async +)?(?:def|class) +{re.escape(name)}\b", cell.source, re.M
    ):
        return made[-1] if made else None
    return ast.parse(f"def {name}(): pass").body[0]


def is_written(made: ast.stmt) -> bool:
    """Return True if a statement defines a function or a class that is no untouched stub."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    named = isinstance(made, ast.Assign) and isinstance(made.value, (ast.Lambda, ast.Name))
    return (isinstance(made, kinds) or named) and "NotImplementedError" not in ast.unparse(made)


def without(cell: Cell, name: str) -> Cell:
    """Return a cell without what gives a name something; its lines stay where they are."""
    text = definitions(cell.source, keep_broken)
    if line_of_error(text) is not None:
        return cell
    return replace(cell, source=only_definitions(text, lambda made: name not in bound_names(made)))


def assemble(cells: list[Cell], filename: str, broken: Broken) -> Source:
    """The cells' definitions one below the other, each cell under a line with its name."""
    lines: list[str] = []
    starts = []
    for number, cell in enumerate(cells, 1):
        lines.append(f"# cell {number}")  # its name is the learner's: no text to be run
        starts.append(len(lines))
        lines += definitions(cell.source, broken).split("\n")
    names = tuple(cell.name for cell in cells)
    return Source("\n".join(lines) + "\n", filename, tuple(starts), names)


def names_in(text: str) -> set[str]:
    """The names that the parts of a text bind which the runner will be able to read."""
    return {
        name for statement in statements(text, "notebook", []) for name in bound_names(statement)
    }


def definitions(source: str, broken: Broken) -> str:
    """A cell's text with everything blanked that defines nothing; line numbers stay.

    >>> definitions("import torch\\n%time f()\\nx = 1; print(x)\\n!ls", keep_broken)
    'import torch\\n\\nx = 1; 0\\n'
    """
    source = without_magics(as_it_runs(source))
    try:
        return only_definitions(source)
    except UNPARSABLE:
        return "\n".join(
            definitions_of_block(block, broken) for _, block in top_level_blocks(source)
        )


# As Python's own prompt, IPython's and its text for notebooks write a line, and how it goes on.
PROMPTS = re.compile(r"(?:>>> ?|\.\.\. ?|In \[\d+\]: ?| +\.{3,}: ?)")


def as_it_runs(source: str) -> str:
    """A cell without what a notebook takes away before it runs one: prompts, and an indentation.

    >>> as_it_runs(">>> def f(x):\\n...     return x"), as_it_runs("  x = 1\\n  y = 2")
    ('def f(x):\\n    return x', 'x = 1\\ny = 2')
    """
    lines = source.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if re.match(r">>> |In \[\d+\]: ", first):
        lines = [PROMPTS.sub("", line, count=1) if PROMPTS.match(line) else line for line in lines]
        return "\n".join(lines)
    indent = first[: len(first) - len(first.lstrip())]
    return "\n".join(line.removeprefix(indent) for line in lines) if indent else source


def definitions_of_block(block: str, broken: Broken) -> str:
    """The definitions of one block; of a block that does not parse, what `broken` makes of it."""
    try:
        return only_definitions(block)
    except UNPARSABLE:
        names = re.findall(r"^(?:async +)?(?:def|class) +(\w+)", block, re.MULTILINE)
        return (broken if names else drop_broken)(block, names)


def keep_broken(block: str, names: list[str]) -> str:
    """A broken definition as it is: the runner says what is wrong with it."""
    return block


def drop_broken(block: str, names: list[str]) -> str:
    """Nothing in place of a broken definition."""
    return "\n" * block.count("\n")


def name_broken(block: str, names: list[str]) -> str:
    """In place of a broken definition, a line that raises what is wrong with it."""
    raising = "; ".join(f"{name} = compile({block!r}, {BLOCK!r}, 'exec')" for name in names)
    return raising + "\n" * block.count("\n")


def without_magics(source: str) -> str:
    """A cell without IPython's own syntax: `%magics`, `!shell` lines and `help?`.

    Only lines that do not parse are looked at, so a `%` that begins a line of a formula stays.
    """
    if source.startswith("%%"):
        first, _, rest = source.partition("\n")
        if first[2:].split(" ")[0].strip() not in PYTHON_MAGICS:
            return "\n" * source.count("\n")
        source = "\n" + rest
    for _ in range(MOST_REPAIRS):
        line = line_of_error(source)
        if line is None:
            return source
        lines = source.split("\n")
        if line > len(lines) or not is_escaped(lines[line - 1]):
            return source
        lines[line - 1] = passed_over(lines[line - 1])
        source = "\n".join(lines)
    lines = source.split("\n")
    return "\n".join(passed_over(line) if is_escaped(line) else line for line in lines)


def is_escaped(line: str) -> bool:
    """Whether a line that is no Python may be IPython's own."""
    return bool(ESCAPED.fullmatch(line.lstrip()))


def passed_over(line: str) -> str:
    """`pass` in place of a line, as deep as it."""
    return line[: len(line) - len(line.lstrip())] + "pass"


@lru_cache(maxsize=1)
def parsed(source: str) -> ast.Module:
    """The syntax tree of a text; a cell is looked at twice in a row."""
    return ast.parse(source)


def line_of_error(source: str) -> int | None:
    """The line where a text stops to be Python; None where it does not."""
    try:
        parsed(source)
    except SyntaxError as error:
        return error.lineno
    except UNPARSABLE:
        return None
    return None


def only_definitions(
    source: str, is_kept: Callable[[ast.stmt], bool] = lambda statement: defines(statement)
) -> str:
    """A text that parses, with `0` in place of each statement that defines nothing."""
    text, kept, at = source.encode(), [], 0  # columns count bytes
    lines = [0, *(found.end() for found in re.finditer(b"\n", text))]
    for statement in parsed(source).body:
        if not is_kept(statement):
            begin = lines[statement.lineno - 1] + statement.col_offset
            # A parser always says where a statement ends.
            end = lines[(statement.end_lineno or 0) - 1] + (statement.end_col_offset or 0)
            kept += [text[at:begin], b"0", b"\n" * text.count(b"\n", begin, end)]
            at = end
    whole = b"".join([*kept, text[at:]])
    return b"\n".join(b"" if n.strip() == b"0" else n for n in whole.split(b"\n")).decode()


def defines(statement: ast.stmt) -> bool:
    """Whether a statement defines something that an answer may need."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return not imports_own_tools(statement)
    if isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Lambda, ast.Name)):
        return True
    return is_definition(statement)


def imports_own_tools(statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import is one of the course's tools, which only a notebook needs."""
    modules = (
        [getattr(statement, "module", None)]
        if isinstance(statement, ast.ImportFrom)
        else [alias.name for alias in statement.names]
    )
    return any((module or "").split(".")[0] == OWN_TOOLS for module in modules)
