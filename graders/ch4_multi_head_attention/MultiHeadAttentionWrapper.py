"""Cases, checks and known mistakes of the exercise MultiHeadAttentionWrapper."""

import torch

from tensorgrade.author import (
    call,
    case,
    check,
    computed,
    construct,
    it,
    load,
    mode,
    normal,
    weights,
)

from ..modules import structure
from ..steps import BATCH, FEATURES, HEADS, TOKENS, WIDTH, Sizes, copied, with_an_equal_row


def cases(pick):
    """Return cases whose heads are substitutes, each with its own weights."""
    draw = Sizes(pick, "MultiHeadAttentionWrapper")
    (many,) = draw(HEADS)
    b, n, d_in, d_out = draw(BATCH, TOKENS, FEATURES, WIDTH)
    sizes = pick(
        public=[(2, 6, 3, 2, 2), (1, 4, 5, 3, 3)],
        hidden=[
            (1, 5, 3, 4, 1),
            (b, 3, 4, d_out, 2),
            (2, 1, 1, 3, 2),
            (2, 3, 4, 1, 1),
        ],
    )
    twins = [
        construct(d_in=3, d_out=4, context_length=9, dropout=0.0, num_heads=2, qkv_bias=True)
        for _ in range(2)
    ]
    made: dict = {"d_in": 3, "d_out": 4, "context_length": 5, "dropout": 0.1}
    return [
        *(case(f"values/{size}", *module(*size)) for size in sizes),
        case("values/many heads", *module(2, n, d_in, 3, many, training=False, dropout=0.3)),
        case("values/float32", *called_twice(2, 5, 4, 3, 2), dtype=torch.float32),
        *(
            case(
                f"arguments/dropout {dropout}, context {context}",
                *module(2, 4, 3, 4, 2, context_length=context, dropout=dropout),
            )
            for dropout, context in pick(public=[(0.3, 11)], hidden=[(0.8, 90)])
        ),
        case(
            "bias/one head", *module(2, 3, 5, 4, 1, bias=True, dtype="float32"), dtype=torch.float32
        ),
        case("bias/many heads", *module(1, 3, 5, 2, many, bias=True, dropout=0.5)),
        case("gradients/4", *module(2, 4, 3, 4, 2, gradient=normal(2, 4, 8))),
        case(
            "gradients/of weights in evaluation",
            *module(2, 3, 4, 2, 4, gradient=normal(2, 3, 8), training=False, constants=["x"]),
        ),
        case("same/copies", *copied(twins, load(head_weights(3, 4, 2, True)), normal(2, 5, 3))),
        *(
            case(
                f"parameters/{heads} heads",
                *structure(**made, num_heads=heads, qkv_bias=bias),
                signature="structure of heads",
            )
            for heads, bias in ((1, False), (3, True))
        ),
    ]


def module(
    b, n, d_in, d_out, heads, *, bias=False, gradient=None, training=True, constants=(), **settings
):
    """Construct the module, load its heads' weights, and call it on b rows of n tokens."""
    settings = {"context_length": 9, "dropout": 0.0} | settings | {"num_heads": heads}
    settings |= {"qkv_bias": True} if bias else {}
    return (
        construct(d_in=d_in, d_out=d_out, **{"dtype": "float64"} | settings),
        load(head_weights(d_in, d_out, heads, bias)),
        mode(training),
        call(gradient=gradient, constants=constants, x=normal(b, n, d_in)),
    )


def called_twice(b, n, d_in, d_out, heads):
    """Return two calls on different numbers, in float32: they must be independent."""
    *made, first = module(b, n, d_in, d_out, heads, dtype="float32")
    second = computed(with_an_equal_row, normal(b, n, d_in))
    return *made, first, call(x=second, result="second")


def head_weights(d_in, d_out, heads, bias):
    """Return weights of the substitute heads."""
    values = {}
    for head in range(heads):
        values[f"heads.{head}.projection.weight"] = weights(d_out, d_in)
        if bias:
            values[f"heads.{head}.projection.bias"] = weights(d_out)
    return values


