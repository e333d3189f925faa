"""Makes the learner's stub: the lesson as comments, and every exercise without its solution."""

import jupytext
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from .script import Script, without_solutions


HEAD = """\
# The chapter's notebook has the same text and exercises. It also shows the pictures and prints the
# figures that the text speaks of; here you read about them.

"""


def stub_text(script: Script) -> str:
    """The stub as a percent script.

    Hints are left out (they are asked for one by one), and so are cells that only a notebook can
    show.
    """
    kept = [c for c in script.notebook.cells if "hints" not in c.metadata and "active" not in c.metadata]
    cells = [
        (new_markdown_cell if cell.cell_type == "markdown" else new_code_cell)(without_solutions(cell.source))
        for cell in kept
    ]
    text = jupytext.writes(new_notebook(cells=cells), fmt="py:percent")
    return HEAD + text[text.index("# %%") :]
