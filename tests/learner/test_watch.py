"""`tensorgrade watch`, with and without a terminal: saves are checked, and keys do their work."""

import os
import re
import shutil
import signal
import sys

import pexpect
import pytest

from ..kits import FIRST, on_a_terminal, wait_until, write
from ..support import ROOT, begin

CHAPTER = FIRST[0]
BUG = "bug_simplified_self_attention"
TO_DO = "raise NotImplementedError"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal"),
]
# A learner saves these lines, one after another, in place of an unwritten exercise. Each has the
# words of the page that follows.
SAVES = [
    (
        "return inputs @ inputs.T",
        "not only the query's.",
        "2.5 of 5 points: 0 of 4 checks passed; known mistake: −2.5",
    ),
    ("while True: pass", "did not finish", "Is there an infinite loop?"),
    ("return ((inputs @ query", "SyntaxError", f"{CHAPTER}.py:"),
    ("import os; os._exit(1)", "The process that", "attention_scores: wrong"),
    ("return inputs @ query", "attention_scores is done", "checked at"),
]


def test_each_save_is_checked_and_it_leaves_quietly(own, tmp_path):
    said = tmp_path / "said.txt"
    process = begin("watch", cwd=own, written=said)

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
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert "Traceback" not in told() and told().endswith("5 of 439 points."), told()[-300:]


@pytest.fixture
def terminal(own):
    """The command on a terminal of its own, and the kit in which it runs."""
    programs = {"EDITOR": "echo editor", "BROWSER": "echo browser %s"}
    # A dumb terminal has no codes between the words.
    with on_a_terminal(own, "watch", TERM="dumb", **programs) as started:
        yield started, own


def test_keys(terminal):
    """Hints, the next exercise, back, a jump, checks, the editor, the lesson and a reset."""
    screen, own = terminal
    stub = (own / "exercises" / f"{CHAPTER}.py").read_text(encoding="utf-8")

    def page(words: str, key: str = "") -> str:
        """Press a key, and return the page that has these words."""
        screen.send(key)
        screen.expect(re.escape(words))
        before = screen.before
        screen.expect("q quit")
        return f"{before}{words}{screen.before}"

    page("Start here: attention_scores")
    assert "hint 1" in page("Another hint: press h", "h")
    assert "hint 2" in page("hint 2", "h")
    assert "hint 1" not in page("Start here: softmax_naive", "n")
    page("Start here: attention_scores", "b")
    screen.send("l")
    screen.expect("Go to")
    assert BUG in screen.before and "causal_mask" in screen.before
    told = page(f"Start here: {BUG}", "bug_simp\n")
    assert "✗ Six rows of weights" in told and "your main clue" in told
    screen.send("l")
    screen.expect("Go to")
    page("Start here: attention_scores", "attention_sc\n")
    assert "✗ One dot product" in page("✗ The dot products", "c")
    line = stub[: stub.index(TO_DO)].count("\n") + 1
    page(f"opened line {line}", "o")
    page("opened lessons.html", "r")
    assert 'id="attention_scores"' in (own / "lessons.html").read_text(encoding="utf-8")
    write(own, CHAPTER, TO_DO, "return inputs @ query")
    assert "Press n for the next one" in page("attention_scores is done")
    screen.send("x")
    screen.expect("Reset attention_scores")
    page("Start here: attention_scores", "y\n")
    assert (own / "exercises" / f"{CHAPTER}.py").read_text(encoding="utf-8") == stub
    screen.send("q")
    screen.expect(pexpect.EOF)
    assert "0 / 439" in screen.before


def test_of_several_changed_exercises_the_first_wrong_one_is_shown(terminal):
    screen, own = terminal
    screen.expect("q quit")
    path = own / "exercises" / f"{CHAPTER}.py"
    text = path.read_text(encoding="utf-8").replace(TO_DO, "return inputs @ query", 1)
    path.write_text(text.replace(TO_DO, "return x", 1), encoding="utf-8")
    screen.expect("softmax_naive: wrong")
    shutil.copy(ROOT / "solutions" / f"{CHAPTER}.py", path)
    screen.expect("Well done: you have finished")
    screen.expect("Next: Self-attention")
    screen.send("n")
    screen.expect("Start here: project_qkv")
    path.write_text(path.read_text(encoding="utf-8") + "# done\n", encoding="utf-8")
    screen.expect(f"{CHAPTER}.py: checked at")
    assert "Start here: project_qkv" in screen.before
