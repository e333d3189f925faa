"""Quizzes for a class: files for paper, Moodle and nbgrader, from code in the sandbox only."""

import csv
from dataclasses import replace
from xml.etree import ElementTree as Xml

import nbformat
import pytest

from tensorgrade.practice.questions import Question
from tensorgrade.practice.quizzes import (
    Quiz,
    page,
    quizzes,
    write_answers,
    write_quiz,
    write_quizzes,
)

from ..needs import needs

HOSTILE = Question(
    "softmax",
    "same",
    "After <script>alert(1)</script> \x1b[31m`x`?",
    ("`a` & b", "<b>c</b>", "]]>"),
    1,
    "line 3",
    'x = "</pre><img src=y>"',
)
QUIZ = Quiz("ada \"'{0}", [HOSTILE, HOSTILE])


def test_the_page_shows_learner_code_as_text_and_no_answer():
    text = page(QUIZ)
    assert "<script>" not in text and "<img" not in text and "&lt;script&gt;" in text
    assert "right" not in text.partition("<ol>")[2]


def test_moodle_gets_one_right_answer_for_each_question(tmp_path):
    write_quiz(QUIZ, tmp_path)
    (path,) = tmp_path.glob("*.moodle.xml")
    asked = Xml.parse(path).getroot().findall("question[@type='multichoice']")
    assert len(asked) == 2
    for question in asked:
        fractions = [answer.get("fraction") for answer in question.findall("answer")]
        assert fractions == ["0", "100", "0"]
        assert "<script>" not in question.findtext("questiontext/text")


def test_nbgrader_gets_valid_cells_whose_tests_hold_the_letter(tmp_path):
    write_quiz(QUIZ, tmp_path)
    (path,) = tmp_path.glob("*.ipynb")
    told = nbformat.reads(path.read_text(encoding="utf-8"), 4)
    nbformat.validate(told)
    (test,) = (cell for cell in told.cells if cell.id == "test_1")
    assert test.metadata.nbgrader.points == 1
    assert test.source.startswith("### BEGIN HIDDEN TESTS")
    exec(test.source, {"answer_1": " B "})
    with pytest.raises(AssertionError):
        exec(test.source, {"answer_1": "a"})
    others = [cell.source for cell in told.cells if cell.id != "test_1" and cell.id != "test_2"]
    assert not any('== "b"' in source for source in others)


def test_a_learner_without_a_question_gets_no_quiz_and_is_named(tmp_path):
    written, without = write_quizzes([Quiz("ada", [HOSTILE]), Quiz("bo", [])], tmp_path)
    assert ([quiz.student for quiz in written], without) == (["ada"], ["bo"])
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} == {"ada", "answers"}


def test_the_answers_are_a_table_of_their_own(tmp_path):
    write_answers([QUIZ], tmp_path / "answers.csv")
    rows = list(csv.DictReader((tmp_path / "answers.csv").open(encoding="utf-8")))
    assert [(row["number"], row["answer"]) for row in rows] == [("1", "b"), ("2", "b")]


def test_no_answer_is_a_formula_in_a_spreadsheet(tmp_path):
    formula = replace(HOSTILE, options=("1", "=HYPERLINK(1)", "2"))
    write_answers([Quiz("ada", [formula])], tmp_path / "answers.csv")
    (row,) = csv.DictReader((tmp_path / "answers.csv").open(encoding="utf-8"))
    assert row["in words"] == "'=HYPERLINK(1)"


@pytest.mark.slow
@needs("isolation 'namespaces'")
def test_a_class_gets_questions_on_passed_exercises_from_the_sandbox(project, tmp_path):
    chapter = "ch2_self_attention"
    text = project.solution(chapter).read_text(encoding="utf-8")
    broken = text.replace(" / d_k**0.5", "")
    for student, own in (("ada", text), ("bo", broken), ("cy", "import os\nos._exit(3)")):
        folder = tmp_path / "submitted" / student / chapter
        folder.mkdir(parents=True)
        (folder / f"{chapter}.py").write_text(own, encoding="utf-8")
    made = {
        quiz.student: {question.exercise for question in quiz.questions}
        for quiz in quizzes(project.exercises, tmp_path / "submitted", "auto", 1)
    }
    assert "attention_weights" in made["ada"] and "SelfAttention_v1" in made["ada"]
    assert "attention_weights" not in made["bo"] and "project_qkv" in made["bo"]
    assert made["cy"] == set()
