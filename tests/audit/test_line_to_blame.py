"""The line of the mistake behind an error that is raised further on."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from tensorgrade.audit.errors import line_to_blame

MODULE = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 4)
        self.k = nn.Linear(4, 4)

    def forward(self, x):
        q, k = self.q(x), self.k(x)
        scores = q @ k.mT
        return torch.softmax(scores, -1) @ x
"""
ABOVE = 3  # lines of the file before the definition


def blamed(*edit: str) -> str:
    """Return the line of the edited module that is blamed for its error, "" if none is."""
    text = MODULE.replace(*edit).lstrip("\n")
    assert text != MODULE.lstrip("\n")
    defined = {"nn": nn, "torch": torch}
    exec(compile("\n" * ABOVE + text, "audited.py", "exec"), defined)
    target = defined["Attention"]
    plan = SimpleNamespace(target=target, text=text, line=ABOVE + 1)
    with pytest.raises(Exception) as raised:
        target()(torch.ones(2, 3, 4))
    line = line_to_blame(raised.value, plan, long=5)
    return ["", *["above"] * ABOVE, *text.splitlines()][line].strip()


@pytest.mark.parametrize(
    "edit, line",
    [
        (("scores = q @ k.mT", "pass"), "pass"),
        (("self.k = nn.Linear(4, 4)", "pass"), "pass"),
        (("super().__init__()", "pass"), "pass"),
        (
            ("super().__init__()", "self.q = nn.Linear(4, 4)\n        super().__init__()"),
            "super().__init__()",
        ),
        (("scores = q @ k.mT", "scores = (q @ k.mT).shape"), "scores = (q @ k.mT).shape"),
    ],
)
def test_the_line_that_should_have_made_the_value_is_blamed(edit, line):
    assert blamed(*edit) == line


@pytest.mark.parametrize(
    "edit",
    [
        ("scores = q @ k.mT", ""),  # undefined, and no `pass` shows where
        ("self.k = nn.Linear(4, 4)", "pass\n        pass"),
        ("self.q(x)", "self.q()"),
    ],
)
def test_no_line_is_blamed_if_several_or_none_could_have_made_it(edit):
    assert blamed(*edit) == ""
