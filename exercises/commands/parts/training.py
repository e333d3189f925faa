"""Training a small GPT, step by step, with whatever code the learner's chapter 6 holds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import torch
from torch.nn import functional

from .weights_file import Settings

BATCH, RATE, WARM_UP = 16, 3e-3, 100
HELD_BACK = 0.1  # of the text, at its end: the model is measured there and learns nothing from it
MEASURED = 40  # windows


@dataclass
class Run:
    """A run so far. losses: one for each step."""

    model: torch.nn.Module
    steps: int
    losses: list[float] = field(default_factory=list)


def begin(gpt: ModuleType, settings: Settings, steps: int, seed: int) -> Run:
    """A model that has learned nothing yet; the seed decides its weights."""
    torch.set_num_threads(1)  # so that the same seed gives the same run
    torch.manual_seed(seed)
    sizes = (settings.context_length, settings.d, settings.num_heads, settings.num_layers)
    return Run(gpt.SmallGPT(len(settings.vocabulary), *sizes), steps)


def train(gpt: ModuleType, run: Run, ids: torch.Tensor, seed: int) -> Iterator[float]:
    """Train, and give the loss of each step.

    The rate rises over the first steps, then falls to a tenth.
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
    """What is learned from, and the end of the text, which is held back: (n,) and (m,)."""
    back = max(int(HELD_BACK * len(ids)), 2 * context_length)
    return ids[:-back], ids[-back:]


@torch.no_grad()
def loss_on(model: torch.nn.Module, ids: torch.Tensor, length: int) -> float:
    """The mean loss on windows of this length, spread evenly over a text (n,)."""
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
    """Let a model write behind ids (n,): (n + count,). tell: is given each new id at once."""
    model.eval()
    text = ids[None]
    for _ in range(count):
        text = gpt.generate(model, text, 1, temperature=temperature, generator=chance)
        tell(int(text[0, -1]))
    model.train()
    return text[0]
