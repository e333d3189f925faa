"""A tutor's note about one failed check: what was asked, what the idea is, what came back."""

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..diagnosis import Diagnosis, OpenDiagnosis
from ..results import sentence
from .comparison import comparison, shape_of  # noqa: F401
from .trace import trace_lines

WIDTH, INDENT = 80, 2
SHAPES_HELP = ("shape", "error")


class Note:
    """A note that is put into words only when somebody reads it.

    said: what the check asks for. mistakes: messages of the mistakes recognised, by name.
    trace: gives the shapes on the way through a call; asked only where they help.
    """

    def __init__(self, said: str, diagnosis: Diagnosis, mistakes: dict[str, str] | None = None, trace=None):
        self.said, self.diagnosis, self.mistakes = said, diagnosis, mistakes or {}
        self.trace = trace or (lambda called: [])

    def __str__(self) -> str:
        """Plain text, 80 columns wide."""
        # In a notebook rich would show the note by itself.
        console = Console(file=io.StringIO(), width=WIDTH, color_system=None, highlight=False, force_jupyter=False)
        self.print(console)
        lines = console.file.getvalue().splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def print(self, console: Console) -> None:
        """Write it to a terminal, in colours where that has them."""
        for part in self.parts(console.width - 2 * INDENT, console.color_system is not None):
            console.print(Padding(part, (0, INDENT)))

    def parts(self, width: int, colour: bool) -> list[Text]:
        """Its lines. One idea comes first; the evidence stands below it."""
        diagnosis = self.diagnosis
        lines = [Text(self.said, "bold"), Text("")] if self.said else []
        lines += idea(self.mistakes) or facts(diagnosis)
        lines += [Text(""), *evidence(diagnosis, bool(self.mistakes))]
        if isinstance(diagnosis, OpenDiagnosis) and (blocks := comparison(diagnosis, width, colour)):
            lines += [Text(""), *blocks]
        if diagnosis.kind in SHAPES_HELP and (steps := trace_lines(self.trace(diagnosis.called), diagnosis.error)):
            lines += [Text(""), *steps]
        return lines


def note(said: str, diagnosis: Diagnosis, mistakes: dict[str, str] | None = None) -> str:
    """All that may be said about a failed check, as plain text."""
    return str(Note(said, diagnosis, mistakes))


def idea(mistakes: dict[str, str]) -> list[Text]:
    """The first mistake's message, and whether there is more to come."""
    if not mistakes:
        return []
    name, message = next(iter(mistakes.items()))
    lines = [Text.assemble(message, (f"  [{name}]", "dim"))]
    if len(mistakes) > 1:
        lines.append(Text("There is a second thing; it can wait until this one is right.", "italic"))
    return lines


def facts(diagnosis: Diagnosis) -> list[Text]:
    """What is known where no mistake was recognised."""
    more = [said for said in (diagnosis.where, *diagnosis.remarks) if said]
    return [Text(sentence(diagnosis.said)), *(Text(f"- {sentence(said)}") for said in more)]


def evidence(diagnosis: Diagnosis, named: bool) -> list[Text]:
    """What was called; and what was seen, where an idea stands above in its place."""
    lines = field("called", diagnosis.called)
    if named:
        lines += field("problem", "; ".join(filter(None, (diagnosis.said, diagnosis.where))))
    return lines


def field(name: str, text: str) -> list[Text]:
    """One labelled line, or none where there is nothing to say."""
    return [Text.assemble((f"{name:<9} ", "dim"), text)] if text else []
