"""Cases, checks and known mistakes of the exercise copy_v2_into_v1."""

from tensorgrade.author import call, case, check, construct, describe, it, load, mistake

from ..modules import linear_layers
from ..sizes import FEATURES, WIDTH, Sizes


def cases(pick):
    """Return cases with modules of the course, so that they need no class of the learner."""
    big = tuple(Sizes(pick, "copy_v2_into_v1")(FEATURES, WIDTH))
    sizes = pick(public=[(3, 2), (4, 4)], hidden=[(3, 2), (2, 5), (4, 4), (6, 3), (5, 3), big])
    return [case(f"values/{size}", *copied(*size), signature="structure") for size in sizes]


def copied(d_in, d_out):
    """Return steps that construct, fill, copy and describe both modules.

    Afterwards v2 continues to learn: the values in v1 must stay.
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


CHECKS = [
    check(1.5, "W_query is copied into v1.", it.agrees("values", only="v1.W_query")),
    check(1.5, "W_key is copied into v1.", it.agrees("values", only="v1.W_key")),
    check(1.5, "W_value is copied into v1.", it.agrees("values", only="v1.W_value")),
    check(
        0.5,
        "v2 stays unchanged, both modules can continue to learn, and the result is None.",
        it.agrees("values"),
        it.has_parameters("values", "v1"),
        it.has_parameters("values", "v2"),
    ),
]

QKV = ("W_query", "W_key", "W_value")
COPY = "v1.{0}.copy_(v2.{0}.weight.T)"


def each(template: str, new: str) -> tuple[tuple[str, str], ...]:
    """Return the same edit for query, key and value."""
    return tuple((template.format(name), new.format(name)) for name in QKV)


MISTAKES = [
    mistake(
        "copied_without_transpose",
        "The weights are copied unchanged. How does nn.Linear store its matrix?",
        *each(COPY, "v1.{0}.data = v2.{0}.weight.data.clone()"),
    ),
    mistake(
        "copied_in_untransposed",
        "The weights are copied unchanged. How does nn.Linear store its matrix?",
        *each(COPY, "v1.{0}.copy_(v2.{0}.weight)"),
    ),
    mistake(
        "weights_put_in",
        "The weights of `v2` themselves are put into `v1`. nn.Linear stores its matrix transposed, "
        "and both modules now share the same memory. Copy the numbers.",
        *each(COPY, "v1.{0} = v2.{0}.weight"),
    ),
    mistake(
        "copied_reshaped",
        "The weights are reshaped to fit. A reshape keeps the order of the numbers; a transpose "
        "changes it.",
        *each(COPY, "v1.{0}.copy_(v2.{0}.weight.reshape(v1.{0}.shape))"),
    ),
    mistake(
        "copied_query_into_key",
        "Query and key are swapped in the copy.",
        ("v1.W_query.copy_(v2.W_query", "v1.W_query.copy_(v2.W_key"),
        ("v1.W_key.copy_(v2.W_key", "v1.W_key.copy_(v2.W_query"),
    ),
    mistake(
        "copied_key_into_value",
        "Key and value are swapped in the copy.",
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
        "Nothing is copied into `v1`: it keeps its old weights. Does the code fill a new variable "
        "or a copy? Write into the existing parameter.",
        *each(COPY, "{0} = v2.{0}.weight.T"),
    ),
    mistake(
        "copied_the_other_way",
        "The copy goes from `v1` to `v2`.",
        *each(COPY, "v2.{0}.weight.copy_(v1.{0}.T)"),
    ),
    mistake(
        "linear_put_in",
        "The layer itself is put into `v1`, which should hold matrices.",
        *each(COPY, "v1.{0} = v2.{0}"),
    ),
    mistake(
        "query_copied_thrice",
        "The queries' weights are copied into all three places.",
        ("v1.W_key.copy_(v2.W_key", "v1.W_key.copy_(v2.W_query"),
        ("v1.W_value.copy_(v2.W_value", "v1.W_value.copy_(v2.W_query"),
    ),
    mistake(
        "copied_by_halves",
        "Half of each weight arrives in `v1`. Are the weights halved, or averaged with the old "
        "ones? They should replace the old ones unchanged.",
        *each(COPY, "v1.{0}.copy_(v2.{0}.weight.T / 2)"),
    ),
    mistake(
        "memory_shared",
        "Both modules share the same memory: when `v2` continues to learn, `v1` changes with it. "
        "Copy the numbers.",
        *each(COPY, "v1.{0}.data = v2.{0}.weight.data.T"),
    ),
    mistake(
        "copy_returned",
        "Something is returned; the function should only copy and return None.",
        (COPY.format("W_value"), COPY.format("W_value") + "\n    return v1"),
    ),
]
