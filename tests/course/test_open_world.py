"""Definitions from public code, each with its expected verdict.

`benchmarks/open_world/` holds the definitions. Its cases.tsv says what each of them is worth, which
mistakes it contains, which line is reported, and how the message begins. No line is better than a
wrong one.
"""

import csv

import pytest

from tensorgrade.author.proofs.open_world import Judged, cases, table
from tensorgrade.project import Project

from ..conftest import ROOT
from ..sampling import first_of_each

FOLDER = ROOT / "benchmarks" / "open_world"


def marked() -> list:
    """Return the cases as parameters of a test. A case that is a known gap has to fail."""
    params = []
    for one in first_of_each(cases(FOLDER), lambda case: case["chapter"]):
        (case,) = one.values
        gap = [pytest.mark.xfail(reason=case["gap"], strict=True)] if case["gap"] else []
        params.append(pytest.param(case, id=case["name"], marks=[*one.marks, *gap]))
    return params


@pytest.mark.slow
@pytest.mark.parametrize("case", marked())
def test_public_code_gets_the_verdict_that_it_should(project: Project, judged, case):
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
    names = [case["name"] for case in cases(FOLDER)]
    assert sorted(names) == sorted(path.stem for path in FOLDER.glob("*.py"))


def test_each_public_source_names_a_commit_or_a_page_and_existing_cases():
    names = {case["name"] for case in cases(FOLDER)}
    with (FOLDER / "sources.tsv").open(encoding="utf-8", newline="") as file:
        sources = [*csv.DictReader(file, delimiter="\t")]
    for source in sources:
        assert set(source["cases"].split()) <= names and source["shows"]
        assert source["kind"] == "learners" or len(source["commit"]) in (0, 40)
        assert source["kind"] != "learners" or not source["path"], "learners are only counted"
        assert (
            source["commit"]
            or source["kind"] == "learners"
            or source["path"].startswith("https://")
        )


def test_the_table_counts_a_wrong_line_as_false(project, judged):
    case = next(one for one in cases(FOLDER) if one["name"] == "keys_counted_by_queries")
    solution = project.solution(case["chapter"]).read_text(encoding="utf-8")
    text = (FOLDER / f"{case['name']}.py").read_text(encoding="utf-8")
    found = judged(case["chapter"], case["exercise"], f"{solution}\n\n{text}")
    right, wrong = (table([Judged(case, found, line)]) for line in (case["line"], "return out"))
    assert right.splitlines()[-1] == "| all |  | 1 of 1 | 1 of 1 | 1 of 1 | 0 of 1 |"
    assert wrong.splitlines()[-1] == "| all |  | 1 of 1 | 1 of 1 | 0 of 1 | 1 of 1 |"
