"""A class's own mistake: three equal wrong answers are a group; it gets a name, and is named."""

import shutil

import pytest

from ..support import cli, grade
from .small_course import CHAPTER, LESSON, build, refused

SAID = "The factor is one too large."
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
def test_three_equal_wrong_answers_become_a_mistake(small_course, tmp_path):
    course = shutil.copytree(small_course, tmp_path / "small")
    text = (course / LESSON).read_text(encoding="utf-8")
    for student, body in WRONG.items():
        place = tmp_path / "submitted" / student / CHAPTER
        place.mkdir(parents=True)
        (place / f"{CHAPTER}.py").write_text(text.replace("return x * factor", body), "utf-8")

    def rows(out: str) -> dict[str, dict]:
        options = ("--isolation", "none", "--jobs", "1")
        graded = grade(tmp_path / "submitted", tmp_path / out, *options, cwd=course)
        return {who: row for (who, _, name), row in graded.rows.items() if name == "scaled"}

    before = rows("before")
    assert {who: row["mistakes"] for who, row in before.items() if row["mistakes"]} == {
        "eve": ["scaled_factor_added"]
    }
    group = before["ada"]["group"]
    assert group and {who for who, row in before.items() if row["group"] == group} == {*NAMES}
    assert not any(before[who]["group"] for who in ("eve", "fay", "gus"))

    def adopt(name: str, message: str, *more: object, whose: str = group):
        words = ("adopt", tmp_path / "before", whose, "--name", name, "--message", message)
        return cli(*words, *more, cwd=course)

    for name, message, whose, why in (
        ("scaled_factor_added", SAID, group, "is taken"),
        ("two words", SAID, group, "is not a name"),
        ("fine", "", group, "the message has 0 characters"),
        ("fine", SAID, "..", "holds no group"),
    ):
        done = adopt(name, message, whose=whose)
        assert done.returncode == 2 and why in " ".join(done.stderr.split()), done
    preview = adopt("one_too_many", SAID, "--deduction", 0.25, "--preview").stdout
    assert "ada: 1 of 5 points become 3.75" in preview
    assert "run `tensorgrade build`" in adopt("one_too_many", SAID).stdout
    build(course)

    after = rows("after")
    for who in NAMES:
        assert (after[who]["mistakes"], after[who]["message"]) == (["one_too_many"], SAID)
        assert after[who]["points"] == before[who]["points"]
    assert after["dee"]["mistakes"] == [] and after["fay"]["points"] == 5
    adopted = (course / "graders" / CHAPTER / "scaled.adopted.json").read_text(encoding="utf-8")
    right = adopted.replace("(factor + 1)", "factor")
    (course / "graders" / CHAPTER / "scaled.adopted.json").write_text(right, encoding="utf-8")
    assert "looks like a right answer" in refused(course)
