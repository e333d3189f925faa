"""Text that learners wrote reaches no row, page or terminal with characters that act."""

import json

import pytest

from tensorgrade.attempts.verdict import Status, Verdict
from tensorgrade.exchange.text import JOINERS, printable
from tensorgrade.judging.submitted_text import SubmittedText
from tensorgrade.sources.submitted_files import SubmittedFiles, escaped

from ..sampling import first_of_each

CH1 = "ch1_simplified_attention"
# An escape sequence, a window's title, one of ISO 6429 in one character, two ways to turn text, and
# what hides.
ACTS = ["\x1b[31m", "\x1b]0;title\x07", "\x9b31m", "\x85", "\u202e", "\u2066", "\u200b", "\x08"]
CARRIERS = {
    "an error's text": "raise ValueError('a{0}b')",
    "the line that raises": "raise ValueError('x')  # a{0}b",
    "a key": "return {{'a{0}b': 1}}",
    "a type": "return type('a{0}b', (), {{}})()",
    "an error's type": "raise type('a{0}b', (Exception,), {{}})()",
    "a text": "return 'a{0}b'",
}


def acting(text: str) -> list[str]:
    return [c for c in text if not (c.isprintable() or c in "\n" + JOINERS)]


@pytest.mark.parametrize("carrier", first_of_each(CARRIERS, type))
def test_no_row_holds_a_character_that_acts(grader, carrier):
    body = CARRIERS[carrier].format("".join(ACTS).replace("\x85", ""))
    code = f"def attention_scores(query, inputs):\n    {body}\n"
    rows = [v.row() for v in grader.grade(SubmittedFiles("eve", CH1, f"{CH1}.py", code.encode()))]
    assert rows[0]["points"] == 0 and rows[0]["message"] not in ("", "Not written yet.")
    assert not acting(json.dumps(rows, ensure_ascii=False))


@pytest.mark.parametrize("text", ACTS)
def test_whatever_acts_becomes_a_question_mark(text):
    assert acting(text) and not acting(printable(text))
    line = SubmittedText(f"x = 1  # {text}").lines[0]
    assert line.startswith("x = 1  # ?") and not acting(line)
    row = Verdict("ada", "c", "e", 0, 1, Status.FAILED, message=f"It is {text}.", code=text)
    assert not acting(row.message + row.code)


def test_names_keep_the_joiners_that_they_need():
    persian, emoji = "\u0646\u200c\u0647", "\U0001f469\u200d\U0001f4bb"
    assert [escaped(name) for name in (persian, emoji)] == [persian, emoji]
    assert printable(f"{persian} {emoji}") == f"{persian} {emoji}"
    assert escaped("ad\u200ca") != "ada" and escaped("ad\u200ca").isprintable()
    assert escaped("\u202eada") == "\\u202eada" and escaped("a\x9bb") == "a\\x9bb"
