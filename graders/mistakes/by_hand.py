"""Softmax by hand, and weighted sums of the inputs."""

from tensorgrade.author import mistake, on

RETURN_NAIVE = "exponentials / exponentials.sum()"
EXP_NAIVE = "torch.exp(x)"
RETURN = "exponentials / exponentials.sum(dim=dim, keepdim=True)"
MIX = "attn_weights @ inputs"
WEIGHTS = "torch.softmax(attn_scores, dim=-1)"

MISTAKES = [
    mistake(
        "no_exponential",
        "The numbers are divided by their sum without an exponential. Such weights can be "
        "negative, or largest for the smallest number; exponentials are positive and keep the "
        "order.",
        on("softmax_naive", (EXP_NAIVE, "x")),
        on("softmax", ("torch.exp(shifted)", "shifted")),
    ),
    mistake(
        "exponential_not_normalized",
        "The exponentials are not divided by their sum, so they do not add up to 1.",
        on("softmax_naive", (RETURN_NAIVE, "exponentials")),
        on("softmax", (RETURN, "exponentials")),
    ),
    mistake(
        "divided_by_mean",
        "The exponentials are divided by their mean, so they sum to the number of entries.",
        on("softmax_naive", (RETURN_NAIVE, "exponentials / exponentials.mean()")),
        on("softmax", (RETURN, "exponentials / exponentials.mean(dim=dim, keepdim=True)")),
    ),
    mistake(
        "divided_by_sum_of_inputs",
        "The exponentials are divided by the sum of the inputs instead of their own sum.",
        on("softmax_naive", (RETURN_NAIVE, "exponentials / x.sum()")),
        on("softmax", (RETURN, "exponentials / x.sum(dim=dim, keepdim=True)")),
    ),
    mistake(
        "base_two",
        "The exponential does not have the base e. Which function of torch computes e to the x?",
        on("softmax_naive", (EXP_NAIVE, "2.0**x")),
        on("softmax", ("torch.exp(shifted)", "2.0**shifted")),
    ),
    mistake(
        "sigmoid",
        "Each entry goes through a sigmoid on its own; the entries should share one sum.",
        on("softmax_naive", (RETURN_NAIVE, "torch.sigmoid(x)")),
        on("softmax", (RETURN, "torch.sigmoid(x)")),
    ),
    mistake(
        "log_softmax",
        "The result contains the logarithms of the weights, not the weights.",
        on("softmax_naive", (RETURN_NAIVE, "x - exponentials.sum().log()")),
        on("softmax", (RETURN, "shifted - exponentials.sum(dim=dim, keepdim=True).log()")),
    ),
    mistake(
        "exponential_of_negative",
        "The sign is reversed: the smallest score gets the largest weight.",
        on("softmax_naive", (EXP_NAIVE, "torch.exp(-x)")),
        on("softmax", ("torch.exp(shifted)", "torch.exp(-shifted)")),
    ),
    mistake(
        "softmax_detached",
        "No gradient flows back through the result.",
        on("softmax_naive", (RETURN_NAIVE, f"({RETURN_NAIVE}).detach()")),
        on("softmax", (RETURN, f"({RETURN}).detach()")),
    ),
    mistake(
        "library_softmax",
        "It calls torch's own softmax or a related function (log_softmax, logsumexp); the "
        "exercise is to write it yourself.",
        on("softmax_naive", (RETURN_NAIVE, "torch.softmax(x, dim=0)")),
        on("softmax", (RETURN, "torch.softmax(x, dim=dim)")),
    ),
    mistake(
        "plain_average",
        "All rows count equally; the weights have no effect.",
        on("context_vector", (MIX, "inputs.mean(dim=0)")),
        on(
            "simplified_self_attention", (MIX, "inputs.mean(dim=0, keepdim=True).expand_as(inputs)")
        ),
    ),
    mistake(
        "scaled_too_early",
        "The scores are divided by a scale; this chapter does not use one yet.",
        on(
            "context_vector simplified_self_attention",
            (WEIGHTS, "torch.softmax(attn_scores / inputs.shape[-1] ** 0.5, dim=-1)"),
        ),
    ),
]
