"""Extract the Python from a submission: a script, a notebook, or whichever of both counts.

In grading, only this folder parses a learner's text. It does so in the learner's own process, so
that a text that attacks the parser faces the same isolation as code.
"""

import ast
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .changes import bound_by, changes, definitions
from .loading import bound_names, statements, top_level_blocks, tree_of
from .notebooks import code_cells, extract
from .source import UNPARSABLE, Source, Unreadable, decode


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


def written(source: str) -> set[str]:
    """Return the names of functions and classes in a text that are not unsolved stubs.

    >>> written("def f():\\n    return 1\\ndef g():\\n    raise NotImplementedError")
    {'f'}
    """
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = {s.name: s for s in statements(source, "", []) if isinstance(s, kinds)}
    return {
        name for name, node in defined.items() if "NotImplementedError" not in ast.unparse(node)
    }


def spans(source: str) -> list[tuple[list[str], int, int]]:
    """Return (names, first line, last line) of each top-level statement.

    If the source does not parse, return those of its blocks.

    >>> spans("@d\\ndef f():\\n    pass"), spans("def f(:\\n\\ndef g(): pass")
    ([(['f'], 1, 3)], [(['f'], 1, 1), (['g'], 3, 3)])
    """
    try:
        found = tree_of(source).body
    except UNPARSABLE:
        blocks = []
        for number, block in top_level_blocks(source):
            text = block.strip("\n")  # empty lines around a block do not belong to it
            if text.strip() and text[0] != "#":  # more than a comment
                first = number + 1 + len(block) - len(block.lstrip("\n"))
                blocks.append((names_of(text), first, first + text.count("\n")))
        return blocks
    return [(bound_names(s), first_line(s), s.end_lineno or s.lineno) for s in found]


def parts(source: str) -> list[tuple[list[str], str]]:
    """Return (names, text) of each top-level statement or block.

    >>> parts("x = 1\\ndef f():\\n    return x")
    [(['x'], 'x = 1'), (['f'], 'def f():\\n    return x')]
    """
    lines = source.split("\n")
    return [(names, "\n".join(lines[first - 1 : last])) for names, first, last in spans(source)]


MOST_NAMES = 500  # of one exercise


def foreign_names(text: str, exercises: Collection[str]) -> dict[str, list[str]]:
    """Return, for each exercise, the names in its code that are not defined in the text.

    These are built-in names, attributes, imported names with their aliases, and names looked up by
    `getattr`. Helpers of the file that the code uses are searched too, but other exercises are not.

    >>> foreign_names("from torch import exp as e\\ndef f(x):\\n    return e(x.T)", ["f"])
    {'f': ['T', 'e', 'exp']}
    """
    bound, look = bound_by(text), cache(named_in)
    own, found = definitions(bound), dict[str, list[str]]()
    for name in own.keys() & set(exercises):
        parts = list(map(look, reached(own[name], bound, exercises, look)))
        made = own.keys() | {one for part in parts for one in part.made}
        used = {one for part in parts for one in part.read} - made
        elsewhere = {one for part in parts for one in part.elsewhere}
        found[name] = sorted(used | elsewhere)[:MOST_NAMES]
    return found


def unused_parameters(text: str, exercises: Collection[str]) -> dict[str, list[str]]:
    """Return, for each exercise, the parameters that its code never reads.

    Those of a class are the parameters of its `forward`.

    >>> unused_parameters("def f(x, y, z):\\n    y = 2\\n    x = x + y\\n    return x", ["f"])
    {'f': ['y', 'z']}
    """
    own, found = definitions(bound_by(text)), dict[str, list[str]]()
    for name in own.keys() & set(exercises):
        inside = [definition := own[name]]
        if isinstance(definition, ast.ClassDef):
            inside = [one for one in definition.body if getattr(one, "name", "") == "forward"]
        functions = [one for one in inside if isinstance(one, ast.FunctionDef)]
        for function in functions[-1:]:
            taken = [one.arg for one in function.args.args if one.arg != "self"]
            if unused := [one for one in taken if not is_read(one, function.body)]:
                found[name] = unused
    return found


def is_read(name: str, body: list[ast.stmt]) -> bool:
    """Return True if statements read a name before they give it another value."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return is_named(name, value)
        if is_named(name, statement):
            return True
    return False


def is_named(name: str, node: ast.AST) -> bool:
    """Return True if a node contains a name, or a call such as `locals` that reads all of them."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return not names.isdisjoint({name, "locals", "vars"})


class Named(NamedTuple):
    """The names in one part of a text.

    read: all variables, including those that it only assigns. made: variables that it assigns, and
    parameters. elsewhere: attributes, imported names, and names looked up by `getattr`.
    """

    read: set[str]
    made: set[str]
    elsewhere: set[str]


def named_in(part: ast.AST) -> Named:
    """Return the names in a part of a text's syntax tree."""
    found = Named(set(), set(), set())
    for node in ast.walk(part):
        match node:
            case ast.Name(id=name, ctx=context):
                found.read.add(name)
                if isinstance(context, ast.Store):
                    found.made.add(name)
            case ast.arg(arg=name):
                found.made.add(name)
            case ast.Attribute(attr=name):
                found.elsewhere.add(name)
            case ast.alias(name=name):
                found.elsewhere.add(name.rpartition(".")[2])
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                found.elsewhere.add(name)
    return found


def reached(
    definition: ast.stmt,
    bound: Mapping[str, ast.stmt],
    exercises: Collection[str],
    look: Callable[[ast.AST], Named],
) -> list[ast.AST]:
    """Return a definition and the parts of its file that it uses, directly or indirectly.

    Other exercises are left out. Of an import, only the alias that is used is returned.
    """
    found: dict[str, ast.AST] = {}
    left: list[ast.AST] = [definition]
    while left:
        read = look(left.pop()).read
        for name in (read & bound.keys()) - found.keys() - set(exercises):
            whole = bound[name]
            aliases = whole.names if isinstance(whole, (ast.Import, ast.ImportFrom)) else []
            found[name] = next((one for one in aliases if name in (one.asname, one.name)), whole)
            left.append(found[name])
    return [definition, *found.values()]


def first_line(statement: ast.stmt) -> int:
    """Return the line where a statement begins, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def names_of(block: str) -> list[str]:
    """Return the names that a possibly broken block defines.

    >>> names_of("@torch.no_grad()\\nclass A(:")
    ['A']
    """
    lines = (line.split() for line in block.split("\n") if line.startswith(("def ", "class ")))
    return [words[1].split("(")[0].split(":")[0] for words in lines if len(words) > 1]
