"""Evaluation of operations counted in a watched call (a claim of the learner's process)."""

# All torch operations that multiply matrices, including the fused products of each device.
PRODUCTS = set(
    """
    mm bmm addmm baddbmm addbmm mv addmv dot vdot linear matmul
    _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention
    _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention
    _scaled_dot_product_fused_attention_overrideable _addmm_activation mkldnn_linear
    """.split()
)
# Operations that only change a tensor's layout. Their number depends on the tensor's sizes; for
# example, a single part needs no copy.
LAYOUT = set(
    """
    view _unsafe_view reshape _reshape_alias as_strided expand clone copy_ _to_copy t transpose
    permute detach alias select slice unsqueeze squeeze split split_with_sizes unbind cat stack
    empty empty_like new_empty zeros zeros_like
    """.split()
)


def products(operations: dict) -> int:
    """Return the number of matrix products.

    >>> products({"bmm": 2, "addmm": 4, "_softmax": 1})
    6
    """
    counts = (operations.get(name) for name in PRODUCTS)
    return sum(count for count in counts if isinstance(count, int))


def arithmetic(operations: dict) -> int:
    """Return the number of core torch operations other than mere changes of layout.

    >>> arithmetic({"bmm": 2, "add": 4, "view": 9, "call:matmul": 2})
    6
    """
    worked = (
        count
        for name, count in operations.items()
        if not name.startswith("call:") and name not in LAYOUT
    )
    return sum(count for count in worked if isinstance(count, int))


def grows(few: dict, many: dict) -> bool:
    """Return True if the larger call computed more often, as a loop does.

    One more matrix product is enough. Other operations may differ by one or two if code treats a
    size as a special case. The operations of a loop grow with its length, here by at least three.

    >>> grows({"mm": 1}, {"mm": 2}), grows({"add": 1}, {"add": 3}), grows({"add": 1}, {"add": 4})
    (True, False, True)
    """
    return products(many) > products(few) or arithmetic(many) >= arithmetic(few) + 3
