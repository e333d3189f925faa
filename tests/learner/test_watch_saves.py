"""`tensorgrade watch` shows what was saved: no half-written file, no stale page, no lost change."""

import io
import random
import threading
import time

import pytest
import torch
from rich.console import Console

from tensorgrade.attempts.results import CheckResult, State, state_of
from tensorgrade.judging.diagnosis import Finding, Kind, PublicDiagnosis
from tensorgrade.learner.watch import checker, loop
from tensorgrade.learner.watch.loop import Watch, outcome
from tensorgrade.messages.message import Plain

CHAPTER = "ch1_simplified_attention"
NAMES = ("attention_scores", "softmax_naive", "softmax")


def passes(name: str, right: bool, value: float = 0.0) -> CheckResult:
    """The result of one check; a wrong one has seen this value."""
    seen = PublicDiagnosis(
        Kind.VALUES,
        Plain("the values differ"),
        actual=torch.tensor([value]),
        expected=torch.zeros(1),
        differs=torch.ones(1, dtype=torch.bool),
    )
    return CheckResult(name, 1, right, "asks", None if right else Finding("asks", seen))


class ByText:
    """In place of a checker: an exercise is right where the file holds `<name>: right`."""

    def __init__(self, real):
        self.course, self.path, self.folder = real.course, real.path, real.folder
        self.checked = 0

    def check(self, chapter):
        text = self.path(chapter).read_text(encoding="utf-8")
        self.checked += 1
        time.sleep(0.002)
        names = [exercise.name for exercise in self.course.chapter(chapter).exercises]
        return {n: [passes(n, f"{n}: right\n" in text, self.checked)] for n in names}, []


class Paths:
    """The course, and where a learner's files lie."""

    def __init__(self, course, folder):
        self.course, self.folder = course, folder

    def path(self, chapter):
        return self.folder / f"{chapter}.py"


def text_of(course, right: bool, number: int = 0) -> str:
    """A file in which all exercises are right, or only the first two; the end is always there."""
    names = [exercise.name for exercise in course.chapter(CHAPTER).exercises]
    lines = [f"{n}: {'right' if right or n in NAMES[:2] else 'wrong'}\n" for n in names]
    return f"# {number}\n" + "".join(lines) + "# the lesson goes on\n" * 20


@pytest.fixture
def session(project, tmp_path, monkeypatch):
    """A watch whose checker only reads text."""
    (tmp_path / f"{CHAPTER}.py").write_text(text_of(project.course, True), encoding="utf-8")
    real = Paths(project.course, tmp_path)
    monkeypatch.setattr(loop, "Checker", lambda tests, folder: ByText(real))
    made = Watch(project.exercises, tmp_path, Console(file=io.StringIO(), width=80))
    made.start()
    return made


def write_in_pieces(path, text: str, chance: random.Random) -> None:
    """As a slow editor does: empty the file, write a part, write the rest."""
    with path.open("w", encoding="utf-8") as file:
        time.sleep(chance.choice((0, 0.003, 0.02)))
        cut = chance.randrange(len(text))
        file.write(text[:cut])
        file.flush()
        time.sleep(chance.choice((0, 0.003, 0.03)))
        file.write(text[cut:])


@pytest.mark.slow
def test_a_file_that_is_emptied_and_written_again_200_times_never_shows_half(session, project):
    path, chance = session.checker.path(CHAPTER), random.Random(1)
    ends = threading.Event()

    def rewrite():
        for number in range(200):
            write_in_pieces(path, text_of(project.course, number % 2 == 0, number), chance)
            time.sleep(chance.choice((0, 0.01, 0.1)))
        ends.set()

    whole = {name: {State.DONE} for name in session.by_exercise}
    for name in whole.keys() - set(NAMES[:2]):
        whole[name] = {State.DONE, State.WRONG}
    writer = threading.Thread(target=rewrite)
    saves = session.saves()
    next(saves)
    writer.start()
    shown = 0
    for paths in saves:
        session.saved(paths)
        shown += session.look()
        if ends.is_set() and not paths and not session.due:
            break
        states = {name: state_of(checks) for name, checks in session.by_exercise.items()}
        assert all(states[name] in whole[name] for name in states), states
        assert len({states[name] for name in states if name not in NAMES[:2]}) == 1
    writer.join()
    assert shown > 20
    assert state_of(session.by_exercise["softmax"]) == State.WRONG  # the last that was written


def save(session, text: str) -> bool:
    """Save a text that is complete. Return True if it was checked."""
    path = session.checker.path(CHAPTER)
    path.write_text(text, encoding="utf-8")
    session.saved([path])
    session.due[path] = (0.0, text.encode())
    return session.look()


def test_a_file_that_changes_during_a_check_is_checked_again(session, project, monkeypatch):
    path, check = session.checker.path(CHAPTER), session.checker.check

    def slowly(chapter):
        found = check(chapter)
        monkeypatch.undo()
        path.write_text(text_of(project.course, True, 9), encoding="utf-8")
        return found

    monkeypatch.setattr(session.checker, "check", slowly)
    assert not save(session, text_of(project.course, False, 8))
    assert session.look() and not session.due
    assert {state_of(checks) for checks in session.by_exercise.values()} == {State.DONE}


