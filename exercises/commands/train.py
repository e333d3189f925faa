"""`tensorgrade train`: the learner's own small GPT, trained on their own machine."""

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
LINE = 48  # characters of the text held back, on which heads are looked at
LEGEND = (
    "Layer and head; how much of its weight goes to the character before, and how many characters "
    "back it looks on average, in a line that the model has not seen."
)


def train(
    text: Annotated[
        str, typer.Option(help="shakespeare, the_verdict, or a text file of your own.")
    ] = "shakespeare",
    steps: Annotated[int, typer.Option(min=1, help="How many steps of training.")] = 2000,
    seed: Annotated[int, typer.Option(help="Another number, another run.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the weights go.")] = Path("my_model.safetensors"),
    folder: Annotated[
        Path | None, typer.Option(help="Your files, where not in exercises/ or notebooks/.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="Go on from weights that an earlier run wrote.")
    ] = None,
) -> None:
    """Train your own small GPT: two layers, four heads, a minute or two. Ctrl-C keeps what it has."""
    console = Console(highlight=False)
    characters = read_text(text)
    before, settings = begun(start, characters)
    console.print("checking your chapter 6 …")
    gpt, own_attention = own_gpt(folder)
    if not own_attention:
        console.print(NO_ATTENTION)
    if kept := make_room(out):
        console.print(f"{out} is kept as {kept}", markup=False)
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
    if own_attention and text == "shakespeare":
        console.print("Hand it in beside your chapter 6: its last exercise, trained_loss, asks for it.")


def begun(start: Path | None, characters: str) -> tuple[State, Settings]:
    """The weights to go on from and what their model is made with; no weights where it is new.

    Raises CourseError.
    """
    if start:
        return load_weights(start)
    vocabulary = "".join(sorted(set(characters)))
    return {}, Settings(vocabulary, context_length=64, d=64, num_heads=4, num_layers=2)


def learn(
    console: Console, gpt: ModuleType, run: Run, ids: torch.Tensor, looks: Looks, seed: int
) -> None:
    """All steps, or those before a Ctrl-C, before the learner's eyes."""
    with Screen(console, run).open() as screen, suppress(KeyboardInterrupt):
        for _ in train_steps(gpt, run, ids, seed):
            screen.step()
            if len(run.losses) == 1 or len(run.losses) % SAMPLE_EVERY == 0:
                chance = torch.Generator().manual_seed(seed)
                written = write(gpt, run.model, ids[:1], SAMPLE, chance)
                screen.wrote("".join(looks.settings.vocabulary[i] for i in written.tolist()))
                looks.look(run.model, len(run.losses))
