"""`tensorgrade review`: own mistakes come back in other code, days later, and each is proved."""

import io
import random
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from fsrs import Rating
from rich.console import Console

from tensorgrade.attempts.results import State, state_of
from tensorgrade.course import CourseError
from tensorgrade.history import Entry, History
from tensorgrade.learner.commands.review import Memory, Session, file_of, line_in_file
from tensorgrade.learner.commands.review_items import Item, Workshop, is_small
from tensorgrade.learner.kit import Kit
from tensorgrade.practice.variants import plain

from ..kits import unpacked

CHAPTER = "ch2_self_attention"
THEN = datetime(2026, 11, 2, 10, tzinfo=UTC)
LOOP = """for i, row in enumerate(x):
        for j, other in enumerate(x):
            y[i, j] = (row * other).sum()
    return y"""
PASSED = ["attention_weights", "scaled_dot_product_attention"]


@pytest.fixture(scope="module")
def solved(project, tmp_path_factory):
    """A kit in which the first two chapters are solved."""
    return unpacked(project, tmp_path_factory.mktemp("kit"))


@pytest.fixture(scope="module")
def workshop(solved):
    made = Workshop(solved, random.Random(1))
    yield made
    made.close()


@pytest.fixture
def kit(solved, tmp_path):
    """A copy of it, in which `no_scale` was named on the second of November."""
    shutil.copytree(solved.root, tmp_path / "kit")
    kit = Kit(tmp_path / "kit")
    done = [Entry(THEN.isoformat(), name, "done", 5.0) for name in PASSED]
    named = Entry(THEN.isoformat(), PASSED[0], "wrong", 2.0, ("no_scale",))
    History(kit.root).add([named])
    History(kit.root).add(done)
    return kit


class Typed(Console):
    """A console on which these lines are typed; then the input ends."""

    def __init__(self, *lines):
        super().__init__(file=io.StringIO(), width=100, highlight=False)
        self.lines = list(lines)

    def input(self, *_, **__) -> str:
        line = self.lines.pop(0) if self.lines else None
        if line is None:
            raise EOFError
        return line() if callable(line) else line

    @property
    def said(self) -> str:
        return " ".join(self.file.getvalue().split())


@pytest.mark.slow
def test_a_mistake_comes_back_in_another_exercise_that_was_passed(workshop):
    item = workshop.item("no_scale", "attention_weights", PASSED)
    assert item.exercise == "scaled_dot_product_attention"
    assert "unscaled" in item.message
    results, _ = workshop.repaired(item, item.definition)
    assert state_of(results[item.exercise]) == State.WRONG
    results, small = workshop.repaired(item, plain(item.base, item.exercise))
    assert state_of(results[item.exercise]) == State.DONE and small
    lines = item.definition.split("\n"), plain(item.base, item.exercise).split("\n")
    assert lines[0][: item.line - 1] == lines[1][: item.line - 1]
    assert lines[0][item.line - 1] != lines[1][item.line - 1]


@pytest.mark.slow
def test_in_the_same_exercise_it_comes_back_in_other_words(workshop, solved):
    item = workshop.item("no_scale", "attention_weights", ["attention_weights"])
    assert item.exercise == "attention_weights"
    own = plain(solved.text(CHAPTER), "attention_weights")
    assert plain(item.base, "attention_weights") != own
    assert workshop.passes(CHAPTER, "attention_weights", item.base)


@pytest.mark.slow
def test_a_rewrite_is_right_but_not_small(workshop):
    item = workshop.item("no_scale", "attention_weights", PASSED)
    own = (
        "def scaled_dot_product_attention(a, b, c):\n"
        "    return torch.einsum('...ij,...jd->...id', torch.softmax("
        "torch.einsum('...id,...jd->...ij', a, b) / b.shape[-1] ** 0.5, dim=-1), c)"
    )
    results, small = workshop.repaired(item, own)
    assert state_of(results[item.exercise]) == State.DONE and not small


def test_undoing_the_mistake_is_small_however_much_it_added():
    right = "def f(x):\n    return x @ x.T"
    wrong = right.replace("x @", "(x / (x.shape[-1] - x.shape[0] + x.shape[-1]) ** 0.5) @")
    item = Item("scaled", "It is scaled.", CHAPTER, "f", wrong, right, 2)
    assert is_small(item, right)
    assert not is_small(item, "def f(x):\n    y = torch.zeros(len(x), len(x))\n    " + LOOP)


@pytest.mark.slow
def test_a_mistake_that_fits_nothing_that_was_passed_gives_no_exercise(workshop):
    assert workshop.item("no_scale", "attention_weights", ["softmax_naive"]) is None
    assert workshop.item("no_scale", "attention_weights", []) is None


