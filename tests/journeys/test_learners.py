"""Two learners, from the kit that they unpack to the file that they upload."""

import json
import shutil
import signal
import zipfile
from pathlib import Path

import pytest

from ..kits import begun, wait_until
from ..support import cli, run_pytest

pytestmark = pytest.mark.slow
CHAPTER = "ch1_simplified_attention"
STUB = "raise NotImplementedError"
RIGHT, WRONG = "return inputs @ query", "return inputs @ inputs.T"


@pytest.fixture
def own(kit, tmp_path) -> Path:
    """The kit, as a learner unpacks it."""
    return shutil.copytree(kit, tmp_path / "kit")


def test_a_learner_with_scripts(own):
    """Read the lessons and check the stubs.

    Then write a wrong answer, check it, look at its mistake, and ask for a hint.
    Start `watch`, save the right answer, and end `watch`.
    Check again, look at the progress, and submit.
    """
    chapter = own / "exercises" / f"{CHAPTER}.py"
    assert cli("read", "--no-show", cwd=own).returncode == 0
    assert "attention_scores" in (own / "lessons.html").read_text(encoding="utf-8")
    fresh = run_pytest("exercises", cwd=own)
    assert fresh.returncode == 1 and "0 of 39 points" in fresh.stdout

    stub = chapter.read_text(encoding="utf-8")
    chapter.write_text(stub.replace(STUB, WRONG, 1), encoding="utf-8")
    checked = run_pytest("exercises", "-k", "attention_scores", cwd=own)
    line = 1 + stub[: stub.index("def attention_scores(")].count("\n")
    assert checked.returncode == 1
    assert "2.5 of 5" in checked.stdout and "Scores of all pairs" in checked.stdout
    assert f"exercises/{CHAPTER}.py:{line}" in checked.stdout
    hint = cli("hint", "attention_scores", cwd=own)
    assert hint.returncode == 0 and "hint 1" in hint.stdout and "hint 2" not in hint.stdout

    page = own.parent / "page.txt"
    watch = begun("watch", cwd=own, written=page)
    wait_until(lambda: "attention_scores: wrong" in page.read_text("utf-8"), watch)
    chapter.write_text(stub.replace(STUB, RIGHT, 1), encoding="utf-8")
    wait_until(lambda: "attention_scores is done" in page.read_text("utf-8"), watch)
    watch.send_signal(signal.SIGINT)
    assert watch.wait(300) == 0

    assert run_pytest("exercises", "-k", "attention_scores", cwd=own).returncode == 0
    history = (own / ".tensorgrade" / "history.jsonl").read_text(encoding="utf-8")
    assert '"attention_scores"' in history and '"all_pairs"' in history
    submitted = cli("submit", cwd=own)
    assert submitted.returncode == 0 and "5 of 39 points" in submitted.stdout
    assert uploaded(own) == {f"{CHAPTER}.py": chapter.read_bytes()}


def test_a_learner_with_notebooks(own):
    """Open a notebook of the kit, write a wrong and a right answer, and run all cells.

    Look at the cards and the points below the answers. Correct the wrong answer, and submit.
    """
    path = own / "notebooks" / f"{CHAPTER}.ipynb"
    write(path, {"attention_scores": WRONG, "softmax_naive": "return x.exp() / x.exp().sum()"})
    run = ("--to", "notebook", "--execute", "--allow-errors", "--inplace", path.name)
    done = cli(*run, program="nbconvert", cwd=path.parent, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    cells = {cell["id"]: shown(cell) for cell in notebook(path)["cells"]}
    assert "Scores of all pairs" in cells["check-attention_scores"]
    assert "2.5 of 5" in cells["points-attention_scores"]
    assert "softmax_naive" in cells["check-softmax_naive"] and "✓" in cells["check-softmax_naive"]
    assert "5 of 5" in cells["points-softmax_naive"]
    assert "NotImplementedError" in cells["try-softmax"]

    write(path, {"attention_scores": RIGHT})
    submitted = cli("submit", cwd=own)
    assert submitted.returncode == 0 and "10 of 39 points" in submitted.stdout
    assert uploaded(own) == {f"{CHAPTER}.ipynb": path.read_bytes()}


def uploaded(kit: Path) -> dict[str, bytes]:
    """Return the files in the zip that `submit` wrote."""
    with zipfile.ZipFile(kit / "attention-submission.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def notebook(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, answers: dict[str, str]) -> None:
    """Write answers, each one line, at the ends of their cells."""
    content = notebook(path)
    for cell in content["cells"]:
        if cell["id"] in answers:
            kept = "".join(cell["source"]).rstrip().rpartition("\n")[0]
            cell["source"] = f"{kept}\n    {answers[cell['id']]}"
    path.write_text(json.dumps(content), encoding="utf-8")


def shown(cell: dict) -> str:
    """Return everything below a cell as one text."""
    return json.dumps(cell.get("outputs", []), ensure_ascii=False)
