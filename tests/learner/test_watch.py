"""`tensorgrade watch`: what is saved is checked at once, keys turn the pages, nothing hangs."""

import io
import time

import pytest
from rich.console import Console

from tensorgrade.learner.watch.loop import Saves, Watch, exercises
from tensorgrade.learner.watch.screen import Keys

CHAPTER = "ch1_simplified_attention"


@pytest.fixture(scope="module")
def folder(project, tmp_path_factory):
    """A learner's folder with one chapter, its stubs untouched."""
    made = tmp_path_factory.mktemp("learner")
    stub = (project.exercises / f"{CHAPTER}.py").read_text(encoding="utf-8")
    (made / f"{CHAPTER}.py").write_text(stub, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def session(project, folder):
    """A watch on that folder, started."""
    made = Watch(project.exercises, folder, Console(file=io.StringIO(), width=80))
    made.start()
    yield made
    made.close()


def shown(session) -> str:
    """Return the output since the last look at it."""
    text = session.console.file.getvalue()
    session.console.file.seek(0)
    session.console.file.truncate()
    return text


def save(session, folder, text: str) -> str:
    """Save the file, and the page that this leads to."""
    shown(session)
    (folder / f"{CHAPTER}.py").write_text(text, encoding="utf-8")
    assert session.look()
    return shown(session)


def with_answer(project, line: str) -> str:
    """The stubs with the first exercise written as this one line."""
    stub = (project.exercises / f"{CHAPTER}.py").read_text(encoding="utf-8")
    return stub.replace("raise NotImplementedError", line, 1)


@pytest.mark.slow
def test_it_starts_with_where_to_begin(session, project, folder):
    text = save(session, folder, with_answer(project, "raise NotImplementedError  # soon"))
    assert "Start here: attention_scores" in text
    assert "h hint   n next   l list   q quit" in text


@pytest.mark.slow
def test_a_save_gives_a_verdict_with_the_mistake_in_words(session, project, folder):
    text = save(session, folder, with_answer(project, "return inputs @ inputs.T"))
    assert (
        "all_pairs" in text
        and "Scores of all pairs are returned, not only of the given query." in text
    )
    assert "checked in" in text
    assert text.index(f"checking {CHAPTER}.py …") < text.index("all_pairs")


@pytest.mark.slow
def test_what_the_code_prints_in_the_call_is_below_the_note(session, project, folder):
    line = 'print("shape", tuple(inputs.shape)); return inputs @ inputs.T'
    text = save(session, folder, with_answer(project, line))
    assert "your code prints" in text and text.count("shape (6, 3)") == 1, text
    failing = 'print("shape", tuple(inputs.shape)); return inputs @ nothing'
    assert "shape (6, 3)" in save(session, folder, with_answer(project, failing))
    loud = 'print("\\n".join(map(str, range(900)))); return inputs @ inputs.T'
    text = save(session, folder, with_answer(project, loud))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("11") + 1] == "…" and "12" not in lines
    silent = with_answer(project, "return inputs @ inputs.T")
    assert "your code prints" not in save(session, folder, silent)


@pytest.mark.slow
def test_a_right_answer_is_done_and_n_leads_on(session, project, folder):
    assert "attention_scores is done" in save(
        session, folder, with_answer(project, "return inputs @ query")
    )
    session.press("n")
    assert "Start here: softmax_naive" in shown(session)


def test_hints_grow_one_by_one_and_begin_again_on_another_page(session, project, folder):
    session.press("h")
    first = shown(session)
    session.press("h")
    second = shown(session)
    assert "hint 1" in first and "hint 2" not in first and "hint 2" in second
    session.press("n")
    assert "hint 1" not in shown(session)


def test_the_list_shows_every_exercise_and_goes_away_again(session, project):
    session.press("l")
    text = shown(session)
    assert all(exercise.name in text for exercise in project.course.chapter(CHAPTER).exercises)
    assert "l back" in text and "l list" not in text
    session.press("l")
    text = shown(session)
    assert "Start here" in text and "l list" in text


@pytest.mark.slow
def test_an_endless_loop_is_ended_and_the_next_save_works(session, project, folder):
    began = time.monotonic()
    text = save(session, folder, with_answer(project, "while True: pass"))
    assert "did not come to an end" in " ".join(text.split()), text
    assert time.monotonic() - began < 20
    assert "attention_scores is done" in save(
        session, folder, with_answer(project, "return inputs @ query")
    )


def test_a_file_that_does_not_parse_costs_only_the_broken_part(session, project, folder):
    text = save(session, folder, with_answer(project, "return ((inputs @ query"))
    assert "SyntaxError" in text


def test_every_line_fits_into_80_columns(session, project, folder):
    text = save(
        session, folder, with_answer(project, "return inputs.mean() + 0 * (inputs @ query)")
    )
    assert max(map(len, text.splitlines())) <= 80


def test_only_q_ends_it(session):
    assert session.press("n") and session.press("x") and session.press("h")
    assert not session.press("q")


def test_a_save_is_noticed_once(tmp_path):
    path = tmp_path / "a.py"
    saves = Saves([path])
    assert saves.since_last() == []
    path.write_text("x = 1")
    assert saves.since_last() == [path]
    assert saves.since_last() == []


def test_without_a_terminal_there_are_no_keys(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("q"))
    with Keys() as keys:
        assert keys.next(0.001) is None


def test_exercises_come_in_the_order_of_the_course(project):
    names = exercises(project.course)
    assert names[0] == "attention_scores" and names[-1] == "bug_batches"
