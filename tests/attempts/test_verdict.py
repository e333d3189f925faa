"""A verdict stays small, whatever it quotes."""

from tensorgrade.attempts.verdict import MOST_MISTAKES, Verdict
from tensorgrade.exchange.text import LONGEST_MESSAGE


def verdict(message: str, mistakes: list[str]) -> Verdict:
    return Verdict("ada", "ch1", "softmax", 1.0, 2.0, "partial", mistakes, message)


def test_seven_megabytes_of_claims_become_one_sentence():
    row = verdict("x" * (7 << 20), [f"mistake_{n}" for n in range(5000)]).row()
    assert len(row["message"]) == LONGEST_MESSAGE and row["message"].endswith("x…")
    assert len(row["mistakes"]) == MOST_MISTAKES


def test_what_is_short_enough_stays_as_it_is():
    message = "y" * LONGEST_MESSAGE
    row = verdict(message, ["no_scale"]).row()
    assert row["message"] == message and row["mistakes"] == ["no_scale"]
