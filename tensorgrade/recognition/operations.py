"""Reads the operations that were counted in a watched call (a claim of the learner's process)."""

# Every torch operation that multiplies matrices, among them the fused products of each device.
PRODUCTS = {
    "mm",
    "bmm",
    "addmm",
    "baddbmm",
    "addbmm",
    "mv",
    "addmv",
    "dot",
    "vdot",
    "linear",
    "matmul",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable",
    "_addmm_activation",
    "mkldnn_linear",
}
# How often a tensor is laid out anew differs with its sizes: a single part needs no copy.
LAYOUT = {
    "view",
    "_unsafe_view",
    "reshape",
    "_reshape_alias",
    "as_strided",
    "expand",
    "clone",
    "copy_",
    "_to_copy",
    "t",
    "transpose",
    "permute",
    "detach",
    "alias",
    "select",
    "slice",
    "unsqueeze",
    "squeeze",
    "split",
    "split_with_sizes",
    "unbind",
    "cat",
    "stack",
    "empty",
    "empty_like",
    "new_empty",
    "zeros",
    "zeros_like",
}


def products(operations: dict) -> int:
    """How many matrix products ran.

    >>> products({"bmm": 2, "addmm": 4, "_softmax": 1})
    6
    """
    counts = (operations.get(name) for name in PRODUCTS)
    return sum(count for count in counts if isinstance(count, int))


def arithmetic(operations: dict) -> int:
    """How many operations of torch's core computed something, and did not only lay it out anew.

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
    """Whether the larger call computed more often, as a loop does.

    More matrix products tell at once. Other operations may differ by one or two where code treats
    a size in a way of its own; a loop's grow with what it goes over, here by three and more.
    """
    return products(many) > products(few) or arithmetic(many) >= arithmetic(few) + 3
