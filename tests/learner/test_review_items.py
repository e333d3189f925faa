"""What a review asks: mistakes in the learner's own code, when they are due, and small repairs."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from fsrs import Rating

from tensorgrade.attempts.results import State, state_of
from tensorgrade.history import Entry
from tensorgrade.learner.commands.review import Memory
from tensorgrade.learner.commands.review_items import Item, Workshop, is_small
from tensorgrade.learner.kit import Kit
from tensorgrade.practice.variants import plain

from ..kits import FIRST, solved
from ..support import CourseError

CHAPTER = FIRST[1]
NAME, OTHER = "attention_weights", "scaled_dot_product_attention"
THEN = datetime(2026, 11, 2, 10, tzinfo=UTC)
LOOP = """for i, row in enumerate(x):
        for j, other in enumerate(x):
            y[i, j] = (row * other).sum()
    return y"""
REWRITE = (
    f"def {OTHER}(a, b, c):\n"
    "    return torch.einsum('...ij,...jd->...id', torch.softmax("
    "torch.einsum('...id,...jd->...ij', a, b) / b.shape[-1] ** 0.5, dim=-1), c)"
)


@pytest.mark.slow
def test_a_mistake_comes_back_in_passed_code_and_only_a_small_repair_is_one(kit, tmp_path):
    own = Kit(solved(kit, tmp_path / "kit", *FIRST))
    workshop = Workshop(own, random.Random(1))
    try:
        item = workshop.item("no_scale", NAME, [NAME, OTHER])
        assert item.exercise == OTHER and "unscaled" in item.message
        right = plain(item.base, item.exercise)
        for text, state, small in (
            (item.definition, State.WRONG, None),
            (right, State.DONE, True),
            (REWRITE, State.DONE, False),
        ):
            results, is_a_small_one = workshop.repaired(item, text)
            assert state_of(results[item.exercise]) == state
            assert small is None or is_a_small_one == small
        lines = item.definition.split("\n"), right.split("\n")
        assert lines[0][: item.line - 1] == lines[1][: item.line - 1]
        assert lines[0][item.line - 1] != lines[1][item.line - 1]
        same = workshop.item("no_scale", NAME, [NAME])
        assert same.exercise == NAME and workshop.passes(CHAPTER, NAME, same.base)
        assert plain(same.base, NAME) != plain(own.text(CHAPTER), NAME), "in other words"
        assert workshop.item("no_scale", NAME, ["softmax_naive"]) is None
    finally:
        workshop.close()


def test_undoing_the_mistake_is_small_however_much_it_added():
    right = "def f(x):\n    return x @ x.T"
    wrong = right.replace("x @", "(x / (x.shape[-1] - x.shape[0] + x.shape[-1]) ** 0.5) @")
    item = Item("scaled", "It is scaled.", CHAPTER, "f", wrong, right, 2)
    assert is_small(item, right)
    assert not is_small(item, "def f(x):\n    y = torch.zeros(len(x), len(x))\n    " + LOOP)
    with pytest.raises(CourseError, match="no longer defines f"):
        Workshop.repaired(None, item, "def g(): pass")


def named(at: datetime, exercise: str = NAME) -> Entry:
    return Entry(at.isoformat(), exercise, "wrong", 2.0, ("no_scale",))


def test_a_mistake_is_due_the_day_after_and_later_each_time_it_is_found(tmp_path):
    first, second = (Memory.of(Kit(tmp_path)) for _ in range(2))
    first.learn([named(THEN)])
    second.learn([named(THEN), named(THEN + timedelta(hours=1), OTHER)])
    assert first.cards == second.cards, "named twice on a day counts once"
    assert first.due(THEN + timedelta(hours=2), every=False) == []
    assert first.due(THEN + timedelta(hours=2), every=True) == ["no_scale"]
    assert first.due(THEN + timedelta(days=1), every=False) == ["no_scale"]
    waits = []
    for rating in (Rating.Good, Rating.Good, Rating.Good, Rating.Again):
        at = first.card("no_scale").due
        waits.append((first.rate("no_scale", rating, at) - at).days)
    assert waits[0] < waits[1] < waits[2] > waits[3]
    later = THEN + timedelta(days=20)
    second.learn([named(later, OTHER)])
    assert second.named_in["no_scale"] == OTHER and second.card("no_scale").last_review == later
    second.save()
    assert Memory.of(Kit(tmp_path)).cards == second.cards
