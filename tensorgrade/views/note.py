"""Format a note about one failed check: what is wrong, where, and the evidence.

Every view has the same order: what is wrong, where it is, the expected value and the learner's,
what to think about, and the evidence.
"""

import io
from dataclasses import dataclass
from functools import cached_property

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..exchange.cases import spoken_shape
from ..exchange.text import joined, sentence
from ..judging.diagnosis import Finding, Kind, PublicDiagnosis, Step
from ..judging.where import Where
from .comparison import comparison, in_sentences

WIDTH, INDENT = 80, 2
MOST_STEPS = 14
MOST_LINES = 12
SHAPES_HELP = (Kind.SHAPE, Kind.ERROR, Kind.VALUES, Kind.NAN)
SECOND = "There is a second mistake; fix this one first."
LABEL = 9  # columns


@dataclass(frozen=True)
class Sections:
    """The text of a note, which every view lays out in this order.

    problem: what is wrong. where: the file and line, or the cell and line. thoughts: what to think
    about. evidence: labelled facts. shapes: lines on the values that the code computes. printed:
    what it prints.
    """

    problem: str
    where: str
    thoughts: tuple[str, ...]
    evidence: tuple[tuple[str, str], ...]
    shapes: tuple[str, ...]
    printed: tuple[str, ...]


class Note:
    """A finding as a tutor's note. Its sentences are written only when the note is read.

    path: the learner's file as a terminal makes it clickable, such as `exercises/ch1_x.py`. line:
    the first line of the exercise, used if the finding has no better one.
    """

    def __init__(self, finding: Finding, path: str = "", line: int | None = None):
        self.finding, self.path, self.first_line = finding, path, line

    def __str__(self) -> str:
        """Return the note in sentences, in lines of WIDTH characters."""
        written = io.StringIO()
        # In a notebook, rich would display the note on its own.
        console = Console(
            file=written, width=WIDTH, color_system=None, highlight=False, force_jupyter=False
        )
        console.print(*self.lines(WIDTH, plain=True), sep="\n")
        return "\n".join(line.rstrip() for line in written.getvalue().splitlines())

    @cached_property
    def sections(self) -> Sections:
        """The note's texts. Some come from running the learner's code again."""
        finding, diagnosis = self.finding, self.finding.diagnosis
        message, told = next(iter(finding.mistakes.values()), ""), ""
        if message:
            _, where, count = diagnosis.observations
            told = joined(diagnosis.problem, where or count)
        facts = (("checked", finding.asks), ("called", diagnosis.called), ("problem", told))
        said = finding.said()
        return Sections(
            message or sentence(diagnosis.problem),
            self.where(),
            tuple(self.thoughts()),
            tuple((label, text) for label, text in facts if text),
            tuple(self.shapes() if diagnosis.kind in SHAPES_HELP else ()),
            (*said[:MOST_LINES], *["…"] * (len(said) > MOST_LINES)),
        )

    @cached_property
    def goes_wrong(self) -> Where | None:
        """The first wrong value, unless a known mistake or a plain fault explains the result."""
        explained = self.finding.mistakes or self.finding.fact_line
        return None if explained else self.finding.find_where()

    @property
    def line(self) -> int | None:
        """The line to look at: of a plain fault, or where values become wrong."""
        first = self.goes_wrong
        wrong = first.line if first and not first.raised else None
        return self.finding.fact_line or wrong or self.finding.line or self.first_line

    def where(self) -> str:
        """Return the place to look at."""
        line = self.line
        if self.path:
            return f"{self.path}:{line}" if line else self.path
        return self.finding.place(line) if line else ""

    def thoughts(self) -> list[str]:
        """Return what to think about, in addition to what is wrong."""
        finding, first = self.finding, self.goes_wrong
        earlier = finding.earlier.said if finding.earlier else ""
        if finding.mistakes:
            told = [sentence(one) for one in (finding.fact, earlier) if one]
            return told + [SECOND] * (len(finding.mistakes) > 1)
        remarks, where, count = finding.diagnosis.observations
        more = (finding.fact, where or count, earlier, *remarks, first.said if first else "")
        return [sentence(one) for one in more if one]

    def shapes(self) -> list[str]:
        """Return the shapes that the learner's code computes, up to the error that stops it."""
        lines, error = trace_lines(self.finding.trace()), self.finding.diagnosis.error
        if lines and error and error.line:
            lines.append(f"{self.finding.place(error.line)}  it ends here")
        return lines

    def print(self, console: Console, plain: bool = False) -> None:
        """Write the note to a terminal, in colours if the terminal has them. plain: in sentences.

        A path stays in one piece, so that it can be clicked or copied.
        """
        colour = console.color_system is not None
        for line in self.lines(console.width - 2 * INDENT, colour, plain):
            if line.plain == self.sections.where:
                console.print(Text(" " * INDENT) + line, soft_wrap=True)
            else:
                console.print(Padding(line, (0, INDENT)))

    def lines(self, width: int, colour: bool = False, plain: bool = False) -> list[Text]:
        """Return the note, with a blank line before each section. plain: without drawings."""
        told, diagnosis = self.sections, self.finding.diagnosis
        where = [Text(told.where, "cyan")] if told.where else []
        compared: list[Text] = []
        if isinstance(diagnosis, PublicDiagnosis):
            drawn = comparison(diagnosis, width, colour)
            compared = [Text(one) for one in in_sentences(diagnosis)] if plain else drawn
        thoughts = [Text(f"- {text}") for text in told.thoughts]
        parts = (compared, thoughts, self.facts())
        more = [line for part in parts if part for line in (Text(""), *part)]
        return [Text(told.problem, "bold"), *where, *more]

    def facts(self) -> list[Text]:
        """Return the evidence: the call, the shapes in the learner's code, and what it prints."""
        told = self.sections
        lines = [
            Text.assemble((f"{label:<{LABEL}} ", "dim"), text) for label, text in told.evidence
        ]
        if told.shapes:
            first, *rest = told.shapes
            lines += [Text(""), Text(first, "dim"), *map(Text, rest)]
        if told.printed:
            lines += [Text(""), Text("your code prints", "dim")]
            lines += [Text(f"  {line}") for line in told.printed]
        return lines


def trace_lines(steps: list[Step]) -> list[str]:
    """Return a line for each tensor or integer that was computed, below a title.

    There are MOST_STEPS at most. If a line ran several times, in a loop or in repeated calls, only
    its last value is shown.

    >>> trace_lines([Step(3, "x", (2, 5), "line 3", "f"), Step(4, "n", 2, "line 4", "f")])
    ['shapes in your code, in f', 'line 3  x  (2, 5)', 'line 4  n  = 2']
    """
    if len(steps) < 2:
        return []
    told = list({step[:2]: step for step in steps}.values())
    last = told[-MOST_STEPS:]
    cut = " (of lines that run again, the last time)" if len(told) < len(steps) else ""
    cut = f" (the last {MOST_STEPS})" if len(told) > MOST_STEPS else cut
    functions = {step.function for step in last}
    shared = f", in {last[0].function}" if len(functions) == 1 and last[0].function else ""
    cells = [
        (s.place, *([] if shared else [s.function]), s.name, spoken_step(s.size)) for s in last
    ]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = ["  ".join(map(str.ljust, row, wide)).rstrip() for row in cells]
    return [f"shapes in your code{shared}{cut}", *rows]


def spoken_step(size: tuple[int, ...] | int) -> str:
    """Return a tensor's shape, or an integer, as text."""
    return f"= {size}" if isinstance(size, int) else spoken_shape(size)
