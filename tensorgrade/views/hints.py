"""An exercise's hints; whoever asks for one alone waits for no other module."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text


def print_hints(console: Console, hints: tuple[str, ...], count: int, more: str) -> None:
    """The first hints, and how to get one more. more: what brings it."""
    if hints:
        console.print()
    for number, hint in enumerate(hints[:count], 1):
        console.print(Padding(Text.assemble((f"hint {number}  ", "bold"), hint), (0, 2)))
    if count < len(hints):
        asked = "Another hint" if count else "Stuck? A hint"
        console.print(Text.assemble(f"  {asked}: ", (more, "bold")))
    elif count and hints:
        console.print(Text("  That was the last hint.", "dim"))
