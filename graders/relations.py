"""Steps whose results must be the same for any right answer, whatever they are."""

import torch

from tensorgrade.author import call, computed, duplicate, normal, restore


def one_after_another(**shapes: tuple[int, ...]):
    """Two calls on other numbers of the same shapes: the second owes nothing to the first."""
    first, second = ({k: normal(*shape) for k, shape in shapes.items()} for _ in range(2))
    return call(**first, result="first"), call(**second)


def scattered(**arguments):
    """The same call on tensors that lie in memory one after another, and on some that do not."""
    return call(**arguments), call(**arguments, scattered=True, result="scattered")


def copied(twins: list, values, x):
    """A module, its deep copy, and a fresh one that is given the state the first one saves.

    twins: two `construct` of the same. values: a step that loads weights into the one made last.
    """
    made, fresh = twins
    twin = duplicate(made)
    return (
        made,
        twin,
        values,  # into the copy: what it computes must come from its own weights
        call(twin, x=x, result="copy"),
        fresh,
        # What it keeps of its first weights, or of the size of a text, is of no use later.
        call(fresh, x=computed(without_last, x), unkept=True),
        restore(twin),
        call(fresh, x=x),
        call(fresh, x=x, scattered=True, result="scattered"),
        call(fresh, x=x, no_grad=True, result="without gradients"),
    )


def without_last(x: torch.Tensor) -> torch.Tensor:
    """x (…, n, d) without its last row."""
    return x[..., :-1, :].clone()
