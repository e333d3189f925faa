"""Training of a small GPT, step by step, with the code in the learner's chapter 6."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import torch
from torch.nn import functional

from .weights_file import Settings

BATCH, RATE, WARM_UP = 16, 3e-3, 100
HELD_BACK = 0.1  # the share at the end of the text that is only used to measure the model
MEASURED = 40  # windows


@dataclass
class Run:
    """A run so far. losses: one for each step."""

    model: torch.nn.Module
    steps: int
    losses: list[float] = field(default_factory=list)


def begin(gpt: ModuleType, settings: Settings, steps: int, seed: int) -> Run:
    """Return an untrained model, whose weights depend on the seed."""
    torch.set_num_threads(1)  # so that the same seed gives the same run
    torch.manual_seed(seed)
    sizes = (settings.context_length, settings.d, settings.num_heads, settings.num_layers)
    return Run(gpt.SmallGPT(len(settings.vocabulary), *sizes), steps)


def train(gpt: ModuleType, run: Run, ids: torch.Tensor, seed: int) -> Iterator[float]:
    """Train, and yield the loss of each step.

    The learning rate rises over the first steps, then falls to a tenth.
    """
    chance = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(run.model.parameters(), lr=RATE)
    for step in range(run.steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARM_UP) * (1 - 0.9 * step / run.steps)
        inputs, targets = gpt.batches(ids, run.model.context_length, BATCH, chance)
        run.losses.append(gpt.train_step(run.model, optimizer, inputs, targets))
        yield run.losses[-1]


def in_two(ids: torch.Tensor, context_length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the text for training, (n,), and its end for validation, (m,)."""
    back = max(int(HELD_BACK * len(ids)), 2 * context_length)
    return ids[:-back], ids[-back:]


@torch.no_grad()
def loss_on(model: torch.nn.Module, ids: torch.Tensor, length: int) -> float:
    """Return the mean loss on windows of this length, spread evenly over a text (n,)."""
    starts = torch.linspace(0, len(ids) - length - 1, MEASURED).long()
    windows = ids[starts[:, None] + torch.arange(length + 1)]
    model.eval()
    guesses = model(windows[:, :-1]).flatten(0, 1)
    model.train()
    return functional.cross_entropy(guesses, windows[:, 1:].flatten()).item()


def write(
    gpt: ModuleType | SimpleNamespace,
    model: torch.nn.Module,
    ids: torch.Tensor,
    count: int,
    chance: torch.Generator,
    temperature: float = 0.8,
    tell: Callable[[int], object] = lambda _: None,
) -> torch.Tensor:
    """Let a model continue ids (n,): (n + count,). tell: a function to call with each new id."""
    model.eval()
    text = ids[None]
    for _ in range(count):
        text = gpt.generate(model, text, 1, temperature=temperature, generator=chance)
        tell(int(text[0, -1]))
    model.train()
    return text[0]
