"""A find-the-bug exercise, graded like batches."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "batches",
    points=4,
    among={
        "targets_not_moved": ("rows[:, 1:]", "rows[:, :-1]"),
        "targets_moved_back": ("rows[:, :-1], rows[:, 1:]", "rows[:, 1:], rows[:, :-1]"),
        "last_window_never_drawn": ("randint(len(longer),", "randint(max(len(longer) - 1, 1),"),
        "one_start_for_all": (
            "(batch_size,), generator=generator)",
            "(1,), generator=generator).expand(batch_size)",
        ),
        "generator_ignored": (", generator=generator", ""),
    },
)
