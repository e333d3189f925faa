"""`tensorgrade talk`: let the model that `tensorgrade train` has trained write."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from tensorgrade.course import CourseError

from .parts.own_code import own_gpt
from .parts.texts import ids_of
from .parts.training import write
from .parts.weights_file import fill, load_weights


def talk(
    beginning: Annotated[str, typer.Argument(help="What it is to go on from.")],
    weights: Annotated[Path, typer.Option(help="What `tensorgrade train` wrote.")] = Path(
        "my_model.safetensors"
    ),
    length: Annotated[int, typer.Option(min=1, help="How many characters.")] = 400,
    temperature: Annotated[
        float, typer.Option(min=0.0, help="0: always the likeliest; above 1: wild.")
    ] = 0.8,
    seed: Annotated[int, typer.Option(help="Another number, another text.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Your files, where not in exercises/ or notebooks/.")
    ] = None,
) -> None:
    """Let your own trained model write on from your words, by your own generate."""
    state, settings = load_weights(weights)
    gpt, _ = own_gpt(folder)
    sizes = (settings.context_length, settings.d, settings.num_heads, settings.num_layers)
    model = gpt.SmallGPT(len(settings.vocabulary), *sizes)
    fill(model, state, weights)
    ids = ids_of(beginning, settings.vocabulary)
    if strange := "".join(sorted(set(beginning) - set(settings.vocabulary))):
        typer.echo(f"(it was never shown {strange}: left out)", err=True)
    if not len(ids):
        raise CourseError("give it at least one character that it knows to go on from")
    typer.echo("".join(settings.vocabulary[i] for i in ids.tolist()), nl=False)
    chance = torch.Generator().manual_seed(seed)
    write(gpt, model, ids, length, chance, temperature, lambda new: say(settings.vocabulary[new]))
    typer.echo()


def say(character: str) -> None:
    """Write a character at once."""
    typer.echo(character, nl=False)
