"""Definitions from public code, each with its expected verdict.

`tests/open_world/` holds the definitions. Its cases.tsv says what each of them is worth, which
mistakes it contains, which line is reported, and how the message begins. No line is better than a
wrong one.
"""

import csv
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "open_world"


def cases() -> list[dict[str, str]]:
    """Read the table of verdicts."""
    with (FOLDER / "cases.tsv").open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file, delimiter="\t")]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_public_code_gets_the_verdict_that_it_should(project, judged, case):
    solution = project.solution(case["chapter"]).read_text(encoding="utf-8")
    text = (FOLDER / f"{case['name']}.py").read_text(encoding="utf-8")
    found = judged(case["chapter"], case["exercise"], f"{solution}\n\n{text}")
    assert (found.points, set(found.mistakes)) == (
        pytest.approx(float(case["points"])),
        set(case["mistakes"].split()),
    )
    assert found.message.startswith(case["says"])
    lines = ["", *f"{solution}\n\n{text}".splitlines()]
    assert lines[found.line or 0].strip() == case["line"]
    assert not found.line or found.line > len(solution.splitlines())


def test_every_definition_is_in_the_table():
    names = [case["name"] for case in cases()]
    assert sorted(names) == sorted(path.stem for path in FOLDER.glob("*.py"))