def test_a_save_during_the_first_check_is_checked(session, project, monkeypatch):
    path, check = session.checker.path(CHAPTER), session.checker.check

    def slowly(chapter):
        found = check(chapter)
        path.write_text(text_of(project.course, False, 9), encoding="utf-8")
        return found

    monkeypatch.setattr(session.checker, "check", slowly)
    session.start()
    assert path in session.due
    monkeypatch.setattr(session.checker, "check", check)
    session.due[path] = (0.0, session.due[path][1])
    assert session.look() and session.page == NAMES[2]


def test_a_file_that_is_emptied_before_its_check_is_not_shown_empty(session, project):
    path, right = session.checker.path(CHAPTER), text_of(project.course, True, 1)
    path.write_text(right, encoding="utf-8")
    session.saved([path])
    path.write_bytes(b"")
    assert not session.look()
    path.write_text(right, encoding="utf-8")
    session.saved([path])
    assert session.look()
    assert {state_of(checks) for checks in session.by_exercise.values()} == {State.DONE}


def test_a_file_that_ends_elsewhere_is_believed_a_little_later(session, project):
    assert save(session, "# all gone\n")
    assert {state_of(checks) for checks in session.by_exercise.values()} == {State.WRONG}


def test_two_different_wrong_values_are_a_change():
    one, other = [passes("softmax", False, 1.0)], [passes("softmax", False, 2.0)]
    assert outcome(one) != outcome(other)
    assert outcome(one) == outcome([passes("softmax", False, 1.0)])
    nothing = [passes("softmax", False, float("nan"))]
    assert outcome(nothing) == outcome([passes("softmax", False, float("nan"))])


def test_the_page_is_the_earliest_exercise_that_changed(session, project):
    session.open("context_vector")
    text = text_of(project.course, True, 1)
    assert save(session, text.replace("softmax: right", "softmax: wrong"))
    assert session.page == "softmax"
    session.open("context_vector")
    for name in ("softmax_naive", "context_vector"):
        text = text.replace(f"{name}: right", f"{name}: wrong")
    assert save(session, text) and session.page == "softmax_naive"


def test_a_finished_chapter_says_what_one_can_do_and_what_comes_next(session, project):
    chapter = project.course.chapter(CHAPTER)
    object.__setattr__(session.course.chapter(CHAPTER), "ending", "You can mix tokens now.")
    save(session, text_of(project.course, False, 1))
    session.console.file = io.StringIO()
    assert save(session, text_of(project.course, True, 2))
    text = " ".join(session.console.file.getvalue().split())
    assert f"Well done: you have finished “{chapter.title}”" in text
    assert f"{chapter.points:g} points" in text
    assert "You can mix tokens now." in text and "Next: Self-attention" in text


def test_the_end_of_the_course_is_congratulated_and_has_a_next_step(session):
    session.console.file = io.StringIO()
    session.open(None)
    text = " ".join(session.console.file.getvalue().split())
    assert "Congratulations! Everything is done" in text and "Next: submit your files" in text


STUB = "raise NotImplementedError"


@pytest.fixture(scope="module")
def without_fork(project, tmp_path_factory):
    """A watch as on Windows and macOS: learner code in one process that is kept."""
    folder = tmp_path_factory.mktemp("learner")
    stub = (project.exercises / f"{CHAPTER}.py").read_text(encoding="utf-8")
    (folder / f"{CHAPTER}.py").write_text(stub, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checker, "CAN_FORK", False)
        patch.setattr(checker, "PATIENCE", 1.0)
        made = Watch(project.exercises, folder, Console(file=io.StringIO(), width=80))
        made.start()
        yield made, stub
        made.close()


def page_after(session, text: str) -> str:
    """Return the page after a save, in one line."""
    session.console.file = io.StringIO()
    assert save(session, text)
    return " ".join(session.console.file.getvalue().split())


@pytest.mark.slow
def test_without_fork_an_endless_loop_ends_and_the_next_save_works(without_fork):
    session, stub = without_fork
    first = session.checker.maker.warm.process.pid
    right = stub.replace(STUB, "return inputs @ query", 1)
    assert "attention_scores is done" in page_after(session, right)
    assert session.checker.maker.warm.process.pid == first  # the process was not restarted
    # Nothing interrupts this from within.
    deaf = "import signal, time; signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(600)"
    sleeping = stub.replace(STUB, deaf, 1)
    assert "did not finish" in page_after(session, sleeping)
    assert session.checker.maker.warm.process.pid != first
    wrong = stub.replace(STUB, "print('x' * 9999); return inputs @ inputs.T", 1)
    assert "all_pairs" in page_after(session, wrong)


@pytest.mark.slow
def test_without_fork_code_that_ends_the_process_costs_itself_only(without_fork):
    session, stub = without_fork
    page = page_after(session, stub.replace(STUB, "import os; os._exit(1)", 1))
    assert "attention_scores" in page and "is done" not in page
    right = stub.replace(STUB, "return inputs @ query", 1)
    assert "attention_scores is done" in page_after(session, right)
