"""After which line something that was passed in is not what it was."""

from contextlib import suppress

import pytest
import torch

from tensorgrade.runner.case_runner import Snapshot
from tensorgrade.runner.instrumentation import ChangeTrace

CODE = """
def assigned(x):
    y = x
    y += 1
    return y

def by_a_view(x):
    half = x[:1]
    half.mul_(2)
    return x

def in_what_comes_back(x):
    return x.exp_()

def by_data(x):
    x.data[0] = 5
    return x

def by_a_helper(x):
    y = x.clone()
    assigned(x)
    return y

def over_two_lines(x):
    return x.mul_(
        2
    )

def in_a_loop(x):
    for _ in range(3):
        x = x - 1
        x -= 1
    return x

def in_an_error(x):
    x += 1
    raise ValueError

def renamed(x):
    x = x + 1
    x += 1
    return x

def copied(x):
    y = x.clone()
    y.zero_()
    return y
"""
NAMES: dict = {}
exec(compile(CODE, "learner.py", "exec"), NAMES)


def lines_of(name: str, **given) -> dict[str, int]:
    """The lines that change what a function is given, by its name."""
    before = {key: Snapshot(value).changed for key, value in given.items()}
    with suppress(ValueError), ChangeTrace("learner.py", before) as trace:
        NAMES[name](*given.values())
    return trace.lines


@pytest.mark.parametrize(
    "name, line",
    [
        ("assigned", 4),
        ("by_a_view", 9),
        ("in_what_comes_back", 13),
        ("by_data", 16),
        ("by_a_helper", 4),
        ("in_an_error", 36),
    ],
)
def test_the_line_that_changes_an_input_is_known(name, line):
    assert lines_of(name, x=torch.ones(2)) == {"x": line}


def test_of_a_statement_on_several_lines_one_of_these_is_reported():
    assert lines_of("over_two_lines", x=torch.ones(2))["x"] in (25, 26)


@pytest.mark.parametrize("name", ["in_a_loop", "renamed", "copied"])
def test_what_changes_only_its_own_has_no_line(name):
    assert lines_of(name, x=torch.ones(2)) == {}


def test_a_part_of_a_module_that_is_changed_has_a_line():
    names = {}
    exec(compile("def f(model):\n    y = 1\n    model.eval()\n    return y", "l.py", "exec"), names)
    model = torch.nn.Linear(2, 2)
    with ChangeTrace("l.py", {"model": Snapshot(model).changed}) as trace:
        names["f"](model)
    assert trace.lines == {"model": 3}
