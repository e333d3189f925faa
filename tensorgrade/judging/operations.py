"""Reads the operations that were counted in a watched call (a claim of the learner's process)."""

# Every torch operation that multiplies matrices, among them the fused attention of each device.
PRODUCTS = {
    "mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot", "linear", "matmul",
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable", "_addmm_activation", "mkldnn_linear",
}
# Calls that an exercise on softmax, or on dropout, may not make.
SOFTMAXES = {"call:softmax", "call:log_softmax", "call:softmin", "call:gumbel_softmax"}
DROPOUTS = {"call:dropout", "call:dropout_", "call:alpha_dropout", "call:feature_dropout"}


def products(operations: dict) -> int:
    """How many matrix products ran.

    >>> products({"bmm": 2, "addmm": 4, "_softmax": 1})
    6
    """
    counts = (operations.get(name) for name in PRODUCTS)
    return sum(count for count in counts if isinstance(count, int))


def uses(operations: dict, names: set[str]) -> bool:
    """Whether any of these operations ran."""
    return any(operations.get(name) for name in names)