def test_a_mistake_is_due_the_day_after_it_was_named(kit):
    memory = Memory.of(kit)
    memory.learn(History(kit.root).entries())
    assert memory.due(THEN + timedelta(hours=2), every=False) == []
    assert memory.due(THEN + timedelta(hours=2), every=True) == ["no_scale"]
    assert memory.due(THEN + timedelta(days=1), every=False) == ["no_scale"]


def test_the_wait_grows_when_it_is_found_and_shrinks_when_it_is_not(kit):
    memory = Memory.of(kit)
    memory.learn(History(kit.root).entries())
    waits, at = [], THEN
    for rating in (Rating.Good, Rating.Good, Rating.Good, Rating.Again):
        at = memory.card("no_scale").due
        waits.append((memory.rate("no_scale", rating, at) - at).days)
    assert waits[0] < waits[1] < waits[2] > waits[3]


def test_a_mistake_that_is_named_twice_on_a_day_counts_once(kit):
    again = Entry((THEN + timedelta(hours=1)).isoformat(), PASSED[1], "wrong", 2.0, ("no_scale",))
    first, second = Memory.of(kit), Memory.of(kit)
    first.learn(History(kit.root).entries())
    second.learn([*History(kit.root).entries(), again])
    assert first.cards == second.cards


def test_a_mistake_that_is_named_on_a_later_day_starts_again_there(kit):
    memory = Memory.of(kit)
    memory.learn(History(kit.root).entries())
    later = THEN + timedelta(days=20)
    memory.learn([Entry(later.isoformat(), PASSED[1], "wrong", 2.0, ("no_scale",))])
    assert memory.named_in["no_scale"] == PASSED[1]
    assert memory.card("no_scale").last_review == later


def test_the_schedule_survives_and_a_damaged_file_starts_anew(kit):
    memory = Memory.of(kit)
    memory.learn(History(kit.root).entries())
    memory.save()
    assert Memory.of(kit).cards == memory.cards
    memory.path.write_text('{"cards": {"no_scale": {"due": 3}}, "named_in": {}, "item": null}')
    assert Memory.of(kit).cards == {}


def test_nothing_due_says_when_and_how_not_to_wait(kit):
    console = Typed()
    Session(kit, console, THEN + timedelta(hours=1)).run(every=False)
    assert "The next review is tomorrow." in console.said
    assert "tensorgrade review --all" in console.said


def test_without_a_named_mistake_it_says_what_remembers_them(kit):
    History(kit.root).path.unlink()
    console = Typed()
    Session(kit, console, THEN).run(every=True)
    assert "nothing to review" in console.said and "tensorgrade watch" in console.said


@pytest.mark.slow
def test_a_session_from_the_bug_to_the_repair(kit):
    session = Session(kit, console := Typed(), THEN + timedelta(days=2))

    def repair() -> str:
        item = session.memory.item
        path = kit.root / "review" / f"{item.exercise}.py"
        own = plain(item.base, item.exercise)
        path.write_text(path.read_text("utf-8").replace(item.definition, own), encoding="utf-8")
        return ""

    console.lines = ["", "h", repair]
    session.run(every=False)
    assert "1 mistake to review" in console.said
    assert "Not yet. The result has the right shape" in console.said
    assert console.said.index("Not yet") < console.said.index("unscaled")
    assert "Found." in console.said
    assert list((kit.root / "review").iterdir()) == []
    memory = Memory.of(kit)
    assert memory.item is None and memory.due(datetime.now(UTC), every=False) == []


@pytest.mark.slow
def test_a_session_that_is_stopped_goes_on_with_the_same_file(kit):
    first = Session(kit, Typed("q"), THEN + timedelta(days=2))
    first.run(every=False)
    (path,) = (kit.root / "review").iterdir()
    path.write_text("def of_mine(: pass", encoding="utf-8")
    console = Typed("")
    Session(kit, console, THEN + timedelta(days=2)).run(every=False)
    assert f"Still open: your own {path.stem}" in console.said
    assert f"no longer defines {path.stem}" in console.said
    assert path.read_text(encoding="utf-8") == "def of_mine(: pass"


@pytest.mark.slow
def test_the_file_of_an_item_has_its_imports_and_the_line_that_is_told(workshop):
    item = workshop.item("no_scale", "attention_weights", PASSED)
    lines = file_of(item).split("\n")
    assert "import torch" in lines
    wrong = item.definition.split("\n")[item.line - 1]
    assert lines[line_in_file(item) - 1] == wrong


def test_a_repair_without_the_definition_is_no_repair():
    item = Item("no_scale", "", CHAPTER, "f", "def f(): pass", "", 1)
    with pytest.raises(CourseError, match="no longer defines f"):
        Workshop.repaired(None, item, "def g(): pass")
