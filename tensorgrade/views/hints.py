"""Print an exercise's hints. This module imports little, so that `tensorgrade hint` is fast."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..course import Chapter
from .words import plural


def print_hints(console: Console, hints: tuple[str, ...], count: int, more: str) -> None:
    """Print the first `count` hints, and how to get one more. more: the command for that."""
    if hints:
        console.print()
    for number, hint in enumerate(hints[:count], 1):
        console.print(Padding(Text.assemble((f"hint {number}  ", "bold"), hint), (0, 2)))
    if count < len(hints):
        asked = "Another hint" if count else "Stuck? A hint"
        console.print(Text.assemble(f"  {asked}: ", (more, "bold")))
    elif count and hints:
        console.print(Text("  That was the last hint.", "dim"))


def print_where_hints_are(console: Console, chapters: tuple[Chapter, ...]) -> None:
    """List the exercises of chapters that have hints, and say how to get one."""
    first = next((one.name for chapter in chapters for one in chapter.exercises if one.hints), "")
    if not first:
        console.print("There are no hints here.")
        return
    for chapter in chapters:
        console.print(Text(chapter.title, "bold"))
        for one in chapter.exercises:
            hints = Text(plural(len(one.hints), "hint"), "dim")
            console.print(Text.assemble(f"  {one.name:<32} ", hints))
    console.print(Text.assemble("\nThe first one: ", (f"tensorgrade hint {first}", "bold")))
