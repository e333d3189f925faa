"""Where each head of a model looks during training, measured on one line from time to time."""

from dataclasses import dataclass, field

import torch
from rich.table import Table

from .heads import Attention, all_heads, far_back, share_before
from .weights_file import Settings


@dataclass
class Looks:
    """The measurements so far. line: (n,) ids that the model does not learn from.

    steps: when they were taken; shares, distances: for each step (num_layers, num_heads).
    """

    attention: Attention
    settings: Settings
    line: torch.Tensor
    steps: list[int] = field(default_factory=list)
    shares: list[torch.Tensor] = field(default_factory=list)
    distances: list[torch.Tensor] = field(default_factory=list)

    def look(self, model: torch.nn.Module, step: int) -> None:
        """Measure all heads of a model in its current state.

        Do nothing if the model's parts have other names than in the stub.
        """
        try:
            weights = all_heads(self.attention, model.state_dict(), self.settings, self.line)
        except KeyError:
            return
        self.steps.append(step)
        self.shares.append(share_before(weights))
        self.distances.append(far_back(weights))

    def table(self) -> Table:
        """Return a table with a row for each step and a column for each head, layer by layer."""
        table = Table("step", title="Where its heads look", title_justify="left", box=None)
        for layer in range(self.settings.num_layers):
            for head in range(self.settings.num_heads):
                table.add_column(f"{layer + 1}.{head + 1}", justify="right")
        for step, shares, distances in zip(self.steps, self.shares, self.distances, strict=True):
            pairs = zip(shares.flatten().tolist(), distances.flatten().tolist(), strict=True)
            table.add_row(str(step), *(f"{share:.0%} {far:.0f}" for share, far in pairs))
        return table
