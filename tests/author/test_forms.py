"""Other right forms of a solution: mistakes look otherwise in them, and a wrong form is refused."""

import pytest

from tensorgrade.author import form, on
from tensorgrade.author.recording import references as recording
from tensorgrade.author.recording.references import forms_of
from tensorgrade.course import CourseError

CHAPTER, EXERCISE = "ch3_causal_attention", "causal_mask"
RETURN = "torch.triu(ones, diagonal=1).bool()"


def told_apart(project, forms, monkeypatch):
    """Fingerprints of the single mistakes of an exercise, with these forms of it."""
    monkeypatch.setattr(recording, "forms_of", lambda project, exercise: forms)
    part = recording.Recording(project, CHAPTER, EXERCISE, hidden=False)
    return recording.tell_apart(part, part.rows(part.singles + part.in_forms))


@pytest.mark.slow
def test_a_mistake_that_looks_otherwise_in_a_form_has_one_fingerprint_more(project, monkeypatch):
    ones = "torch.ones(context_length, context_length)"
    checked = form("checked", on(EXERCISE, (RETURN, f"{RETURN}.view({ones}.shape)")))
    plain = [one.mistakes for one in told_apart(project, [], monkeypatch)]
    more = [one.mistakes for one in told_apart(project, [checked], monkeypatch)]
    assert len(plain) == len(set(plain)) and more[: len(plain)] == plain
    assert len(more) > len(plain) and set(more) == set(plain)


@pytest.mark.slow
def test_a_form_that_is_not_right_stops_the_build(project, monkeypatch):
    wrong = form("upside_down", on(EXERCISE, (RETURN, f"{RETURN}.T")))
    with pytest.raises(CourseError, match="the form upside_down is not right on"):
        told_apart(project, [wrong], monkeypatch)


def test_the_forms_of_the_course_fit_their_solutions(project):
    assert {name for one in project.form_edits for name in one.edits} >= {"CausalAttention"}
    assert forms_of(project, "softmax") == []
