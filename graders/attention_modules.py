"""Steps of cases on modules with a mask and dropout, with one head or several."""

import torch

from tensorgrade.author import call, computed, construct, load, mode, moved, normal, weights

from .modules import with_another_start
from .steps import BATCH, FEATURES, HEADS, TOKENS, WIDTH, with_an_equal_row


def evaluated(values: dict, d_in: int, d_out: int, context: int, dtype="float64", **arguments):
    """Return a module without dropout, with these weights, in evaluation mode."""
    sizes = {"d_in": d_in, "d_out": d_out, "context_length": context}
    made = construct(**sizes, **{"dropout": 0.0, "dtype": dtype} | arguments)
    return made, load(values), mode(training=False)


def called(values, b, n, d_in, d_out, context, *, training=False, size=1.0, **arguments):
    """Return a call on b rows of n tokens. If there are three rows or more, two are equal.

    gradient: also ask for gradients. constants: names of arguments that need no gradient. size:
    the factor on the entries of x.
    """
    asked = {"gradient": normal(b, n, d_out)} if arguments.pop("gradient", False) else {}
    constants = arguments.pop("constants", ())
    made = evaluated(values, d_in, d_out, context, **arguments)
    x = computed(with_equal_rows, size * normal(b, n, d_in))
    return *made[:-1], mode(training), call(**asked, constants=constants, x=x)


# Modules never run in training here, because random results have no reference. (A rate of 0 would
# have one, but a fixed rate should cost the points of dropout, not those of the values.)
RUNS = ((False, 0.1), (False, 0.6))


def in_pairs(pick, draw, **more):
    """Yield combinations of options as (group, settings, sizes), covering every pair of options.

    Each combination is in the first group that fits: bias, short, one head. sizes: b, n, d_in,
    context_length, width of a head, heads. In turn, each size is far larger than usual. Hidden
    cases only.
    """
    options = {"bias": (False, True), "short": (False, True), "run": RUNS, "texts": ("some", 1)}
    options |= {"dtype": ("float64", "float32")} | more
    rows = draw.pairs(**options) if pick.hidden else []
    rows.sort(key=lambda row: (row["texts"] == 1, row.get("heads") == "many"))
    for at, row in enumerate(rows + lacking(rows, options)):
        b, n, d_in, width = draw(*ranges_of(at, row))
        training, dropout = row["run"]
        heads = {1: 1, "few": 2 + at % 2, "many": draw(HEADS)[0]}.get(row.get("heads"), 1)
        settings = {"dropout": dropout, "training": training, "dtype": row["dtype"]}
        settings |= {"bias": row["bias"], "size": d_in**-0.5}  # the scores stay small
        yield group_of(row), settings, (b, n, d_in, n + 3 * row["short"], width, heads)


def ranges_of(at: int, row: dict) -> list[tuple[int, int]]:
    """Return the ranges of b, n, d_in and a head's width for a combination of options.

    The first rows have several texts and few heads, so that each size is large in one of them.
    """
    # No text has six tokens, unlike the example: code that assumes six must always fail.
    one, many = row["texts"] == 1, row.get("heads") == "many"
    ranges = [(1, 1) if one else (2, 4), (7, 10), (3, 12), (2, 4) if many else (3, 12)]
    place, size = ((0, BATCH), (3, WIDTH), (1, TOKENS), (2, FEATURES))[at % 4]
    if (one, place) != (True, 0) and (many, place) != (True, 3):
        ranges[place] = size
    return ranges


def group_of(row: dict) -> str:
    """Return the group of cases for a combination of options."""
    if row["bias"] or row["short"]:
        return "bias" if row["bias"] else "short"
    return "one head" if row.get("heads") == 1 else "values"


def lacking(rows: list[dict], options: dict) -> list[dict]:
    """Return a row for each empty group, so that deductions do not depend on chance."""
    plain = {name: values[-1] for name, values in options.items()}
    plain |= {"bias": False, "short": False, "texts": "some"}
    wanted = [plain, plain | {"bias": True}, plain | {"short": True}]
    wanted += [plain | {"heads": 1}] if "heads" in options else []
    there = {group_of(row) for row in rows}
    return [row for row in wanted if rows and group_of(row) not in there]


def with_equal_rows(x: torch.Tensor) -> torch.Tensor:
    """Return x with its last row replaced by its first, if it has three rows or more."""
    return torch.cat([x[:-1], x[:1]]) if len(x) > 2 else x


def changed_future(values, n, cut, d_in, d_out, **arguments):
    """Return calls on inputs that differ from token `cut` on, slightly or hugely, or in token 0.

    Earlier outputs must stay. If later tokens attract all weight, nothing is left to renormalise.
    """
    x = normal(2, n, d_in)
    other = computed(with_another_end, x, normal(2, n - cut, d_in))
    return (
        *evaluated(values, d_in, d_out, n, **arguments),
        call(x=x, result="before"),
        call(x=other, result="after"),
        call(x=computed(with_another_start, x), result="earlier"),
        call(x=computed(with_a_huge_end, x, n - cut), result="huge"),
    )


