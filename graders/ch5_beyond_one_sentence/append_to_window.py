"""Cases, tests and known mistakes of the exercise append_to_window."""

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, mistake, normal, shown

from ..relations import scattered
from ..shared import counted
from ..sizes import SMALL, TOKENS, Sizes


def cases(pick):
    """(leading, t, n, d, d_v, window): windows that are not full, that overflow, that are tiny."""
    draw = Sizes(pick, "append_to_window")
    many, window, d, few = draw(TOKENS, (31, 50), (8, 14), SMALL)
    growing = pick(
        public=[((), 2, 1, 3, 3, 5)], hidden=[((2, 3), 3, 2, 4, 5, 9), ((), 0, 3, 2, 2, 4)]
    )
    full = pick(
        public=[((2,), 3, 1, 4, 2, 3), ((), 5, 2, 2, 3, 3), ((), 2, 4, 3, 2, 3)],
        hidden=[
            ((), 6, 0, 3, 2, 4),
            ((), 0, 5, 3, 2, 3),
            ((2,), 4, 3, 2, 3, 3),
            ((2, 2), 3, 4, 2, 5, 5),
            ((3,), 2, few + 3, 4, 2, few),
            ((2,), many, 3, d, 1, window),
            ((1,), 1, 2, 1, 2, 1),
        ],
    )
    return [
        shown(
            "sentence/window 3",
            call(
                keys=counted(3, 2),
                values=10 * counted(3, 2),
                new_keys=counted(1, 2) + 6,
                new_values=10 * (counted(1, 2) + 6),
                window=3,
            ),
        ),
        *(case(f"growing/{size}", call(**kept(*size))) for size in growing),
        *(case(f"full/{size}", call(**kept(*size))) for size in full),
        case(
            "gradients/window 3",
            call(**kept((2,), 2, 2, 3, 4, 3), gradient=(normal(2, 3, 3), normal(2, 3, 4))),
        ),
        case("same/scattered", *scattered(**kept((2,), 3, 2, 4, 3, 4))),
    ]


def kept(lead, t, n, d, d_v, window):
    """The arguments of a call: t tokens are kept, n are new."""
    return {
        "keys": normal(*lead, t, d),
        "values": normal(*lead, t, d_v),
        "new_keys": normal(*lead, n, d),
        "new_values": normal(*lead, n, d_v),
        "window": window,
    }


def anything(chance):
    """Return one valid call, with random sizes and options, on which all right answers agree."""
    lead = [chance.randint(1, 3) for _ in range(chance.randint(0, 2))]
    t, n, d, d_v, window = (chance.randint(1, top) for top in (9, 5, 6, 6, 9))
    given = kept(lead, t, n, d, d_v, window)
    size = min(t + n, window)
    return case(
        "anything", call(**given, gradient=(normal(*lead, size, d), normal(*lead, size, d_v)))
    )


@for_learners("append_to_window")
def test_append_to_window_by_eye(attempt):
    """Three rows are kept, one comes in, one falls out."""
    attempt.append_to_window.agrees("sentence")


@exercise("append_to_window", points=1.5)
def test_append_to_window_growing(attempt):
    """While the window is not full, everything is kept."""
    attempt.append_to_window.agrees("growing")


@exercise("append_to_window", points=2)
def test_append_to_window_full(attempt):
    """The last `window` tokens are kept, the oldest dropped."""
    attempt.append_to_window.agrees("full")


@exercise("append_to_window", points=1)
def test_append_to_window_gradients(attempt):
    """Gradients reach what is kept."""
    attempt.append_to_window.agrees("gradients", only="gradient")


@exercise("append_to_window", points=0.5)
def test_append_to_window_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.append_to_window.keeps_inputs("growing", "full")
    attempt.append_to_window.gives_the_same("same")


RETURN = "return all_keys[..., -window:, :], all_values[..., -window:, :]"
KEYS = "torch.cat((keys, new_keys), dim=-2)"
VALUES = "torch.cat((values, new_values), dim=-2)"

