"""Cases, checks and known mistakes of the exercise MultiHeadAttentionWrapper."""

from tensorgrade.author import case, check, it, weights

from ..attention_modules import LONGEST, AttentionModule
from ..usual import COPIED, GRADIENTS, SAME


class Wrapper(AttentionModule):
    """The cases of the wrapper: each of its heads has `width` features, and d_out is the width."""

    def arguments(self, qkv_bias=False, **kind) -> dict:
        """Return the constructor's arguments."""
        return super().arguments(qkv_bias, **kind) | {"d_out": (self.usual | kind)["width"]}


def layers(d_in, d_out, num_heads, qkv_bias=False, **_):
    """Return weights of the substitute heads."""
    values = {}
    for head in range(num_heads):
        values[f"heads.{head}.projection.weight"] = weights(d_out, d_in)
        if qkv_bias:
            values[f"heads.{head}.projection.bias"] = weights(d_out)
    return values


MODULE = Wrapper(layers, "d_in d_out context_length dropout num_heads")


def cases(draw):
    """Return cases whose heads are substitutes, each with its own weights."""
    drawn, few = MODULE.drawn, MODULE.few
    many = LONGEST | {"n": few["n"]}
    example = {"b": 1, "n": 2, "room": 2, "d_in": 1, "width": 1, "heads": 2}
    in_training = drawn(draw, few, dropout=0.3, training=True)
    return [
        *MODULE.values("values", example, drawn(draw, LONGEST, b=1), drawn(draw, few, heads=1)),
        case("values/one after another", *MODULE.in_turn()),
        *MODULE.values("arguments", in_training, drawn(draw, few, dropout=0.8, room=90)),
        *MODULE.values("bias", drawn(draw, many, qkv_bias=True, dropout=0.5)),
        *MODULE.values("bias", {"heads": 1, "qkv_bias": True, "dtype": "float32"}),
        *MODULE.always(draw),
    ]


CHECKS = [
    check(7, "All heads' outputs side by side, for one head and for many.", it.agrees("values")),
    check(
        2,
        "Every head gets the context_length and the dropout that were passed in.",
        it.agrees("arguments"),
    ),
    check(2, "Every head gets `qkv_bias`.", it.agrees("bias")),
    check(2.5, "Gradients reach x and every head.", GRADIENTS),
    check(
        1,
        "The heads are registered: torch finds their parameters, and no others.",
        it.has_parameters("parameters"),
    ),
    check(0.5, COPIED, it.keeps_inputs("values", "bias", "gradients"), SAME),
]

MISTAKES = """
heads_in_a_plain_list: The heads are in a Python list or tuple, where torch does not find their
  parameters. Use an nn.ModuleList.
    self.heads = nn.ModuleList( -> self.heads = list(
heads_stacked: The outputs are stacked along a new dimension; they belong side by side in the last
  one.
    torch.cat( -> torch.stack(
heads_joined_along_tokens: The outputs are joined along the tokens; they belong side by side in the
  features.
    self.heads], dim=-1) -> self.heads], dim=1)
heads_joined_along_batch: The outputs are joined along the batch; they belong side by side in the
  features.
    self.heads], dim=-1) -> self.heads], dim=0)
heads_added: The outputs are added up. Each head should keep its own part of the output.
    torch.cat([head(x) for head in self.heads], dim=-1) -> sum(head(x) for head in self.heads)
heads_meaned 30%: The outputs are averaged. Each head should keep its own part of the output.
    - torch.cat([head(x) for head in self.heads], dim=-1)
    + sum(head(x) for head in self.heads) / len(self.heads)
first_head_repeated: The first head is called repeatedly; the others are never called.
    [head(x) for head in -> [self.heads[0](x) for _ in
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
    d_in, d_out, -> d_in, d_out // num_heads,
projection_added: There is a projection in addition to the heads. The wrapper only joins their
  outputs.
    - self.heads = nn.ModuleList(
    + self.out_proj = nn.Linear(num_heads * d_out, num_heads * d_out)
    + self.heads = nn.ModuleList(
    - return torch.cat([head(x) for head in self.heads], dim=-1)
    + return self.out_proj(torch.cat([head(x) for head in self.heads], dim=-1))
bias_not_passed_on: `qkv_bias` is not passed on to the heads.
    dropout, qkv_bias) -> dropout)
dropout_not_passed_on: `dropout` is not passed on to the heads.
    dropout, qkv_bias) -> 0.0, qkv_bias)
context_length_not_passed_on 30%: `context_length` is not passed on to the heads.
    context_length, dropout -> 6, dropout
length_and_dropout_exchanged 30%: `context_length` and `dropout` are exchanged in the call of the
  heads' class.
    context_length, dropout, qkv_bias) -> dropout, context_length, qkv_bias)
one_head_too_few: There is one head too few.
    range(num_heads) -> range(num_heads - 1)
one_head_too_many: There is one head too many.
    range(num_heads) -> range(num_heads + 1)
heads_joined_in_reverse: The heads are joined in reverse order.
    for head in self.heads -> for head in reversed(self.heads)
only_last_head: Only the last head's output is returned.
    torch.cat([head(x) for head in self.heads], dim=-1) -> [head(x) for head in self.heads][-1]
list_returned: A list of outputs is returned instead of one joined tensor.
    torch.cat([head(x) for head in self.heads], dim=-1) -> [head(x) for head in self.heads]
heads_detached: No gradient flows back through the outputs, so no head can learn.
    [head(x) for -> [head(x).detach() for
"""