CHECKS = [
    check(7, "All heads' outputs side by side, for one head and for many.", it.agrees("values")),
    check(
        2,
        "Every head gets the context_length and the dropout that were passed in.",
        it.agrees("arguments"),
    ),
    check(2, "Every head gets `qkv_bias`.", it.agrees("bias")),
    check(2.5, "Gradients reach x and every head.", it.agrees("gradients", only="gradient")),
    check(
        1,
        "The heads are registered: torch finds their parameters, and no others.",
        it.has_parameters("parameters"),
    ),
    check(
        0.5,
        "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result.",
        it.keeps_inputs("values", "bias", "gradients"),
        it.gives_the_same("same"),
    ),
]

MISTAKES = """
heads_in_a_plain_list: The heads are in a Python list or tuple, where torch does not find their
  parameters. Use an nn.ModuleList.
    self.heads = nn.ModuleList( -> self.heads = list(
heads_stacked: The outputs are stacked along a new dimension; they belong side by side in the last
  one.
    - torch.cat([head(x) for head in self.heads], dim=-1)
    + torch.stack([head(x) for head in self.heads], dim=-1)
heads_joined_along_tokens: The outputs are joined along the tokens; they belong side by side in the
  features.
    - torch.cat([head(x) for head in self.heads], dim=-1)
    + torch.cat([head(x) for head in self.heads], dim=1)
heads_joined_along_batch: The outputs are joined along the batch; they belong side by side in the
  features.
    - torch.cat([head(x) for head in self.heads], dim=-1)
    + torch.cat([head(x) for head in self.heads], dim=0)
heads_added: The outputs are added up. Each head should keep its own part of the output.
    torch.cat([head(x) for head in self.heads], dim=-1) -> sum(head(x) for head in self.heads)
heads_meaned 30%: The outputs are averaged. Each head should keep its own part of the output.
    - torch.cat([head(x) for head in self.heads], dim=-1)
    + sum(head(x) for head in self.heads) / len(self.heads)
first_head_repeated: The first head is called repeatedly; the others are never called.
    - torch.cat([head(x) for head in self.heads], dim=-1)
    + torch.cat([self.heads[0](x) for _ in self.heads], dim=-1)
one_head_shared: All entries are the same head, with one set of weights.
    - CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
    - for _ in range(num_heads)
    + [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads
heads_chained: Each head gets the output of the one before. All heads should see the same x.
    - return torch.cat([head(x) for head in self.heads], dim=-1)
    + outputs = []
    + for head in self.heads:
    +     x = head(x)
    +     outputs.append(x)
    + return torch.cat(outputs, dim=-1)
d_out_shared_out: Each head gets a share of d_out. In the wrapper every head should give d_out
  features of its own.
    - CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
    + CausalAttention(d_in, d_out // num_heads, context_length, dropout, qkv_bias)
projection_added: There is a projection in addition to the heads. The wrapper only joins their
  outputs.
    - self.heads = nn.ModuleList(
    + self.out_proj = nn.Linear(num_heads * d_out, num_heads * d_out)
    + self.heads = nn.ModuleList(
    - return torch.cat([head(x) for head in self.heads], dim=-1)
    + return self.out_proj(torch.cat([head(x) for head in self.heads], dim=-1))
bias_not_passed_on: `qkv_bias` is not passed on to the heads.
    - CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
    + CausalAttention(d_in, d_out, context_length, dropout)
dropout_not_passed_on: `dropout` is not passed on to the heads.
    - CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
    + CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias)
context_length_not_passed_on 30%: `context_length` is not passed on to the heads.
    - CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
    + CausalAttention(d_in, d_out, 6, dropout, qkv_bias)
one_head_too_few: There is one head too few.
    range(num_heads) -> range(num_heads - 1)
one_head_too_many: There is one head too many.
    range(num_heads) -> range(num_heads + 1)
heads_joined_in_reverse: The heads are joined in reverse order.
    - torch.cat([head(x) for head in self.heads], dim=-1)
    + torch.cat([head(x) for head in reversed(self.heads)], dim=-1)
only_last_head: Only the last head's output is returned.
    torch.cat([head(x) for head in self.heads], dim=-1) -> [head(x) for head in self.heads][-1]
list_returned: A list of outputs is returned instead of one joined tensor.
    torch.cat([head(x) for head in self.heads], dim=-1) -> [head(x) for head in self.heads]
heads_detached: No gradient flows back through the outputs, so no head can learn.
    - torch.cat([head(x) for head in self.heads], dim=-1)
    + torch.cat([head(x).detach() for head in self.heads], dim=-1)
"""
