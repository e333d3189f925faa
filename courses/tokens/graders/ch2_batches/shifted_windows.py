"""Cases, checks and known mistakes of the exercise shifted_windows."""

from tensorgrade.author import call, case, check, it, shown

from ..texts import some_ids


def cases(draw):
    """Return cases with different lengths and strides, windows that just fit, and no window."""
    chance = draw.chance()
    sizes = [(9, 2, 3), (14, 4, 3), (30, 5, 2), (23, 3, 7)]
    lists = [(some_ids(chance, n, 50), length, stride) for n, length, stride in sizes]
    ids = some_ids(chance, 7, 50)
    return [
        shown("values/five ids", call(ids=[40, 41, 42, 43, 44], length=2, stride=2)),
        *(
            case(f"values/{len(i)} {length} {stride}", call(ids=i, length=length, stride=stride))
            for i, length, stride in lists
        ),
        case("fit/just", call(ids=ids, length=len(ids) - 1, stride=1)),
        case("fit/no target", call(ids=[*ids, *ids], length=len(ids), stride=len(ids))),
        case("none/too short", call(ids=ids, length=len(ids), stride=2)),
        case("none/much too short", call(ids=ids[:2], length=len(ids), stride=1)),
        case("dtype/int64", call(ids=ids, length=3, stride=1), signature="dtype"),
    ]


CHECKS = [
    check(5, "Windows, and the windows one position later.", it.agrees("values")),
    check(2, "A window is included only if its last target exists.", it.agrees("fit")),
    check(1, "Without any window, the tensors have the shape (0, length).", it.agrees("none")),
    check(1, "Ids are integers: dtype int64.", it.keeps_dtype("dtype")),
    check(1, "The list that is passed in stays unchanged.", it.keeps_inputs("values")),
]

MISTAKES = """
targets_not_moved: The targets are the inputs themselves. Each target should be the next id.
    ids[start + 1 : start + length + 1] -> ids[start : start + length]
targets_moved_back: The targets are one position too early. Each target should be the next id.
    - return tuple(
    + inputs, targets = targets, inputs
    + return tuple(
stride_ignored: The stride is ignored: a window starts at every position.
    len(ids) - length, stride) -> len(ids) - length)
stride_is_the_length: Windows start `length` apart, whatever the stride is.
    len(ids) - length, stride) -> len(ids) - length, length)
last_window_lost: The last window that fits is left out.
    range(0, len(ids) - length, stride) -> range(0, len(ids) - length - 1, stride)
only_the_next_id: Each window has only one target. Each of its positions needs its own.
    ids[start + 1 : start + length + 1] -> [ids[start + length]] * length
floats: The ids are floats. They are row numbers of a table: dtype int64.
    dtype=torch.int64 -> dtype=torch.float32
no_shape_for_none: Without any window the shape is (0,); it should be (0, length).
    .reshape(shape) ->
"""
