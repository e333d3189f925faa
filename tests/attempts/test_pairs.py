"""Two mistakes at once on hidden cases: looked up on public ones, and proved on the hidden."""

import math

import pytest

from tensorgrade.attempts.maker import AttemptMaker
from tensorgrade.attempts.pairs import MOST_SHOWN, Pairs
from tensorgrade.attempts.setup import Setup
from tensorgrade.recognition.mistakes import make

from ..commands import ROOT

CHAPTER, EXERCISE = "ch2_self_attention", "scaled_dot_product_attention"
PAIR = ("multiplied_by_sqrt_d_k", "scores_transposed")
RETURN = "return attn_weights @ values"


@pytest.fixture(scope="module")
def wrong(project) -> str:
    """The chapter with both mistakes in the exercise."""
    known = {mistake.name: mistake for mistake in project.mistakes}
    text = project.solution(CHAPTER).read_text(encoding="utf-8")
    return make(text, EXERCISE, [known[name] for name in PAIR])


@pytest.mark.slow
def test_both_are_named_and_the_second_costs_its_share_of_what_is_left(
    project, grader, judged, wrong
):
    found = judged(CHAPTER, EXERCISE, wrong, told=False)
    prices = grader.maker.own.prices
    costs = [prices.get(f"{EXERCISE}.{name}", prices.get(name, 1.0)) for name in PAIR]
    left = math.prod(1 - cost for cost in costs)
    most = project.course.chapter(CHAPTER).exercise(EXERCISE).points
    assert set(found.mistakes) == set(PAIR)
    assert found.points == pytest.approx(most * left) and found.points > 0


@pytest.mark.parametrize("others, named", [(MOST_SHOWN - 1, set(PAIR)), (MOST_SHOWN, set())])
def test_none_is_named_if_more_fit_in_public_than_can_be_tried(
    judged, wrong, monkeypatch, others, named
):
    """The right one could be among those that are left out."""
    fit = [PAIR, *[("softmax_over_columns", "scores_transposed")] * others]
    monkeypatch.setattr(Pairs, "looked_up", lambda *_: iter([iter(fit)]))
    assert set(judged(CHAPTER, EXERCISE, wrong, told=False).mistakes) == named


@pytest.mark.slow
def test_who_gives_the_same_in_public_alone_is_not_named(judged, wrong):
    """A learner has the public cases, and could tell these from hidden ones."""
    other = "return attn_weights @ values + (1.0 if d_k == 19 else 0.0)"
    assert RETURN in wrong
    found = judged(CHAPTER, EXERCISE, wrong.replace(RETURN, other, 1), told=False)
    assert found.mistakes == [] and found.points == 0


@pytest.mark.parametrize(
    "names, shares",
    [
        (("softmax_over_columns", "weights_not_returned"), (0.4, 0.5)),
        (("weights_transposed", "weights_not_returned"), (0.4, 0.5)),
    ],
)
def test_of_two_pairs_that_look_the_same_only_the_shared_mistake_is_named(
    project, judged, names, shares
):
    """Scores of tokens with themselves are symmetric."""
    chapter, exercise = "ch1_simplified_attention", "simplified_self_attention"
    found = judged(chapter, exercise, with_mistakes(project, chapter, exercise, names), told=False)
    left = math.prod(1 - share for share in shares)
    assert found.mistakes == [names[1]]
    assert found.points == pytest.approx(found.max_points * left)


@pytest.mark.slow
def test_an_overwritten_input_does_not_hide_two_other_mistakes(project, judged):
    chapter, exercise = "ch3_causal_attention", "mask_and_renormalize"
    names = "mask_hides_the_past", "masked_without_renormalizing", "changes_scores_in_place"
    found = judged(chapter, exercise, with_mistakes(project, chapter, exercise, names), told=False)
    assert set(found.mistakes) == set(names)


def with_mistakes(project, chapter: str, exercise: str, names: tuple[str, ...]) -> str:
    """Return the chapter with these mistakes in the exercise."""
    text = project.solution(chapter).read_text(encoding="utf-8")
    known = [one for one in project.mistakes if exercise in one.edits and one.name in names]
    return make(text, exercise, known)


@pytest.mark.slow
def test_without_the_solution_no_pair_is_named(grader, judged, wrong, monkeypatch, tmp_path):
    monkeypatch.setattr(grader.maker, "known_pairs", {})
    monkeypatch.setattr("tensorgrade.attempts.maker.sources_path", lambda *_: tmp_path / "none")
    assert judged(CHAPTER, EXERCISE, wrong, told=False).mistakes == []


def test_pairs_are_searched_on_hidden_cases_if_both_stored_files_exist(
    grader, monkeypatch, tmp_path
):
    maker, chapter = grader.maker, "ch1_simplified_attention"
    monkeypatch.setattr(maker, "known_pairs", {})
    assert maker.pairs(chapter) is maker.pairs(chapter) is not None
    stored = ROOT / "graders" / "references" / f"{chapter}.sources.json"
    monkeypatch.setattr("tensorgrade.attempts.maker.sources_path", lambda *_: stored)
    assert AttemptMaker(Setup(ROOT / "exercises")).pairs(chapter) is None, "public cases"
    monkeypatch.setattr("tensorgrade.attempts.maker.sources_path", lambda *_: tmp_path / "none")
    assert maker.pairs(chapter) is None, "the solution is missing"
    monkeypatch.undo()
    monkeypatch.setattr(maker, "known_pairs", {})
    monkeypatch.setattr(maker, "public_references", lambda chapter: None)
    assert maker.pairs(chapter) is None, "the learners' files are missing"
