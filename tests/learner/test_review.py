"""`tensorgrade review`: own mistakes come back in own code, days later, and each is proved."""

import ast
import json
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from rich.console import Console

from tensorgrade.learner.commands.review import ODD, Known, Review, plain
from tensorgrade.learner.kit import Kit

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


@slow
def test_it_says_what_remembers_mistakes_and_when_the_next_review_is(own):
    said = " ".join(cli("review", cwd=own).stdout.split())
    assert "nothing to review" in said and "tensorgrade watch" in said
    remember(own, days=0)
    said = " ".join(cli("review", cwd=own).stdout.split())
    assert "The next review is tomorrow." in said and "tensorgrade review --all" in said


@slow
def test_a_session_from_the_bug_to_the_repair(own):
    """It comes back in the other exercise, stays open when the learner stops, and is then found."""
    remember(own, 2, "fits_nowhere")
    assert "1 of 2: your own" in typed(own, "review", lines="")
    (path,) = (own / "review").iterdir()
    assert path.name == f"{PASSED[1]}.py"
    wrong = path.read_text(encoding="utf-8")
    assert "import torch" in wrong
    path.write_text(f"{wrong}# mine\n", encoding="utf-8")
    said = typed(own, "review", lines="\nl\n")
    assert path.read_text(encoding="utf-8").endswith("# mine\n")
    assert said.index("Not yet.") < said.index("The mistake is on line")
    at = int(re.search(r"mistake is on line (\d+)", said)[1])
    lines = wrong.splitlines()
    assert "softmax" in lines[at - 1] and "** 0.5" not in lines[at - 1]
    solution = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    (node,) = [one for one in ast.parse(solution).body if getattr(one, "name", "") == path.stem]
    right = ast.get_source_segment(solution, node)
    path.write_text("x = 1\n", encoding="utf-8")
    assert "Found." not in typed(own, "review", lines="\n"), "it defines nothing"
    path.write_text(f"{wrong[: wrong.index('def ')]}{right}\n", encoding="utf-8")
    said = typed(own, "review", "--all", lines="\n")
    assert (
        "Found." in said and "unscaled" in said and "You meet this mistake again in 3 days." in said
    )
    assert "1 mistake: no code that you have passed so far fits." in said
    assert list((own / "review").iterdir()) == [], "the same mistake is not served at once"
    (own / ".tensorgrade" / "review.json").write_text('{"known": 3}', encoding="utf-8")
    assert "1 of 2" in typed(own, "review", lines=""), "a damaged file starts again"


def test_a_mistake_comes_back_after_1_3_7_and_21_days():
    day = date(2026, 11, 2)
    known = [Known("softmax", day.isoformat(), found) for found in range(5)]
    assert [(one.due - day).days for one in known] == [1, 3, 7, 21, 21]


def test_a_mistake_that_is_named_again_on_a_later_day_starts_again(tmp_path):
    remember(tmp_path, 5)
    first = Review(Kit(tmp_path), Console())
    assert (
        first.known["no_scale"].exercise == PASSED[0] and first.known["no_scale"].due < date.today()
    )
    first.known["no_scale"] = Known("softmax", (date.today() - timedelta(1)).isoformat(), 2)
    first.save()
    assert Review(Kit(tmp_path), Console()).known == first.known, "it was named before that"
    remember(tmp_path, 0)
    assert Review(Kit(tmp_path), Console()).known["no_scale"].found == 0


def test_an_edit_shows_its_place_neither_by_layout_nor_by_odd_code():
    edited = "def f(x):\n    # scale\n    pass\n    return ((x) @ (x))"
    assert plain(edited) == "def f(x):\n    return x @ x"
    assert plain("def f(x): pass") == "def f(x):\n    pass"
    odd, usual = ("x.sum(dim=--1)", "x[-0]", "m.bool()"), ("x.sum(-1)", "x * -0.5", "x - 1")
    assert all(map(ODD.search, odd)) and not any(map(ODD.search, usual))
