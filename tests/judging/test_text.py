"""What learners write becomes text that does nothing to a terminal, with facts about its lines."""

import pytest

from tensorgrade.exchange.observation import CaughtError
from tensorgrade.exchange.text import JOINERS, printable
from tensorgrade.judging.submitted_text import SubmittedText
from tensorgrade.sources.submitted_files import escaped

# An escape sequence, a window's title, one of ISO 6429 in one character, two ways to turn text, and
# what hides.
ACTS = ["\x1b[31m", "\x1b]0;title\x07", "\x9b31m", "\x85", "\u202e", "\u2066", "\u200b", "\x08"]


@pytest.mark.parametrize("text", ACTS)
def test_whatever_acts_becomes_a_question_mark(text: str):
    line = SubmittedText(f"x = 1  # {text}").lines[0]
    assert line.startswith("x = 1  # ?")
    for shown in (line, printable(text)):
        assert all(c.isprintable() or c in "\n" + JOINERS for c in shown)


def test_names_keep_the_joiners_that_they_need():
    persian, emoji = "\u0646\u200c\u0647", "\U0001f469\u200d\U0001f4bb"
    assert [escaped(name) for name in (persian, emoji)] == [persian, emoji]
    assert printable(f"{persian} {emoji}") == f"{persian} {emoji}"
    assert escaped("ad\u200ca") != "ada" and escaped("ad\u200ca").isprintable()
    assert escaped("\u202eada") == "\\u202eada" and escaped("a\x9bb") == "a\\x9bb"


def test_lines_are_counted_as_python_counts_them():
    text = "a = 1\x0cb = 2\x85\n# \u2028 one line\r\n1 / 0\r2 / 0"
    told = [SubmittedText(text).with_source_line(CaughtError("E", line=n)).source for n in (3, 4)]
    assert told == ["1 / 0", "2 / 0"]
