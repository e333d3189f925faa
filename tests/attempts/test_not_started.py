"""One case of an exercise that is not started says what all cases would say."""

from types import SimpleNamespace

import pytest

from tensorgrade.attempts.lab import Lab
from tensorgrade.course import Limits
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
TO_DO = Observation(
    Outcome.ANSWERED,
    error=CaughtError("NotImplementedError", source=RAISES.strip(), definition="F"),
)
ANSWERED, HANGS = Observation(Outcome.ANSWERED), Observation(Outcome.TIMEOUT)


class Counting(Lab):
    """A lab that notes which cases run; the first one ends as it is told."""

    def __init__(self, first: Observation):
        super().__init__(None, Limits())
        self.first, self.were_run = first, ""

    def run_all(self, program, cases):
        begun, self.were_run = (
            self.were_run,
            self.were_run + "".join(case.steps[0].name for case in cases),
        )
        return [ANSWERED if begun or number else self.first for number, _ in enumerate(cases)]


def run(first: Observation, text: str, asked: str) -> tuple[str, list[Observation]]:
    """Return which cases of F run, each by the name that it calls first, and all results."""
    lab, program = Counting(first), SimpleNamespace(text=SimpleNamespace(text=text))
    cases = [SimpleNamespace(exercise="F", steps=(Step("call", name),)) for name in asked]
    seen = lab.run(program, cases)
    return lab.were_run, seen


@pytest.mark.parametrize("text", NOT_BEGUN)
def test_the_first_result_stands_for_all_cases_that_begin_with_the_exercise(text: str):
    assert run(TO_DO, text, "FFGF") == ("FG", [TO_DO, TO_DO, ANSWERED, TO_DO])


@pytest.mark.parametrize("text", BEGUN)
def test_a_definition_with_other_code_runs_all_cases(text: str):
    assert run(TO_DO, text, "FFF")[0] == "FFF"


def test_no_other_result_stands_for_a_case():
    assert run(ANSWERED, NOT_BEGUN[0], "FFF")[0] == "FFF"
    assert run(TO_DO, NOT_BEGUN[0], "") == ("", [])
    unreached = Observation(Outcome.UNREACHED)
    assert run(HANGS, NOT_BEGUN[0], "FFF") == ("F", [HANGS, unreached, unreached])
