"""Format a note about one failed check: what is wrong, where, and the evidence.

Every view has the same order: what is wrong, where it is, the expected value and the learner's,
what to think about, and the evidence.
"""

import io
from functools import cached_property

from markupsafe import Markup
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..exchange.cases import spoken_shape
from ..exchange.text import joined, sentence
from ..judging.diagnosis import Diagnosis, Finding, Kind, Step
from ..judging.where import Where
from .comparison import comparison, in_sentences, labelled, on_page

WIDTH, INDENT = 80, 2
MOST_STEPS = 14
MOST_LINES = 12
SHAPES_HELP = (Kind.SHAPE, Kind.ERROR, Kind.VALUES, Kind.NAN)
SECOND = "There is a second mistake; fix this one first."
LABEL = 9  # columns
OF_THE_TEST = Finding("", Diagnosis(Kind.ERROR, "the check itself failed; see its error above"))


class Note:
    """A finding as a tutor's note. Its sentences are written only when the note is read.

    finding: by default, that the check itself failed. path: the learner's file as a terminal makes
    it clickable, such as `exercises/ch1_x.py`. line: the first line of the exercise, used if the
    finding has no better one.
    """

    def __init__(self, finding: Finding | None, path: str = "", line: int | None = None):
        self.finding, self.path, self.first_line = finding or OF_THE_TEST, path, line

    def __str__(self) -> str:
        """Return the note in sentences, in lines of WIDTH characters."""
        written = io.StringIO()
        # In a notebook, rich would display the note on its own.
        console = Console(
            file=written, width=WIDTH, color_system=None, highlight=False, force_jupyter=False
        )
        console.print(*self.lines(WIDTH, plain=True), sep="\n")
        return "\n".join(line.rstrip() for line in written.getvalue().splitlines())

    @property
    def problem(self) -> str:
        """What is wrong."""
        message = next(iter(self.finding.mistakes.values()), "")
        return message or sentence(self.finding.diagnosis.problem)

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

    @property
    def where(self) -> str:
        """The place to look at: the file and line, or the cell and line."""
        line = self.line
        if self.path:
            return f"{self.path}:{line}" if line else self.path
        return self.finding.place(line) if line else ""

    @property
    def thoughts(self) -> list[str]:
        """What to think about, in addition to what is wrong."""
        finding, first = self.finding, self.goes_wrong
        earlier = finding.earlier.said if finding.earlier else ""
        if finding.mistakes:
            told = [sentence(one) for one in (finding.fact, earlier) if one]
            return told + [SECOND] * (len(finding.mistakes) > 1)
        remarks, where, count = finding.diagnosis.observations
        more = (finding.fact, where or count, earlier, *remarks, first.said if first else "")
        return [sentence(one) for one in more if one]

    @property
    def evidence(self) -> list[tuple[str, str]]:
        """Facts with their labels."""
        diagnosis, problem = self.finding.diagnosis, ""
        if self.finding.mistakes:
            _, where, count = diagnosis.observations
            problem = joined(diagnosis.problem, where or count)
        finding = self.finding
        told = (("checked", finding.asks), ("called", finding.called()), ("problem", problem))
        return [(label, text) for label, text in told if text]

    @property
    def labelled(self) -> list[tuple[str, str]]:
        """The expected and the actual text or shape with their labels; empty if values differ."""
        return labelled(self.finding.diagnosis)

    @property
    def values(self) -> Markup | None:
        """The expected and the actual values as HTML; None if there are none to compare."""
        return on_page(self.finding.diagnosis)

    @cached_property
    def shapes(self) -> list[str]:
        """The shapes that the learner's code computes, up to the error that stops it."""
        diagnosis = self.finding.diagnosis
        if diagnosis.kind not in SHAPES_HELP:
            return []
        lines, error = trace_lines(self.finding.trace()), diagnosis.error
        if lines and error and error.line:
            lines.append(f"{self.finding.place(error.line)}  it ends here")
        return lines

    @cached_property
    def printed(self) -> list[str]:
        """The first lines that the learner's code prints."""
        said = self.finding.said()
        return [*said[:MOST_LINES], *["…"] * (len(said) > MOST_LINES)]

    def print(self, console: Console, plain: bool = False) -> None:
        """Write the note to a terminal, in colours if the terminal has them. plain: in sentences.

        A path stays in one piece, so that it can be clicked or copied.
        """
        colour = console.color_system is not None
        for line in self.lines(console.width - 2 * INDENT, colour, plain):
            if line.plain == self.where:
                console.print(Text(" " * INDENT) + line, soft_wrap=True)
            else:
                console.print(Padding(line, (0, INDENT)))

    def lines(self, width: int, colour: bool = False, plain: bool = False) -> list[Text]:
        """Return the note, with a blank line before each section. plain: without drawings."""
        diagnosis = self.finding.diagnosis
        where = [Text(self.where, "cyan")] if self.where else []
        drawn = comparison(diagnosis, width, colour)
        compared = [Text(one) for one in in_sentences(diagnosis)] if plain else drawn
        thoughts = [Text(f"- {text}") for text in self.thoughts]
        facts = [
            Text.assemble((f"{label:<{LABEL}} ", "dim"), text) for label, text in self.evidence
        ]
        shapes = [Text(line, "" if number else "dim") for number, line in enumerate(self.shapes)]
        printed = [Text("your code prints", "dim"), *(Text(f"  {line}") for line in self.printed)]
        parts = (compared, thoughts, facts, shapes, printed if self.printed else [])
        more = [line for part in parts if part for line in (Text(""), *part)]
        return [Text(self.problem, "bold"), *where, *more]


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
    cut = f" (the last {MOST_STEPS})" if len(told) > MOST_STEPS else ""
    functions = {step.function for step in last}
    shared = f", in {last[0].function}" if len(functions) == 1 and last[0].function else ""
    sizes = [f"= {s.size}" if isinstance(s.size, int) else spoken_shape(s.size) for s in last]
    cells = [
        (step.place, *([] if shared else [step.function]), step.name, size)
        for step, size in zip(last, sizes, strict=True)
    ]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = ["  ".join(map(str.ljust, row, wide)).rstrip() for row in cells]
    return [f"shapes in your code{shared}{cut}", *rows]
