"""Which of a learner's names stand for the stub's."""

import pytest

from tensorgrade.runner.names import (
    argument_ways,
    names_in_stub,
    parameters_of,
    plausible,
    renamed,
)

ASKED = ["W_query", "W_key", "W_value", "out_proj"]


def square(names: list[str]) -> dict[str, list[int]]:
    """Return the shapes of layers that are all alike."""
    return {f"{name}.weight": [4, 4] for name in names}


# The order in which parts are made, and those that stand for ASKED.
FOUND = [
    ("W_q W_k W_v W_o", "W_q W_k W_v W_o"),
    ("to_out to_q to_v to_k", "to_q to_k to_v to_out"),
    ("value_proj out key_proj query_proj", "query_proj key_proj value_proj out"),
    ("h.o h.v h.k h.q", "h.q h.k h.v h.o"),
    ("h.0 h.1 h.2 h.3", "h.0 h.1 h.2 h.3"),
    ("W_key spare W_query value out", "W_query W_key value out"),  # no name of the stub moves
]


@pytest.mark.parametrize("own, found", FOUND)
def test_similar_names_come_first_and_then_the_order_of_creation(own, found):
    names = names_in_stub(square(ASKED), square(own.split()), {})
    for asked, there in zip(ASKED, found.split(), strict=True):
        assert renamed(f"{there}.weight", names) == f"{asked}.weight"


def test_shapes_decide_before_names_and_a_part_is_opened_if_that_helps():
    asked = {"layers.0.weight": [8, 4], "layers.0.bias": [8], "layers.2.weight": [4, 8]}
    own = {"first.weight": [4, 8], "second.weight": [8, 4], "second.bias": [8]}
    names = names_in_stub(asked, own, {})
    assert (names["first"], names["second"]) == ("layers.2", "layers.0")
    assert names_in_stub({"table.weight": [4, 8]}, {"t": [4, 8]}, {})["t"] == "table.weight"


def test_levels_with_the_same_names_share_one_choice():
    block, own = ("norm1.scale", "norm2.scale"), ("x.p", "y.p")
    asked, there = (
        {f"{blocks}.{at}.{name}": [4] for at in range(12) for name in names}
        for blocks, names in (("blocks", block), ("h", own))
    )
    tries = plausible(asked, there, {})
    assert len(tries) == 2
    assert plausible(asked, there, tries[-1])[0] == tries[-1], "what is known comes first"


ARGUMENTS = [
    (lambda q, k, v: 0, [["q", "k", "v"]]),
    (lambda keys, queries, v: 0, [["queries", "keys", "v"], ["keys", "queries", "v"]]),
    (lambda a, *, values, keys: 0, [["a", "keys", "values"]]),
]


@pytest.mark.parametrize("function, ways", ARGUMENTS)
def test_arguments_go_by_position_or_by_name_and_are_never_permuted(function, ways):
    found = argument_ways(["queries", "keys", "values"], parameters_of(function))
    assert [[way[name] for name in ("queries", "keys", "values")] for way in found] == ways
