"""Which names can only mean what is asked for, and which could mean anything."""

import pytest

from tensorgrade.runner.names import as_asked, match_parameters, meant

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


def test_a_tensor_of_another_shape_is_meant_if_no_other_layer_can_be():
    asked = {"first.weight": [2, 3], "last.weight": [4, 4]}
    assert match_parameters(asked, {"fst.weight": [9, 9], "last.weight": [4, 4]}) == {
        "first": "fst"
    }
    assert match_parameters(asked, {"fst.table": [9, 9], "last.weight": [4, 4]}) == {}
    assert match_parameters(asked, {"lst.weight": [4, 4], "fst.weight": [2, 3]}) == {
        "first": "fst",
        "last": "lst",
    }


def test_parts_within_parts_and_parts_that_lack_something():
    asked = {"heads.0.proj.weight": [2, 3], "heads.0.proj.bias": [2]}
    assert match_parameters(asked, {"heads.0.p.weight": [2, 3]}) == {"heads.0.proj": "heads.0.p"}


FEED = {"layers.0.weight": [8, 2], "layers.0.bias": [8], "layers.2.weight": [2, 8]}


@pytest.mark.parametrize(
    "there, renamed",
    [
        # By shapes alone, in whatever order they are made.
        (
            {"fc1.weight": [8, 2], "fc1.bias": [8], "fc2.weight": [2, 8]},
            {"layers.0": "fc1", "layers.2": "fc2"},
        ),
        (
            {"down.weight": [2, 8], "up.weight": [8, 2], "up.bias": [8]},
            {"layers.0": "up", "layers.2": "down"},
        ),
        (
            {"layers.0.0.weight": [8, 2], "layers.0.0.bias": [8], "layers.1.weight": [2, 8]},
            {f"layers.0.{n}": f"layers.0.0.{n}" for n in ("weight", "bias")}
            | {"layers.2": "layers.1"},
        ),
        ({"w1": [8, 2], "b1": [8], "w2": [2, 8]}, dict(zip(FEED, ["w1", "b1", "w2"], strict=True))),
        # Of other shapes: layers that hold the same belong together in their order.
        (
            {"fc1.weight": [4, 2], "fc1.bias": [4], "fc2.weight": [2, 4]},
            {"layers.0": "fc1", "layers.2": "fc2"},
        ),
        # One too many, one too few: it could mean anything.
        ({"a.weight": [8, 2], "a.bias": [8], "b.weight": [2, 8], "b.bias": [2]}, {}),
        ({"fc1.weight": [8, 2], "fc2.weight": [2, 8]}, {}),
    ],
)
def test_tensors_that_are_left_over_are_meant_where_all_have_a_partner(there, renamed):
    assert match_parameters(FEED, there) == renamed
    understood = {as_asked(name, renamed) for name in there}
    assert bool(renamed) == (understood == set(FEED))


def test_of_several_with_one_shape_likeness_tells_first_and_then_the_order():
    asked = {"W_query.weight": [3, 3], "W_key.weight": [3, 3], "W_value.weight": [3, 3]}
    likely = {f"made.{name}.weight": [3, 3] for name in "vkq"}
    found = match_parameters(asked, likely)
    assert found == {"W_query": "made.q", "W_key": "made.k", "W_value": "made.v"}
    nameless = {f"made.{name}.weight": [3, 3] for name in range(3)}
    found = match_parameters(asked, nameless)
    assert found == {"W_query": "made.0", "W_key": "made.1", "W_value": "made.2"}


def test_what_is_in_a_part_of_another_name_is_looked_at_too():
    asked = {f"blocks.{n}.feed.{name}": size for n in range(2) for name, size in FEED.items()}
    there = {
        name.replace("feed", "ff").replace("layers.0", "one").replace("layers.2", "two"): size
        for name, size in asked.items()
    }
    renamed = match_parameters(asked, there)
    assert {as_asked(name, renamed) for name in there} == set(asked)
    assert renamed["blocks.1.feed.layers.2"] == "blocks.1.ff.two"


def test_names_that_are_all_there_stand_for_themselves():
    asked = {"first.weight": (2, 3), "last.weight": (3, 2), "scale": (1,)}
    assert (
        match_parameters(asked, {"scale": (2,), "last.weight": (2, 3), "first.weight": (3, 2)})
        == {}
    )
    assert match_parameters(asked, {"scale": (1,), "last.w": (3, 2), "first.weight": (2, 3)})
