"""Steps of cases on modules: construct, load weights by name, call."""

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

from .steps import QKV, with_an_equal_row


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


def large_scores(values: dict, n: int, d_in: int, d_out: int):
    """Return a call with scores of millions, far apart: their exponentials overflow."""
    values = values | {k: 1000 * v for k, v in values.items() if "W_value" not in k}
    return called(values, n, d_in, d_out)


def mixed(values: dict, n: int, d_in: int, d_out: int):
    """Return calls on inputs that differ in the first token: the other results must change."""
    x = normal(n, d_in)
    return (
        construct(d_in=d_in, d_out=d_out, dtype="float64"),
        load(values),
        call(x=x, result="before"),
        call(x=computed(with_another_start, x), result="earlier"),
    )


def with_another_start(x: torch.Tensor) -> torch.Tensor:
    """Return x (…, n, d) with the first token's sign changed."""
    x = x.clone()
    x[..., 0, :] *= -1
    return x


def twice(values: dict, d_in: int, d_out: int):
    """Return calls on three, five and three other tokens: no call may depend on an earlier one."""
    return (
        construct(d_in=d_in, d_out=d_out, dtype="float64"),
        load(values),
        call(x=normal(3, d_in), result="first"),
        call(x=computed(with_an_equal_row, normal(5, d_in)), result="second"),
        call(x=normal(3, d_in), result="third"),
    )


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
