"""`tensorgrade talk`: let the model write that `tensorgrade train` has trained."""

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

LINE = 40  # characters of the written text for which a notebook shows the heads


def talk(
    beginning: Annotated[str, typer.Argument(help="The text that the model continues.")],
    weights: Annotated[Path, typer.Option(help="Weights written by `tensorgrade train`.")] = Path(
        "my_model.safetensors"
    ),
    length: Annotated[int, typer.Option(min=1, help="Number of characters to write.")] = 400,
    temperature: Annotated[
        float, typer.Option(min=0.0, help="0: greedy decoding; above 1: more random.")
    ] = 0.8,
    seed: Annotated[int, typer.Option(help="Seed of the random draws.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Folder with your files; default: exercises/ or notebooks/.")
    ] = None,
) -> None:
    """Let your own trained model continue a text, with your `generate`."""
    state, settings = load_weights(weights)
    gpt, _ = own_gpt(folder)
    model = trained(gpt.SmallGPT, state, settings, weights)
    ids = ids_of(beginning, settings.vocabulary)
    if strange := "".join(sorted(set(beginning) - set(settings.vocabulary))):
        typer.echo(f"(left out, because the model has never seen it: {strange})", err=True)
    if not len(ids):
        raise CourseError("the text needs at least one character that the model knows")
    typer.echo("".join(settings.vocabulary[i] for i in ids.tolist()), nl=False)
    chance = torch.Generator().manual_seed(seed)
    write(gpt, model, ids, length, chance, temperature, lambda new: say(settings.vocabulary[new]))
    typer.echo()


def trained(
    small_gpt: Callable[..., nn.Module], state: State, settings: Settings, weights: Path
) -> nn.Module:
    """Return a learner's model with the weights of a file. Raises CourseError if they do not fit."""
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
    """Show below a notebook's cell what the trained model writes, and where its heads look."""
    from IPython.display import HTML, display

    try:
        state, settings = load_weights(Path(weights))
        model = trained(small_gpt, state, settings, Path(weights))
        own = SimpleNamespace(generate=generate)
        ids, chance = ids_of(beginning, settings.vocabulary), torch.Generator().manual_seed(0)
        text = "".join(settings.vocabulary[i] for i in write(own, model, ids, 300, chance).tolist())
        print(text)
        display(HTML(figures(look(attention, text[:LINE], Path(weights)))))
    except Exception as error:  # no weights yet, or any mistake in the code
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"The model cannot write yet ({reason[:160]}).")


def say(character: str) -> None:
    """Write a character immediately."""
    typer.echo(character, nl=False)
