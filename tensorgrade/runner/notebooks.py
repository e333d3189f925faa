"""Extract the Python from a notebook: its definitions, without code that merely runs.

Imports, functions and classes remain, and assignments of literals, lambdas and plain names. They
also remain in the branches of an `if` or a `try` that defines a function or a class or imports
something. Calls, prints, plots, loops, `await`, magics and shell lines are dropped, so long-running
cells cost no time. A class that depends on a value computed by another cell therefore fails
visibly. Tags, outputs and other metadata are ignored, except nbgrader's marks of exercises. All
code cells count, in their order in the notebook.

An exercise has a cell of its own. If other cells define it too, its own cell counts once it is
solved. A last line `mean = 3` or a scratch version below therefore does no harm. A solved copy of
the cell takes precedence over an untouched one.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .errors import BLOCK
from .loading import (
    KEPT,
    bound_names,
    branches,
    is_definition,
    statements,
    top_level_blocks,
    tree_of,
)
from .source import UNPARSABLE, Source, Unreadable, with_plain_ends

PYTHON_MAGICS = ("time", "timeit", "capture", "prun", "python", "python3")
# This matches a line without its indentation, which would make matching quadratic in its length.
ESCAPED = re.compile(r"[%!?].*|.*\?|[\w, .]+=\s*[%!].*")
OWN_TOOLS = "tensorgrade"
MOST_REPAIRS = 20
MOST_CHARACTERS = 1 << 18
# A function that returns a replacement for a broken block, given its text and the names that it
# would define.
Broken = Callable[[str, list[str]], str]


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


def source_of(cell: dict) -> str:
    """Return a cell's text, which is a string or a list of lines."""
    source = cell.get("source", "")
    return with_plain_ends(source if isinstance(source, str) else "".join(source))


def read_cell(cell: dict, number: int) -> Cell:
    """Return a cell, named after its exercise or by its number among the code cells."""
    exercise = exercise_of(cell)
    name = f"`{exercise}`" if exercise else str(number)
    return Cell(source_of(cell), name, exercise, f"code cell {number}")


def exercise_of(cell: dict) -> str:
    """Return the exercise that owns a cell, as nbgrader marks it; empty if there is none."""
    marks: Any = (cell.get("metadata") or {}).get("nbgrader")
    named = (
        isinstance(marks, dict) and marks.get("solution") and isinstance(marks.get("grade_id"), str)
    )
    return marks["grade_id"][:80] if named else ""


def extract(cells: list[Cell], filename: str = "the notebook") -> Source:
    """Return all definitions of the cells as one text. In a broken cell only broken parts are lost.

    Raises Unreadable if there is more code than any answer needs.
    """
    if sum(len(cell.source) for cell in cells) > MOST_CHARACTERS:
        raise Unreadable(f"{filename} has more than {MOST_CHARACTERS} characters of code.")
    cells, notes = with_one_definition(cells)
    as_written = replace(assemble(cells, filename, keep_broken), notes=notes)
    if line_of_error(as_written.text) is None:
        return as_written
    # A text with a broken cell is read block by block (`statements` in loading.py). If that loses
    # names of other cells, because it cuts one of their strings in two, replace each broken block
    # with a line that raises its error.
    sound = assemble(cells, filename, drop_broken)
    lost = names_in(sound.text) - names_in(as_written.text)
    return replace(assemble(cells, filename, name_broken), notes=notes) if lost else as_written


def with_one_definition(cells: list[Cell]) -> tuple[list[Cell], tuple[tuple[str, str], ...]]:
    """Return the cells with only the definition of each exercise that counts, and notes.

    A note is a pair of an exercise and a sentence on which definition counts.
    """
    notes = []
    for name in dict.fromkeys(cell.exercise for cell in cells if cell.exercise):
        found = {at: made for at, cell in enumerate(cells) if (made := last_made(cell, name))}
        chosen = which_counts(cells, name, found)
        if chosen is None:
            continue
        meant = [at for at in found if is_written(found[at]) or cells[at].exercise == name]
        if others := [cells[at] for at in meant if at != chosen]:
            notes.append((name, which_counted(name, cells[chosen], others)))
        for at in found:
            if at > chosen:
                cells = [*cells[:at], without(cells[at], name), *cells[at + 1 :]]
    return cells, tuple(notes)


