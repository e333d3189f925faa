"""A session of `tensorgrade watch` from within: its keys, its pages, and what a save checks."""

import io
import random
import re

import pytest
from rich.console import Console
from rich.text import Text

from tensorgrade.attempts.results import CheckResult, State, state_of
from tensorgrade.author.mistakes import known
from tensorgrade.judging.diagnosis import Finding, Kind, PublicDiagnosis
from tensorgrade.learner.watch import checker as checker_module
from tensorgrade.learner.watch.checker import Checker, Pieces
from tensorgrade.learner.watch.loop import Watch, outcome
from tensorgrade.learner.watch.screen import Page
from tensorgrade.recognition.edits import make

CHAPTER, CH2 = "ch1_simplified_attention", "ch2_self_attention"
NAMES = ("attention_scores", "softmax_naive", "softmax")
STUB = "raise NotImplementedError"


@pytest.fixture(scope="module")
def stub(project) -> str:
    return (project.exercises / f"{CHAPTER}.py").read_text(encoding="utf-8")


def begun(project, folder, stub: str) -> Watch:
    """Return a session on a folder with one chapter, without a terminal."""
    (folder / f"{CHAPTER}.py").write_text(stub, encoding="utf-8")
    made = Watch(project.exercises, folder, Console(file=io.StringIO(), width=80))
    made.start()
    return made


@pytest.fixture(scope="module")
def session(project, stub, tmp_path_factory):
    made = begun(project, tmp_path_factory.mktemp("learner"), stub)
    yield made
    made.close()


def shown(session) -> str:
    """Return the output since the last look at it."""
    text = session.console.file.getvalue()
    session.console.file.seek(0)
    session.console.file.truncate()
    return text


def save(session, text: str) -> str:
    """Save the file, and return the page that this leads to."""
    shown(session)
    path = session.checker.path(CHAPTER)
    path.write_text(text, encoding="utf-8")
    session.saved([path])
    session.due[path] = 0.0, path.read_bytes()  # the file is complete
    assert session.look()
    return shown(session)


@pytest.mark.slow
def test_keys_give_hints_turn_pages_and_list_the_exercises(session, project, stub):
    assert "attention_scores is done" in save(
        session, stub.replace(STUB, "return inputs @ query", 1)
    )
    told = []
    for key in ("n", "h", "h", "n", "l", "l"):
        assert session.press(key)
        told.append(shown(session))
    following, first, second, other, listed, again = told
    assert "Start here: softmax_naive" in following
    assert "hint 1" in first and "hint 2" not in first and "hint 2" in second
    assert "hint 1" not in other
    assert all(exercise.name in listed for exercise in project.course.chapter(CHAPTER).exercises)
    assert "Start here" in again and session.press("x") and not session.press("q")


