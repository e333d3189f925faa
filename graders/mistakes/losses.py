"""A loss that grows with the batch: the same slip where it is written and where it is used."""

from tensorgrade.author import mistake, on

MISTAKES = [
    mistake(
        "loss_summed",
        "The losses are summed; their mean is asked for, which does not grow with the batch.",
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
