"""An author, from an empty folder to a graded submission of a new exercise."""

import zipfile

import pytest

from ..support import cli, grade, release, submit

pytestmark = pytest.mark.slow
CHAPTER = "ch2_distances"
LESSON = '''# ## Center
#
# Before you compare two columns of measurements, shift each one so that its mean is 0.

# %% exercise="center"
def center(x: torch.Tensor, dim: int = 0) -> torch.Tensor:
    """Return x minus its mean along `dim`. The result has the shape of x."""
    ### BEGIN SOLUTION
    return x - x.mean(dim=dim, keepdim=True)
    ### END SOLUTION

# %% [markdown] hints="center"
# 1. What is the mean of each column of [[1, 2], [3, 6]]?
# 2. `torch.mean` has an argument that keeps the dimension it averages over.
'''
GRADER = '''"""Cases, checks and known mistakes of center."""

from tensorgrade.author import call, case, check, it, normal


def cases(draw):
    """Return matrices. Graders draw larger sizes than learners."""
    rows, columns = draw((10, 20), (21, 30))
    return [
        case("columns/matrix", call(x=normal(rows, columns))),
        case("rows/matrix", call(x=normal(rows, columns), dim=1)),
    ]


CHECKS = [
    check(3, "Without `dim`, the mean of each column becomes 0.", it.agrees("columns")),
    check(2, "With `dim=1`, the mean of each row becomes 0.", it.agrees("rows")),
]

MISTAKES = """
one_mean: One mean is subtracted.
    x.mean(dim=dim, keepdim=True) -> x.mean()
always_columns: The `dim` is ignored.
    dim=dim -> dim=0
mean_detached: No gradient flows.
    keepdim=True) -> keepdim=True).detach()
"""
'''


def test_an_author_of_an_exercise(tmp_path):
    """Start a course with a second chapter, and add an exercise to it.

    Write its solution and its grader, with a mistake that no case shows, and build: an error.
    Correct the case, build, and check that everything is fresh and every mistake is noticed.
    Grade a right, a wrong and an untouched submission of the exercise, and pack the kit.
    """
    course = tmp_path / "course"
    assert cli("new", "course", course, cwd=tmp_path).returncode == 0
    for words in (("chapter", CHAPTER), ("exercise", CHAPTER, "center")):
        done = cli("new", *words, cwd=course)
        assert done.returncode == 0, done.stdout + done.stderr
    solution = course / "solutions" / f"{CHAPTER}.py"
    grader = course / "graders" / CHAPTER / "center.py"
    sample = solution.read_text(encoding="utf-8")
    solution.write_text(sample[: sample.index("# ## Center")] + LESSON, encoding="utf-8")
    grader.write_text(GRADER, encoding="utf-8")

    refused = cli("build", cwd=course)
    line = 1 + GRADER[: GRADER.index("mean_detached")].count("\n")
    said = refused.stdout + refused.stderr
    assert refused.returncode == 1
    assert f"center.py:{line}" in said and "mean_detached" in said
    columns = "normal(rows, columns)"
    corrected = GRADER.replace(columns, f"{columns}, gradient={columns}", 1)
    grader.write_text(corrected, encoding="utf-8")
    for command in ("build", "prove"):
        done = cli(command, cwd=course)
        assert done.returncode == 0, done.stdout + done.stderr

    text = solution.read_text(encoding="utf-8")
    stub = (course / "exercises" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    wrong = text.replace("x.mean(dim=dim, keepdim=True)", "x.mean()")
    for who, own in {"ada": text, "bao": wrong, "cleo": stub}.items():
        submit(tmp_path / "submitted", who, CHAPTER, own)
    graded = grade(
        tmp_path / "submitted", tmp_path / "out", "--isolation", "none", "--jobs", "1", cwd=course
    )
    rows = {who: graded.rows[who, CHAPTER, "center"] for who in ("ada", "bao", "cleo")}
    found = {who: (row["status"], row["points"], row["mistakes"]) for who, row in rows.items()}
    assert graded.status == 0 and found == {
        "ada": ("passed", 5, []),
        "bao": ("partial", 2.5, ["one_mean"]),
        "cleo": ("not_attempted", 0, []),
    }
    assert rows["bao"]["message"] == "One mean is subtracted."

    release(course)
    assert cli("bundle", "--out", tmp_path / "kit.zip", cwd=course).returncode == 0
    with zipfile.ZipFile(tmp_path / "kit.zip") as kit:
        texts = [kit.read(name) for name in kit.namelist() if not name.endswith(".whl")]
    assert any(b"def center(" in text for text in texts)
    assert not any(b"return x - x.mean(" in text for text in texts)
