"""All that judges copy_v2_into_v1: its cases, tests and own mistakes."""

from tensorgrade import exercise
from tensorgrade.author import call, case, construct, describe, load, mistake

from ..modules import linear_layers
from ..sizes import FEATURES, WIDTH, Sizes


def cases(pick):
    """Containers that the course makes, so that no learner's class is needed."""
    big = tuple(Sizes(pick, "copy_v2_into_v1")(FEATURES, WIDTH))
    sizes = pick(public=[(3, 2), (4, 4)], hidden=[(3, 2), (2, 5), (4, 4), (6, 3), (5, 3), big])
    return [case(f"values/{size}", *copied(*size), signature="structure") for size in sizes]


def copied(d_in, d_out):
    """Made, filled and handed over; afterwards both are described.

    Then v2 learns on: what v1 got must stay.
    """
    v2 = construct("LinearProjections", given=True, d_in=d_in, d_out=d_out)
    v1 = construct("MatrixProjections", given=True, d_in=d_in, d_out=d_out)
    return (
        v2,
        v1,
        load(linear_layers(d_in, d_out), on=v2),
        call("copy_v2_into_v1", v2=v2, v1=v1, result="returned"),
        describe("v1", on=v1, state=True),
        describe("v2", on=v2, state=True),
        load(linear_layers(d_in, d_out), on=v2),
        describe("later", on=v1, state=True),
    )


def anything(chance):
    """One legal use, with sizes and options by chance: whoever is right agrees on it."""
    return case("anything", *copied(chance.randint(1, 12), chance.randint(1, 12)))


@exercise("copy_v2_into_v1", points=1.5)
def test_copy_v2_into_v1_query(attempt):
    """W_query arrives in v1."""
    attempt.copy_v2_into_v1.agrees("values", only="v1.W_query")


@exercise("copy_v2_into_v1", points=1.5)
def test_copy_v2_into_v1_key(attempt):
    """W_key arrives in v1."""
    attempt.copy_v2_into_v1.agrees("values", only="v1.W_key")


@exercise("copy_v2_into_v1", points=1.5)
def test_copy_v2_into_v1_value(attempt):
    """W_value arrives in v1."""
    attempt.copy_v2_into_v1.agrees("values", only="v1.W_value")


@exercise("copy_v2_into_v1", points=0.5)
def test_copy_v2_into_v1_leaves_v2(attempt):
    """v2 stays as it was, both can go on learning, and nothing is returned."""
    attempt.copy_v2_into_v1.agrees("values")
    attempt.copy_v2_into_v1.has_parameters("values", "v1")
    attempt.copy_v2_into_v1.has_parameters("values", "v2")


QKV = ("W_query", "W_key", "W_value")
COPY = "v1.{0}.copy_(v2.{0}.weight.T)"


def each(template: str, new: str) -> tuple[tuple[str, str], ...]:
    """The same replacement for query, key and value."""
    return tuple((template.format(name), new.format(name)) for name in QKV)


MISTAKES = [
    mistake(
        "copied_without_transpose",
        "The weights are copied as they are. nn.Linear keeps its matrix the other way round.",
        *each(COPY, "v1.{0}.data = v2.{0}.weight.data.clone()"),
    ),
    mistake(
        "copied_in_untransposed",
        "The weights are copied as they are. nn.Linear keeps its matrix the other way round.",
        *each(COPY, "v1.{0}.copy_(v2.{0}.weight)"),
    ),
    mistake(
        "copied_reshaped",
        "The weights are reshaped to fit. A reshape keeps the order of the numbers; a transpose "
        "is something else.",
        *each(COPY, "v1.{0}.copy_(v2.{0}.weight.reshape(v1.{0}.shape))"),
    ),
    mistake(
        "copied_query_into_key",
        "Query and key have changed places on the way.",
        ("v1.W_query.copy_(v2.W_query", "v1.W_query.copy_(v2.W_key"),
        ("v1.W_key.copy_(v2.W_key", "v1.W_key.copy_(v2.W_query"),
    ),
    mistake(
        "copied_key_into_value",
        "Key and value have changed places on the way.",
        ("v1.W_key.copy_(v2.W_key", "v1.W_key.copy_(v2.W_value"),
        ("v1.W_value.copy_(v2.W_value", "v1.W_value.copy_(v2.W_key"),
    ),
    mistake(
        "value_not_copied", "The values' weights are not copied.", (COPY.format("W_value"), "pass")
    ),
    mistake(
        "only_query_copied",
        "Only the queries' weights are copied.",
        (COPY.format("W_key"), "pass"),
        (COPY.format("W_value"), "pass"),
    ),
    mistake(
        "copied_nowhere",
        "Nothing arrives in `v1`: it keeps its old weights. A new name or a copy is filled, or "
        "two are only compared; write into the parameter that is there.",
        *each(COPY, "{0} = v2.{0}.weight.T"),
    ),
    mistake(
        "copied_the_other_way",
        "The copy runs from `v1` to `v2`.",
        *each(COPY, "v2.{0}.weight.copy_(v1.{0}.T)"),
    ),
    mistake(
        "linear_put_in",
        "The layer itself is put in place of the matrix; `v1` holds matrices.",
        *each(COPY, "v1.{0} = v2.{0}"),
    ),
    mistake(
        "query_copied_thrice",
        "The queries' weights end up in all three places.",
        ("v1.W_key.copy_(v2.W_key", "v1.W_key.copy_(v2.W_query"),
        ("v1.W_value.copy_(v2.W_value", "v1.W_value.copy_(v2.W_query"),
    ),
    mistake(
        "copied_by_halves",
        "Half of each weight arrives in `v1`: the weights are halved on the way, or averaged "
        "with the old ones. They should take the old ones' place as they are.",
        *each(COPY, "v1.{0}.copy_(v2.{0}.weight.T / 2)"),
    ),
    mistake(
        "memory_shared",
        "Both modules look at the same numbers in memory: when `v2` goes on learning, `v1` changes "
        "with it. Copy the numbers.",
        *each(COPY, "v1.{0}.data = v2.{0}.weight.data.T"),
    ),
    mistake(
        "copy_returned",
        "Something is returned; the copy should only happen, and None come back.",
        (COPY.format("W_value"), COPY.format("W_value") + "\n    return v1"),
    ),
]
