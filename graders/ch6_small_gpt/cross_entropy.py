"""All that judges cross_entropy: its cases, tests and own mistakes."""

import torch

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, computed, mistake, normal, shown

from ..relations import scattered
from ..sizes import BATCH, LONG, TOKENS, Sizes
from .SmallGPT import ids


def cases(pick):
    """Logits of several ranks and sizes, up to a million."""
    draw = Sizes(pick, "cross_entropy")
    b, n, vocab = draw(BATCH, TOKENS, LONG)
    flat = pick(public=[(3, 4), (1, 5)], hidden=[(4, 3), (7 * n, 5), (2, vocab), (1, 2)])
    leading = pick(public=[(2, 3, 4), (3,)], hidden=[(5,), (b, 3, 4), (3, 2, 1, 4), (2, 3, 2, 4)])
    return [
        shown("sentence/3 rows of 4", call(**asked(3, 4))),
        *(case(f"values/{shape}", call(**asked(*shape))) for shape in flat),
        *(case(f"leading/{shape}", call(**asked(*shape))) for shape in leading),
        case("values/float32", call(**asked(3, 5)), dtype=torch.float32),
        case("large/1e6", call(**asked(3, 4, factor=1e6))),
        case("large/-1e4", call(**asked(3, 4, offset=-1e4))),
        case("gradients/2x3x4", call(**asked(2, 3, 4), gradient=normal())),
        *(
            case(f"own/{shape}", call(**asked(*shape), watch=True), signature="loss used")
            for shape in ((3, 4), (2, 3, 4), (40, 9), *pick(public=[], hidden=[(5,), (2, 1, 3, 4)]))
        ),
        case("same/scattered", *scattered(**asked(2, 3, 4))),
    ]


def asked(*shape, factor=1.0, offset=0.0):
    """The arguments of a call; the right tokens are drawn too."""
    logits = computed(torch.clone, factor * normal(*shape) + offset)
    return {"logits": logits, "targets": ids(shape[-1], *shape[:-1])}


def anything(chance):
    """One legal use, with sizes and options by chance: whoever is right agrees on it."""
    shape = [chance.randint(1, 5) for _ in range(chance.randint(1, 3))] + [chance.randint(2, 20)]
    factor, offset = chance.choice([1, 1, 1e3]), chance.choice([0, 0, -1e3])
    return case("anything", call(**asked(*shape, factor=factor, offset=offset), gradient=normal()))


@for_learners("cross_entropy")
def test_cross_entropy_by_eye(attempt):
    """Three rows of four logits."""
    attempt.cross_entropy.agrees("sentence")


@exercise("cross_entropy", points=3.2)
def test_cross_entropy_values(attempt):
    """Minus the logarithm of the right tokens' probabilities, on average."""
    attempt.cross_entropy.agrees("values")


@exercise("cross_entropy", points=1.5)
def test_cross_entropy_leading_dimensions(attempt):
    """For batches of texts too, and for a single row."""
    attempt.cross_entropy.agrees("leading")


@exercise("cross_entropy", points=1.1)
def test_cross_entropy_large_logits(attempt):
    """Logits of a million do not overflow."""
    attempt.cross_entropy.agrees("large")


@exercise("cross_entropy", points=1.5)
def test_cross_entropy_gradients(attempt):
    """Gradients reach the logits."""
    attempt.cross_entropy.agrees("gradients", only="gradient")


@exercise("cross_entropy", points=0.35)
def test_cross_entropy_is_your_own(attempt):
    """It is written, not called."""
    attempt.cross_entropy.agrees("own")
    attempt.cross_entropy.avoids_losses("own")


@exercise("cross_entropy", points=0.35)
def test_cross_entropy_inputs(attempt):
    """What is passed in stays as it was, and may lie in memory in any order."""
    attempt.cross_entropy.keeps_inputs("values", "leading")
    attempt.cross_entropy.gives_the_same("same")


RIGHT = "logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)"
RETURN = "return (torch.logsumexp(logits, dim=-1) - right).mean()"

MISTAKES = [
    mistake(
        "loss_of_each_row",
        "A loss for each row comes back; their mean is asked for.",
        (RETURN, RETURN.replace(".mean()", "")),
    ),
    mistake(
        "all_targets_of_each_row",
        "`logits[..., targets]` takes the entries of all targets from each row. Each row needs "
        "only the entry of its own target.",
        (RIGHT, "logits[..., targets]"),
    ),
    mistake(
        "loss_negative",
        "The sign is turned round: the better the model, the larger the result.",
        (RETURN, "return (right - torch.logsumexp(logits, dim=-1)).mean()"),
    ),
    mistake(
        "probability_without_logarithm",
        "The probability itself is taken, not its logarithm.",
        (RETURN, "return -(right - torch.logsumexp(logits, dim=-1)).exp().mean()"),
    ),
    mistake(
        "logit_of_the_right_token_alone",
        "Only the right token's logit counts; the others' belong into the sum of the softmax.",
        (RETURN, "return -right.mean()"),
    ),
    mistake(
        "loss_overflows",
        "The exponentials are taken without a maximum, so large logits overflow.",
        (RETURN, "return (logits.exp().sum(dim=-1).log() - right).mean()"),
    ),
    mistake(
        "probability_rounds_to_zero",
        "The logarithm is taken of the softmax's result, which rounds to 0 where a logit is far "
        "below the others. Written as in the formula, no logarithm meets 0.",
        (RETURN, "return -(right - torch.logsumexp(logits, dim=-1)).exp().log().mean()"),
    ),
    mistake(
        "logarithm_to_base_two",
        "The logarithm is taken to base 2; the natural one is asked for.",
        (RETURN, RETURN.replace(".mean()", ".mean() / 0.6931471805599453")),
    ),
    mistake(
        "softmax_before_the_loss",
        "The logits go through a softmax first, and once more in the loss.",
        ("right = logits.gather", "logits = logits.softmax(dim=-1)\n    right = logits.gather"),
    ),
    mistake(
        "loss_detached",
        "The result is cut off from the graph, so nothing can learn from it.",
        (RETURN, f"{RETURN}.detach()"),
    ),
    mistake(
        "library_loss",
        "It calls torch's own loss; the point of the exercise is to write it.",
        (
            RETURN,
            "rows = logits.reshape(-1, logits.shape[-1])\n    "
            "return nn.functional.cross_entropy(rows, targets.flatten())",
        ),
    ),
    mistake(
        "logits_overwritten",
        "A tensor that was passed in is overwritten. Whoever called still needs it.",
        (
            RETURN,
            "logits.sub_(logits.amax(dim=-1, keepdim=True))\n    right = logits.gather(-1, "
            "targets.unsqueeze(-1)).squeeze(-1)\n    "
            "return (logits.exp().sum(dim=-1).log() - right).mean()",
        ),
    ),
]
