"""The cells of a lesson: a chapter's literate source, a script with a line above each cell."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .course import CourseError

MARKER = re.compile(r"^# ?%%(.*)\n?", re.MULTILINE)  # the line above each cell of a lesson
MARKS = re.compile(
    r'(?: \[markdown\])?(?: +(?:points=\d+(?:\.\d+)?|ending=true|(?!points)\w+="\w+"))*\s*'
)


@dataclass(frozen=True)
class Cell:
    """A cell of a lesson, as in a notebook.

    marks: the words on the line above it, such as `exercise` and `hints`. line: of that line.
    """

    source: str
    is_text: bool = False
    marks: dict[str, str] = field(default_factory=dict)
    line: int = 1


def read_lesson(path: Path) -> list[Cell]:
    """Return the cells of a chapter's literate source. Raises CourseError if it is not one.

    Text and the code of experiments are in comments.
    """
    above, *parts = MARKER.split(text_in(path))
    has_code = re.search(r"^[^#\s]", above, re.MULTILINE)
    cells, line = [Cell(above.strip("\n"))] if has_code else [], 1 + above.count("\n")
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        if not MARKS.fullmatch(head):
            raise CourseError(
                f"{path}:{line}: text after `# %%` is lost; put it on the next line, or write a "
                f'mark as `exercise="name"`: # %%{head}'
            )
        marks = {name: word.strip('"') for name, word in re.findall(r"(\w+)=(\S+)", head)}
        source, is_text = body.rstrip("\n"), "[markdown]" in head
        if is_text or "active" in marks:
            source = re.sub("^# ?", "", source, flags=re.MULTILINE)
        cells.append(Cell(source, is_text, marks, line))
        line += 1 + body.count("\n")
    return cells


def marked(cells: Iterable[Cell], mark: str) -> dict[str, Cell]:
    """Return the cells with a mark, by its value: those of exercises by `exercise`."""
    return {cell.marks[mark]: cell for cell in cells if mark in cell.marks}


def text_in(path: Path) -> str:
    """Return the text of a file of the course. Raises CourseError if it is missing or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = (other.stem for other in sorted(path.parent.glob("*.py")))
        behind = next((one for one in known if path.stem.startswith(one)), "")
        meant = f'; is a comma missing behind "{behind}"?' if behind else ""
        raise CourseError(f"{path} is missing{meant}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise CourseError(f"{path}:{line}: this is not UTF-8; save the file in UTF-8") from None
