"""`tensorgrade review`: own mistakes come back in own code, days later, and each is proved."""

import json
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pytest

from ..answers.reader import place_of
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


@contextmanager
def answering(own, *words):
    """Run a command for a learner who answers; yield it, and a function that waits for words."""
    with on_a_terminal(own, *words) as session:

        def heard(words: str) -> str:
            session.expect_exact(words)
            return " ".join(session.before.split())

        yield session, heard


def next_review(own) -> str:
    """Return what is said of the day of the next review."""
    said = " ".join(cli("review", cwd=own).stdout.split())
    assert "tensorgrade review --all" in said, said
    return said.partition("The next review is on ")[2].partition(".")[0]


def found_at(own, days: int, found: object) -> None:
    """Store that a mistake was found without help so many times, the last time days ago."""
    day = (date.today() - timedelta(days)).isoformat()
    told = {"no_scale": {"day": day, "found": found}}
    (own / ".tensorgrade" / "review.json").write_text(json.dumps(told), encoding="utf-8")


@slow
def test_a_mistake_comes_back_after_1_3_7_and_21_days_and_starts_again_if_it_is_named(own):
    said = " ".join(cli("review", cwd=own).stdout.split())
    assert "nothing to review" in said and "tensorgrade watch" in said
    for named, last, found, wait in (
        *((9, 0, found, days) for found, days in enumerate((1, 3, 7, 21, 21))),
        (5, 1, 2, 6),
        (0, 1, 2, 1),  # named on a later day than it was found
        (0, 0, "damaged", 1),
    ):
        remember(own, named)
        found_at(own, last, found)
        assert next_review(own) == str(date.today() + timedelta(wait)), (named, found)


@slow
def test_a_session_from_the_named_mistake_to_the_repair(own):
    """The kit keeps the code in which a mistake is named; a stop leaves the mistake due."""
    script = own / "exercises" / f"{CHAPTER}.py"
    right = script.read_text(encoding="utf-8")
    for text in (right.replace(SCALE, "", 1), right):
        script.write_text(text, encoding="utf-8")
        assert cli("submit", CHAPTER, cwd=own).returncode == 0
    assert next_review(own) == str(date.today() + timedelta(1))
    assert f"Your own {PASSED}" in typed(own, "review", "--all", lines="")
    (path,) = (own / "review").iterdir()
    assert path.name == f"{PASSED}.py" and SCALE not in path.read_text(encoding="utf-8")
    with answering(own, "review", "--all") as (session, heard):
        heard("Enter checks it")
        session.send("\n")
        heard("Not yet.")
        path.write_text("x = 1\n", encoding="utf-8")
        session.send("\n")
        heard("Not yet.")
        first, last = place_of(right, PASSED)
        path.write_text("\n".join(right.splitlines()[first:last]), encoding="utf-8")
        session.send("\n")
        heard("Found. ")
        assert "unscaled" in heard(f"You meet this mistake again on {date.today() + timedelta(3)}.")
    assert not path.exists() and "no_scale" in (own / ".tensorgrade" / "review.json").read_text()


@slow
def test_code_without_its_mistake_is_passed_over(own):
    remember(own, 2, "fits_nowhere")
    assert "does not have its mistake any more" in typed(own, "review", lines="q\n")
