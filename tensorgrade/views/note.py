"""Format a note about one failed check: the task, the main idea, and the evidence."""

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..exchange.cases import spoken_shape
from ..judging.diagnosis import Diagnosis, Finding, Kind, PublicDiagnosis, Step
from ..messages.message import Clauses, Message, render, sentence
from .comparison import comparison

WIDTH, INDENT = 80, 2
MOST_STEPS = 14
MOST_LINES = 12
SHAPES_HELP = (Kind.SHAPE, Kind.ERROR)


class Note:
    """A finding as a tutor's note. Its sentences are written only when the note is read."""

    def __init__(self, finding: Finding):
        self.finding = finding

    def __str__(self) -> str:
        """Return the note as plain text, 80 columns wide."""
        return self.plain(WIDTH)

    def plain(self, width: int) -> str:
        """Return the note as plain text of this width."""
        written = io.StringIO()
        # In a notebook, rich would display the note on its own.
        console = Console(
            file=written, width=width, color_system=None, highlight=False, force_jupyter=False
        )
        self.print(console)
        return "\n".join(line.rstrip() for line in written.getvalue().splitlines())

    def print(self, console: Console) -> None:
        """Write the note to a terminal, in colours if the terminal has them."""
        for part in self.parts(console.width - 2 * INDENT, console.color_system is not None):
            console.print(Padding(part, (0, INDENT)))

    def parts(self, width: int, colour: bool) -> list[Text]:
        """Return the note's lines: one idea first, then the evidence."""
        finding, diagnosis = self.finding, self.finding.diagnosis
        lines = [Text(finding.asks, "bold"), Text("")] if finding.asks else []
        lines += idea(finding) or facts(diagnosis, finding.fact)
        if not finding.mistakes and (found := finding.parting()) and found.said:
            lines += [Text(""), Text(render(found.said))]
        lines += [Text(""), *evidence(diagnosis, bool(finding.mistakes))]
        if isinstance(diagnosis, PublicDiagnosis) and (
            blocks := comparison(diagnosis, width, colour)
        ):
            lines += [Text(""), *blocks]
        if diagnosis.kind in SHAPES_HELP and (steps := steps_on_the_way(finding)):
            lines += [Text(""), *steps]
        return lines + printed(finding.said())


def idea(finding: Finding) -> list[Text]:
    """Return the first mistake's message and the remarks on it; nothing if there is no mistake."""
    if not finding.mistakes:
        return []
    name, message = next(iter(finding.mistakes.items()))
    lines = [Text.assemble(message, (f"  [{name}]", "dim"))]
    if finding.fact:
        lines.append(Text(sentence(finding.fact)))
    if finding.earlier:
        lines.append(Text(sentence(finding.earlier)))
    if len(finding.mistakes) > 1:
        lines.append(
            Text("There is a second thing; it can wait until this one is right.", "italic")
        )
    return lines


def facts(diagnosis: Diagnosis, plain: Message | None) -> list[Text]:
    """Return the known facts, for a check without a recognised mistake."""
    more = filter(None, (plain, diagnosis.where, *diagnosis.remarks))
    return [Text(sentence(diagnosis.problem)), *(Text(f"- {sentence(text)}") for text in more)]


def evidence(diagnosis: Diagnosis, named: bool) -> list[Text]:
    """Return the call; add the problem if `named`, because then the note starts with the idea."""
    lines = field("called", diagnosis.called)
    if named:
        lines += field("problem", render(Clauses((diagnosis.problem, diagnosis.where))))
    return lines


def field(name: str, text: str) -> list[Text]:
    """Return one labelled line, or none if the text is empty."""
    return [Text.assemble((f"{name:<9} ", "dim"), text)] if text else []


def printed(said: list[str]) -> list[Text]:
    """Return the first lines that the learner's own code prints in that call, or nothing.

    >>> [str(line) for line in printed(["(6, 2)"])][1:]
    ['your code prints', '  (6, 2)']
    """
    lines = [Text(f"  {line}") for line in shortly(said).splitlines()]
    return [Text(""), Text("your code prints", "dim"), *lines] if lines else []


def shortly(said: list[str]) -> str:
    """Join the first MOST_LINES lines, with an ellipsis if there are more."""
    return "\n".join([*said[:MOST_LINES], *["…"] * (len(said) > MOST_LINES)])


def steps_on_the_way(finding: Finding) -> list[Text]:
    """Return the shapes computed by the learner's own code, up to the error that stops it."""
    lines, error = trace_lines(finding.trace()), finding.diagnosis.error
    if lines and error and error.line:
        lines.append(Text(f"line {error.line:>3}  ✗ here it ends", "bold red"))
    return lines


def spoken_step(size: tuple[int, ...] | int) -> str:
    """Return a tensor's shape, or an integer, as text."""
    return f"= {size}" if isinstance(size, int) else spoken_shape(size)


def trace_lines(steps: list[Step]) -> list[Text]:
    """Return one line for each tensor or integer that was created, the last MOST_STEPS at most.

    If a line ran several times, in a loop or in repeated calls, only its last value is shown.

    >>> [str(line) for line in trace_lines([(3, "x", (2, 5)), (4, "n", 2)])][1:]
    ['line   3  x  (2, 5)', 'line   4  n  = 2']
    """
    if len(steps) < 2:
        return []
    told = [(*made, size) for made, size in {step[:2]: step[2] for step in steps}.items()]
    last = told[-MOST_STEPS:]
    cut = " (of lines that run again, the last time)" if len(told) < len(steps) else ""
    cut = f" (the last {MOST_STEPS})" if len(told) > MOST_STEPS else cut
    width = max(len(name) for _, name, _ in last)
    rows = (f"line {line:>3}  {name:<{width}}  {spoken_step(size)}" for line, name, size in last)
    return [Text(f"the shapes on your way{cut}", "dim"), *map(Text, rows)]
