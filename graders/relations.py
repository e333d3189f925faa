"""Steps whose results must be the same for any right answer, whatever they are."""

import torch

from tensorgrade.author import call, computed, duplicate, normal, restore


def with_an_equal_row(x: torch.Tensor) -> torch.Tensor:
    """x with its first row once more in the place of its last one."""
    return torch.cat([x[..., :-1, :], x[..., :1, :]], dim=-2)


def one_after_another(**shapes: tuple[int, ...]):
    """Calls on other numbers of the same shapes: none owes anything to the one before.

    The last one is passed the very tensors of the second, in which stands something else by then.
    """
    first, second, last = ({k: normal(*shape) for k, shape in shapes.items()} for _ in range(3))
    return (
        call(**first, result="first"),
        call(**second, result="second"),
        call(**last, refilled="second"),
    )


def scattered(**arguments):
    """The same call on tensors that lie in memory one after another, and on some that do not."""
    return call(**arguments), call(**arguments, scattered=True, result="scattered")


def copied(twins: list, values, x, **more):
    """A module, its deep copy, and a fresh one that is given the state the first one saves.

    twins: two `construct` of the same. values: a step that loads weights into the one made last.
    more: arguments that are the same in every call.
    """
    made, fresh = twins
    twin = duplicate(made)
    return (
        made,
        twin,
        values,  # into the copy: what it computes must come from its own weights
        call(twin, x=x, **more, result="copy"),
        fresh,
        # What it keeps of its first weights, of the size of a text, or of what stood in this very
        # tensor before, is of no use later.
        call(fresh, x=computed(without_last, x), **more, unkept=True),
        call(fresh, x=computed(turned_round, x), **more, result="before", unkept=True),
        restore(twin),
        call(fresh, x=x, **more, refilled="before"),
        call(fresh, x=x, **more, scattered=True, result="scattered"),
        call(fresh, x=x, **more, no_grad=True, result="without gradients"),
    )


def turned_round(x: torch.Tensor) -> torch.Tensor:
    """Other numbers of the same shape."""
    return -x


def without_last(x: torch.Tensor) -> torch.Tensor:
    """x (…, n, d) without its last row."""
    return x[..., :-1, :].clone()
