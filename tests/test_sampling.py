"""Of many cases alike the first runs by default, and none is lost."""

from .sampling import first_of_each


def test_the_first_of_each_kind_is_not_slow():
    marked = first_of_each(["ab", "ac", "b", ("c", 1), ("c", 2)], lambda case: case[0][0])
    assert [case.values for case in marked] == [("ab",), ("ac",), ("b",), ("c", 1), ("c", 2)]
    slow = [case.values[0] for case in marked if [mark.name for mark in case.marks] == ["slow"]]
    assert slow == ["ac", "c"]