def with_another_end(x: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    """Return x with its last tokens replaced."""
    return torch.cat([x[:, : x.shape[1] - end.shape[1]], end], dim=1)


def with_a_huge_end(x: torch.Tensor, last: int) -> torch.Tensor:
    """Return x with its last tokens multiplied by a thousand."""
    return torch.cat([x[:, :-last], 1000 * x[:, -last:]], dim=1)


def large_scores(values, b, n, d_in, d_out, **arguments):
    """Return a call with scores of millions, far apart: their exponentials overflow."""
    raised = {k: 1000 * v if "W_query" in k or "W_key" in k else v for k, v in values.items()}
    return called(raised, b, n, d_in, d_out, n, **arguments)


def low_scores(values, b, n, d_in, d_out, **arguments):
    """Return a call with similar scores far below -1000: hidden entries must be lower still.

    The numbers are short, and d_k should be 4, so that a softmax in float32 is just as exact.
    """
    values = values | {
        "W_query.weight": computed(shortened, values["W_query.weight"]),
        "W_key.weight": -computed(shortened, values["W_key.weight"]),
    }
    x = 12 + computed(torch.round, normal(b, n, d_in)) * (1 / 8)
    return *evaluated(values, d_in, d_out, n, **arguments), call(x=x)


def shortened(weights: torch.Tensor) -> torch.Tensor:
    """Return the absolute values of weights, rounded to quarters."""
    return (4 * weights.abs()).round() / 4


def zero_scores(values, b, n, d_in, d_out, **arguments):
    """Return a call with one token of zeros: its scores are 0, which must not hide it."""
    x = computed(without_token_1, normal(b, n, d_in))
    return *evaluated(values, d_in, d_out, n, **arguments), call(x=x)


def equal_tokens(values, b, n, d_in, d_out, **arguments):
    """Two tokens of each text are equal, which is nothing special."""
    x = computed(with_an_equal_row, normal(b, n, d_in))
    return *evaluated(values, d_in, d_out, n, **arguments), call(x=x)


def without_token_1(x: torch.Tensor) -> torch.Tensor:
    """Return x with zeros for its second token."""
    x[:, 1] = 0
    return x


def short_then_long(values, d_in, d_out, **arguments):
    """Return calls on two, five and two other tokens: no call may depend on an earlier one."""
    return (
        *evaluated(values, d_in, d_out, 6, **arguments),
        call(x=normal(2, 2, d_in), result="first"),
        call(x=normal(2, 5, d_in), result="second"),
        call(x=normal(2, 2, d_in), result="third"),
    )


def on_another_device(n, d_in, d_out, **arguments):
    """Return a call on a moved module, in training, with fewer tokens than it accepts."""
    sizes = {"d_in": d_in, "d_out": d_out, "context_length": n + 2, "dropout": 0.2}
    return construct(**sizes, dtype="float32", **arguments), moved(x=normal(2, n, d_in))


def options_of_dropout(pick, exercise: str, groups: list[str]) -> list[dict]:
    """Return options for the dropout cases of these groups.

    In hidden cases each option is on in a random case of the group `dropout`. If it could be in
    another group, the points of a wrong answer would depend on the seed.
    """
    chance = pick.chance(exercise, "dropout")
    found: list[dict[str, object]] = [{} for _ in groups]
    there = [one for one, group in zip(found, groups, strict=True) if group == "dropout"]
    for option, value in (("qkv_bias", True), ("longer", 3), ("dtype", "float32")):
        if pick.hidden:
            chance.choice(there)[option] = value
    return found


def rates(pick, exercise: str) -> tuple[float, float]:
    """Return a small and a large dropout rate, in hundredths."""
    chance = pick.chance(exercise, "rates")
    return chance.randint(15, 19) / 100, chance.randint(55, 70) / 100


def dropped_weights(
    b, n, p, extra: dict, heads: int = 1, kv_heads: int = 0, longer=0, dtype="float64", **arguments
):
    """Return steps with values [I I] in each head: the output *is* the weights, twice.

    Each text is a little larger than the one before, so that the results show if texts see each
    other. kv_heads: heads of keys and values, if there are fewer. longer: how many more tokens the
    context allows. If projections have biases, the values' bias is 0.
    """
    kv_heads = kv_heads or heads
    d_out, kv_width = 2 * n * heads, 2 * n * kv_heads
    eye = torch.eye(n, dtype=getattr(torch, dtype))
    values: dict = {"W_query.weight": 0.2 * weights(d_out, n)}
    values["W_key.weight"] = 0.2 * weights(kv_width, n)
    values["W_value.weight"] = torch.cat([eye, eye] * kv_heads)
    if arguments.get("qkv_bias"):
        values |= {"W_query.bias": weights(d_out), "W_key.bias": weights(kv_width)}
        values["W_value.bias"] = torch.zeros(kv_width)
    x = eye * torch.linspace(1, 1.5, b, dtype=eye.dtype)[:, None, None]
    made = {"d_in": n, "d_out": d_out, "context_length": n + longer, "dropout": p, "dtype": dtype}
    loaded = load(values | extra)
    return (
        construct(**made, **arguments),
        loaded,
        mode(training=False),
        call(x=x, result="plain"),
        mode(training=True),
        call(x=x, seed=1, result="dropped"),
        call(x=x, seed=None, no_grad=True, result="again"),
        mode(training=False),
        call(x=x, no_grad=True, result="plain once more"),
        construct(**made, **arguments),
        loaded,
        mode(training=True),
        call(x=x, seed=None, no_grad=True, result="in a new module"),
    )
