"""Cases, checks and known mistakes of the exercise cross_entropy."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import BATCH, LONG, MODERATE, TOKENS, scattered, with_an_equal_row
from ..usual import GRADIENTS, SAME, UNCHANGED
from .SmallGPT import ids


def cases(draw):
    """Return cases with logits of several ranks and sizes, up to a million."""
    (b, n, vocab), (few,) = draw(BATCH, TOKENS, LONG), draw(MODERATE)
    shapes: dict = {
        "values": [(3, 4), (1, 5), (1, 2), (n, vocab)],
        "leading": [(3,), (2, 3, 4), (3, 2, 1, 4), (b, 1, few)],
    }
    own = [(3, 4), (2, 3, 4), (5,), (2, 1, 3, 4), (40, 9), (b, few)]
    example = {"logits": torch.zeros(2, 3, 4), "targets": torch.zeros(2, 3).long()}
    return [
        shown("sentence/3 rows of 4", call(**asked(3, 4))),
        case("leading/example", call(**example)),
        *(
            case(f"{group}/{shape}", call(**asked(*shape)))
            for group, some in shapes.items()
            for shape in some
        ),
        case("leading/equal rows", call(**asked(2, 5, 4, change=with_an_equal_row), no_grad=True)),
        case("values/float32", call(**asked(3, 5)), dtype=torch.float32),
        case("large/1e6", call(**asked(b, few, factor=1e6))),
        case("large/-1e4", call(**asked(3, 4, offset=-1e4))),
        case("gradients/drawn", call(**asked(9, b, few), gradient=normal())),
        *(
            case(f"own/{shape}", call(**asked(*shape), watch=True), signature="loss used")
            for shape in own
        ),
        case("same/scattered", *scattered(**asked(2, 3, 4))),
    ]


def asked(*shape, factor=1.0, offset=0.0, change=torch.clone):
    """Return the arguments of a call, with random targets."""
    logits = computed(change, factor * normal(*shape) + offset)
    return {"logits": logits, "targets": ids(shape[-1], *shape[:-1])}


CHECKS = [
    check(0, "Three rows of four logits.", it.agrees("sentence")),
    check(3.2, "The mean negative log probability of the right tokens.", it.agrees("values")),
    check(1.5, "It accepts batches of texts, and a single row.", it.agrees("leading")),
    check(1.1, "Logits of a million do not overflow.", it.agrees("large")),
    check(1.5, "Gradients reach the logits.", GRADIENTS),
    check(
        0.35,
        "It is your own code and does not call torch's loss.",
        it.agrees("own"),
        it.avoids_library("own", "loss"),
    ),
    check(0.35, UNCHANGED, it.keeps_inputs("values", "leading"), SAME),
]


MISTAKES = """
loss_of_each_row: A loss for each row is returned instead of their mean.
    right).mean() -> right)
all_targets_of_each_row: `logits[..., targets]` takes the entries of all targets from each row. Each
  row needs only the entry of its own target.
    logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) -> logits[..., targets]
target_zero_left_out: Rows with target 0 are left out, as if 0 stood for padding. Here 0 is a token
  like any other.
    right).mean() -> right)[targets != 0].mean()
loss_negative: The sign is reversed: the better the model, the larger the result.
    torch.logsumexp(logits, dim=-1) - right -> right - torch.logsumexp(logits, dim=-1)
probability_without_logarithm: The probability itself is used instead of its logarithm.
    (torch.logsumexp(logits, dim=-1) - right) -> -(right - torch.logsumexp(logits, dim=-1)).exp()
logarithm_of_the_mean: The logarithm is taken of the mean probability. Take it of each row's
  probability, and then the mean.
    - return (torch.logsumexp(logits, dim=-1) - right).mean()
    + return -(right - torch.logsumexp(logits, dim=-1)).exp().mean().log()
logit_of_the_right_token_alone: Only the right token's logit is used; the others belong in the sum
  of the softmax.
    return (torch.logsumexp(logits, dim=-1) - right).mean() -> return -right.mean()
loss_overflows: The exponentials are taken without subtracting a maximum, so large logits overflow.
    torch.logsumexp(logits, dim=-1) -> logits.exp().sum(dim=-1).log()
probability_rounds_to_zero: The logarithm is taken of the softmax's result, which rounds to 0 if a
  logit is far below the others. The lesson's formula takes no logarithm of 0.
    - return (torch.logsumexp(logits, dim=-1) - right).mean()
    + return -(right - torch.logsumexp(logits, dim=-1)).exp().log().mean()
logarithm_to_base_two: The logarithm has base 2; use the natural one.
    right).mean() -> right).mean() / 0.6931471805599453
softmax_before_the_loss: The logits go through a softmax first, and again in the loss.
    - right = logits.gather
    + logits = logits.softmax(dim=-1)
    + right = logits.gather
loss_detached: No gradient flows back through the result, so nothing can learn from it.
    right).mean() -> right).mean().detach()
library_loss 10%: It calls torch's own loss; the exercise is to write it yourself.
    - return (torch.logsumexp(logits, dim=-1) - right).mean()
    + rows = logits.reshape(-1, logits.shape[-1])
    + return nn.functional.cross_entropy(rows, targets.flatten())
logits_overwritten: A tensor that was passed in is overwritten. The caller still needs its old
  values.
    - return (torch.logsumexp(logits, dim=-1) - right).mean()
    + logits.sub_(logits.amax(dim=-1, keepdim=True))
    + right = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    + return (logits.exp().sum(dim=-1).log() - right).mean()
"""
