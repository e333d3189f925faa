"""Steps of cases on modules: constructed, given weights by name, called."""

from tensorgrade.author import call, construct, describe, load, normal, weights

from .shared import QKV


def matrices(d_in: int, d_out: int) -> dict:
    """Weights for three matrices that x is multiplied with from the left."""
    return {name: weights(d_in, d_out) for name in QKV}


def linear_layers(d_in: int, d_out: int, bias: bool = False) -> dict:
    """Weights (and biases) for three nn.Linear."""
    layers = {f"{name}.weight": weights(d_out, d_in) for name in QKV}
    return layers | ({f"{name}.bias": weights(d_out) for name in QKV} if bias else {})


def called(values: dict, n: int, d_in: int, d_out: int, gradient: bool = False, **arguments):
    """Construct, load these weights, call on (n, d_in)."""
    asked = {"gradient": normal(n, d_out)} if gradient else {}
    made = construct(d_in=d_in, d_out=d_out, **{"dtype": "float64"} | arguments)
    return made, load(values), call(**asked, x=normal(n, d_in))


def twice(values: dict, d_in: int, d_out: int):
    """Called on three tokens and then on five: the second call owes nothing to the first."""
    return (
        construct(d_in=d_in, d_out=d_out, dtype="float64"),
        load(values),
        call(x=normal(3, d_in), result="first"),
        call(x=normal(5, d_in), result="second"),
    )


def structure(state: bool = False, seed: int = 123, **arguments):
    """Construct and describe; with `state`, the values that the seed gives as well."""
    return construct(seed=seed, dtype="float32", **arguments), describe(state=state)
