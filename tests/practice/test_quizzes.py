"""Quizzes for a class: files for paper, Moodle and nbgrader, from code in the sandbox only."""

import csv
from xml.etree import ElementTree as Xml

import nbformat
import pytest

from ..support import ROOT, cli, needs

CHAPTER = "ch2_self_attention"


@pytest.mark.slow
@needs("the sandbox")
def test_a_class_gets_questions_on_passed_exercises(tmp_path):
    text = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    hostile = text.replace("import torch\n", "import torch\n\nSHOWN = '</pre><script>'\n", 1)
    broken = text.replace(" / d_k**0.5", "")
    for student, own in (("ada", hostile), ("bo", broken), ("cy", "import os\nos._exit(3)")):
        folder = tmp_path / "submitted" / student / CHAPTER
        folder.mkdir(parents=True)
        (folder / f"{CHAPTER}.py").write_text(own, encoding="utf-8")
    out = tmp_path / "questions"
    done = cli("questions", tmp_path / "submitted", "--out", out, "-n", 1)
    assert done.returncode == 0 and "cy" in done.stdout, done.stdout + done.stderr
    with (out / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    asked = {
        who: {row["exercise"] for row in rows if row["student"] == who}
        for who in "ada bo cy".split()
    }
    assert {"attention_weights", "SelfAttention_v1"} <= asked["ada"]
    assert "attention_weights" not in asked["bo"] and "project_qkv" in asked["bo"]
    assert asked["cy"] == set()

    own = [row["answer"] for row in rows if row["student"] == "ada"]
    (page,) = out.glob("ada*.html")
    assert "<script" not in page.read_text(encoding="utf-8")
    (moodle,) = out.glob("ada*.moodle.xml")
    questions = Xml.parse(moodle).getroot().findall("question[@type='multichoice']")
    assert len(questions) == len(own)
    for letter, question in zip(own, questions, strict=True):
        fractions = [answer.get("fraction") for answer in question.findall("answer")]
        assert fractions.index("100") == ord(letter) - ord("a") and fractions.count("100") == 1
    (path,) = out.glob("ada*.ipynb")
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), 4)
    nbformat.validate(notebook)
    tests = [cell for cell in notebook.cells if cell.id.startswith("test_")]
    assert len(tests) == len(own)
    for number, (letter, test) in enumerate(zip(own, tests, strict=True), 1):
        assert test.metadata.nbgrader.points == 1
        assert test.source.startswith("### BEGIN HIDDEN TESTS")
        exec(test.source, {f"answer_{number}": f" {letter.upper()} "})
        with pytest.raises(AssertionError):
            exec(test.source, {f"answer_{number}": "z"})
