"""Each attack in `files/` earns nothing and harms no honest learner."""

import re

import pytest

from tensorgrade.course_sources import load_config
from tensorgrade.instructor.report.page import write_report
from tensorgrade.isolation.levels import best_level
from tensorgrade.isolation.probing import probe

from .conftest import CHAPTER, HONEST, SECRET, attack_file, attacks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_there_are_enough_attacks():
    """There are at least forty attacks, each with a description."""
    assert len(attacks()) >= 40
    assert all(re.match(r'"""[A-Z][^"]{20,}', attack_file(n).read_text()) for n in attacks())


@pytest.mark.parametrize("name", attacks())
def test_attack_earns_nothing(attacked, name):
    """No more points than the same wrong answers without the attack, exercise by exercise."""
    wrong = attacked.rows["ab_wrong"]
    rows = attacked.rows[name]
    assert rows.keys() == wrong.keys(), "a row for every exercise, and for no other"
    for place, row in rows.items():
        assert row["points"] <= wrong[place]["points"], row
        assert row["max_points"] == wrong[place]["max_points"]


@pytest.mark.parametrize("name", attacks())
def test_attack_reaches_nothing(attacked, name):
    """No attack reports success, and its messages are plain text."""
    for row in attacked.rows[name].values():
        assert "ACHIEVED" not in row["message"], row["message"]
        assert SECRET not in str(row)
        assert row["message"].isprintable() and len(row["message"]) < 2000


@pytest.mark.parametrize("name", attacks())
def test_attack_ends_as_it_says(attacked, name):
    """The row has the status that the file announces, and the run continues."""
    declared = re.search(r"^Ends as: (\w+)$", attack_file(name).read_text(), re.M)
    row = attacked.rows[name][CHAPTER, "attention_scores"]
    if declared:
        assert row["status"] == declared[1], row
    assert row["status"] != "passed"
    assert row["isolation"] == best_level(probe()).name


def test_honest_rows_are_the_same_bytes(attacked, undisturbed):
    """Learners who sat beside the attackers get what they get without them."""
    for student in HONEST:
        assert attacked.lines[student] == undisturbed.lines[student]
    rows = [row for s in ("aa_right", "mm_right", "zz_right") for row in attacked.rows[s].values()]
    assert rows and all(row["status"] == "passed" for row in rows)


def test_nothing_is_left(attacked, listener):
    """No file, no process, no shared memory, no connection; no file of the course is changed."""
    assert attacked.left == []
    assert listener.callers == []


def test_terminal_gets_plain_text(attacked):
    """The run's output is short and contains no control characters of an attacker."""
    assert "\x1b" not in attacked.output and "\x07" not in attacked.output
    assert len(attacked.output) < 100_000


def test_pages_escape_what_learners_wrote(attacked):
    """The class report shows the attackers' HTML as text: it is there, and it is no tag."""
    course = load_config(attacked.course / "course_config.py")
    page = write_report(attacked.out, course).read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(" in page
    assert "<script>alert(" not in page and "<img src=x" not in page
