"""Each attack in `files/` earns nothing and harms no honest learner."""

import re

import pytest

from .conftest import CHAPTER, HONEST, SECRET, attack_file, attacks

pytestmark = [pytest.mark.slow, pytest.mark.machine, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("name", attacks())
def test_an_attack_earns_and_reaches_nothing(attacked, name):
    """It gets what its wrong answers get, in plain text, and ends as its file says."""
    wrong, rows = attacked.rows["ab_wrong"], attacked.rows[name]
    assert rows.keys() == wrong.keys(), "a row for every exercise, and for no other"
    for place, row in rows.items():
        assert row["points"] <= wrong[place]["points"], row
        assert row["max_points"] == wrong[place]["max_points"]
        assert "ACHIEVED" not in row["message"] and SECRET not in str(row), row
        assert row["message"].isprintable() and len(row["message"]) < 2000
    declared = re.search(r"^Ends as: (\w+)$", attack_file(name).read_text(), re.M)
    row = rows[CHAPTER, "attention_scores"]
    assert row["status"] == declared[1] if declared else row["status"] != "passed", row
    assert row["isolation"] == wrong[CHAPTER, "attention_scores"]["isolation"] != "none"


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
    page = (attacked.out / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(" in page
    assert "<script>alert(" not in page and "<img src=x" not in page
