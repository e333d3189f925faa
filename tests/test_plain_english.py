"""The thermometer of plain English finds unidiomatic phrases in prose, and reads no code."""

import runpy

import pytest

from .commands import ROOT

TOOL = runpy.run_path(str(ROOT / "tools" / "plain_english.py"))


@pytest.fixture
def rate(tmp_path):
    """A function: the phrases per 1,000 words of a text in a file of that name."""

    def rate(name: str, text: str) -> float:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return TOOL["measured"](tmp_path / name)[0]

    return rate


@pytest.mark.parametrize(
    "text",
    [
        "Who handed nothing over gets no row.",
        "It depends on what comes before.",
        "The answer lies in the file.",
        "The learner is told that.",
        "Where there is no file, stop.",
        "Leave the input as it is.",
        "It knows nothing but the name.",
        "Everything is made anew.",
        "It waits until somebody reads.",
        "The file is to be read.",
        "Say which line to mend.",
    ],
)
def test_each_kind_of_phrase_counts_once(rate, text):
    assert rate("page.md", text) == pytest.approx(1000 / len(text.split()))


def test_plain_sentences_and_questions_score_nothing(rate):
    assert rate("page.md", "Return the first wrong value.\n\nWhat is an index?") == 0


def test_code_in_pages_is_not_counted(rate):
    page = "Run this:\n\n```\nmake it anew\n```\n\n    made anew\n\nor `made anew` here.\n"
    assert rate("page.md", page) == 0


def test_in_python_comments_and_sentences_count_and_names_do_not(rate):
    assert rate("code.py", "anew = 'made anew'\n") == 0
    assert rate("code.py", "x = 1  # made anew\n") > 0
    assert rate("code.py", '"""Read the file and make all pages anew."""\n') > 0


def test_every_limited_path_exists():
    assert [name for name in TOOL["LIMITS"] if not (ROOT / name).exists()] == []
