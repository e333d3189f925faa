"""Definitions of a demanding learner, each with what the verdict and its message have to be.

`tests/learner_cases/` holds the definitions. Its cases.tsv names the points, the mistakes, the
message and its line (in the definition), and words that the message has to contain or must not.
"""

import csv
from pathlib import Path

import pytest

from ..sampling import first_of_each

FOLDER = Path(__file__).parents[1] / "learner_cases"


def cases() -> list[dict[str, str]]:
    """Read the table of expectations."""
    with (FOLDER / "cases.tsv").open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file, delimiter="\t")]


@pytest.mark.parametrize(
    "case",
    first_of_each(cases(), lambda case: case["message_id"]),
    ids=lambda case: case["name"],
)
def test_a_learner_reads_what_helps(project, judged, case):
    solution = project.solution(case["chapter"]).read_text(encoding="utf-8") + "\n\n"
    text = (FOLDER / f"{case['name']}.py").read_text(encoding="utf-8")
    found = judged(case["chapter"], case["exercise"], solution + text)
    line = found.line and found.line - solution.count("\n")
    asked = (float(case["points"]), case["mistakes"].split(), case["message_id"], case["line"])
    got = (found.points, found.mistakes, found.message_id, str(line or ""))
    assert got == (pytest.approx(asked[0]), *asked[1:])
    assert all(words.lower() in found.message.lower() for words in case["says"].split(" & "))
    assert not case["unsays"] or case["unsays"] not in found.message


def test_every_definition_is_in_the_table():
    names = [case["name"] for case in cases()]
    assert sorted(names) == sorted(path.stem for path in FOLDER.glob("*.py"))
