"""Each attack in `files/` earns nothing and harms no honest learner; without a sandbox it would."""

import re
import subprocess

import pytest

from .conftest import (
    CHAPTER,
    HONEST,
    RIGHT,
    SECRET,
    Classroom,
    attack_file,
    attacks,
    files_named_after_token,
    left_behind,
    own_children,
    state_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.machine, pytest.mark.timeout(1800)]
# Attacks that succeed on a machine without isolation, and do no harm there.
HARMLESS = "look_for_references read_environment read_other_submissions connect_inet".split()
HARMLESS += "connect_abstract connect_netlink exec_shell spawned_process".split()


@pytest.fixture(scope="module")
def attacked(classroom, listener, tmp_path_factory) -> Classroom:
    """Grade honest learners and all attackers in one class; `left` is everything left behind."""
    room = classroom("attacked", listener.port)
    room.submit_honest()
    for name in attacks():
        room.submit_attack(name)
    before = state_of(room.course.parent)
    bystander = subprocess.Popen(["sleep", "1000"])
    known = own_children()
    room.grade(tmp_path_factory.mktemp("out"))
    room.left = [*left_behind(known), *files_named_after_token()]
    room.left += [] if bystander.poll() is None else ["the bystander was killed"]
    after = state_of(room.course.parent)
    room.left += [name for name in before | after if before.get(name) != after.get(name)]
    bystander.kill()
    bystander.wait()
    return room


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


def test_honest_rows_are_the_same_bytes(attacked, classroom, tmp_path):
    """Learners who sat beside the attackers get what they get without them."""
    undisturbed = classroom("undisturbed")
    undisturbed.submit_honest()
    undisturbed.grade(tmp_path, "--jobs", "1")
    for student in HONEST:
        assert attacked.lines[student] == undisturbed.lines[student]
    rows = [row for student in RIGHT for row in attacked.rows[student].values()]
    assert rows and all(row["status"] == "passed" for row in rows)


def test_nothing_is_left(attacked, listener):
    """No file, no process, no shared memory, no connection; no file of the course is changed."""
    assert attacked.left == []
    assert listener.callers == []


def test_what_learners_wrote_is_plain_text_on_a_terminal_and_on_pages(attacked):
    """The run's output is short and has no control characters. On the page, HTML is no tag."""
    assert "\x1b" not in attacked.output and "\x07" not in attacked.output
    assert len(attacked.output) < 100_000
    page = (attacked.out / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(" in page
    assert "<script>alert(" not in page and "<img src=x" not in page


@pytest.mark.proof  # about the attacks, not about the sandbox
def test_without_isolation_the_attacks_succeed(classroom, listener, tmp_path):
    """The very files that reach nothing in the sandbox. What they started ends with the run."""
    room = classroom("unlocked", listener.port)
    for name in [*HARMLESS, "look_for_answers"]:
        room.submit_attack(name)
    seen, known = len(listener.callers), own_children()
    room.grade(tmp_path, "--isolation", "none", "--jobs", "1")
    assert left_behind(known) == []
    del listener.callers[seen:]
    for name in HARMLESS:
        assert "ACHIEVED" in room.rows[name][CHAPTER, "attention_scores"]["message"], name
    row = room.rows["look_for_answers"][CHAPTER, "softmax"]
    assert row["points"] == row["max_points"], "what isolation is for"
    rows = [row for rows in room.rows.values() for row in rows.values()]
    assert {row["isolation"] for row in rows} == {"none"}
