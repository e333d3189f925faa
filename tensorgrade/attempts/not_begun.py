"""Exercises that nobody has begun: of those one case says what all would say.

A learner who starts has forty of them, and waits for the first word on the first one.
"""

import ast
from collections.abc import Callable
from functools import lru_cache

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..runner.changes import bound_by, definitions, is_text


def briefly(
    run: Callable[[list[Case]], list[Observation]], source: str, cases: list[Case]
) -> list[Observation]:
    """What `run` gives on the cases of an exercise; where that is not begun, from a few of them.

    source: the learner's text. What a case asks before it comes to the exercise is not said by
    the first one.
    """
    first = run(cases[:1])
    if not first or first[0].status != Outcome.ANSWERED:  # what hangs once is not run again
        return first + [Observation(Outcome.UNREACHED)] * (len(cases) - len(first))
    again = [says_again(first[0], case, source) for case in cases[1:]]
    others = iter(run([case for case, same in zip(cases[1:], again, strict=True) if not same]))
    return first + [first[0] if same else next(others) for same in again]


def says_again(first: Observation, case: Case, source: str) -> bool:
    """Whether an exercise says of a case what it said of the first one: that it is to do."""
    asked, error = case.exercise, first.error
    if error is None or not error.is_unwritten or error.definition != asked:
        return False
    return case.steps[0].name == asked and asked in not_begun(source)


@lru_cache(maxsize=16)
def not_begun(source: str) -> frozenset[str]:
    """The functions that only say that they are to be written, and the classes made by such ones.

    >>> set(not_begun("def f(x):\\n    raise NotImplementedError\\ndef g(x): return x"))
    {'f'}
    """
    there = definitions(bound_by(source)).items()
    return frozenset(name for name, node in there if says_so(node))


def says_so(definition: ast.AST) -> bool:
    """Whether a definition does nothing before it raises NotImplementedError, whoever calls it."""
    if getattr(definition, "decorator_list", ()):
        return False
    if isinstance(definition, ast.ClassDef):
        makers = [node for node in definition.body if getattr(node, "name", "") == "__init__"]
        return any(says_so(node) for node in makers[-1:])
    body: list[ast.stmt] = getattr(definition, "body", [])
    first = next((line for line in body if not is_text(line) and not makes_the_base(line)), None)
    raised = first.exc if isinstance(first, ast.Raise) else None
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def makes_the_base(line: ast.stmt) -> bool:
    """Whether a line is `super().__init__()`, which a stub has before it says so."""
    call = line.value if isinstance(line, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return False
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
