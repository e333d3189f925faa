"""`tensorgrade review`: own mistakes come back in own code, days later, and each is proved."""

import json
from datetime import UTC, date, datetime, timedelta

import pytest
from rich.console import Console

from tensorgrade.learner.kit import Kit
from tensorgrade.learner.review import Known, Review
from tensorgrade.views.words import definition_in

from ..kits import FIRST, on_a_terminal, solved, typed
from ..support import cli

CHAPTER = FIRST[1]
PASSED, SCALE = "attention_weights", " / d_k**0.5"
UNSCALED = "def attention_weights(queries, keys): return torch.softmax(queries @ keys.T, -1)"
slow = pytest.mark.slow


@pytest.fixture
def own(kit, tmp_path):
    """A copy of a kit with two chapters solved, in which no mistake was named yet."""
    return solved(kit, tmp_path / "kit", *FIRST)


def remember(own, days: int, mistake: str = "no_scale") -> None:
    """Let a mistake have been named so many days ago, in an exercise that was passed then."""
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    entry = {"at": at, "exercise": PASSED, "points": 2.0}
    wrong = entry | {"state": "wrong", "mistakes": [mistake], "code": UNSCALED}
    path = own / ".tensorgrade" / "history.jsonl"
    path.parent.mkdir(exist_ok=True)
    lines = (json.dumps(line) + "\n" for line in (wrong, entry | {"state": "done"}))
    path.write_text("".join(lines), encoding="utf-8")


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
def test_a_session_from_the_named_mistake_to_the_repair(own):
    """The kit keeps the code in which a mistake is named; a stop leaves the mistake due."""
    script = own / "exercises" / f"{CHAPTER}.py"
    right = script.read_text(encoding="utf-8")
    for text in (right.replace(SCALE, "", 1), right):
        script.write_text(text, encoding="utf-8")
        assert cli("submit", CHAPTER, cwd=own).returncode == 0
    assert "The next review is on" in cli("review", cwd=own).stdout
    assert f"Your own {PASSED}" in typed(own, "review", "--all", lines="")
    (path,) = (own / "review").iterdir()
    assert path.name == f"{PASSED}.py" and SCALE not in path.read_text(encoding="utf-8")
    with on_a_terminal(own, "review", "--all") as session:
        session.expect_exact("Enter checks it")
        for code, said in (
            (path.read_text(encoding="utf-8"), "Not yet."),
            ("x = 1\n", "Not yet."),
            (definition_in(right, PASSED), "Found. "),
        ):
            path.write_text(code, encoding="utf-8")
            session.send("\n")
            session.expect_exact(said)
        session.expect(f"You meet this mistake again on {date.today() + timedelta(3)}.")
        assert "unscaled" in session.before
    assert not path.exists() and "no_scale" in (own / ".tensorgrade" / "review.json").read_text()


@slow
def test_code_without_its_mistake_is_passed_over(own):
    remember(own, 2, "fits_nowhere")
    assert "does not have its mistake any more" in typed(own, "review", lines="q\n")


def test_a_mistake_comes_back_after_1_3_7_and_21_days():
    day = date(2026, 11, 2)
    known = [Known(day, found) for found in range(5)]
    assert [(one.due - day).days for one in known] == [1, 3, 7, 21, 21]


@slow
def test_a_mistake_that_is_named_again_on_a_later_day_starts_again(own):
    day = (date.today() - timedelta(1)).isoformat()
    told = {"no_scale": {"day": day, "found": 2}}
    for days, found in ((5, 2), (0, 0)):
        remember(own, days)
        (own / ".tensorgrade" / "review.json").write_text(json.dumps(told), encoding="utf-8")
        assert Review(Kit(own), Console()).known["no_scale"].found == found
    (own / ".tensorgrade" / "review.json").write_text('{"known": 3}', encoding="utf-8")
    assert Review(Kit(own), Console()).known["no_scale"].found == 0, "it is damaged"
