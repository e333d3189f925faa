"""`tensorgrade train`: train the learner's own small GPT on their own machine."""

import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Annotated

import torch
import typer
from rich.console import Console

from .parts.looks import Looks
from .parts.own_code import NO_ATTENTION, own_gpt
from .parts.screen import Screen
from .parts.texts import ids_of, read_text
from .parts.training import Run, begin, in_two, loss_on, write
from .parts.training import train as train_steps
from .parts.weights_file import Settings, State, fill, load_weights, make_room, save_weights

SAMPLE_EVERY, SAMPLE = 200, 160
LINE = 48  # characters of the validation text on which the heads are measured
LEGEND = (
    "For each layer and head: the share of its weight on the previous character, and how many "
    "characters back it looks on average, in a line that the model has not seen."
)


def train(
    text: Annotated[
        str, typer.Option(help="shakespeare, the_verdict, or the path of a text file.")
    ] = "shakespeare",
    steps: Annotated[int, typer.Option(min=1, help="Number of training steps.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the random draws.")] = 0,
    out: Annotated[Path, typer.Option(help="File for the weights.")] = Path("my_model.safetensors"),
    folder: Annotated[
        Path | None, typer.Option(help="Folder with your files; default: exercises/ or notebooks/.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="Continue from the weights of an earlier run.")
    ] = None,
) -> None:
    """Train your own small GPT in a minute or two. Ctrl-C stops and saves."""
    console = Console(highlight=False)
    characters = read_text(text)
    before, settings = begun(start, characters)
    console.print("checking your chapter 6 …")
    gpt, own_attention = own_gpt(folder)
    if not own_attention:
        console.print(NO_ATTENTION)
    if kept := make_room(out):
        console.print(f"the old {out} is now {kept}", markup=False)
    ids, held_back = in_two(ids_of(characters, settings.vocabulary), settings.context_length)
    run, began = begin(gpt, settings, steps, seed), time.process_time()
    if start:
        fill(run.model, before, start)
    looks = Looks(gpt.MultiHeadAttention, settings, held_back[:LINE])
    learn(console, gpt, run, ids, looks, seed)
    save_weights(out, run.model.state_dict(), settings)
    if len(run.losses) < steps:
        console.print("\nInterrupted; the weights are kept.")
    seconds = time.process_time() - began
    console.print(f"{len(run.losses)} steps in {seconds:.0f} s of processor time.")
    loss = loss_on(run.model, held_back, settings.context_length)
    console.print(f"loss on text that it has not seen: {loss:.2f}")
    if own_attention and looks.steps:
        console.print("", looks.table(), LEGEND, "", sep="\n", markup=False)
    console.print(f"{out}; now: tensorgrade talk 'To be' --weights {out}", soft_wrap=True)


def begun(start: Path | None, characters: str) -> tuple[State, Settings]:
    """Return the weights to continue from and the model's settings; no weights for a new model.

    Raises CourseError.
    """
    if start:
        return load_weights(start)
    vocabulary = "".join(sorted(set(characters)))
    return {}, Settings(vocabulary, context_length=64, d=64, num_heads=4, num_layers=2)


def learn(
    console: Console, gpt: ModuleType, run: Run, ids: torch.Tensor, looks: Looks, seed: int
) -> None:
    """Run all steps, or those before a Ctrl-C, and show the progress."""
    with Screen(console, run).open() as screen, suppress(KeyboardInterrupt):
        for _ in train_steps(gpt, run, ids, seed):
            screen.step()
            if len(run.losses) == 1 or len(run.losses) % SAMPLE_EVERY == 0:
                chance = torch.Generator().manual_seed(seed)
                written = write(gpt, run.model, ids[:1], SAMPLE, chance)
                screen.wrote("".join(looks.settings.vocabulary[i] for i in written.tolist()))
                looks.look(run.model, len(run.losses))