def which_counts(cells: list[Cell], name: str, found: dict[int, ast.stmt]) -> int | None:
    """Return the index of the cell whose definition of an exercise counts; None without any.

    That is the exercise's last solved own cell, otherwise the last solved definition, otherwise the
    last unsolved own cell.
    """
    own = [at for at in found if cells[at].exercise == name]
    written = [at for at in found if is_written(found[at])]
    ranked = [at for at in own if at in written], written, own
    return next((places[-1] for places in ranked if places), None)


def which_counted(name: str, chosen: Cell, others: list[Cell]) -> str:
    """Return a sentence that names the definition that counts, and those that do not."""
    elsewhere = " and ".join(cell.place for cell in others[-2:])
    return f"`{name}` is taken from {chosen.place}, not from {elsewhere}."


def last_made(cell: Cell, name: str) -> ast.stmt | None:
    """Return the last statement of a cell that binds a name; None if there is none.

    A definition that is not valid Python is represented by an empty one, so that its error is
    reported.
    """
    text = definitions(cell.source, drop_broken)
    made = [one for one in statements(text, "notebook", []) if name in bound_names(one)]
    if made or not re.search(
        rf"^(?:async +)?(?:def|class) +{re.escape(name)}\b", cell.source, re.M
    ):
        return made[-1] if made else None
    return ast.parse(f"def {name}(): pass").body[0]


def is_written(made: ast.stmt) -> bool:
    """Return True if a statement defines a function or a class that is not an untouched stub."""
    if parts := branches(made):
        return any(is_written(part) for part in parts)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    named = isinstance(made, ast.Assign) and isinstance(made.value, (ast.Lambda, ast.Name))
    return (isinstance(made, kinds) or named) and "NotImplementedError" not in ast.unparse(made)


def without(cell: Cell, name: str) -> Cell:
    """Return a cell without the statements that bind a name; other lines stay in place."""
    text = definitions(cell.source, keep_broken)
    if line_of_error(text) is not None:
        return cell
    return replace(cell, source=only_definitions(text, lambda made: name not in bound_names(made)))


def assemble(cells: list[Cell], filename: str, broken: Broken) -> Source:
    """Return the cells' definitions in one text, each cell under a comment with its number."""
    lines: list[str] = []
    starts = []
    for number, cell in enumerate(cells, 1):
        lines.append(f"# cell {number}")  # without the cell's name, which the learner chose
        starts.append(len(lines))
        lines += definitions(cell.source, broken).split("\n")
    names = tuple(cell.name for cell in cells)
    return Source("\n".join(lines) + "\n", filename, tuple(starts), names)


def names_in(text: str) -> set[str]:
    """Return the names bound by the statements of a text that the runner can read."""
    return {
        name for statement in statements(text, "notebook", []) for name in bound_names(statement)
    }


def definitions(source: str, broken: Broken) -> str:
    """Return a cell's text without code other than definitions; line numbers stay the same.

    >>> definitions("import torch\\n%time f()\\nx = 1; print(x)\\n!ls", keep_broken)
    'import torch\\n\\nx = 1; 0\\n'
    """
    source = without_magics(without_indentation(source))
    try:
        return only_definitions(source)
    except UNPARSABLE:
        return "\n".join(
            definitions_of_block(block, broken) for _, block in top_level_blocks(source)
        )


def without_indentation(source: str) -> str:
    """Return a cell without the indentation of its first line, which a notebook also removes.

    >>> without_indentation("  x = 1\\n  y = 2")
    'x = 1\\ny = 2'
    """
    lines = source.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return "\n".join(line.removeprefix(indent) for line in lines) if indent else source


def definitions_of_block(block: str, broken: Broken) -> str:
    """Return the definitions of one block; if it does not parse, the result of `broken`.

    A broken block without a definition is dropped.
    """
    try:
        return only_definitions(block)
    except UNPARSABLE:
        names = re.findall(r"^(?:async +)?(?:def|class) +(\w+)", block, re.MULTILINE)
        return (broken if names else drop_broken)(block, names)


