"""Holes between what children share are filled: what is made afterwards lies close together."""

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorgrade.runner.fork_memory import MOST, SMALL, own_memory


def has_collapse() -> bool:
    """True if this system can move memory to huge pages at once."""
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    version = tuple(map(int, re.findall(r"\d+", platform.release())[:2]))
    return setting.exists() and "[never]" not in setting.read_text() and version >= (6, 1)


SPREAD = """
import sys
from tensorgrade.runner.fork_memory import fillers, maker
def pages(made):
    return len({id(one) // 4096 for one in made})
size = int(sys.argv[1])
make = maker(size)
crowd = [make() for _ in range(20_000)]
del crowd[::20]  # a hole here and there: what is made next goes there
spread = pages([make() for _ in range(200)])
kept = fillers(size)
print(spread, pages([make() for _ in range(200)]))
"""


@pytest.mark.parametrize("size", [48, 128, SMALL[-1]])
def test_what_is_made_is_on_few_pages_once_holes_are_filled(size):
    """In a process of its own: one that has run many tests may have more holes than are filled."""
    command = [sys.executable, "-c", SPREAD, str(size)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    spread, close = map(int, said.split())
    assert close <= 200 * size // 4096 + 6 and 2 * close < spread, (close, spread)


ASKED = """
from tensorgrade.runner.fork_memory import SMALL, fillers
first, second = ([fillers(size) for size in SMALL] for _ in range(2))
print([len(made) for made in first], [len(made) for made in second], sep="\\n")
"""


def test_every_small_size_is_filled_and_a_second_time_there_is_little_to_do():
    command = [sys.executable, "-c", ASKED]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, second = (json.loads(line) for line in said.splitlines())
    assert len(first) == len(SMALL) and all(first)
    taken = [count * size for count, size in zip(second, SMALL, strict=True)]
    assert max(taken) < MOST // 4, taken  # each came to an end by itself


HUGE = """
from tensorgrade.runner.fork_memory import use_huge_pages
def megabytes():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("AnonHuge"))
kept = [bytes([n % 256]) * 500 for n in range(60_000)]  # 30 MB in small objects
before = megabytes()
use_huge_pages()
print(before, megabytes(), all(one == bytes([n % 256]) * 500 for n, one in enumerate(kept)))
"""


@pytest.mark.skipif(not has_collapse(), reason="MADV_COLLAPSE needs Linux 6.1")
def test_memory_in_use_moves_to_huge_pages_and_stays_the_same():
    command = [sys.executable, "-c", HUGE]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(said[1]) >= int(said[0]) + 10 and said[2] == "True", said


def test_own_memory_holds_new_objects():
    text = bytes(1 << 16)
    assert sum(start <= id(text) < end for start, end in own_memory()) == 1
