"""Steps whose results must be the same for any right answer, whatever they are."""

from tensorgrade.author import call, duplicate, normal, restore


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
        restore(twin),
        call(fresh, x=x),
        call(fresh, x=x, scattered=True, result="scattered"),
    )
