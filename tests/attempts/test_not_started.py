"""An exercise that is not started is recognized by its text, so that few of its cases run."""

from tensorgrade.attempts.lab import is_not_begun
from tensorgrade.exchange.observation import CaughtError

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


TO_DO = CaughtError("NotImplementedError", source=RAISES.strip(), definition="F")


def test_only_what_raises_before_all_else_is_not_begun():
    for text in NOT_BEGUN:
        assert is_not_begun(TO_DO, "F", text), text
    for text in BEGUN:
        assert not is_not_begun(TO_DO, "F", text), text
