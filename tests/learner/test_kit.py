"""The learner's kit: exercises are put back and opened, work is submitted, progress is kept."""

import io
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tensorgrade.attempts.results import CheckResult, Topic
from tensorgrade.cli.learners import EXERCISES, folder_of_tests, here_if_inside
from tensorgrade.cli.program import app
from tensorgrade.course import Course, CourseError
from tensorgrade.history import Entry, History, is_learners, remember
from tensorgrade.judging.learner_names import Names
from tensorgrade.learner.commands.progress import show_progress
from tensorgrade.learner.commands.submit import Part, print_part, submit
from tensorgrade.learner.kit import Kit, editor_command, find_kit, line_to_edit, reset
from tensorgrade.views.summary import group

from ..commands import run, run_pytest
from ..kits import unpacked

CHAPTER = "ch1_simplified_attention"


@pytest.fixture(scope="module")
def fresh(project, tmp_path_factory):
    """A kit in which nothing is solved."""
    return unpacked(project, tmp_path_factory.mktemp("kit"), ())


@pytest.fixture
def kit(fresh, tmp_path):
    """A copy of it that a test may change."""
    shutil.copytree(fresh.root, tmp_path / "kit")
    return Kit(tmp_path / "kit")


def write(kit, old: str, new: str) -> None:
    """Change the learner's file for the first chapter."""
    path = kit.path(CHAPTER)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")


def console() -> Console:
    return Console(file=io.StringIO(), width=100, highlight=False)


def test_reset_puts_back_one_exercise_and_keeps_a_copy(kit):
    before = kit.text(CHAPTER)
    write(kit, "raise NotImplementedError", "return inputs @ query")
    write(kit, "raise NotImplementedError", "return x.exp()")
    mine = kit.text(CHAPTER)
    copy = reset(kit, "attention_scores")
    assert copy.read_text(encoding="utf-8") == mine
    assert "return x.exp()" in kit.text(CHAPTER)
    assert "return inputs @ query" not in kit.text(CHAPTER)
    reset(kit, "softmax_naive")
    assert kit.text(CHAPTER) == before


def test_reset_of_an_exercise_whose_definition_is_gone_names_the_chapter(kit):
    before = kit.text(CHAPTER)
    write(kit, "def softmax(", "def my_softmax(")
    with pytest.raises(CourseError, match=f"tensorgrade reset {CHAPTER}"):
        reset(kit, "softmax")
    reset(kit, CHAPTER)
    assert kit.text(CHAPTER) == before


def test_reset_works_in_a_file_that_is_not_valid_python(kit):
    write(kit, "raise NotImplementedError", "return (inputs @")
    reset(kit, "attention_scores")
    assert kit.text(CHAPTER) == kit.original(CHAPTER)


def test_a_missing_file_is_named_with_the_command_that_restores_it(kit, monkeypatch):
    kit.path(CHAPTER).unlink()
    for ask in (lambda: kit.text(CHAPTER), lambda: submit(kit, [CHAPTER], console())):
        with pytest.raises(CourseError, match=f"there is no file exercises/{CHAPTER}.py; `tens"):
            ask()
    monkeypatch.chdir(kit.root)
    said = CliRunner().invoke(app, ["reset", "softmax"]).stdout
    assert said == "softmax is restored. The chapter's file was missing.\n"
    assert kit.text(CHAPTER) == kit.original(CHAPTER)


def test_two_copies_in_the_same_second_are_both_kept(kit):
    assert reset(kit, "softmax") != reset(kit, "softmax")


def test_edit_opens_the_line_to_write_and_later_the_definition(kit):
    lines = kit.text(CHAPTER).split("\n")
    at = line_to_edit(kit.text(CHAPTER), "softmax")
    assert lines[at - 1].strip() == "raise NotImplementedError"
    write(kit, "raise NotImplementedError", "return inputs @ query")
    at = line_to_edit(kit.text(CHAPTER), "attention_scores")
    assert kit.text(CHAPTER).split("\n")[at - 1].startswith("def attention_scores(")


