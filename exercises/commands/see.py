"""`tensorgrade see`: show where the learner's own MultiHeadAttention looks in a text."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tensorgrade.command import Learner, is_wrong_here
from tensorgrade import CourseError

from .parts.own_code import ATTENTION, EXERCISES, not_yet
from .parts.seen import Seen, look
from .parts.seen_page import figures, page
from .parts.seen_terminal import print_seen


def see(
    text: Annotated[str, typer.Argument(help="A text of your own, at most 64 characters.")],
    every: Annotated[
        bool, typer.Option("--all", help="Show all eight heads, not only two.")
    ] = False,
    to_page: Annotated[
        Path | None, typer.Option("--page", help="Also write a page for a browser, and open it.")
    ] = None,
    show: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    weights: Annotated[
        Path | None,
        typer.Option(help="Your own model, written by `tensorgrade train`. Shows all of its heads."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder with your files; default: exercises/ or notebooks/.")
    ] = None,
) -> None:
    """Show where each head of your own MultiHeadAttention looks in a text."""
    seen = looked_at(text, Learner(EXERCISES, folder), weights)
    print_seen(Console(highlight=False), seen, every)
    if to_page:
        to_page.write_text(page(seen), encoding="utf-8")
        typer.echo(f"{to_page}")
        if show:
            webbrowser.open(to_page.resolve().as_uri())


def looked_at(text: str, learner: Learner, weights: Path | None = None) -> Seen:
    """Return what the learner's class looks at. Raises CourseError if it is not right yet."""
    if lacking := learner.lacks(["MultiHeadAttention"]):
        raise CourseError(not_yet("MultiHeadAttention", lacking))
    return look(learner.code(ATTENTION).MultiHeadAttention, text, weights)


def in_notebook(attention: type, text: str) -> None:
    """Show the same below a notebook's cell, for the class in the notebook."""
    from IPython.display import HTML, display

    if is_wrong_here("MultiHeadAttention"):  # the captions of its heads would be false
        print("Nothing to see yet: your MultiHeadAttention is not right. Its check says why.")
        return
    try:
        display(HTML(figures(look(attention, text))))
    except Exception as error:  # the class may still have any mistake
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"Nothing to see yet ({reason[:120]}). Check MultiHeadAttention first.")
