"""`tensorgrade watch`: what is saved is checked at once, keys turn the pages, nothing hangs."""

import io
import re
import time

import pytest
from rich.console import Console
from rich.text import Text

from tensorgrade.attempts.results import CheckResult
from tensorgrade.judging.diagnosis import Diagnosis, Finding, Kind, Observations
from tensorgrade.learner.watch.loop import WAIT_FOR_END, Watch
from tensorgrade.learner.watch.screen import Keys, Page, View
from tensorgrade.messages.message import Plain

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
    """A watch on that folder, started, without a terminal."""
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
    path = folder / f"{CHAPTER}.py"
    path.write_text(text, encoding="utf-8")
    session.saved([path])
    session.due[path] = 0.0, path.read_bytes()  # the file is complete
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
    assert "h hint   n next   o open   l list   q quit" in text


@pytest.mark.slow
def test_a_save_gives_a_verdict_with_the_mistake_in_words(session, project, folder):
    text = save(session, folder, with_answer(project, "return inputs @ inputs.T"))
    assert "Scores of all pairs are returned, not only the query's. [all_pairs]" in text
    assert "2.5 of 5 points: 0 of 4 checks passed; known mistake: −2.5" in text
    assert "checked in" in text
    assert text.index(f"checking {CHAPTER}.py …") < text.index("all_pairs")


@pytest.mark.slow
def test_what_the_code_prints_in_the_call_is_below_the_note(session, project, folder):
    line = 'print("shape", tuple(inputs.shape)); return inputs @ inputs.T'
    text = save(session, folder, with_answer(project, line))
    assert "Your code prints:" in text and text.count("shape (6, 3)") == 1, text
    failing = 'print("shape", tuple(inputs.shape)); return inputs @ nothing'
    assert "shape (6, 3)" in save(session, folder, with_answer(project, failing))
    loud = 'print("\\n".join(map(str, range(900)))); return inputs @ inputs.T'
    text = save(session, folder, with_answer(project, loud))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("11") + 1] == "…" and "12" not in lines
    silent = with_answer(project, "return inputs @ inputs.T")
    assert "Your code prints" not in save(session, folder, silent)


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
    session.press("l")
    assert "Start here" in shown(session)


@pytest.mark.slow
def test_an_endless_loop_is_ended_and_the_next_save_works(session, project, folder):
    began = time.monotonic()
    text = save(session, folder, with_answer(project, "while True: pass"))
    assert "did not finish" in " ".join(text.split()), text
    assert time.monotonic() - began < 20
    assert "attention_scores is done" in save(
        session, folder, with_answer(project, "return inputs @ query")
    )


@pytest.mark.slow
def test_a_file_that_does_not_parse_costs_only_the_broken_part(session, project, folder):
    text = save(session, folder, with_answer(project, "return ((inputs @ query"))
    assert "SyntaxError" in text


WINDOWS = [(60, 20), (80, 24), (120, 40)]
WRONG = {
    "values": "return inputs.mean() + 0 * (inputs @ query)",
    "a known mistake": "return inputs @ inputs.T",
    "an error": "return inputs @ torch.ones(7, 4) @ query",
    "much output": 'print("\\n".join(map(str, range(90)))); return (inputs @ query) + 1e-3',
}


def window(session, width, height) -> list[str]:
    """The lines of the page in a window of this size."""
    page = Page(session.course, session.page, session.by_exercise, session.folder)
    foot = [Text("the foot")]
    return [line.plain for line in page.lines(session.view, foot, width, height, False)]


@pytest.mark.slow
@pytest.mark.parametrize("line", WRONG.values(), ids=WRONG)
def test_a_page_fits_its_window_with_what_is_wrong_where_and_what_is_next(
    session, project, folder, line
):
    save(session, folder, with_answer(project, line))
    note = Page(session.course, session.page, session.by_exercise, folder).note
    for width, height in WINDOWS:
        lines = window(session, width, height)
        text = " ".join(" ".join(lines).split())
        assert len(lines) == height and max(map(len, lines)) <= width
        assert lines[0] == "attention_scores: wrong" and lines[-1] == "the foot"
        assert " ".join(note.sections.problem.split()) in text
        assert f"{CHAPTER}.py:" in "".join(one.strip() for one in lines)
        assert "Stuck? A hint: press h" in text


