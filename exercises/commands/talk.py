"""`tensorgrade talk`: let the model that `tensorgrade train` has trained write."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import torch
import typer
from torch import nn

from tensorgrade import CourseError

from .parts.own_code import own_gpt
from .parts.seen import look
from .parts.seen_page import figures
from .parts.texts import ids_of
from .parts.training import write
from .parts.weights_file import Settings, State, fill, load_weights

LINE = 40  # characters of what it writes in a notebook, on which its heads are shown


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
    model = trained(gpt.SmallGPT, state, settings, weights)
    ids = ids_of(beginning, settings.vocabulary)
    if strange := "".join(sorted(set(beginning) - set(settings.vocabulary))):
        typer.echo(f"(it was never shown {strange}: left out)", err=True)
    if not len(ids):
        raise CourseError("give it at least one character that it knows to go on from")
    typer.echo("".join(settings.vocabulary[i] for i in ids.tolist()), nl=False)
    chance = torch.Generator().manual_seed(seed)
    write(gpt, model, ids, length, chance, temperature, lambda new: say(settings.vocabulary[new]))
    typer.echo()


def trained(
    small_gpt: Callable[..., nn.Module], state: State, settings: Settings, weights: Path
) -> nn.Module:
    """A learner's model with the weights of a file. Raises CourseError where they do not fit."""
    sizes = (settings.context_length, settings.d, settings.num_heads, settings.num_layers)
    model = small_gpt(len(settings.vocabulary), *sizes)
    fill(model, state, weights)
    return model


def in_notebook(
    small_gpt: Callable[..., nn.Module],
    generate: Callable[..., torch.Tensor],
    attention: type,
    beginning: str,
    weights: str = "my_model.safetensors",
) -> None:
    """Below a notebook's cell: what the trained model writes on, and where its heads look there."""
    from IPython.display import HTML, display

    try:
        state, settings = load_weights(Path(weights))
        model = trained(small_gpt, state, settings, Path(weights))
        own = SimpleNamespace(generate=generate)
        ids, chance = ids_of(beginning, settings.vocabulary), torch.Generator().manual_seed(0)
        text = "".join(settings.vocabulary[i] for i in write(own, model, ids, 300, chance).tolist())
        print(text)
        display(HTML(figures(look(attention, text[:LINE], Path(weights)))))
    except Exception as error:  # no weights yet, or whatever is still wrong with the code
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"Nothing to hear yet ({reason[:160]}).")


def say(character: str) -> None:
    """Write a character at once."""
    typer.echo(character, nl=False)
