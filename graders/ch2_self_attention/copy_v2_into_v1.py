"""Cases, checks and known mistakes of the exercise copy_v2_into_v1."""

from tensorgrade.author import call, case, check, construct, describe, it, load

from ..modules import linear_layers
from ..steps import FEATURES, WIDTH, counted


def cases(draw):
    """Return cases with modules of the course, so that they need no class of the learner."""
    # No size is 1: the transpose of one row is contiguous, so calls that copy others share it.
    sizes = [(2, 5), (4, 4)]
    example = {"W_value.weight": counted(2, 3)}
    return [
        case("values/example", *copied(3, 2, example), signature="structure"),
        *(case(f"values/{size}", *copied(*size), signature="structure") for size in sizes),
        case("values/drawn", *copied(*draw(FEATURES, WIDTH)), signature="structure"),
    ]


def copied(d_in, d_out, known=()):
    """Return steps that construct, fill, copy and describe both modules.

    known: weights that are not drawn. Afterwards v2 continues to learn: the values in v1 must stay.
    """
    v2 = construct("LinearProjections", given=True, d_in=d_in, d_out=d_out)
    v1 = construct("MatrixProjections", given=True, d_in=d_in, d_out=d_out)
    return (
        v2,
        v1,
        load(linear_layers(d_in, d_out) | dict(known), on=v2),
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


MISTAKES = """
copied_without_transpose 40%: The weights are copied unchanged. How does nn.Linear store its matrix?
    v1.W_query.copy_(v2.W_query.weight.T) -> v1.W_query.data = v2.W_query.weight.data.clone()
    v1.W_key.copy_(v2.W_key.weight.T) -> v1.W_key.data = v2.W_key.weight.data.clone()
    v1.W_value.copy_(v2.W_value.weight.T) -> v1.W_value.data = v2.W_value.weight.data.clone()
copied_in_untransposed: The weights are copied unchanged. How does nn.Linear store its matrix?
    v1.W_query.copy_(v2.W_query.weight.T) -> v1.W_query.copy_(v2.W_query.weight)
    v1.W_key.copy_(v2.W_key.weight.T) -> v1.W_key.copy_(v2.W_key.weight)
    v1.W_value.copy_(v2.W_value.weight.T) -> v1.W_value.copy_(v2.W_value.weight)
weights_put_in 50%: The weights of `v2` themselves are put into `v1`. nn.Linear stores its matrix
  transposed, and both modules now share the same memory. Copy the numbers.
    v1.W_query.copy_(v2.W_query.weight.T) -> v1.W_query = v2.W_query.weight
    v1.W_key.copy_(v2.W_key.weight.T) -> v1.W_key = v2.W_key.weight
    v1.W_value.copy_(v2.W_value.weight.T) -> v1.W_value = v2.W_value.weight
copied_reshaped: The weights are reshaped to fit. A reshape keeps the order of the numbers; a
  transpose changes it.
    v2.W_query.weight.T -> v2.W_query.weight.reshape(v1.W_query.shape)
    v1.W_key.copy_(v2.W_key.weight.T) -> v1.W_key.copy_(v2.W_key.weight.reshape(v1.W_key.shape))
    v2.W_value.weight.T -> v2.W_value.weight.reshape(v1.W_value.shape)
copied_query_into_key: Query and key are swapped in the copy.
    v1.W_query.copy_(v2.W_query -> v1.W_query.copy_(v2.W_key
    v1.W_key.copy_(v2.W_key -> v1.W_key.copy_(v2.W_query
copied_key_into_value: Key and value are swapped in the copy.
    v1.W_key.copy_(v2.W_key -> v1.W_key.copy_(v2.W_value
    v1.W_value.copy_(v2.W_value -> v1.W_value.copy_(v2.W_key
value_not_copied: The values' weights are not copied.
    v1.W_value.copy_(v2.W_value.weight.T) -> pass
only_query_copied: Only the queries' weights are copied.
    v1.W_key.copy_(v2.W_key.weight.T) -> pass
    v1.W_value.copy_(v2.W_value.weight.T) -> pass
copied_nowhere 100%: Nothing is copied into `v1`: it keeps its old weights. Does the code fill a new
  variable or a copy? Write into the existing parameter.
    v1.W_query.copy_(v2.W_query.weight.T) -> W_query = v2.W_query.weight.T
    v1.W_key.copy_(v2.W_key.weight.T) -> W_key = v2.W_key.weight.T
    v1.W_value.copy_(v2.W_value.weight.T) -> W_value = v2.W_value.weight.T
copied_the_other_way: The copy goes from `v1` to `v2`.
    v1.W_query.copy_(v2.W_query.weight.T) -> v2.W_query.weight.copy_(v1.W_query.T)
    v1.W_key.copy_(v2.W_key.weight.T) -> v2.W_key.weight.copy_(v1.W_key.T)
    v1.W_value.copy_(v2.W_value.weight.T) -> v2.W_value.weight.copy_(v1.W_value.T)
linear_put_in: The layer itself is put into `v1`, which should hold matrices.
    v1.W_query.copy_(v2.W_query.weight.T) -> v1.W_query = v2.W_query
    v1.W_key.copy_(v2.W_key.weight.T) -> v1.W_key = v2.W_key
    v1.W_value.copy_(v2.W_value.weight.T) -> v1.W_value = v2.W_value
query_copied_thrice: The queries' weights are copied into all three places.
    v1.W_key.copy_(v2.W_key -> v1.W_key.copy_(v2.W_query
    v1.W_value.copy_(v2.W_value -> v1.W_value.copy_(v2.W_query
copied_by_halves: Half of each weight arrives in `v1`. Are the weights halved, or averaged with the
  old ones? They should replace the old ones unchanged.
    v1.W_query.copy_(v2.W_query.weight.T) -> v1.W_query.copy_(v2.W_query.weight.T / 2)
    v1.W_key.copy_(v2.W_key.weight.T) -> v1.W_key.copy_(v2.W_key.weight.T / 2)
    v1.W_value.copy_(v2.W_value.weight.T) -> v1.W_value.copy_(v2.W_value.weight.T / 2)
memory_shared: Both modules share the same memory: when `v2` continues to learn, `v1` changes with
  it. Copy the numbers.
    v1.W_query.copy_(v2.W_query.weight.T) -> v1.W_query.data = v2.W_query.weight.data.T
    v1.W_key.copy_(v2.W_key.weight.T) -> v1.W_key.data = v2.W_key.weight.data.T
    v1.W_value.copy_(v2.W_value.weight.T) -> v1.W_value.data = v2.W_value.weight.data.T
copy_returned: Something is returned; the function should only copy and return None.
    - v1.W_value.copy_(v2.W_value.weight.T)
    + v1.W_value.copy_(v2.W_value.weight.T)
    + return v1
"""