@pytest.mark.slow
def test_a_key_opens_the_line_to_look_at_in_the_editor(session, stub, monkeypatch):
    opened = []
    monkeypatch.setattr(
        "tensorgrade.learner.kit.subprocess.run", lambda command, **_: opened.append(command)
    )
    for name in ("VISUAL", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    text = save(session, stub.replace(STUB, "return inputs @ inputs.T", 1))
    place = re.search(rf"{CHAPTER}\.py:(\d+)", text)
    path = str(session.checker.path(CHAPTER))
    for editor, words in (
        ("nano", [f"+{place[1]}", path]),
        ("code", ["--goto", f"{path}:{place[1]}"]),
        ("other", [path]),
    ):
        monkeypatch.setenv("EDITOR", editor)
        assert session.press("o") and opened[-1] == [editor, *words]
    assert f"opened line {place[1]}" in shown(session)
    monkeypatch.delenv("EDITOR")
    monkeypatch.setattr("tensorgrade.learner.kit.shutil.which", lambda _: None)
    assert session.press("o") and "No editor is known" in shown(session)


WRONG = {
    "values": "return inputs.mean() + 0 * (inputs @ query)",
    "a known mistake": "return inputs @ inputs.T",
    "an error": "return inputs @ torch.ones(7, 4) @ query",
    "much output": 'print("\\n".join(map(str, range(90)))); return (inputs @ query) + 1e-3',
}


@pytest.mark.slow
def test_a_page_fits_its_window_with_what_is_wrong_where_and_what_is_next(session, stub):
    for line in WRONG.values():
        text = save(session, stub.replace(STUB, line, 1))
        assert ("Your code prints:" in text) == ("print" in line)
        page = Page(session.course, session.page, session.by_exercise, session.folder)
        for width, height in ((60, 20), (80, 24), (120, 40)):
            drawn = page.lines(session.view, [Text("the foot")], width, height, False)
            lines = [one.plain for one in drawn]
            text = " ".join(" ".join(lines).split())
            assert len(lines) == height and max(map(len, lines)) <= width
            assert lines[0] == "attention_scores: wrong" and lines[-1] == "the foot"
            assert " ".join(page.note.sections.problem.split()) in text
            assert f"{CHAPTER}.py:" in "".join(one.strip() for one in lines)
            assert "Stuck? A hint: press h" in text


@pytest.mark.slow
def test_without_fork_loops_and_exits_cost_only_themselves(project, stub, tmp_path, monkeypatch):
    """As on Windows and macOS: learner code runs in one process that is kept."""
    monkeypatch.setattr("tensorgrade.sandbox.own_code.CAN_FORK", False)
    monkeypatch.setattr(checker_module, "PATIENCE", 1.0)
    made = begun(project, tmp_path, stub)
    deaf = "import signal, time; signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(600)"
    try:
        for line, said in (
            ("return inputs @ query", "attention_scores is done"),
            (deaf, "did not finish"),  # nothing interrupts this from within
            ("print('x' * 9999); return inputs @ inputs.T", "all_pairs"),
            ("import os; os._exit(1)", "attention_scores"),
            ("return inputs @ query", "attention_scores is done"),
        ):
            page = " ".join(save(made, stub.replace(STUB, line, 1)).split())
            assert said in page and ("is done" in page) == ("is done" in said), line
    finally:
        made.close()


# --- what a save concerns ---------------------------------------------------------------------


def checked(name: str, right: bool, value: float = 0.0) -> CheckResult:
    """Return the result of one check; a wrong one has seen this value."""
    seen = PublicDiagnosis(Kind.VALUES, f"the values differ by {value}")
    return CheckResult(name, 1, right, "asks", None if right else Finding("asks", seen))


class ByText:
    """In place of a checker: an exercise is right if the file holds `<name>: right`."""

    def __init__(self, course, folder):
        self.course, self.folder = course, folder
        self.then = lambda: None

    def path(self, chapter):
        return self.folder / f"{chapter}.py"

    def check(self, chapter):
        text = self.path(chapter).read_text(encoding="utf-8")
        self.then()
        names = [exercise.name for exercise in self.course.chapter(chapter).exercises]
        return {name: [checked(name, f"{name}: right\n" in text)] for name in names}, []


@pytest.fixture
def by_text(project, tmp_path, monkeypatch):
    """A session whose checker only reads text, and a text in which all exercises are right."""
    made = ByText(project.course, tmp_path)
    monkeypatch.setattr("tensorgrade.learner.watch.loop.Checker", lambda *_: made)
    names = [exercise.name for exercise in project.course.chapter(CHAPTER).exercises]
    text = "".join(f"{name}: right\n" for name in names) + "# the lesson goes on\n"
    return begun(project, tmp_path, text), text


def test_the_page_is_the_earliest_exercise_that_changed(by_text):
    session, text = by_text
    session.open("context_vector")
    save(session, text.replace("softmax: right", "softmax: wrong"))
    assert session.page == "softmax"
    session.open("context_vector")
    for name in ("softmax_naive", "context_vector"):
        text = text.replace(f"{name}: right", f"{name}: wrong")
    save(session, text)
    assert session.page == "softmax_naive"
    results = [[checked("softmax", False, value)] for value in (1.0, 1.0, 2.0)]
    assert outcome(results[0]) == outcome(results[1]) != outcome(results[2])


def test_a_file_that_changes_during_a_check_is_checked_again(by_text):
    session, text = by_text
    path = session.checker.path(CHAPTER)

    def change():
        session.checker.then = lambda: None
        path.write_text(text, encoding="utf-8")

    session.checker.then = change
    path.write_text(text.replace("right", "wrong"), encoding="utf-8")
    session.saved([path])
    session.due[path] = 0.0, path.read_bytes()
    assert not session.look() and session.look() and not session.due
    assert {state_of(checks) for checks in session.by_exercise.values()} == {State.DONE}


def test_a_finished_chapter_says_what_comes_next_and_the_course_congratulates(by_text, project):
    session, text = by_text
    chapter = project.course.chapter(CHAPTER)
    save(session, text.replace("right", "wrong"))
    said = " ".join(save(session, text).split())
    assert f"Well done: you have finished “{chapter.title}”" in said
    assert f"{chapter.points:g} points" in said and "Next: Self-attention" in said
    session.open(None)
    said = " ".join(shown(session).split())
    assert "Everything is done" in said and "Next: submit your files" in said


FILE = """import torch

def doubled(x):
    return 2 * x

class First:
    def run(self, x):
        return doubled(x)

class Second(First):
    pass

@torch.no_grad()
def third(x):
    return x
"""
# An edit of the file, and the definitions that it can affect; None: all.
REACHED = [
    ("import torch\n", "import torch\n\n# a comment\n", set()),
    ("2 * x", "3 * x", {"doubled", "First", "Second"}),
    ("def run", "def walk", {"First", "Second"}),
    ("@torch.no_grad()\n", "", {"third"}),
    ("class Second", "def fourth(): pass\n\nclass Second", {"fourth"}),
    ("def third", "def fifth", {"third", "fifth"}),
    ("import torch\n", "import torch\ntorch.manual_seed(1)\n", None),
    ("return x\n", "return (x\n", {"third"}),
]


def test_what_a_change_reaches():
    for old, new, reached in REACHED:
        assert old in FILE
        assert Pieces.of(FILE.replace(old, new)).reached_from(Pieces.of(FILE)) == reached, new
    patched = FILE + "First.run = third\n"
    now = Pieces.of(patched.replace("return x\n", "return -x\n"))
    assert now.reached_from(Pieces.of(patched)) is None, "a loose line speaks of what changed"


@pytest.mark.slow
def test_a_save_tells_the_same_as_a_check_of_everything(project, tmp_path, monkeypatch):
    """Known mistakes drawn by chance, each saved after the one before; one of them always stays."""
    monkeypatch.setattr(checker_module, "PATIENCE", 60.0)
    chance = random.Random(CH2)
    solution = project.solution(CH2).read_text(encoding="utf-8")
    names = [exercise.name for exercise in project.course.chapter(CH2).exercises]
    wrong = [(name, one.edits) for name in names for one in known(project, name)]
    standing, first = chance.choice(wrong)
    base = make(solution, standing, first)
    others = [one for one in wrong if one[0] != standing]
    texts = [base, *(make(base, *one) for one in chance.sample(others, 3)), base]
    checkers = []
    try:
        for folder in ("going on", "new each time"):
            (tmp_path / folder).mkdir()
            checkers.append(Checker(project.exercises, tmp_path / folder))
        for text in [*texts, f"# a line above\n{base}", solution]:
            told = []
            for checker in checkers:
                checker.path(CH2).write_text(text, encoding="utf-8")
                results, left_out = checker.check(CH2)
                told.append(({name: outcome(results[name]) for name in names}, left_out))
            checkers[1].before.clear()
            assert told[0] == told[1]
    finally:
        for checker in checkers:
            checker.close()
