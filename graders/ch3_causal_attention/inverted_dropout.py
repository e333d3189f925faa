"""Cases, checks and known mistakes of the exercise inverted_dropout."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal

from ..steps import BATCH, FEATURES, HEADS, with_an_equal_row


def cases(draw):
    """Return cases in which weights are dropped twice, and cases in which they stay."""
    b, n, m = draw(BATCH, FEATURES, HEADS)
    chance = draw.chance()
    # Enough runs to show a number that never varies (dropout.counts_by_chance).
    shapes = {0.5: (60, 60), 0.1: (60, 60), 0.3: (1, 40, 70, 1), 0.8: (3, 4, 12, 20), 0.03: (3000,)}
    p, ones = chance.randint(55, 75) / 100, torch.ones(30, 40, dtype=torch.float64)
    equal, example = computed(with_an_equal_row, normal(b, m, n)), torch.tensor([0.25, 0.75])
    learning = {"attn_weights": normal(m, n), "gradient": normal(m, n)}
    return [
        *(dropped(f"dropout/p {p}", shape, p) for p, shape in shapes.items()),
        dropped("dropout/float32", (50, 40), p, dtype=torch.float32),
        dropped("gradients/p 0.4", (30, 40), 0.4, gradient=ones),
        case(
            "gradients alone/evaluation",
            call(**learning, p=0.5, training=False),
            signature="values or scale",
        ),
        case("gradients alone/p 0", call(**learning, p=0.0, training=True)),
        case(
            "evaluation/drawn",
            call(attn_weights=equal, p=0.9, training=False),
            signature="values or scale",
        ),
        case(
            "evaluation/example",
            call(attn_weights=example, p=0.5, training=False),
            signature="ignored",
        ),
        case("nothing/p 0", call(attn_weights=normal(m, n), p=0.0, training=True)),
        *(
            case(
                f"own/{shape}",
                call(
                    attn_weights=normal(*shape),
                    p=chance.randint(5, 95) / 100,
                    training=True,
                    watch=True,
                ),
                signature="dropout used",
            )
            for shape in [(9,), (6, 7), (40, 50), (2, 3, 4, 5)]
        ),
        *(
            case(f"by chance/p {p}", *eight_times(p), signature="each entry", rate="p")
            for p in (0.97, 0.03)
        ),
    ]


def eight_times(p):
    """Return calls on the same weights: by chance, no entry is always kept, or always dropped."""
    weights = computed(torch.softmax, normal(5, 7), -1)
    return tuple(
        call(attn_weights=weights, p=p, training=True, seed=at, result=f"run {at}")
        for at in range(1, 9)
    )


def dropped(name, shape, p, *, gradient=None, dtype=torch.float64):
    """Return calls in evaluation, in training, and without the argument, which means training."""
    given = {"attn_weights": computed(torch.softmax, normal(*shape), -1), "p": p}
    return case(
        name,
        call(**given, training=False, result="plain"),
        call(**given, training=True, seed=1, result="dropped", gradient=gradient),
        call(**given, seed=None, no_grad=True, result="again"),
        dtype=dtype,
        signature="dropped weights",
        rate="p",
    )


CHECKS = [
    check(6, "A share p becomes 0, and the rest is divided by 1 - p.", it.drops_entries("dropout")),
    check(
        1.5,
        "With training=False the weights stay unchanged.",
        it.drops_something("dropout"),
        it.agrees("evaluation"),
        it.agrees("dropout", only="plain"),
    ),
    check(
        1,
        "Gradients reach the entries that were kept: all of them if none is dropped.",
        it.drops_gradients("gradients", "attn_weights"),
        it.agrees("gradients alone", only="gradient"),
    ),
    check(
        0.5,
        "With p = 0 the weights stay unchanged.",
        it.drops_something("dropout"),
        it.agrees("nothing"),
    ),
    check(
        0.5,
        "It is your own code and does not call torch's dropout.",
        it.drops_something("dropout"),
        it.avoids_library("own", "dropout"),
    ),
    check(
        0.25,
        "Each entry can be dropped and kept.",
        it.drops_something("dropout"),
        it.drops_each_entry("by chance"),
    ),
    check(
        0.25,
        "The weights that are passed in stay unchanged.",
        it.drops_something("dropout"),
        it.keeps_inputs("dropout", "evaluation", "nothing"),
    ),
]


MISTAKES = """
dropout_detached: No gradient flows back through the result, so nothing before it can learn.
    attn_weights * keep / (1 - p) -> (attn_weights * keep / (1 - p)).detach()
scaled_by_one_over_p: The kept entries are divided by p. Which share survives? The kept entries must
  make up for the rest.
    attn_weights * keep / (1 - p) -> attn_weights * keep / p
scaled_down: The kept entries are made smaller instead of larger, so the expected value shrinks
  twice.
    attn_weights * keep / (1 - p) -> attn_weights * keep * (1 - p)
mask_kept_by_p_alone: The share that is dropped and the share that is kept are mixed up: with p =
  0.2 four fifths vanish.
    keep = torch.rand_like(attn_weights) >= p -> keep = torch.rand_like(attn_weights) < p
training_turned_around: Dropout acts in evaluation but not in training.
    if not training: -> if training:
scaled_in_evaluation: The scaling happens in evaluation. Inverted dropout scales in training, so
  that evaluation needs no change.
    - if not training:
    -     return attn_weights
    + if not training:
    +     return attn_weights * (1 - p)
    attn_weights * keep / (1 - p) -> attn_weights * keep
library_dropout 10%: It calls torch's own dropout; the exercise is to write it yourself.
    attn_weights * keep / (1 - p) -> nn.functional.dropout(attn_weights, p, training=True)
not_zero_but_nan: Dropped entries become NaN: something is divided by zero.
    attn_weights * keep / (1 - p) -> attn_weights * keep / (keep * (1 - p))
"""
