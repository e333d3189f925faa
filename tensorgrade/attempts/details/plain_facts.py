"""Find plain faults in the text of a wrong answer, such as a dropped value or an unused name."""

import ast

from ...messages.details import NeverUsed, NoEffect, ReturnsInLoop
from ...messages.message import Message
from ...runner.source import UNPARSABLE
from ..attempt import ExerciseAttempt, cached_for_file
from ..divergence import counted_lines


@cached_for_file
def plain_fact(part: ExerciseAttempt) -> tuple[Message, int | None] | None:
    """Return the only such fault in the exercise's own code, and its line if it has one.

    None if there is none, or if there are several.
    """
    text, place = part.attempt.submitted, part.attempt.place
    lines = counted_lines(part)
    if part.given_code:  # finding the place of the mistake is the exercise
        return None
    idle, early = text.idle(lines), text.returns_in_loops(lines)
    if len(idle) == 1:
        return NoEffect(place(idle[0]), text.code(idle[0]).strip()), idle[0]
    if early or idle:
        return (ReturnsInLoop(place(early[0])), early[0]) if len(early) == 1 and not idle else None
    names = never_used(text.text, part.name)
    return (NeverUsed(names), None) if names else None


def never_used(text: str, name: str) -> tuple[str, ...]:
    """Return the parameters of a function, or of a class's `forward`, that its code never reads.

    >>> never_used("def f(x, y, z):\\n    y = 2\\n    x = x + y\\n    return x", "f")
    ('y', 'z')
    """
    try:
        body = ast.parse(text).body
    except UNPARSABLE:
        return ()
    found = [one for one in body if getattr(one, "name", "") == name]
    inside = found[-1].body if found and isinstance(found[-1], ast.ClassDef) else found[-1:]
    functions = [one for one in inside if isinstance(one, ast.FunctionDef)]
    asked = [one for one in functions if one.name in (name, "forward")]
    return tuple(
        argument.arg
        for function in asked[-1:]
        for argument in function.args.args
        if argument.arg != "self" and not is_used(argument.arg, function.body)
    )


def is_used(name: str, body: list[ast.stmt]) -> bool:
    """Return True if statements read a name before they give it another value."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return is_named(name, value)
        if is_named(name, statement):
            return True
    return False


def is_named(name: str, node: ast.AST) -> bool:
    """Return True if a part of the code has a name, or reads all local names at once."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return not names.isdisjoint({name, "locals", "vars"})
