"""Where each head of a model looks while it is trained: on one line, from time to time."""

from dataclasses import dataclass, field

import torch
from rich.table import Table

from .heads import Attention, all_heads, far_back, share_before
from .weights_file import Settings


@dataclass
class Looks:
    """What was measured so far. line: (n,) ids that the model does not learn from.

    steps: when it was looked at; shares, distances: for each of these (num_layers, num_heads).
    """

    attention: Attention
    settings: Settings
    line: torch.Tensor
    steps: list[int] = field(default_factory=list)
    shares: list[torch.Tensor] = field(default_factory=list)
    distances: list[torch.Tensor] = field(default_factory=list)

    def look(self, model: torch.nn.Module, step: int) -> None:
        """Look at all heads of a model as it is now.

        A model whose parts have other names than the stub's is left alone.
        """
        try:
            weights = all_heads(self.attention, model.state_dict(), self.settings, self.line)
        except KeyError:
            return
        self.steps.append(step)
        self.shares.append(share_before(weights))
        self.distances.append(far_back(weights))

    def table(self) -> Table:
        """A row for each time, a column for each head, layers one behind the other."""
        table = Table("step", title="Where its heads look", title_justify="left", box=None)
        for layer in range(self.settings.num_layers):
            for head in range(self.settings.num_heads):
                table.add_column(f"{layer + 1}.{head + 1}", justify="right")
        for step, shares, distances in zip(self.steps, self.shares, self.distances, strict=True):
            pairs = zip(shares.flatten().tolist(), distances.flatten().tolist(), strict=True)
            table.add_row(str(step), *(f"{share:.0%} {far:.0f}" for share, far in pairs))
        return table
