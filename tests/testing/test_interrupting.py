"""Only learner code is ended when its time is up."""

import time

import pytest

from tensorgrade.runner.errors import OutOfTime, may_be_ended
from tensorgrade.testing.interrupting import Interrupter


def busy_until(moment: float) -> None:
    """Wait as learner code does, in a function: Python 3.13.0 may end a loop beside its `with`."""
    while time.monotonic() < moment:
        pass


@pytest.mark.slow
def test_nothing_but_learner_code_is_ended():
    timer, begun = Interrupter(0.05), time.monotonic()
    try:
        busy_until(begun + 1.2)  # it would have come twice
        with pytest.raises(OutOfTime), may_be_ended():
            busy_until(begun + 60)
    finally:
        timer.cancel()
