"""`tensorgrade watch` and `read --live` in processes of their own: a save is checked at once."""

import os
import shutil
import signal
import sys

import pytest

from ..kits import FIRST, begun, wait_until, write

CHAPTER = FIRST[0]
TO_DO = "raise NotImplementedError"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal"),
]


def end(process) -> int:
    """Press Ctrl-C and return the exit code; kill what does not end."""
    try:
        process.send_signal(signal.SIGINT)
        return process.wait(120)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


# What is saved one after another in the place of an unwritten exercise, and what is said then.
SAVES = [
    (
        "return inputs @ inputs.T",
        "not only the query's. [all_pairs]",
        "2.5 of 5 points: 0 of 4 checks passed; known mistake: −2.5",
    ),
    ("while True: pass", "did not finish", "Is there an infinite loop?"),
    ("return ((inputs @ query", "SyntaxError", f"{CHAPTER}.py:"),
    ("import os; os._exit(1)", "The process that", "attention_scores: wrong"),
    ("return inputs @ query", "attention_scores is done", "checked in"),
]


def test_each_save_is_checked_and_it_leaves_quietly(kit, tmp_path):
    own, said = shutil.copytree(kit, tmp_path / "kit"), tmp_path / "said.txt"
    process = begun("watch", cwd=own, written=said)

    def told() -> str:
        return " ".join(said.read_text(encoding="utf-8").split())

    try:
        wait_until(lambda: "q quit" in told(), process)
        assert "Start here: attention_scores" in told()
        before = TO_DO
        for line, *expected in SAVES:
            so_far = len(told())
            write(own, CHAPTER, before, line)
            wait_until(lambda: "q quit" in told()[so_far:], process)  # noqa: B023
            for one in expected:
                assert one in told()[so_far:], (line, told()[so_far:])
            before = line
        assert f"checking {CHAPTER}.py …" in told()
    finally:
        assert end(process) == 0
    assert "Traceback" not in told() and told().endswith("5 of 439 points."), told()[-300:]
