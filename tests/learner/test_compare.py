"""`tensorgrade compare` and `quiz`: after a pass, with solutions that the course gave out."""

import io
import shutil
from dataclasses import replace

import pytest
from rich.console import Console

from tensorgrade.author.bundle import files_of_kit, files_of_solutions, write_solutions
from tensorgrade.course import CourseError
from tensorgrade.learner.commands.compare import Version, compare, print_version, shown
from tensorgrade.learner.commands.quiz import ask, quiz
from tensorgrade.learner.kit import Kit
from tensorgrade.practice.questions import Question
from tensorgrade.project import Project

from ..kits import unpacked


@pytest.fixture(scope="module")
def kit(project, tmp_path_factory):
    """A kit in which the first two chapters are solved, without solutions."""
    return unpacked(project, tmp_path_factory.mktemp("kit"))


@pytest.fixture
def with_zip(project, kit, tmp_path):
    """A copy of it with the zip that an instructor hands out."""
    shutil.copytree(kit.root, tmp_path / "kit")
    write_solutions(project, tmp_path / "kit" / "solutions.zip")
    return Kit(tmp_path / "kit")


def console() -> Console:
    return Console(file=io.StringIO(), width=100, highlight=False)


def test_a_long_line_of_code_is_wrapped_and_not_cut():
    line = "def f(a_long_name, another_long_name) -> torch.Tensor: return a_long_name"
    out = Console(file=io.StringIO(), width=40, highlight=False)
    print_version(out, Version("yours", line, line), None)
    assert "".join(line.split()) in "".join(out.file.getvalue().split())


def test_without_solutions_it_says_where_they_come_from(kit):
    with pytest.raises(CourseError, match=r"solutions\.zip"):
        compare(kit, "softmax", console())


def test_an_answer_that_is_no_letter_of_the_question_is_answered_with_the_letters(monkeypatch):
    question = Question("mean", "shape", "Which shape?", ("(2,)", "(3,)"), right=0)
    out, typed = console(), iter(["7", question.letter])
    monkeypatch.setattr(out, "input", lambda prompt: next(typed))
    assert ask(question, 1, out) == question.letter
    assert "Type one of the letters a, b, or q to stop." in out.file.getvalue()


@pytest.mark.slow
def test_it_shows_four_forms_with_their_times(with_zip):
    out = console()
    compare(with_zip, "softmax", out)
    said = out.file.getvalue()
    titles = ("yours", "the reference solution", "another accepted form", "PyTorch's own")
    assert [said.index(title) for title in titles] == sorted(said.index(t) for t in titles)
    assert said.count("µs") == 4
    assert "torch.softmax(x, dim=dim)" in said and "BEGIN SOLUTION" not in said


@pytest.mark.slow
def test_an_exercise_that_does_not_pass_is_not_shown(with_zip):
    for command in (compare, quiz):
        out = console()
        with pytest.raises(CourseError, match="does not pass yet"):
            command(with_zip, "causal_mask", out)
        assert "def " not in out.file.getvalue()


@pytest.mark.slow
def test_a_course_can_put_its_solutions_into_the_kit(project):
    course = replace(project.course, solutions_in_kit=True)
    open_project = Project(project.root)
    vars(open_project)["course"] = course
    names = files_of_kit(open_project).keys()
    assert files_of_solutions(project).keys() <= names
    assert not any(name.startswith("solutions/") for name in files_of_kit(project))


def test_a_damaged_zip_is_reported_in_a_sentence(with_zip):
    (with_zip.root / "solutions.zip").write_bytes(b"PK nonsense")
    with pytest.raises(CourseError, match="download it again"):
        compare(with_zip, "softmax", console())


def test_marks_and_docstrings_are_left_out():
    text = 'def f(x):\n    """Say."""\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION\n'
    assert shown(text, "f") == "def f(x):\n    return x"


@pytest.mark.slow
def test_a_quiz_asks_counts_and_stops(kit, monkeypatch):
    out = console()
    letters = iter(["z", "a", "a", "a"])
    monkeypatch.setattr(out, "input", lambda *_: next(letters))
    quiz(kit, "attention_weights", out)
    assert "of 3 right." in out.file.getvalue()
    out = console()
    monkeypatch.setattr(out, "input", lambda *_: "q")
    quiz(kit, "attention_weights", out)
    assert "right" not in out.file.getvalue()
