"""`tensorgrade review`: own mistakes come back in own code, days later, and each is proved."""

import ast
import json
import sys
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pexpect
import pytest
from rich.console import Console

from tensorgrade.learner.kit import Kit
from tensorgrade.learner.review import ODD, Known, Review, own_code

from ..kits import FIRST, solved, typed
from ..support import ROOT, cli

CHAPTER = FIRST[1]
PASSED = ("attention_weights", "scaled_dot_product_attention")
slow = pytest.mark.slow


@pytest.fixture
def own(kit, tmp_path):
    """A copy of a kit with two chapters solved, in which no mistake was named yet."""
    return solved(kit, tmp_path / "kit", *FIRST)


def remember(own, days: int, *mistakes: str) -> None:
    """Let `no_scale` have been named so many days ago, in an exercise that was passed then."""
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    entry = {"at": at, "exercise": PASSED[0], "state": "wrong", "points": 2.0}
    lines = [entry | {"mistakes": ["no_scale", *mistakes]}]
    lines += [entry | {"exercise": name, "state": "done", "mistakes": []} for name in PASSED]
    path = own / ".tensorgrade" / "history.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@contextmanager
def answering(own, *words):
    """Run a command for a learner who answers; yield it, and a function that waits for words."""
    command = ["-m", "tensorgrade.cli", *words]
    session = pexpect.spawn(sys.executable, command, cwd=own, encoding="utf-8", timeout=120)

    def heard(words: str) -> str:
        session.expect_exact(words)
        return " ".join(session.before.split())

    yield session, heard
    session.close(force=True)


@slow
def test_it_says_what_remembers_mistakes_and_when_the_next_review_is(own):
    said = " ".join(cli("review", cwd=own).stdout.split())
    assert "nothing to review" in said and "tensorgrade watch" in said
    remember(own, days=0)
    said = " ".join(cli("review", cwd=own).stdout.split())
    assert (
        f"The next review is on {date.today() + timedelta(1)}." in said
        and "tensorgrade review --all" in said
    )


@slow
def test_a_session_from_the_bug_to_the_repair(own):
    """It comes back in the other exercise, which is repaired; a stop leaves it due."""
    remember(own, 2, "fits_nowhere")
    assert f"Your own {PASSED[1]}" in typed(own, "review", lines="")
    (path,) = (own / "review").iterdir()
    wrong = path.read_text(encoding="utf-8")
    assert path.name == f"{PASSED[1]}.py" and "softmax" in wrong and "** 0.5" not in wrong
    with answering(own, "review", "--all") as (session, heard):
        heard("Enter checks it")
        session.send("\n")
        heard("Not yet.")
        path.write_text("x = 1\n", encoding="utf-8")
        session.send("\n")
        heard("Not yet.")
        solution = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
        (node,) = [one for one in ast.parse(solution).body if getattr(one, "name", "") == path.stem]
        path.write_text(ast.get_source_segment(solution, node), encoding="utf-8")
        session.send("\n")
        heard("Found. ")
        assert "unscaled" in heard(f"You meet this mistake again on {date.today() + timedelta(3)}.")
        heard("This mistake fits no code that you have passed so far.")
    assert not path.exists() and "no_scale" in (own / ".tensorgrade" / "review.json").read_text()


def test_a_mistake_comes_back_after_1_3_7_and_21_days():
    day = date(2026, 11, 2)
    known = [Known("softmax", day.isoformat(), found) for found in range(5)]
    assert [(one.due - day).days for one in known] == [1, 3, 7, 21, 21]


@slow
def test_a_mistake_that_is_named_again_on_a_later_day_starts_again(own):
    day = (date.today() - timedelta(1)).isoformat()
    told = {"no_scale": {"exercise": "softmax", "day": day, "found": 2}}
    for days, found in ((5, 2), (0, 0)):
        remember(own, days)
        (own / ".tensorgrade" / "review.json").write_text(json.dumps(told), encoding="utf-8")
        assert Review(Kit(own), Console()).known["no_scale"].found == found
    (own / ".tensorgrade" / "review.json").write_text('{"known": 3}', encoding="utf-8")
    assert Review(Kit(own), Console()).known["no_scale"].exercise == PASSED[0], "it is damaged"


def test_an_edit_shows_its_place_neither_by_layout_nor_by_odd_code():
    edited = "def f(x):\n    # scale\n    return ((x) @ (x))"
    assert own_code(edited, "f") == "def f(x):\n    return x @ x"
    odd, usual = ("x.sum(dim=--1)", "x[-0]", "m.bool()"), ("x.sum(-1)", "x * -0.5", "x - 1")
    assert all(map(ODD.search, odd)) and not any(map(ODD.search, usual))
