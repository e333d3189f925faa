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
    having = {c.title: [one for one in c.exercises if one.hints] for c in chapters}
    first = next((one for ones in having.values() for one in ones), None)
    if first is None:
        console.print("There are no hints here.")
        return
    for title, exercises in having.items():
        console.print(Text(title, "bold"))
        for one in exercises:
            hints = Text(plural(len(one.hints), "hint"), "dim")
            console.print(Text.assemble(f"  {one.name:<32} ", hints))
    console.print(Text.assemble("\nThe first one: ", (f"tensorgrade hint {first.name}", "bold")))
    console.print(Text.assemble("Your progress: ", ("tensorgrade watch", "bold")))