def failed(name: str, kind: Kind, remarks: int = 0) -> dict[str, list[CheckResult]]:
    """The results of an exercise with one failed check. remarks: the number of its remarks."""
    told = Observations(tuple(Plain(f"remark {n}") for n in range(remarks)))
    found = Finding("", Diagnosis(kind, Plain("it is wrong"), observe=lambda: told))
    return {name: [CheckResult(name, 5.0, False, finding=found)]}


def test_the_key_for_more_is_shown_only_if_the_page_is_longer_than_the_window(project, folder):
    for remarks, fits in ((1, True), (40, False)):
        results = failed("attention_scores", Kind.ERROR, remarks)
        page = Page(project.course, "attention_scores", results, folder)
        assert page.fits(View(), [Text("")], 80, 24) == fits
        shown = [page.lines(View(turns=n), [], 80, 24, False) for n in (0, 1)]
        assert (shown[0] == shown[1]) == fits


def test_for_a_missing_file_it_says_how_to_get_it_back_and_gives_no_hint(project, tmp_path):
    results = failed("attention_scores", Kind.ERROR)
    page = Page(project.course, "attention_scores", results, tmp_path)
    said = " ".join(page.sentences(View()))
    assert f"tensorgrade reset {CHAPTER}" in said and "hint" not in said


@pytest.mark.slow
def test_e_shows_the_whole_note_in_parts(session, project, folder):
    save(session, folder, with_answer(project, WRONG["much output"]))
    short = window(session, 60, 20)
    assert any("more lines: press e" in line for line in short)
    seen = []
    for _ in range(12):
        session.press("e")
        lines = window(session, 60, 20)
        assert len(lines) == 20
        if lines == short:
            break
        seen += lines
    assert lines == short and "  11" in seen and any(line.startswith("called") for line in seen)


@pytest.mark.slow
def test_a_terminal_is_drawn_again_only_for_another_size(project, folder, monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, width=80, height=24, force_terminal=True)
    made = Watch(project.exercises, folder, console)
    try:
        made.start()
        assert not made.plain and made.drawn_for == (80, 24)
        console.width = 60
        assert console.size != made.drawn_for
        made.draw()
        assert made.drawn_for == (60, 24)
    finally:
        made.close()


@pytest.mark.slow
def test_a_key_opens_the_line_to_look_at_in_the_editor(session, project, folder, monkeypatch):
    opened = []
    monkeypatch.setattr(
        "tensorgrade.learner.kit.subprocess.run", lambda command, **_: opened.append(command)
    )
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "nano")
    text = save(session, folder, with_answer(project, "return inputs @ inputs.T"))
    place = re.search(rf"{CHAPTER}\.py:(\d+)", text)
    assert session.press("o")
    assert opened == [["nano", f"+{place[1]}", str(folder / f"{CHAPTER}.py")]]
    assert f"opened line {place[1]}" in shown(session)


@pytest.mark.slow
def test_without_an_editor_the_key_says_what_to_set(session, monkeypatch):
    for name in ("VISUAL", "EDITOR", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tensorgrade.learner.kit.shutil.which", lambda _: None)
    assert session.press("o")
    assert "No editor is known" in shown(session)


def test_only_q_ends_it(session):
    assert session.press("n") and session.press("x") and session.press("h")
    assert not session.press("q")


@pytest.mark.slow
def test_a_save_is_noticed_once(session, folder):
    saves = session.saves()
    assert next(saves) == []
    path = folder / f"{CHAPTER}.py"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "notes.txt").write_text("no chapter", encoding="utf-8")
    found = [one for one, _ in zip(saves, range(20), strict=False) if one]
    assert found == [[path]]


def test_a_file_that_may_be_half_written_waits(session, folder):
    path = folder / f"{CHAPTER}.py"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[: len(whole) // 2], encoding="utf-8")
    session.saved([path])
    assert session.due[path][0] > time.monotonic() + WAIT_FOR_END / 2 and not session.look()
    path.write_text(whole, encoding="utf-8")
    session.saved([path])
    assert session.look() and not session.due


def test_without_a_terminal_there_are_no_keys(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("q"))
    with Keys() as keys:
        assert keys.next(0.001) is None


def test_exercises_come_in_the_order_of_the_course(project):
    names = project.course.exercise_names
    assert names[0] == "attention_scores" and names[-1] == "bug_batches"
