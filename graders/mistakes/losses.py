"""A loss that grows with the batch, as the same mistake in two exercises."""

from tensorgrade.author import mistake, on

MISTAKES = [
    mistake(
        "loss_summed",
        "The losses are summed. Use their mean, which does not grow with the batch.",
        on("cross_entropy", ("dim=-1) - right).mean()", "dim=-1) - right).sum()")),
        on(
            "train_step",
            (
                "loss = cross_entropy(model(inputs), targets)",
                "loss = cross_entropy(model(inputs), targets) * targets.numel()",
            ),
        ),
    ),
]
