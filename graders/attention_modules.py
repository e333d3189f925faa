"""Steps of cases on modules with a mask and dropout, of one head or of many."""

import torch

from tensorgrade.author import call, computed, construct, load, mode, normal, weights


def evaluated(values: dict, d_in: int, d_out: int, context: int, dtype="float64", **arguments):
    """A module without dropout, with these weights, in evaluation."""
    sizes = {"d_in": d_in, "d_out": d_out, "context_length": context, "dropout": 0.0}
    made = construct(**sizes, dtype=dtype, **arguments)
    return made, load(values), mode(training=False)


def called(values, b, n, d_in, d_out, context, gradient=False, **arguments):
    """Called on b different rows of n tokens."""
    asked = {"gradient": normal(b, n, d_out)} if gradient else {}
    made = evaluated(values, d_in, d_out, context, **arguments)
    return *made, call(**asked, x=normal(b, n, d_in))


def changed_future(values, n, cut, d_in, d_out, **arguments):
    """Two calls on inputs that differ from token `cut` on: earlier outputs must stay."""
    x = normal(2, n, d_in)
    other = computed(with_another_end, x, normal(2, n - cut, d_in))
    return (
        *evaluated(values, d_in, d_out, n, **arguments),
        call(x=x, result="before"),
        call(x=other, result="after"),
    )


def with_another_end(x: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    """x with its last tokens replaced."""
    return torch.cat([x[:, : x.shape[1] - end.shape[1]], end], dim=1)


def low_scores(values, b, n, d_in, d_out, **arguments):
    """All scores far below -100 and nearly alike: a hidden place must be lower than any score."""
    values = values | {
        "W_query.weight": computed(torch.abs, values["W_query.weight"]),
        "W_key.weight": -computed(torch.abs, values["W_key.weight"]),
    }
    x = 4 + 0.05 * normal(b, n, d_in)
    return *evaluated(values, d_in, d_out, n, **arguments), call(x=x)


def zero_scores(values, b, n, d_in, d_out, **arguments):
    """One token of zeros: its scores are 0, which hides nothing."""
    x = computed(without_token_1, normal(b, n, d_in))
    return *evaluated(values, d_in, d_out, n, **arguments), call(x=x)


def without_token_1(x: torch.Tensor) -> torch.Tensor:
    """x with zeros for its second token."""
    x[:, 1] = 0
    return x


def short_then_long(values, d_in, d_out, **arguments):
    """Called on two tokens and then on five: the second call owes nothing to the first."""
    return (
        *evaluated(values, d_in, d_out, 6, **arguments),
        call(x=normal(2, 2, d_in), result="first"),
        call(x=normal(2, 5, d_in), result="second"),
    )


def dropped_weights(b, n, p, extra: dict, heads: int = 1, **arguments):
    """Values [I I] through each head: the output *is* the attention weights, twice side by side."""
    d_out = 2 * n * heads
    eye = torch.eye(n, dtype=torch.float64)
    values: dict = {f"{part}.weight": 0.2 * weights(d_out, n) for part in ("W_query", "W_key")}
    values["W_value.weight"] = torch.cat([eye, eye] * heads)
    x = eye.expand(b, n, n).clone()
    return (
        construct(d_in=n, d_out=d_out, context_length=n, dropout=p, dtype="float64", **arguments),
        load(values | extra),
        mode(training=False),
        call(x=x, result="plain"),
        mode(training=True),
        call(x=x, seed=1, result="dropped"),
        call(x=x, seed=2, result="again"),
    )
