"""Which names can only mean what is asked for, and which could mean anything."""

import pytest

from tensorgrade.runner.names import meant, meant_parts

ASKED = ["W_query", "W_key", "W_value", "out_proj"]


@pytest.mark.parametrize(
    "there",
    [
        "W_q W_k W_v W_o",
        "w_query w_key w_value output",
        "q k v o",
        "to_q to_k to_v to_out",
        "query_proj key_proj value_proj out",
        "q_linear k_linear v_linear fc",
        "queryW keyW valueW proj_out",
        "lin1 lin2 lin3 lin4",
    ],
)
def test_names_that_are_alike_or_in_order(there):
    assert meant(ASKED, there.split()) == dict(zip(ASKED, there.split(), strict=True))


def test_likeness_counts_for_more_than_order():
    assert meant(ASKED, ["wv", "proj", "wk", "wq"]) == {
        "W_query": "wq",
        "W_key": "wk",
        "W_value": "wv",
        "out_proj": "proj",
    }


@pytest.mark.parametrize(
    "asked, there",
    [
        (["width"], ["verbose", "debug"]),
        (["width", "height"], ["anything"]),
        (["width"], []),
        ([f"a{n}" for n in range(9)], [f"b{n}" for n in range(9)]),
    ],
)
def test_what_could_mean_anything_means_nothing(asked, there):
    assert meant(asked, there) == {}


def test_what_is_left_out_of_the_order_counts_by_likeness_alone():
    assert meant(["width"], ["debug"], by_order=lambda name: False) == {}
    assert meant(["width"], ["a_width"], by_order=lambda name: False) == {"width": "a_width"}


def test_another_shape_is_another_thing():
    asked = {"first.weight": [2, 3], "last.weight": [4, 4]}
    assert meant_parts(asked, {"fst.weight": [9, 9], "last.weight": [4, 4]}) == {}
    assert meant_parts(asked, {"lst.weight": [4, 4], "fst.weight": [2, 3]}) == {
        "first": "fst",
        "last": "lst",
    }


def test_parts_within_parts_and_parts_that_lack_something():
    asked = {"heads.0.proj.weight": [2, 3], "heads.0.proj.bias": [2]}
    assert meant_parts(asked, {"heads.0.p.weight": [2, 3]}) == {"heads.0.proj": "heads.0.p"}