@pytest.mark.parametrize(
    ("editor", "opened"),
    [
        ("nano", ["nano", "+7", "a.py"]),
        ("/usr/bin/vim -n", ["/usr/bin/vim", "-n", "+7", "a.py"]),
        ("code -w", ["code", "-w", "--goto", "a.py:7"]),
        ("hx", ["hx", "a.py:7"]),
        ("notepad", ["notepad", "a.py"]),
        ("", []),
    ],
)
def test_editors_are_told_the_line_in_their_own_way(monkeypatch, editor, opened):
    monkeypatch.setenv("EDITOR", editor)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("TERM_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", "")
    from pathlib import Path

    assert editor_command(Path("a.py"), 7) == opened


def test_commands_outside_a_kit_say_where_to_go(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CourseError, match="go to the course's folder first"):
        find_kit()


@pytest.mark.slow
def test_the_self_check_records_outcomes_and_mistakes_once(kit):
    write(kit, "raise NotImplementedError", "return inputs @ inputs.T")
    for _ in range(2):
        run_pytest("exercises", "-k", "attention_scores", cwd=kit.root)
    (entry,) = History(kit.root).entries()
    assert (entry.exercise, entry.state, entry.mistakes) == (
        "attention_scores",
        "wrong",
        ("all_pairs",),
    )
    out = console()
    show_progress(kit, out)
    assert "attention_scores" in out.file.getvalue() and "all_pairs" in out.file.getvalue()


def test_damaged_lines_of_the_history_are_left_out(tmp_path):
    history = History(tmp_path)
    good = Entry("2026-11-25T10:00:00+00:00", "f", "done", 2.0)
    history.add([good])
    with history.path.open("a", encoding="utf-8") as file:
        file.write('{"at": 3}\nnonsense\n{"at": "2026-11-25T10:00:00", "exercise": "g"}\n')
    assert history.entries() == [good]


def test_an_outcome_that_is_the_same_is_not_recorded_again(tmp_path):
    history, at = History(tmp_path), "2026-11-25T10:00:00+00:00"
    history.add([Entry(at, "f", "wrong", 1.0, ("no_scale",))])
    history.add([Entry(at, "f", "wrong", 1.0, ("no_scale",)), Entry(at, "g", "to do", 0.0)])
    history.add([Entry(at, "f", "done", 2.0)])
    assert [entry.state for entry in history.entries()] == ["wrong", "done"]


def test_only_a_learners_own_files_are_recorded(project, kit, tmp_path):
    assert is_learners(kit.exercises, kit.exercises)
    assert is_learners(project.exercises, project.exercises), "a learner may work in a clone"
    assert not is_learners(kit.exercises, tmp_path)
    assert not is_learners(project.graders, project.graders)


def test_a_folder_that_cannot_be_written_stops_nothing(kit):
    kit.own.rename(kit.root / "moved")
    kit.own.write_text("a file in the way", encoding="utf-8")
    from tensorgrade.attempts.results import CheckResult

    remember(kit.exercises, kit.exercises, group([CheckResult("softmax", 1, True)]))


@pytest.mark.slow
def test_nothing_begun_is_not_submitted(kit):
    with pytest.raises(CourseError, match="nothing to submit"):
        submit(kit, [], console())


@pytest.mark.slow
@pytest.mark.parametrize("form", ["zip", "files", "chapters"])
def test_submit_writes_what_the_course_system_takes_and_says_what_is_missing(kit, form):
    course = json.loads((kit.exercises / "course.json").read_text(encoding="utf-8"))
    told = json.dumps(course | {"submit_as": form})
    (kit.exercises / "course.json").write_text(told, encoding="utf-8")
    write(kit, "raise NotImplementedError", "return inputs @ query")
    out = console()
    submit(kit, [], out)
    said = out.file.getvalue()
    assert "5 exercises not written: softmax_naive" in said
    if form == "files":
        names = [path.name for path in (kit.root / "attention-submission").iterdir()]
    else:
        names = zipfile.ZipFile(kit.root / "attention-submission.zip").namelist()
    folder = f"{CHAPTER}/" if form == "chapters" else ""
    assert names == [f"{folder}{CHAPTER}.py"]
    page = (kit.root / "submission.html").read_text(encoding="utf-8")
    assert "attention_scores" in page and "5 of 39" in page


@pytest.mark.slow
def test_submit_names_weights_that_are_missing(kit):
    out = console()
    submit(kit, ["ch6_small_gpt"], out)
    assert "There is no my_model.safetensors" in out.file.getvalue()


