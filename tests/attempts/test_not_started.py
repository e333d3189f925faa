"""One case of an exercise that is not started says what all cases would say."""

from types import SimpleNamespace

import pytest

from tensorgrade.attempts.not_started import not_begun, run_few_if_not_begun
from tensorgrade.exchange.observation import CaughtError, Observation, Outcome
from tensorgrade.runner.step import Step

RAISES = "    raise NotImplementedError\n"
MADE = "class F(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
FORWARD = "    def forward(self, x):\n        return x\n"


NOT_BEGUN = [
    f"def F(x):\n{RAISES}",
    f'def F(x):\n    """What it does."""\n    # A note.\n{RAISES}    return x\n',
    f"{MADE}    {RAISES}{FORWARD}",
]
BEGUN = [
    "def F(x):\n    return x\n",
    f"def F(x):\n    if x is None:\n    {RAISES}    return x\n",
    f"def F(x):\n    y = 2 * x\n{RAISES}",
    "def F(x):\n    raise ValueError\n",
    f"@saved\ndef F(x):\n{RAISES}",
    f"def F(x):\n{RAISES}def F(x):\n    return x\n",
    f"def F(x):\n    return x\ndef F(x):\n{RAISES}",
    f"def F(x):\n{RAISES}F = G\n",
    f"{MADE}        self.x = 1\n    {RAISES}",
    f"{MADE}    def forward(self, x):\n    {RAISES}",
    "def F(:\n",
    f"def F(x):\n    {'+'.join(['1'] * 5000)}\n{RAISES}",
]


def test_only_what_raises_before_all_else_is_not_begun():
    for text in NOT_BEGUN:
        assert not_begun(text) == {"F"}, text
    for text in BEGUN:
        assert not_begun(text) == set(), text


STUB = f"def F(x):\n{RAISES}def G(x):\n    return x\n"
TO_DO = Observation(
    Outcome.ANSWERED,
    error=CaughtError("NotImplementedError", source=RAISES.strip(), definition="F"),
)
ANSWERED, HANGS = Observation(Outcome.ANSWERED), Observation(Outcome.TIMEOUT)


@pytest.mark.parametrize(
    "first, asked, text, run",
    [
        (TO_DO, "FFGF", STUB, "FG"),  # what does not begin with it is asked
        (TO_DO, "FFGF", STUB.replace("(x):\n    raise", "(x):\n    x\n    raise"), "FFGF"),
        (ANSWERED, "FFF", STUB, "FFF"),
        (HANGS, "FFF", STUB, "F"),
        (TO_DO, "", STUB, ""),
    ],
)
def test_as_many_cases_are_run_as_it_takes(first, asked, text, run):
    were_run = ""

    def runs(cases):
        nonlocal were_run
        begun, were_run = were_run, were_run + "".join(case.steps[0].name for case in cases)
        return [ANSWERED if begun or number else first for number, _ in enumerate(cases)]

    cases = [SimpleNamespace(exercise="F", steps=(Step("call", name),)) for name in asked]
    seen = run_few_if_not_begun(runs, text, cases)
    assert were_run == run and len(seen) == len(asked)
    if run == "FG":
        assert seen == [TO_DO, TO_DO, ANSWERED, TO_DO]
    if first is HANGS:
        assert seen == [HANGS, *[Observation(Outcome.UNREACHED)] * 2]
