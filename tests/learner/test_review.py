"""`tensorgrade review`: own mistakes come back in other code, days later, and each is proved."""

import ast
import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from ..kits import FIRST, solved, typed
from ..support import ROOT, cli

CHAPTER = FIRST[1]
PASSED = ("attention_weights", "scaled_dot_product_attention")
pytestmark = pytest.mark.slow


@pytest.fixture
def own(kit, tmp_path):
    """A copy of a kit with two chapters solved, in which no mistake was named yet."""
    return solved(kit, tmp_path / "kit", *FIRST)


def remember(own, days: int) -> None:
    """Let `no_scale` have been named so many days ago, in an exercise that was passed then."""
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    entry = {"at": at, "exercise": PASSED[0], "state": "wrong", "points": 2.0}
    lines = [entry | {"mistakes": ["no_scale"]}]
    lines += [entry | {"exercise": name, "state": "done", "mistakes": []} for name in PASSED]
    path = own / ".tensorgrade" / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_it_says_what_remembers_mistakes_and_when_the_next_review_is(own):
    said = " ".join(cli("review", cwd=own).stdout.split())
    assert "nothing to review" in said and "tensorgrade watch" in said
    remember(own, days=0)
    said = " ".join(cli("review", cwd=own).stdout.split())
    assert "The next review is tomorrow." in said and "tensorgrade review --all" in said


def test_a_session_from_the_bug_to_the_repair(own):
    """It comes back in the other exercise, stays open when the learner stops, and is then found."""
    remember(own, days=2)
    assert "1 mistake to review" in typed(own, "review", lines="")
    (path,) = (own / "review").iterdir()
    assert path.name == f"{PASSED[1]}.py"
    wrong = path.read_text(encoding="utf-8")
    assert "import torch" in wrong
    path.write_text(f"{wrong}# mine\n", encoding="utf-8")
    said = typed(own, "review", lines="\nh\nl\n")
    assert f"Still open: your own {path.stem}" in said
    assert path.read_text(encoding="utf-8").endswith("# mine\n")
    assert said.index("Not yet.") < said.index("unscaled") < said.index("The mistake is on line")
    at = int(re.search(r"on line (\d+)", said)[1])
    lines = wrong.splitlines()
    assert "softmax" in lines[at - 1] and "** 0.5" not in lines[at - 1]
    solution = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    (node,) = [one for one in ast.parse(solution).body if getattr(one, "name", "") == path.stem]
    right = ast.get_source_segment(solution, node)
    start = wrong.index("def ")
    path.write_text(f"{wrong[:start]}{right}\n", encoding="utf-8")
    said = typed(own, "review", lines="\n")
    assert "Found." in said and "You meet this mistake again" in said
    assert list((own / "review").iterdir()) == []
    assert "Nothing is due today." in cli("review", cwd=own).stdout
    (own / ".tensorgrade" / "review.json").write_text('{"cards": 3}', encoding="utf-8")
    assert "1 mistake to review" in typed(own, "review", lines=""), "a damaged file starts anew"
