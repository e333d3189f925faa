"""Real runs on a machine that ends processes: nobody gets points, or loses them, for that."""

from pathlib import Path

import pytest

from ..support import ROOT, begin, rows_of
from .faults import end_processes_of_canaries
from .runs import CH1, NAMES, notes_in

pytestmark = pytest.mark.slow
SOLUTION = (ROOT / "solutions" / f"{CH1}.py").read_text(encoding="utf-8")
LAST = NAMES[-1]
# One function ends its process each time that it is called.
ENDS_LATE = f"{SOLUTION}\n\ndef {LAST}(*_, **__):\n    import os\n    os._exit(1)\n"


def ended(submitted: Path, out: Path, **environment: str) -> tuple[int, str]:
    """Grade a class to the end, and return the exit code and what the command says."""
    told = ("--out", out, "--isolation", "none", "--jobs", "1")
    process = begin("grade", submitted, *told, **environment)
    said, _ = process.communicate(timeout=400)
    assert "Traceback" not in said, said
    return process.returncode, said


def test_without_a_right_answer_that_passes_nothing_that_ends_is_graded(tmp_path):
    submitted, out = tmp_path / "in", tmp_path / "out"
    for student, text in {"ada": SOLUTION, "bao": ENDS_LATE, "chi": f"{SOLUTION}#"}.items():
        path = submitted / student / CH1 / f"{CH1}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    status, said = ended(submitted, out, **end_processes_of_canaries(tmp_path / "site", 0))
    assert status == 2 and not rows_of(out), said
    (why,) = [line for line in said.splitlines() if "tensorgrade: " in line]
    assert "even the course's own solution cannot be graded" in why
    status, said = ended(submitted, out, **end_processes_of_canaries(tmp_path / "site", 1))
    assert status == 1 and notes_in(said, f"not graded yet: bao/{CH1}, because even"), said
    assert {student for student, *_ in rows_of(out)} == {"ada", "chi"}
    status, said = ended(submitted, out)
    assert status == 0 and "2 of them graded before" in said and "not graded yet" not in said
    found = {name: rows_of(out)["bao", CH1, name]["status"] for name in NAMES}
    assert found == dict.fromkeys(NAMES, "passed") | {LAST: "killed"}, "a right answer passes now"
