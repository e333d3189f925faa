"""A tutor's note about one failed check: what was asked, what the idea is, what came back."""

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..exchange.cases import spoken_shape
from ..judging.diagnosis import Diagnosis, Finding, Kind, PublicDiagnosis, Step
from ..messages.message import Clauses, render, sentence
from .comparison import comparison

WIDTH, INDENT = 80, 2
MOST_STEPS = 14
MOST_LINES = 12
SHAPES_HELP = (Kind.SHAPE, Kind.ERROR)


class Note:
    """A finding as a tutor's note, put into words only when somebody reads it."""

    def __init__(self, finding: Finding):
        self.finding = finding

    def __str__(self) -> str:
        """Plain text, 80 columns wide."""
        return self.plain(WIDTH)

    def plain(self, width: int) -> str:
        """Plain text, so many columns wide."""
        written = io.StringIO()
        # In a notebook rich would show the note by itself.
        console = Console(
            file=written, width=width, color_system=None, highlight=False, force_jupyter=False
        )
        self.print(console)
        return "\n".join(line.rstrip() for line in written.getvalue().splitlines())

    def print(self, console: Console) -> None:
        """Write it to a terminal, in colours where that has them."""
        for part in self.parts(console.width - 2 * INDENT, console.color_system is not None):
            console.print(Padding(part, (0, INDENT)))

    def parts(self, width: int, colour: bool) -> list[Text]:
        """Its lines. One idea comes first; the evidence stands below it."""
        finding, diagnosis = self.finding, self.finding.diagnosis
        lines = [Text(finding.asks, "bold"), Text("")] if finding.asks else []
        lines += idea(finding) or facts(diagnosis)
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
    """Return the first mistake's message, and what else there is to say; nothing without one."""
    if not finding.mistakes:
        return []
    name, message = next(iter(finding.mistakes.items()))
    lines = [Text.assemble(message, (f"  [{name}]", "dim"))]
    if finding.earlier:
        lines.append(Text(sentence(finding.earlier)))
    if len(finding.mistakes) > 1:
        lines.append(
            Text("There is a second thing; it can wait until this one is right.", "italic")
        )
    return lines


def facts(diagnosis: Diagnosis) -> list[Text]:
    """What is known where no mistake was recognised."""
    more = filter(None, (diagnosis.where, *diagnosis.remarks))
    return [Text(sentence(diagnosis.problem)), *(Text(f"- {sentence(text)}") for text in more)]


def evidence(diagnosis: Diagnosis, named: bool) -> list[Text]:
    """What was called; and what was seen, where an idea stands above in its place."""
    lines = field("called", diagnosis.called)
    if named:
        lines += field("problem", render(Clauses((diagnosis.problem, diagnosis.where))))
    return lines


def field(name: str, text: str) -> list[Text]:
    """One labelled line, or none where there is nothing to say."""
    return [Text.assemble((f"{name:<9} ", "dim"), text)] if text else []


def printed(said: list[str]) -> list[Text]:
    """What the learner's own code prints in that call: its first lines, or nothing.

    >>> [str(line) for line in printed(["(6, 2)"])][1:]
    ['your code prints', '  (6, 2)']
    """
    lines = [Text(f"  {line}") for line in shortly(said).splitlines()]
    return [Text(""), Text("your code prints", "dim"), *lines] if lines else []


def shortly(said: list[str]) -> str:
    """The first of many lines."""
    return "\n".join([*said[:MOST_LINES], *["…"] * (len(said) > MOST_LINES)])


def steps_on_the_way(finding: Finding) -> list[Text]:
    """The shapes on the way through the learner's own code, up to where it ends in an error."""
    lines, error = trace_lines(finding.trace()), finding.diagnosis.error
    if lines and error and error.line:
        lines.append(Text(f"line {error.line:>3}  ✗ here it ends", "bold red"))
    return lines


def spoken_step(size: tuple[int, ...] | int) -> str:
    """A tensor's shape, or a whole number."""
    return f"= {size}" if isinstance(size, int) else spoken_shape(size)


def trace_lines(steps: list[Step]) -> list[Text]:
    """One line for each tensor or number that came into being; the last ones of many. What lines
    make that run again, in a loop or another call, is told once, as they made it last.

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
