"""The attacks are real: on a machine without isolation they reach what they are after.

Only those run here that do no harm when they succeed.
"""

import pytest

from .conftest import CHAPTER, adopt_orphans, left_behind, own_children

pytestmark = pytest.mark.proof  # about the attacks, not about the sandbox
REACHED = [
    "look_for_references",
    "read_environment",
    "read_other_submissions",
    "connect_inet",
    "connect_abstract",
    "connect_netlink",
    "exec_shell",
    "spawned_process",
]


@pytest.fixture(scope="module")
def unlocked(classroom, listener, tmp_path_factory):
    """The harmless attackers, graded with `--isolation none`."""
    room = classroom("unlocked", listener.port)
    for name in [*REACHED, "look_for_answers"]:
        room.hand_in_attack(name)
    seen = len(listener.callers)
    adopt_orphans()
    known = own_children()
    room.grade(tmp_path_factory.mktemp("out"), "--isolation", "none", "--jobs", "1")
    room.left = left_behind(known)
    del listener.callers[seen:]
    return room


@pytest.mark.parametrize("name", REACHED)
def test_attack_succeeds_without_isolation(unlocked, name):
    """The very file that reaches nothing in the sandbox says here that it has."""
    assert "ACHIEVED" in unlocked.rows[name][CHAPTER, "attention_scores"]["message"]


def test_no_process_outlives_the_grading(unlocked):
    """Without isolation too, what a learner's code has started ends with it."""
    assert unlocked.left == []


def test_answers_are_found_without_isolation(unlocked):
    """Full points for a file that reads the solutions: what isolation is for."""
    row = unlocked.rows["look_for_answers"][CHAPTER, "softmax"]
    assert row["points"] == row["max_points"]


def test_every_row_says_so(unlocked):
    """The results show that code ran without a sandbox."""
    rows = [row for rows in unlocked.rows.values() for row in rows.values()]
    assert {row["isolation"] for row in rows} == {"none"}
