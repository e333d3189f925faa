"""The display of two different values shows where they differ, and nothing misleading."""

import pytest

from tensorgrade.exchange.observation import Observation, Outcome
from tensorgrade.judging.value_comparison import ValueGap, ValueJudge, side_by_side
from tensorgrade.runner.values import Packer

NOTHING = Observation(Outcome.ANSWERED)
LONG = {number: number * number for number in range(60)}


def gap_between(want: object, got: object) -> ValueGap:
    """Return the first difference of two values."""
    packer = Packer(lambda place, tensor: {"tensor": place})
    trees = packer.pack(want, ""), packer.pack(got, "")
    gap = ValueJudge(NOTHING, NOTHING, {}).between(*trees, trees)
    assert gap is not None
    return gap


def shown_of(want: object, got: object) -> tuple[str, str]:
    """Return the display of two values that are said to differ."""
    return side_by_side(gap_between(want, got))


@pytest.mark.parametrize(
    ("want", "got", "shown"),
    [
        # Not `{(6, 5): 1}` alone, as if the pair that is there were too much.
        ({(5, 6): 2, (6, 5): 1}, {(5, 6): 2}, ("{(5, 6): 2, (6, 5): 1}", "{(5, 6): 2}")),
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, ("{'a': 1, 'b': 2}", "{'b': 2, 'c': 3}")),
        ({"a": 1, "b": 2}, {"b": 3, "a": 1}, ("{'b': 2}", "{'b': 3}")),
    ],
)
def test_of_short_dicts_with_other_keys_all_is_shown(want, got, shown):
    assert shown_of(want, got) == shown


def test_of_long_dicts_that_part_is_shown_where_a_key_is_missing():
    expected, actual = shown_of(LONG, {key: v for key, v in reversed(LONG.items()) if key != 50})
    assert "50: 2500" in expected and "51: 2601" in actual and "50: 2500" not in actual
    assert len(expected) < 70 and len(actual) < 70
