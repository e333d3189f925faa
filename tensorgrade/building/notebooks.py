"""Makes an instructor's notebook from a chapter's source: lessons, exercises, checks, points.

Cell ids and grade ids are the same readable names, so a rebuilt notebook differs only where its
source does, and a re-released chapter finds its old submissions' cells again.
"""

import re

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ..course import Chapter
from .script import Script

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
# Here the visible checks stand in for them.
points("{name}")"""
LONGEST_ID = 50


def notebook_text(script: Script, chapter: Chapter) -> str:
    """The notebook as it is stored in `source/`."""
    names = Names()
    cells = [made for cell in script.notebook.cells for made in cells_for(cell, chapter, names)]
    first_code = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
    cells.insert(first_code, locked(new_code_cell(TOOLS), names.take("tools")))
    notebook = new_notebook(cells=cells, metadata=KERNEL)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def cells_for(cell, chapter: Chapter, names: "Names") -> list:
    """What a cell of the script becomes. Hints are left out: a check shows them one by one."""
    if "hints" in cell.metadata:
        return []
    if cell.cell_type == "markdown":
        return [locked(new_markdown_cell(cell.source), names.of_lesson(cell.source))]
    if "exercise" in cell.metadata:
        return exercise_cells(cell, chapter, names)
    if "active" in cell.metadata:
        return [demonstration(cell.source, names)]
    return [locked(new_code_cell(cell.source), names.take("imports"))]


def exercise_cells(cell, chapter: Chapter, names: "Names") -> list:
    """The cell to write in, the check to run as often as one likes, and the graded cell."""
    name = cell.metadata["exercise"]
    names.exercise = name
    graded = new_code_cell(POINTS.format(name=name))
    return [
        marked(new_code_cell(cell.source), names.take(name), solution=True, locked=False),
        locked(new_code_cell(CHECK.format(name=name)), names.take(f"check-{name}")),
        marked(
            graded, names.take(f"points-{name}"), grade=True, points=chapter.exercise(name).points
        ),
    ]


def demonstration(source: str, names: "Names"):
    """A cell to run and to play with: it is not locked, and nothing in it counts."""
    cell = new_code_cell(source)
    cell.id = names.take(f"try-{names.exercise}" if names.exercise else "pictures")
    return cell


def locked(cell, name: str):
    """A cell that learners can read but not change."""
    return marked(cell, name)


def marked(cell, name: str, *, grade=False, solution=False, locked=True, **more):
    """A cell with nbgrader's metadata (schema 3)."""
    cell.id = name
    roles = {"grade": grade, "solution": solution, "locked": locked, "task": False}
    cell.metadata["nbgrader"] = {"grade_id": name, "schema_version": 3, **roles, **more}
    return cell


class Names:
    """Hands out readable names, each of them once."""

    def __init__(self):
        self.taken: set[str] = set()
        self.exercise = ""

    def of_lesson(self, text: str) -> str:
        """A name from the first heading; without one, from the exercise that it follows."""
        heading = re.search(r"^#+ (.+)$", text, re.MULTILINE)
        return self.take(slug(heading[1]) if heading else f"after-{self.exercise or 'imports'}")

    def take(self, name: str) -> str:
        """The name itself, or with a number where it is taken."""
        free, number = name, 1
        while free in self.taken:
            number += 1
            free = f"{name}-{number}"
        self.taken.add(free)
        return free


def slug(heading: str) -> str:
    """A heading as an id.

    >>> slug("Why the scores are divided by $\\\\sqrt{d_k}$")
    'why-the-scores-are-divided-by-sqrt-d-k'
    """
    words = re.findall(r"[a-z0-9]+", heading.lower())
    return "-".join(words)[:LONGEST_ID].rstrip("-")
