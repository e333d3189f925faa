"""Wrong answers without a known mistake that give the same results are a group."""

import pytest

from ..author.small_course import CHAPTER, LESSON
from ..support import grade

WRONG = {
    "ada": "return x * (factor + 1)",
    "bo": "return x * factor + x",
    "cy": "y = factor * x\n    return x + y",
    "dee": "return x * factor * 5",
    "eve": "return x + factor",
    "fay": "return factor * x",
    "gus": "return (x * factor",
}
NAMES = ("ada", "bo", "cy")


@pytest.mark.slow
def test_three_equal_wrong_answers_are_a_group(small_course, tmp_path):
    text = (small_course / LESSON).read_text(encoding="utf-8")
    for student, body in WRONG.items():
        place = tmp_path / "submitted" / student / CHAPTER
        place.mkdir(parents=True)
        (place / f"{CHAPTER}.py").write_text(text.replace("return x * factor", body), "utf-8")

    options = ("--isolation", "none", "--jobs", "1")
    graded = grade(tmp_path / "submitted", tmp_path / "out", *options, cwd=small_course)
    rows = {who: row for (who, _, name), row in graded.rows.items() if name == "scaled"}
    assert {who: row["mistakes"] for who, row in rows.items() if row["mistakes"]} == {
        "eve": ["scaled_factor_added"]
    }
    group = rows["ada"]["group"]
    assert group and {who for who, row in rows.items() if row["group"] == group} == {*NAMES}
    assert not any(rows[who]["group"] for who in ("eve", "fay", "gus"))
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"3 learners, group <code>{group}</code>" in page and "return x * (factor + 1)" in page
