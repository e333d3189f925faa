"""Read the running notebook: the cells run so far, and the names that a failed cell needs."""

import ast
import linecache
from types import TracebackType
from typing import TYPE_CHECKING

from ...course import CourseError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def find_shell() -> "InteractiveShell | None":
    """Return the running IPython shell, or None."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def cells_run() -> list[str]:
    """Return the text of every cell run so far, in order. Raises CourseError outside a notebook."""
    shell = find_shell()
    if shell is None or shell.history_manager is None:
        raise CourseError(
            "check(…) looks at a notebook's cells; for a file run `pytest exercises/`"
        )
    return list(shell.history_manager.input_hist_raw)


def called_on_the_way(trace: TracebackType) -> list[str]:
    """Return the functions in a traceback, the last one called first; for a method, its class."""
    found: list[str] = []
    step: TracebackType | None = trace
    while step is not None:
        found.insert(0, step.tb_frame.f_code.co_qualname.split(".")[0])
        step = step.tb_next
    return found


def stopped_cell(trace: TracebackType) -> str:
    """Return the text of the cell in which a traceback begins; an empty text if there is none."""
    step: TracebackType | None = trace
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_name == "<module>":
            return "".join(linecache.getlines(code.co_filename))
        step = step.tb_next
    return ""


def needed_by(cell: str, before: list[str]) -> list[str]:
    """Return the names that a cell uses, then the names used by the cells that define those.

    >>> needed_by("print(y)", ["def f(): pass", "y = f()"])
    ['print', 'y', 'f']
    """
    used = names(cell, ast.Load)
    makers = [other for other in before if set(used) & {*names(other, ast.Store)}]
    return list(dict.fromkeys([*used, *(n for other in makers for n in names(other, ast.Load))]))


def names(cell: str, use: type[ast.expr_context]) -> list[str]:
    """Return the names that a cell loads or stores, in order; none if it is not plain Python."""
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    ordered = sorted(found, key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys(node.id for node in ordered if isinstance(node.ctx, use)))
