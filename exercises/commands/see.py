"""`tensorgrade see`: what the learner's own MultiHeadAttention looks at in a text of one's own."""

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
    text: Annotated[str, typer.Argument(help="A text of your own, 64 characters at most.")],
    every: Annotated[
        bool, typer.Option("--all", help="All eight heads, not only the two that have a name.")
    ] = False,
    to_page: Annotated[
        Path | None, typer.Option("--page", help="Write a page for a browser, too, and open it.")
    ] = None,
    show: Annotated[bool, typer.Option(help="Open the page.")] = True,
    weights: Annotated[
        Path | None,
        typer.Option(help="Your own model, as `tensorgrade train` wrote it: all of its heads."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Your files, where not in exercises/ or notebooks/.")
    ] = None,
) -> None:
    """See where each head of your own MultiHeadAttention looks, in a text of your own."""
    seen = looked_at(text, Learner(EXERCISES, folder), weights)
    print_seen(Console(highlight=False), seen, every)
    if to_page:
        to_page.write_text(page(seen), encoding="utf-8")
        typer.echo(f"{to_page}")
        if show:
            webbrowser.open(to_page.resolve().as_uri())


def looked_at(text: str, learner: Learner, weights: Path | None = None) -> Seen:
    """What the learner's class looks at. Raises CourseError where it is not right yet."""
    if lacking := learner.lacks(["MultiHeadAttention"]):
        raise CourseError(not_yet("MultiHeadAttention", lacking))
    return look(learner.code(ATTENTION).MultiHeadAttention, text, weights)


def in_notebook(attention: type, text: str) -> None:
    """The same below a notebook's cell, of the class that is written there."""
    from IPython.display import HTML, display

    if is_wrong_here("MultiHeadAttention"):  # nothing that is said of its heads would be true
        print("Nothing to see yet: your MultiHeadAttention is not right. Its check says why.")
        return
    try:
        display(HTML(figures(look(attention, text))))
    except Exception as error:  # whatever is still wrong with the class
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"Nothing to see yet ({reason[:120]}). Check MultiHeadAttention first.")
