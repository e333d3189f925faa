"""An instructor who uses nbgrader, from the released notebook to the grades."""

import pytest

from ..nbgrader_plugin.scratch import CH1, Scratch
from ..support import ROOT

pytestmark = pytest.mark.slow


def test_an_instructor_with_nbgrader(tmp_path):
    """Generate and release the assignment; learners fetch and submit it.

    Ada submits a notebook with one mistake, Bao a right one.
    Collect, autograde, generate and release feedback, which a learner fetches.
    Export the grades, and autograde again: nothing changes.
    """
    scratch = Scratch(tmp_path)
    scratch.run("generate_assignment", CH1)
    released = (scratch.root / "release" / CH1 / f"{CH1}.ipynb").read_text(encoding="utf-8")
    assert "raise NotImplementedError" in released and "inputs @ query" not in released
    scratch.run("release_assignment", CH1)
    for who in ("ada", "bao"):
        folder = scratch.learner(who, "fetch_assignment")
        assert (folder / "checks.zip").is_file()
        answers = (ROOT / "source" / CH1 / f"{CH1}.ipynb").read_text(encoding="utf-8")
        if who == "ada":
            answers = answers.replace("inputs @ query", "inputs @ inputs.T", 1)
        (folder / f"{CH1}.ipynb").write_text(answers, encoding="utf-8")
        scratch.learner(who, "submit")

    scratch.run("collect", CH1)
    scratch.run("autograde", CH1)
    scratch.run("generate_feedback", CH1)
    scratch.run("release_feedback", CH1)
    fetched = scratch.learner("ada", "fetch_feedback") / "feedback"
    (page,) = (path.read_text(encoding="utf-8") for path in fetched.rglob("*.html"))
    assert "all_pairs" in page and "return inputs @ query" not in page
    expected = {"ada": 36.5, "bao": 39}
    assert scratch.scores() == expected
    scratch.run("autograde", CH1, "--force")
    assert scratch.scores() == expected
