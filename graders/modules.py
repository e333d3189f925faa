"""Cases and steps that several exercises share."""

import torch

from tensorgrade.author import (
    call,
    case,
    computed,
    construct,
    describe,
    load,
    mode,
    normal,
    weights,
)

from .steps import BATCH, FEATURES, MODERATE, QKV, TOKENS, WIDTH, with_an_equal_row


def matrices(d_in: int, d_out: int) -> dict:
    """Return weights for three matrices that x is multiplied by: x @ W."""
    return {name: weights(d_in, d_out) for name in QKV}


def linear_layers(d_in: int, d_out: int, bias: bool = False) -> dict:
    """Return weights (and biases) for three nn.Linear."""
    layers = {f"{name}.weight": weights(d_out, d_in) for name in QKV}
    return layers | ({f"{name}.bias": weights(d_out) for name in QKV} if bias else {})


def called(
    values: dict, n: int, d_in: int, d_out: int, *, training=True, constants=(), **arguments
):
    """Construct a module, load weights, and call it on (n, d_in). `gradient` asks for gradients.

    If d_in is large, x is small, so that a softmax in float32 is precise enough for the scores.
    """
    x = min(1.0, 8 / d_in) * normal(n, d_in)
    asked = {"gradient": normal(n, d_out)} if arguments.pop("gradient", False) else {}
    made = construct(d_in=d_in, d_out=d_out, **{"dtype": "float64"} | arguments)
    return made, load(values), mode(training), call(**asked, constants=constants, x=x)


def of_self_attention(layers, draw) -> list:
    """Return cases of a module of self-attention. layers: returns weights for d_in and d_out."""
    sizes, few = draw(TOKENS, FEATURES, WIDTH), draw(MODERATE, MODERATE, MODERATE)
    values = layers(*few[1:])
    # Scores of millions, far apart: their exponentials overflow.
    large = {name: v if "W_value" in name else 1000 * v for name, v in values.items()}
    made, x = (construct(d_in=3, d_out=4, dtype="float64"), load(layers(3, 4))), normal(5, 3)
    texts = {"first": normal(3, 3), "second": computed(with_an_equal_row, x), "third": normal(3, 3)}
    starts = {"before": x, "earlier": computed(with_another_start, x)}
    alone = {"gradient": True, "training": False, "constants": ["x"]}
    return [
        # With equal sizes, mistakes that raise an error elsewhere give values that identify them.
        *(
            case(f"values/{size}", *called(layers(*size[1:]), *size))
            for size in [(5, 4, 8), (3, 6, 2), (1, 3, 4), (4, 1, 1), (3, 3, 3)]
        ),
        case("values/drawn", *called(layers(*sizes[1:]), *sizes)),
        case("values/in turn", *made, *(call(x=x, result=name) for name, x in texts.items())),
        case(
            "values/float32", *called(layers(5, 4), 7, 5, 4, dtype="float32"), dtype=torch.float32
        ),
        case("large/1e6", *called(large, *few)),
        case("gradients/drawn", *called(values, *few, gradient=True)),
        case("gradients/of weights in evaluation", *called(layers(3, 4), 5, 3, 4, **alone)),
        case("mixed/first token", *made, *(call(x=x, result=name) for name, x in starts.items())),
    ]


def of_attention(draw, asked) -> list:
    """Return cases of attention with queries (…, n, d_k), keys (…, m, d_k), values (…, m, d_v).

    asked: returns a call for n, m, d_k, d_v and the leading dimensions.
    """
    b, n, many, *widths = draw(BATCH, FEATURES, TOKENS, WIDTH, WIDTH)
    few = draw(MODERATE, MODERATE, MODERATE, MODERATE)
    return [
        case("values/d_k 1", asked(7, 7, 1, 3)),
        case("values/drawn", asked(many, many, *widths)),
        case("values/float32", asked(5, 5, 7, 4), dtype=torch.float32),
        *(case(f"cross/{n} queries, {m} keys", asked(n, m, 3, 2)) for n, m in [(1, 5), (4, 1)]),
        case("cross/drawn", asked(n, many, *widths)),
        case("batch/of two", asked(4, 5, 6, 3, (2,))),
        case("batch/drawn", asked(*few, (b,))),
        *(case(f"leading/{lead}", asked(4, 5, 7, 6, lead)) for lead in [(2, 3), (1, 2, 1)]),
        case("leading/drawn", asked(*few, (1, b))),
        case("large/1e6", asked(*few, size=1e6)),
        case("batch large/1e6", asked(*few, (b,), size=1e6)),
        case("gradients/drawn", asked(few[0], many, *few[2:], gradient=True)),
        case("batch gradients/drawn", asked(*few, (b,), gradient=True)),
    ]


def with_another_start(x: torch.Tensor) -> torch.Tensor:
    """Return x (…, n, d) with the first token's sign changed."""
    x = x.clone()
    x[..., 0, :] *= -1
    return x


def at_work(made, **arguments):
    """Return two equal calls as in use: in evaluation mode and without gradients."""
    used = construct("without_gradients", given=True, module=made)
    calls = [call(used, **arguments, result=name) for name in ("first", "result")]
    return mode(False, on=made), used, *calls


def structure(state: bool = False, seed: int = 123, **arguments):
    """Construct and describe a module; with `state`, also its initial values for the seed."""
    return construct(seed=seed, dtype="float32", **arguments), describe(state=state)


def starts(**arguments):
    """Return the cases `start`: the initial values of new modules, for two seeds."""
    return [
        case(f"start/seed {seed}", *structure(True, seed, **arguments), signature="ignored")
        for seed in (123, 321)
    ]