def keep_broken(block: str, names: list[str]) -> str:
    """Return a broken definition unchanged, so that the runner reports its error."""
    return block


def drop_broken(block: str, names: list[str]) -> str:
    """Return empty lines in place of a broken definition."""
    return "\n" * block.count("\n")


def name_broken(block: str, names: list[str]) -> str:
    """Return a line in place of a broken definition that raises its error."""
    raising = "; ".join(f"{name} = compile({block!r}, {BLOCK!r}, 'exec')" for name in names)
    return raising + "\n" * block.count("\n")


def without_magics(source: str) -> str:
    """Return a cell without IPython's own syntax: `%magics`, `!shell` lines and `help?`.

    Only lines that do not parse are replaced, so that a line of a formula may begin with `%`. If
    there are more than MOST_REPAIRS such lines, all lines that look like IPython's are replaced.
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
    """Return True if a line that is not Python may be IPython's own syntax."""
    return bool(ESCAPED.fullmatch(line.lstrip()))


def passed_over(line: str) -> str:
    """Return `pass` with the indentation of a line, as its replacement."""
    return line[: len(line) - len(line.lstrip())] + "pass"


def line_of_error(source: str) -> int | None:
    """Return the line of the first syntax error; None if there is none."""
    try:
        tree_of(source)
    except SyntaxError as error:
        return error.lineno
    except UNPARSABLE:
        return None
    return None


def only_definitions(
    source: str, is_kept: Callable[[ast.stmt], bool] = lambda statement: defines(statement)
) -> str:
    """Return a text that parses, without the statements that are not definitions.

    In place of each is `0`, or `pass` in a branch of an `if` or a `try`.
    """
    text, kept, at = source.encode(), [], 0  # columns count bytes
    lines = [0, *(found.end() for found in re.finditer(b"\n", text))]
    top = tree_of(source).body
    outer = set(top)  # a list would make this quadratic in the number of statements
    for statement in dropped(top, is_kept):
        begin = lines[statement.lineno - 1] + statement.col_offset
        # A parser always reports the end of a statement.
        end = lines[(statement.end_lineno or 0) - 1] + (statement.end_col_offset or 0)
        instead = b"0" if statement in outer else b"pass"
        kept += [text[at:begin], instead, b"\n" * text.count(b"\n", begin, end)]
        at = end
    whole = b"".join([*kept, text[at:]])
    return b"\n".join(b"" if n.strip() == b"0" else n for n in whole.split(b"\n")).decode()


def dropped(body: list[ast.stmt], is_kept: Callable[[ast.stmt], bool]) -> Iterator[ast.stmt]:
    """Yield the statements to remove, in order.

    From an `if` or a `try` with definitions, only statements in its branches are removed. Any other
    is removed as a whole, because its condition may take long.
    """
    for statement in body:
        if has_definitions(statement):
            yield from dropped(branches(statement), is_kept)
        elif branches(statement) or not is_kept(statement):
            yield statement


def has_definitions(block: ast.stmt) -> bool:
    """Return True if a branch of an `if` or a `try` defines a function or a class, or imports."""
    return any(isinstance(part, KEPT) or has_definitions(part) for part in branches(block))


def defines(statement: ast.stmt) -> bool:
    """Return True if a statement defines something that an answer may need."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return not imports_own_tools(statement)
    if isinstance(statement, ast.Assign) and is_short_name(statement.value):
        return True
    return is_definition(statement)


def is_short_name(value: ast.expr) -> bool:
    """Return True for a value that costs no time, such as `torch.exp`, `-torch.inf` or a lambda."""
    match value:
        case ast.UnaryOp(op=ast.USub(), operand=inner) | ast.Attribute(value=inner):
            return not isinstance(inner, ast.Lambda) and is_short_name(inner)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant()], keywords=[]):
            return True
    return isinstance(value, (ast.Lambda, ast.Name))


def imports_own_tools(statement: ast.Import | ast.ImportFrom) -> bool:
    """Return True if an import is one of the course's tools, which only a notebook needs."""
    modules = (
        [getattr(statement, "module", None)]
        if isinstance(statement, ast.ImportFrom)
        else [alias.name for alias in statement.names]
    )
    return any((module or "").split(".")[0] == OWN_TOOLS for module in modules)
