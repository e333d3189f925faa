"""Sizes, the running example, and steps whose results agree in every right answer."""

import torch

from tensorgrade.author import call, computed, construct, duplicate, load, normal, restore

# Sizes for graders: (from, up to). Those that are written down in cases are smaller, or between.
BATCH, HEADS, FEATURES, WIDTH, TOKENS = (13, 15), (14, 17), (21, 29), (22, 31), (129, 150)
# For checks that are about something else: mistakes at large sizes alone do not fail these too.
MODERATE = (10, 15)
LONG = (257, 320)  # more positions than a byte can count, or than a table of 256 has

# "Your journey starts with one step", three features for each token.
SENTENCE = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
QKV = ("W_query", "W_key", "W_value")


def example_weights() -> dict[str, torch.Tensor]:
    """Return the lesson's three matrices: seed 123, torch.rand(3, 2), query, key, value."""
    generator = torch.Generator().manual_seed(123)
    return {name: torch.rand(3, 2, generator=generator) for name in QKV}


def counted(*shape: int) -> torch.Tensor:
    """Return 1, 2, 3, … in a shape: easy to follow by eye."""
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


def with_an_equal_row(x: torch.Tensor) -> torch.Tensor:
    """Return x with its last row replaced by a copy of its first."""
    return torch.cat([x[..., :-1, :], x[..., :1, :]], dim=-2)


def eighths(*shape: int):
    """Return scores in eighths: a softmax in float32 sees them exactly, also far from 0."""
    return computed(torch.round, 24 * normal(*shape)) * 0.125


def one_after_another(**shapes: tuple[int, ...]):
    """Return calls on different numbers of the same shapes: none may depend on an earlier one.

    In the first call, tables have two equal rows. The last call gets the same tensor objects as the
    second one, with new content, and no gradients are recorded.
    """
    first, second, last = ({k: normal(*shape) for k, shape in shapes.items()} for _ in range(3))
    tables = {k: computed(with_an_equal_row, x) for k, x in first.items() if len(shapes[k]) > 1}
    return (
        call(**first | tables, result="first"),
        call(**second, result="second"),
        call(**last, refilled="second", no_grad=True),
    )


def scattered(**arguments):
    """Return one call on tensors that are contiguous in memory, and one on tensors that are not."""
    return call(**arguments), call(**arguments, scattered=True, result="scattered")


def copied(asked: dict, values: dict, x, **more):
    """Return steps on a module, its deep copy, and a new module that loads the first one's state.

    asked: the constructor's arguments. values: weights to load. more: arguments that are the same
    in every call.
    """
    made, fresh = construct(**asked), construct(**asked)
    twin = duplicate(made)
    return (
        made,
        twin,
        load(values),  # into the copy: its results must come from its own weights
        call(twin, x=x, **more, result="copy"),
        fresh,
        # The module may have cached its first weights, a size, or this tensor's old content. Later
        # results must not depend on them.
        call(fresh, x=computed(without_last, x), **more, unkept=True),
        call(fresh, x=-x, **more, result="before", unkept=True),
        restore(twin),
        call(fresh, x=x, **more, refilled="before"),
        call(fresh, x=x, **more, scattered=True, result="scattered"),
        call(fresh, x=x, **more, no_grad=True, result="without gradients"),
    )


def without_last(x: torch.Tensor) -> torch.Tensor:
    """Return x (…, n, d) without its last row."""
    return x[..., :-1, :].clone()
