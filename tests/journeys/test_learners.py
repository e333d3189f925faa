"""A learner with notebooks, from the unpacked kit to the file to upload."""

import json
import zipfile
from pathlib import Path

import pytest

from ..support import cli

pytestmark = pytest.mark.slow
CHAPTER = "ch1_simplified_attention"
RIGHT, WRONG = "return inputs @ query", "return inputs @ inputs.T"


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
