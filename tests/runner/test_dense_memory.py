"""Holes between what children share are filled: what is made afterwards lies close together."""

import json
import subprocess
import sys

import pytest

from tensorgrade.runner.dense_memory import LARGEST, MOST, STEP, fillers, maker

PAGE, SIZES = 4096, range(STEP, LARGEST + 1, STEP)


def pages(made: list) -> int:
    """On how many pages some objects lie."""
    return len({id(one) // PAGE for one in made})


@pytest.mark.parametrize("size", [48, 128, LARGEST])
def test_what_is_made_is_on_few_pages_once_holes_are_filled(size):
    make = maker(size)
    crowd = [make() for _ in range(20_000)]
    del crowd[::20]  # a hole here and there: what is made next goes there
    spread = pages([make() for _ in range(200)])
    kept = fillers(size)
    close = pages([make() for _ in range(200)])
    assert crowd and kept
    assert close <= 200 * size // PAGE + 6 and 2 * close < spread, (close, spread)


ASKED = """
from tensorgrade.runner.dense_memory import fill_holes
first, second = fill_holes(), fill_holes()
print([len(made) for made in first], [len(made) for made in second], sep="\\n")
"""


def test_every_small_size_is_filled_and_a_second_time_there_is_little_to_do():
    """In a process of its own: one that has run many tests may have more holes than are filled."""
    command = [sys.executable, "-c", ASKED]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, second = (json.loads(line) for line in said.splitlines())
    assert len(first) == len(SIZES) and all(first)
    taken = [count * size for count, size in zip(second, SIZES, strict=True)]
    assert max(taken) < MOST // 4, taken  # each finished on its own
