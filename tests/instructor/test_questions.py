"""`tensorgrade questions`: shapes in a learner's own code, each with its reason."""

import csv
import re

import pytest

from ..support import ROOT, cli, needs

CHAPTER = "ch2_self_attention"
OWN = """

def attention_weights(queries, keys):
    scores = queries @ keys.mT
    scaled = scores / keys.shape[-1] ** 0.5
    return torch.softmax(scaled, dim=-1)
"""


@pytest.mark.slow
@needs("the sandbox")
def test_a_class_gets_questions_on_passed_exercises(tmp_path):
    text = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    hostile = text.replace("import torch\n", "import torch\n\nSHOWN = '</pre><script>'\n", 1) + OWN
    broken = text.replace(" / d_k**0.5", "")
    for student, own in (("ada", hostile), ("bo", broken), ("cy", "import os\nos._exit(3)")):
        folder = tmp_path / "submitted" / student / CHAPTER
        folder.mkdir(parents=True)
        (folder / f"{CHAPTER}.py").write_text(own, encoding="utf-8")
    out = tmp_path / "questions"
    done = cli("questions", tmp_path / "submitted", "--out", out)
    assert done.returncode == 0 and "no questions for cy" in done.stdout, done.stdout + done.stderr
    with (out / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    asked = {
        who: {row["exercise"] for row in rows if row["student"] == who} for who in ("ada", "bo")
    }
    assert {"attention_weights", "SelfAttention_v1"} <= asked["ada"]
    assert "attention_weights" not in asked["bo"] and "project_qkv" in asked["bo"]
    assert {path.name for path in out.iterdir()} == {"ada.html", "bo.html", "answers.csv"}

    page = (out / "ada.html").read_text(encoding="utf-8")
    assert "<script" not in page and not any(row["reason"] in page for row in rows)
    questions = page.split('<li class="question">')[1:]
    own = [row for row in rows if row["student"] == "ada"]
    assert len(questions) == len(own)
    about_ours = 0
    for row, question in zip(own, questions, strict=True):
        options = re.findall(r"<li>(.*?)</li>", question)
        assert options.index(row["in words"]) == "abcd".index(row["answer"])
        assert 3 <= len(set(options)) == len(options)
        if "<pre>scores = queries" in question:
            queries, keys = re.findall(r"(?:queries|keys): (\(.*?\))", question)
            rows_of, columns = (re.findall(r"\d+", one) for one in (queries, keys))
            right = f"({', '.join([*rows_of[:-1], columns[-2]])})"
            assert row["in words"] == right
            assert (
                row["reason"]
                == f"`queries` is {queries} and `keys` is {keys}, so `scores` is {right}."
            )
            about_ours += 1
    assert about_ours
