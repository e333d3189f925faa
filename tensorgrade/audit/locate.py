"""The line that a failure is on: where a small edit repairs it, or where the operation is."""

import ast
import re
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from ..runner.edits import Edit, edits
from .relations import Relation
from .relations.base import ONE
from .subject import Subject

SECONDS = 1.5  # of the processor


def place_of(
    subject: Subject, text: str, relations: dict[Relation, bool], words: list[str]
) -> dict:
    """Return the `line` of a failure, and the `fix` if one edit of it makes all relations hold.

    text: the whole file. relations: those that apply, True for those that fail. words: operations
    that the line is likely to have, the most telling first.
    """
    suspect = line_with(subject, words)
    failing = [one for one, fails in relations.items() if fails]
    for edit, fixed in repaired(subject, text, failing, suspect):
        if all(holds(type(one)(fixed, explain=False)) for one in relations):
            return {"line": edit.line, "fix": edit.text.split("\n")[edit.line - 1].strip()}
    return {"line": suspect, "fix": ""}


def line_with(subject: Subject, words: list[str]) -> int:
    """Return the first line of code with one of the words, the definition's own without one."""
    for lines in code_lines(subject.text):
        for word in words:
            pattern = rf"(?<![\w]){re.escape(word)}" if word[0].isalpha() else re.escape(word)
            for number, line in lines.items():
                if re.search(pattern, line):
                    return subject.line + number
    return subject.line


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
    subject: Subject, text: str, failing: list[Relation], suspect: int
) -> Iterator[tuple[Edit, Subject]]:
    """Yield edits after which the failing relations hold at one size, near the suspect first."""
    until = time.process_time() + SECONDS
    for edit in in_turns(sensible(subject, text, suspect), suspect):
        if time.process_time() > until:
            return
        fixed = edited(subject, edit)
        if fixed and all(holds_once(type(one)(fixed, explain=False)) for one in failing):
            yield edit, fixed


def sensible(subject: Subject, text: str, suspect: int) -> list[Edit]:
    """Return the edits, without those that put an attribute in place of one of another type."""
    made = subject.build(subject.fitted(ONE))
    lines, found = text.split("\n"), []
    for edit in edits(text, subject.name, suspect):
        before, after = lines[edit.line - 1], edit.text.split("\n")[edit.line - 1]
        old, new = (set(re.findall(r"self\.(\w+)", line)) for line in (before, after))
        kinds = [
            {type(getattr(made, name, None)) for name in names} for names in (old - new, new - old)
        ]
        if new - old and kinds[0] != kinds[1]:
            continue
        found.append(edit)
    return found


def in_turns(found: list[Edit], suspect: int) -> Iterator[Edit]:
    """Yield edits by their distance from a line; edits of different parts of a line take turns."""
    near = [[one for one in found if test(abs(one.line - suspect))] for test in DISTANCES]
    for group in near:
        parts: dict[tuple[int, str], list[Edit]] = {}
        for one in group:
            parts.setdefault((one.line, one.idea), []).append(one)
        for turn in zip_longest(*parts.values()):
            yield from filter(None, turn)


DISTANCES: tuple[Callable[[int], bool], ...] = (
    lambda away: away == 0, lambda away: 0 < away < 4, lambda away: away > 3,
)  # fmt: skip


def edited(subject: Subject, edit: Edit) -> Subject | None:
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