MISTAKES = [
    mistake(
        "oldest_kept",
        "The first tokens are kept and the new ones dropped. A window looks back from the newest.",
        (RETURN, "return all_keys[..., :window, :], all_values[..., :window, :]"),
    ),
    mistake(
        "window_never_full",
        "Nothing is ever dropped, so the cache grows without end.",
        (RETURN, "return all_keys, all_values"),
    ),
    mistake(
        "only_the_new_kept",
        "Only the new tokens come back; the old ones that still fit belong before them.",
        (KEYS, "new_keys"),
        (VALUES, "new_values"),
    ),
    mistake(
        "new_before_old",
        "The new tokens are put before the old ones. The newest stands last.",
        (KEYS, "torch.cat((new_keys, keys), dim=-2)"),
        (VALUES, "torch.cat((new_values, values), dim=-2)"),
    ),
    mistake(
        "cut_before_joining",
        "The old tokens are cut to the window before the new ones are joined, so there are too "
        "many afterwards.",
        (KEYS, "torch.cat((keys[..., -window:, :], new_keys), dim=-2)"),
        (VALUES, "torch.cat((values[..., -window:, :], new_values), dim=-2)"),
        (RETURN, "return all_keys, all_values"),
    ),
    mistake(
        "old_cut_to_what_is_left",
        "The old tokens are cut to the places that the new ones leave. Where they leave none, or "
        "too few for themselves, a slice that begins at such a number keeps what should go.",
        (KEYS, "torch.cat((keys[..., -(window - new_keys.shape[-2]):, :], new_keys), dim=-2)"),
        (
            VALUES,
            "torch.cat((values[..., -(window - new_keys.shape[-2]):, :], new_values), dim=-2)",
        ),
        (RETURN, "return all_keys, all_values"),
    ),
    mistake(
        "window_one_larger",
        "One token more than the window is kept.",
        (RETURN, "return all_keys[..., -window - 1 :, :], all_values[..., -window - 1 :, :]"),
    ),
    mistake(
        "values_cut_like_nothing",
        "Only the keys are cut. Values are dropped together with their keys.",
        (RETURN, "return all_keys[..., -window:, :], all_values"),
    ),
    mistake(
        "window_over_features",
        "The cut is made in the features. It is tokens that fall out of the window.",
        (RETURN, "return all_keys[..., -window:], all_values[..., -window:]"),
    ),
    mistake(
        "window_along_dimension_1",
        "The cut is made in dimension 1, which are the tokens only where there is one dimension "
        "before them. They are the last but one.",
        (RETURN, "return all_keys[:, -window:], all_values[:, -window:]"),
    ),
    mistake(
        "window_along_dimension_0",
        "The cut is made in the first dimension, which are the tokens only where nothing comes "
        "before them. They are the last but one.",
        (RETURN, "return all_keys[-window:], all_values[-window:]"),
    ),
    mistake(
        "joined_along_dimension_1",
        "Old and new are joined in dimension 1, which are the tokens only where there is one "
        "dimension before them. They are the last but one.",
        (KEYS, KEYS.replace("-2", "1")),
        (VALUES, VALUES.replace("-2", "1")),
    ),
    mistake(
        "joined_along_dimension_0",
        "Old and new are joined in the first dimension, which are the tokens only where nothing "
        "comes before them. They are the last but one.",
        (KEYS, KEYS.replace("-2", "0")),
        (VALUES, VALUES.replace("-2", "0")),
    ),
    mistake(
        "window_pair_exchanged",
        "Keys and values have changed places in what comes back.",
        (RETURN, "return all_values[..., -window:, :], all_keys[..., -window:, :]"),
    ),
    mistake(
        "window_detached",
        "The result is cut off from the graph.",
        (
            RETURN,
            "return all_keys[..., -window:, :].detach(), all_values[..., -window:, :].detach()",
        ),
    ),
]
