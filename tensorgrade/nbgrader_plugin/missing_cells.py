"""Puts back graded cells that a learner's notebook has lost: its answers count all the same."""

import nbformat
from nbgrader.utils import is_grade


def restore_graded_cells(nb, released) -> None:
    """Append what is missing. released: the notebook as the gradebook knows it.

    A chapter that was released again may have new exercises; old submissions get their cells too.
    """
    there = {cell.metadata.nbgrader.grade_id for cell in nb.cells if is_grade(cell)}
    sources = {cell.name: cell for cell in released.source_cells}
    for graded in released.grade_cells:
        if graded.name not in there and graded.cell_type == "code":
            nb.cells.append(restored(graded, sources[graded.name]))


def restored(graded, source):
    """A graded cell made from the gradebook's records of it."""
    cell = nbformat.v4.new_code_cell(source.source)
    cell.metadata["nbgrader"] = {
        "grade": True,
        "grade_id": graded.name,
        "locked": True,
        "points": graded.max_score,
        "schema_version": 3,
        "solution": False,
        "task": False,
        "checksum": source.checksum,
        "cell_type": "code",
    }
    return cell