def test_an_unknown_form_of_submission_is_refused(project, tmp_path):
    import runpy

    from tensorgrade.course_sources import resolve

    named = runpy.run_path(str(project.root / "course_config.py"), run_name="course_config")
    with pytest.raises(CourseError, match="submit_as"):
        resolve(replace(named["COURSE"], submit_as="fax"), project.root)


def test_the_kit_carries_how_to_submit_but_not_whether_solutions_are_in_it(project):
    course = replace(project.course, submit_as="files", solutions_in_kit=True)
    told = course.public_json()
    assert "solutions_in_kit" not in told
    assert Course.from_json(told).submit_as == "files"


@pytest.mark.slow
def test_a_learners_help_lists_the_new_commands_in_short_lines(kit):
    said = run("tensorgrade.cli", "--help", cwd=kit.root).stdout
    for command in ("reset", "edit", "submit", "progress", "review", "quiz", "compare"):
        assert f" {command} " in said
    assert "Write a quiz for each learner" not in said


def test_vs_code_and_coding_assistants_find_their_files(fresh):
    settings = json.loads((fresh.root / ".vscode" / "settings.json").read_text(encoding="utf-8"))
    assert settings["python.testing.pytestEnabled"] is True
    assert settings["editor.inlineSuggest.enabled"] is False
    for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"):
        assert "Explain, do not solve" in (fresh.root / name).read_text(encoding="utf-8")


def test_the_commands_find_the_tests_from_inside_the_exercises_too(kit, monkeypatch):
    monkeypatch.chdir(kit.exercises)
    assert (folder_of_tests(EXERCISES), here_if_inside(EXERCISES)) == (Path("."), Path("."))
    monkeypatch.chdir(kit.root)
    assert (folder_of_tests(EXERCISES), here_if_inside(EXERCISES)) == (EXERCISES, EXERCISES)
    monkeypatch.chdir(kit.root.parent)
    with pytest.raises(CourseError, match="no tests in exercises"):
        folder_of_tests(EXERCISES)


@pytest.mark.slow
def test_submit_says_where_the_file_is_from_inside_the_exercises(kit, monkeypatch):
    write(kit, "raise NotImplementedError", "return inputs @ query")
    monkeypatch.chdir(kit.exercises)
    out = console()
    submit(kit, ["ch1"], out)
    said = "".join(out.file.getvalue().split())
    assert f"Toupload:{kit.root}/{kit.course.name}-submission.zip" in said


def test_a_chapter_has_a_short_name_unless_an_exercise_has_it(kit):
    course = kit.course
    assert course.chapter_called("ch1").name == course.chapter_called(CHAPTER).name == CHAPTER
    assert course.chapter_called("ch") is None and course.chapter_called("softmax") is None
    first = course.chapters[0]
    other = replace(first, exercises=(replace(first.exercises[0], name="ch1"),))
    assert replace(course, chapters=(other,)).chapter_called("ch1") is None


def test_an_unknown_exercise_is_answered_with_few_names(kit):
    with pytest.raises(CourseError, match=f"the exercises of {CHAPTER} are attention_scores, "):
        kit.course.exercise("ch1")
    with pytest.raises(CourseError, match="named zzz; `tensorgrade hint` lists them"):
        kit.course.exercise("zzz")


def test_hint_lists_the_exercises_of_a_chapter_with_its_short_name(kit, monkeypatch):
    monkeypatch.chdir(kit.root)
    said = CliRunner().invoke(app, ["hint", "ch1"]).output
    assert "tensorgrade hint attention_scores" in said and "causal_mask" not in said


def test_reset_takes_the_short_name_of_a_chapter(kit):
    before = kit.text(CHAPTER)
    write(kit, "raise NotImplementedError", "return inputs @ query")
    reset(kit, "ch1")
    assert kit.text(CHAPTER) == before


def test_submit_calls_only_wrong_exercises_wrong(kit):
    finding = Names({"softmax": "soft_max"}).finding(1.0, right=True)
    names = CheckResult("softmax", 0.0, False, "", finding, -1.0, about=Topic.NAMES)
    checks = [CheckResult("softmax", 10.0, True), names]
    out = console()
    print_part(out, Part(kit.course.chapters[0], [], {"softmax": checks}, []))
    assert "softmax: misnamed" in out.file.getvalue() and "wrong" not in out.file.getvalue()
