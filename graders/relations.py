"""Steps whose results must agree with each other in every right answer."""

import torch

from tensorgrade.author import call, computed, duplicate, normal, restore


def with_an_equal_row(x: torch.Tensor) -> torch.Tensor:
    """Return x with its last row replaced by a copy of its first."""
    return torch.cat([x[..., :-1, :], x[..., :1, :]], dim=-2)


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


def copied(twins: list, values, x, **more):
    """Return steps on a module, its deep copy, and a new module that loads the first one's state.

    twins: two equal `construct` steps. values: a step that loads weights into the latest module.
    more: arguments that are the same in every call.
    """
    made, fresh = twins
    twin = duplicate(made)
    return (
        made,
        twin,
        values,  # into the copy: its results must come from its own weights
        call(twin, x=x, **more, result="copy"),
        fresh,
        # The module may have cached its first weights, a size, or this tensor's old content. Later
        # results must not depend on them.
        call(fresh, x=computed(without_last, x), **more, unkept=True),
        call(fresh, x=computed(turned_round, x), **more, result="before", unkept=True),
        restore(twin),
        call(fresh, x=x, **more, refilled="before"),
        call(fresh, x=x, **more, scattered=True, result="scattered"),
        call(fresh, x=x, **more, no_grad=True, result="without gradients"),
    )


def turned_round(x: torch.Tensor) -> torch.Tensor:
    """Return different numbers of the same shape."""
    return -x


def without_last(x: torch.Tensor) -> torch.Tensor:
    """Return x (…, n, d) without its last row."""
    return x[..., :-1, :].clone()
