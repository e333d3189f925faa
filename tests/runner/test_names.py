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
    expected = dict(zip(ASKED, ["wq", "wk", "wv", "proj"], strict=True))
    assert meant(ASKED, ["wv", "proj", "wk", "wq"]) == expected, "likeness comes before order"


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


TWO = {"first.weight": [2, 3], "last.weight": [4, 4]}
PARTS = {"heads.0.proj.weight": [2, 3], "heads.0.proj.bias": [2]}
QKV = {"W_query.weight": [3, 3], "W_key.weight": [3, 3], "W_value.weight": [3, 3]}


@pytest.mark.parametrize(
    "asked, there, renamed",
    [
        # A tensor of another shape is meant if no other layer can be.
        (TWO, {"fst.weight": [9, 9], "last.weight": [4, 4]}, {"first": "fst"}),
        (TWO, {"fst.table": [9, 9], "last.weight": [4, 4]}, {}),
        (TWO, {"lst.weight": [4, 4], "fst.weight": [2, 3]}, {"first": "fst", "last": "lst"}),
        (PARTS, {"heads.0.p.weight": [2, 3]}, {"heads.0.proj": "heads.0.p"}),
        # Of several with one shape, likeness tells first, and then the order.
        (
            QKV,
            {f"made.{name}.weight": [3, 3] for name in "vkq"},
            {"W_query": "made.q", "W_key": "made.k", "W_value": "made.v"},
        ),
        (
            QKV,
            {f"made.{name}.weight": [3, 3] for name in range(3)},
            {"W_query": "made.0", "W_key": "made.1", "W_value": "made.2"},
        ),
        # Names that are all there stand for themselves.
        (TWO, {"last.weight": [2, 3], "first.weight": [4, 4]}, {}),
    ],
)
def test_layers_are_meant_by_shape_likeness_and_order(asked, there, renamed):
    assert match_parameters(asked, there) == renamed


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


def test_what_is_in_a_part_of_another_name_is_looked_at_too():
    asked = {f"blocks.{n}.feed.{name}": size for n in range(2) for name, size in FEED.items()}
    there = {
        name.replace("feed", "ff").replace("layers.0", "one").replace("layers.2", "two"): size
        for name, size in asked.items()
    }
    renamed = match_parameters(asked, there)
    assert {as_asked(name, renamed) for name in there} == set(asked)
    assert renamed["blocks.1.feed.layers.2"] == "blocks.1.ff.two"
