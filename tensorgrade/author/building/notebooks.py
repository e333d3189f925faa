"""Make an instructor's notebook from a chapter's source; nbgrader makes the learner's one from it.

Cell ids and grade ids are the same readable names. A rebuilt notebook therefore changes only with
its source, and a chapter that is released again still matches the cells of its old submissions.
"""

import base64
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ...course import Chapter, CourseError
from .script import PICTURE, Script

KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TOOLS = """\
# The course's tools: a check below each exercise, and the points that the checks count.
from tensorgrade.notebook import check, points"""
CHECK = 'check("{name}")'
POINTS = """\
# Your points come from hidden graders, which run your code somewhere else, on other numbers.
# Here the public checks run instead.
points("{name}")"""
LONGEST_ID = 50
DUE = "**Due: {due}.** If you have an extension, its date counts instead."


def notebook_text(script: Script, chapter: Chapter) -> str:
    """Return the text of the notebook for `source/`."""
    names = Names()
    cells = [
        made for cell in script.notebook.cells for made in cells_for(cell, script, chapter, names)
    ]
    first_lesson = next((cell for cell in cells if cell.cell_type == "markdown"), None)
    if chapter.due and first_lesson:
        heading, line_end, rest = first_lesson.source.partition("\n")
        first_lesson.source = f"{heading}\n\n{DUE.format(due=chapter.due)}{line_end}{rest}"
    first_code = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
    cells.insert(first_code, locked(new_code_cell(TOOLS), names.take("tools")))
    notebook = new_notebook(cells=cells, metadata=KERNEL)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def cells_for(
    cell: NotebookNode, script: Script, chapter: Chapter, names: "Names"
) -> list[NotebookNode]:
    """Return the notebook cells for a cell of the script.

    Hints are left out, because a check shows them one by one.
    """
    if "hints" in cell.metadata:
        return []
    if cell.cell_type == "markdown":
        return [locked(lesson_cell(cell.source, script.pictures), names.of_lesson(cell.source))]
    if "exercise" in cell.metadata:
        return exercise_cells(cell, chapter, names)
    if "active" in cell.metadata:  # for experiments: neither locked nor graded
        demonstration = new_code_cell(cell.source)
        demonstration.id = names.take(f"try-{names.exercise}" if names.exercise else "pictures")
        return [demonstration]
    return [locked(new_code_cell(cell.source), names.take("imports"))]


def lesson_cell(source: str, pictures: Path) -> NotebookNode:
    """Return a lesson cell with its pictures embedded. Raise CourseError if one is missing."""
    cell = new_markdown_cell(PICTURE.sub(r"![\1](attachment:\2)", source))
    for match in PICTURE.finditer(source):
        path = pictures / match[2]
        if not path.exists():
            raise CourseError(f"{path} is missing, a picture of a lesson")
        content = base64.b64encode(path.read_bytes()).decode()
        cell.setdefault("attachments", {})[match[2]] = {"image/png": content}
    return cell


def exercise_cells(cell: NotebookNode, chapter: Chapter, names: "Names") -> list[NotebookNode]:
    """Return the cell to write in, the check to run any number of times, and the graded cell."""
    name = cell.metadata["exercise"]
    names.exercise = name
    graded = new_code_cell(POINTS.format(name=name))
    written = marked(new_code_cell(cell.source), names.take(name), solution=True, locked=False)
    if "given" in cell.metadata:
        written.metadata["given"] = cell.metadata["given"]
    return [
        written,
        locked(new_code_cell(CHECK.format(name=name)), names.take(f"check-{name}")),
        marked(
            graded, names.take(f"points-{name}"), grade=True, points=chapter.exercise(name).points
        ),
    ]


def locked(cell: NotebookNode, name: str) -> NotebookNode:
    """Return a cell that learners can read but not change."""
    return marked(cell, name)


def marked(cell: NotebookNode, name: str, **roles: bool | float) -> NotebookNode:
    """Return a cell with nbgrader's metadata (schema 3), locked unless its roles say otherwise."""
    cell.id = name
    usual = {"grade": False, "solution": False, "locked": True, "task": False}
    cell.metadata["nbgrader"] = {"grade_id": name, "schema_version": 3, **usual, **roles}
    return cell


class Names:
    """A source of readable names that never repeats one."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.exercise = ""

    def of_lesson(self, text: str) -> str:
        """Return a name from the first heading, or else from the previous exercise.

        >>> Names().of_lesson("# Why the sum is divided by $\\\\sqrt{n}$")
        'why-the-sum-is-divided-by-sqrt-n'
        """
        heading = re.search(r"^#+ (.+)$", text, re.MULTILINE)
        if not heading:
            return self.take(f"after-{self.exercise or 'imports'}")
        words = re.findall(r"[a-z0-9]+", heading[1].lower())
        return self.take("-".join(words)[:LONGEST_ID].rstrip("-"))

    def take(self, name: str) -> str:
        """Return the name, with a number added if it is taken.

        >>> names = Names()
        >>> [names.take("imports") for _ in range(3)]
        ['imports', 'imports-2', 'imports-3']
        """
        free, number = name, 1
        while free in self.taken:
            number += 1
            free = f"{name}-{number}"
        self.taken.add(free)
        return free
