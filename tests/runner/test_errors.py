"""A reported error has two lines: the one that raised it, and the one that called that code.

If a helper is called wrongly, the line to fix is the one that calls it.
"""

import pytest

from tensorgrade.author import call, construct

from ..support import loaded, ran

CALLED = """
def helper(x):
    return x + nothing

def direct(x):
    return x + nothing

def calls(x):
    y = 2 * x
    return helper(y)

def calls_what_calls(x):
    return calls(x)

def in_a_comprehension(x):
    return [
        one + nothing
        for one in (x, x)
    ]

def comprehends_a_call(x):
    return [helper(one) for one in (x, x)]

def sorts(x):
    return sorted([x, x], key=lambda one: helper(one))

def recurs(x):
    return recurs(x - 1) if x else nothing

class Layer:
    def split(self, x):
        return x + nothing

    def __call__(self, x):
        return self.split(x)
"""


@pytest.mark.parametrize(
    "name, line, called",
    [
        ("direct", 6, None),
        ("calls", 3, 10),
        ("calls_what_calls", 3, 10),
        ("in_a_comprehension", 17, None),
        ("comprehends_a_call", 3, 22),
        ("sorts", 3, 25),
        ("recurs", 28, None),
        ("Layer", 32, 35),
    ],
)
def test_the_line_that_calls_a_helper_is_reported(name, line, called):
    steps = (*([construct()] if name == "Layer" else []), call(x=1))
    error = ran(CALLED, name, *steps).error
    assert (error.type, error.line, error.called) == ("NameError", line, called)


@pytest.mark.parametrize(
    "statement, line, called",
    [
        ("print(calls_what_calls(1))", 3, 36),
        ("class Broken:\n    x = nothing", 37, None),
        ("@calls\ndef broken(): pass", 9, 36),
        ("def f(:\n    pass", 36, None),
    ],
)
def test_a_statement_alone_is_reported_over_however_many_functions(statement, line, called):
    error = loaded(CALLED + statement).problems[0].error
    assert (error.line, error.called) == (line, called)
