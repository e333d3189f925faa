"""Two mistakes at once on hidden cases: looked up on public ones, and proved on the hidden."""

import pytest

from tensorgrade.recognition.mistakes import make

CHAPTER, EXERCISE = "ch2_self_attention", "scaled_dot_product_attention"
PAIR = ("multiplied_by_sqrt_d_k", "scores_transposed")
RETURN = "return attn_weights @ values"


@pytest.fixture(scope="module")
def wrong(project) -> str:
    """The chapter with both mistakes in the exercise."""
    known = {mistake.name: mistake for mistake in project.mistakes}
    text = project.solution(CHAPTER).read_text(encoding="utf-8")
    return make(text, EXERCISE, [known[name] for name in PAIR])


def test_both_are_named_and_cost_their_prices(project, grader, judged, wrong):
    found = judged(CHAPTER, EXERCISE, wrong, told=False)
    prices = grader.maker.own.prices
    cost = sum(prices.get(f"{EXERCISE}.{name}", prices.get(name, 1.0)) for name in PAIR)
    most = project.course.chapter(CHAPTER).exercise(EXERCISE).points
    assert set(found.mistakes) == set(PAIR)
    assert found.points == pytest.approx(most * (1 - cost)) and found.points > 0


def test_who_gives_the_same_in_public_alone_is_not_named(judged, wrong):
    """A learner has the public cases, and could tell these from hidden ones."""
    other = "return attn_weights @ values + (1.0 if d_k == 19 else 0.0)"
    assert RETURN in wrong
    found = judged(CHAPTER, EXERCISE, wrong.replace(RETURN, other, 1), told=False)
    assert found.mistakes == [] and found.points == 0


def test_without_the_solution_no_pair_is_named(grader, judged, wrong, monkeypatch, tmp_path):
    monkeypatch.setattr(grader.maker, "known_pairs", {})
    monkeypatch.setattr("tensorgrade.attempts.maker.sources_path", lambda *_: tmp_path / "none")
    assert judged(CHAPTER, EXERCISE, wrong, told=False).mistakes == []
