"""The line of a failure: an edit of one line that repairs it, or else the most likely line."""

import ast
import re
import time
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from ..runner.edits import Edit, edits
from .parts import Part
from .relations import Broken, Relation, Shape
from .relations.base import ONE
from .subject import Subject

SECONDS = 2.5  # of the processor
MOST_SUSPECTS = 4  # lines whose edits are tried before all others
Definition = Subject | Part


def place_of(subject: Definition, relations: dict[Relation, Broken | None]) -> tuple[int, str]:
    """Return the line of a failure, and its repair if one edit makes all relations hold.

    relations: those that apply, with what is broken. Lines are those of the file.
    """
    broken = [one for one in relations.values() if one]
    raising = [one.line for one in broken if one.line]
    if raising:
        return raising[0], ""
    of_causes = [word for one in broken for cause in one.causes for word in cause.where]
    suspects = suspects_of(subject, of_causes or [word for one in broken for word in one.where])
    formulas = [one for one in relations if one.name.startswith(("equality", "formula"))]
    # Without a formula, an edit can make relations hold by leaving out the calculation.
    if formulas:
        failing = sorted((r for r, b in relations.items() if b), key=lambda r: r not in formulas)
        for edit, fixed in repaired(subject, failing, suspects):
            if all(holds(type(one)(fixed, explain=False)) for one in relations):
                return subject.line + edit.line - 1, line_in(edit)
    return subject.line + suspects[0] - 1, ""


def line_in(edit: Edit) -> str:
    """Return the edited line."""
    return edit.text.split("\n")[edit.line - 1].strip()


def repair_of_error(
    plan: Subject, line: int, is_right: Callable[[Subject], bool]
) -> tuple[int, str]:
    """Return the line of an error, or that of an edit after which the definition is right.

    line: that of the file, 0 if a result has a wrong shape.
    """
    lines = plan.text.split("\n")
    own = line - plan.line + 1 if line else suspects_of(plan, ["return"])[0]
    if not 0 < own <= len(lines):
        return line, ""
    names = words_in(lines[own - 1]) - {"self", "torch", "nn"}
    numbers = [number for number in range(len(lines), 0, -1) if number != own]
    assigned = [n for n in numbers if names & words_in(lines[n - 1].rpartition("=")[0])]
    near = [n for n in numbers if names & words_in(lines[n - 1])]
    until = time.process_time() + SECONDS
    suspects = [*dict.fromkeys([own, *conditions_around(lines, own), *assigned, *near])]
    for edit in in_turns(edits(plan.text, plan.name, own), suspects):
        if time.process_time() > until:
            break
        fixed = edited(plan, edit)
        if fixed and holds_once(Shape(fixed)) and is_right(fixed):
            return plan.line + edit.line - 1, line_in(edit)
    return line, ""


def conditions_around(lines: list[str], own: int) -> list[int]:
    """Return the line of the innermost `if` around a line, if there is one."""
    depth = len(lines[own - 1]) - len(lines[own - 1].lstrip())
    for number in range(own - 1, 0, -1):
        line = lines[number - 1]
        if line.strip() and len(line) - len(line.lstrip()) < depth:
            return [number] if re.match(r"\s*(el)?if\b", line) else []
    return []


def words_in(line: str) -> set[str]:
    """Return the names and keywords on a line."""
    return set(re.findall(r"\w+", line))


def suspects_of(subject: Definition, words: Iterable[str]) -> list[int]:
    """Return lines of a definition with one of the words, likely ones first, or its own."""
    calls, starts = code_lines(subject.text)
    found = []
    for word in words:
        pattern = re.escape(word).replace("=", r"\s*=(?!=)").replace("@", r"\s*@")
        pattern = r"(?<!/)/(?!/)" if word == "/" else pattern
        pattern = rf"(?<!\w){pattern}" if word[0].isalpha() else pattern
        for lines in (calls, starts):
            found += [number + 1 for number, line in lines.items() if re.search(pattern, line)]
    return [*dict.fromkeys(found)] or [1]


def code_lines(text: str) -> tuple[dict[int, str], dict[int, str]]:
    """Return the lines of code of a definition, counted from 0: of calls, and of `__init__`."""
    lines = text.split("\n")
    calls: dict[int, str] = {}
    starts: dict[int, str] = {}
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            found = starts if function.name == "__init__" else calls
            for statement in function.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    continue
                for number in range(statement.lineno, (statement.end_lineno or 0) + 1):
                    found[number - 1] = lines[number - 1].partition("#")[0]
    return calls, starts


def repaired(
    subject: Any, failing: list[Relation], suspects: list[int]
) -> Iterator[tuple[Edit, Any]]:
    """Yield edits after which the failing relations hold at one size, on suspects' lines first."""
    until = time.process_time() + SECONDS
    for edit in in_turns(sensible(subject, suspects[0]), suspects):
        if time.process_time() > until:
            return
        fixed = edited(subject, edit)
        if fixed and all(holds_once(type(one)(fixed, explain=False)) for one in failing):
            yield edit, fixed


def sensible(subject: Any, suspect: int) -> list[Edit]:
    """Return the edits, without those that put an attribute in place of one of another type."""
    made = subject.build(subject.fitted(ONE))
    lines, found = subject.text.split("\n"), []
    for edit in edits(subject.text, subject.name, suspect):
        before, after = lines[edit.line - 1], edit.text.split("\n")[edit.line - 1]
        old, new = (set(re.findall(r"self\.(\w+)", line)) for line in (before, after))
        kinds = [
            {type(getattr(made, name, None)) for name in names} for names in (old - new, new - old)
        ]
        if not new - old or kinds[0] == kinds[1]:
            found.append(edit)
    return found


def in_turns(found: list[Edit], suspects: list[int]) -> Iterator[Edit]:
    """Yield edits: those on suspects' lines, then by their distance from the first.

    Edits of different parts of a line take turns.
    """
    groups: dict[int, dict[tuple[int, str], list[Edit]]] = {}
    for one in found:
        rank = suspects.index(one.line) if one.line in suspects[:MOST_SUSPECTS] else MOST_SUSPECTS
        rank += rank == MOST_SUSPECTS and abs(one.line - suspects[0]) > 3
        groups.setdefault(rank, {}).setdefault((one.line, one.idea), []).append(one)
    for rank in sorted(groups):
        for turn in zip_longest(*groups[rank].values()):
            yield from filter(None, turn)


def edited(subject: Any, edit: Edit) -> Subject | None:
    """Return the subject with an edit of its definition, or None if that does not run."""
    function = subject.target.forward if subject.is_module else subject.target
    space: dict[str, Any] = dict(function.__globals__)
    space = types.ModuleType("edited").__dict__ | space
    try:
        exec(compile(edit.definition, "edited", "exec", dont_inherit=True), space)
    except Exception:
        return None
    return replace(subject, target=space[subject.name])


def holds_once(relation: Relation) -> bool:
    """Return True if a relation holds at one size."""
    try:
        return relation.check(relation.fitted(ONE)) is None
    except Exception:
        return False


def holds(relation: Relation) -> bool:
    """Return True if a relation holds at all sizes."""
    try:
        return relation.test() is None
    except Exception:  # also Skip: an edit must not make a relation meaningless
        return False
