"""The kill matrix as a page of the docs, in Markdown."""

from ..project import Project
from ..views.words import plural
from .kill_matrix import BROKEN, ExerciseMatrix, kill_matrix

TITLE = """# Which hidden test notices which mistake

Made by `tensorgrade kill-matrix`; `tensorgrade kill-matrix --check` fails where this page is stale
or a gap opens. Each known mistake is put into the solution, and the hidden tests of its exercise
run on it, on the hidden cases.

- `●` the test judged the result wrong. `○` the code broke before there was a result to judge.
- Every mistake is noticed by at least one test.
- Every test judges at least one mistake wrong, or is a *guard*: it stands against what nobody has
  thought of yet. A guard that notices a mistake is reported as stale.
"""


def kill_page(project: Project) -> tuple[str, list[ExerciseMatrix]]:
    """The page's text, and the matrices that it shows."""
    matrices = kill_matrix(project)
    parts = [TITLE, totals(matrices), summary(matrices), *map(section, matrices)]
    return "\n".join(parts), matrices


def totals(matrices: list[ExerciseMatrix]) -> str:
    """One sentence with the sums."""
    mistakes = sum(len(matrix.rows) for matrix in matrices)
    tests = [test for matrix in matrices for test in matrix.tests]
    guards = sum(test.guard for test in tests)
    return f"{mistakes} wrong versions, {len(tests)} hidden tests, {plural(guards, 'guard')} among them.\n"


def summary(matrices: list[ExerciseMatrix]) -> str:
    """A line for each exercise."""
    rows = [(f"[{m.exercise}](#{m.exercise.lower()})", len(m.rows), len(m.tests), sum(t.guard for t in m.tests))
            for m in matrices]
    return table(("exercise", "mistakes", "tests", "guards"), rows)


def section(matrix: ExerciseMatrix) -> str:
    """One exercise: its tests by letter, then a row for each mistake."""
    letters = [chr(ord("a") + column) for column in range(len(matrix.tests))]
    tests = [test_row(matrix, column, letter) for column, letter in enumerate(letters)]
    rows = [(f"`{name}`", *row) for name, row in matrix.rows.items()]
    parts = [f"## {matrix.exercise}\n", table(TEST_COLUMNS, tests), table(("mistake", *letters), rows)]
    return "\n".join(parts)


TEST_COLUMNS = ("", "test", "judged wrong", "broke", "noticed by it alone")


def test_row(matrix: ExerciseMatrix, column: int, letter: str) -> tuple:
    """What one test does, in words and numbers."""
    test = matrix.tests[column]
    said = test.said + (" *(guard)*" if test.guard else "")
    return letter, said, matrix.kills(column), matrix.kills(column, BROKEN), matrix.alone(column)


def table(head: tuple, rows: list[tuple]) -> str:
    """A Markdown table; the first column to the left, the rest as they are."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"
