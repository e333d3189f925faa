"""A clock for a whole submission: many calls, each within its own time, end together."""

import shutil
from pathlib import Path

import pytest

from ..author.small_course import CHAPTER, LESSON, edit
from ..support import grade, submit

pytestmark = pytest.mark.slow
RETURN = "    return x * factor"
HANGS = "    while True:\n        pass"
DEAF = f"""\
    import signal
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
{HANGS}"""
OWN_ERROR = "    raise type('OutOfTime', (Exception,), {})('never')"
# What `scaled` does, with its status, what is said, and the status of the other exercises.
FILES = {
    "right": (RETURN, "passed", "Right.", "passed"),
    "hangs": (HANGS, "timeout", "did not finish within", "passed"),
    "deaf": (DEAF, "timeout", "did not finish within", "passed"),
    "own_error": (OWN_ERROR, "error", "never", "passed"),
    "sleeps": (f"    import time\n    time.sleep(2.8)\n{RETURN}", "timeout", "whole chapter", ""),
}
WITH_A_LINE = ("hangs", "own_error")  # in the others, no exception can say where they are


@pytest.fixture(scope="module")
def graded(small_course: Path, tmp_path_factory):
    """The class, graded with 1 second for a case, 3 by the clock, and 5 for a chapter."""
    root = tmp_path_factory.mktemp("courses") / "hurried"
    shutil.copytree(small_course, root)
    edit(root, "course_config.py", "case_seconds=5", "case_seconds=1")
    edit(root, "course_config.py", "handin_seconds=120", "handin_seconds=5")
    text = (root / LESSON).read_text(encoding="utf-8")
    assert text.count(RETURN) == 1
    for name, (body, *_) in FILES.items():
        submit(root / "submitted", name, CHAPTER, text.replace(RETURN, body))
    return grade(root / "submitted", root / "out", "--isolation", "none", "--jobs", 2, cwd=root)


@pytest.mark.parametrize("name", FILES)
def test_time_that_runs_out_costs_what_it_has_to(graded, name: str):
    _, status, said, others = FILES[name]
    rows = {key[2]: row for key, row in graded.rows.items() if key[0] == name}
    row = rows.pop("scaled")
    assert row["status"] == status and said in row["message"], row
    assert (row["line"] is not None) == (name in WITH_A_LINE), row
    if others:
        assert {one["status"] for one in rows.values()} == {others}, rows
