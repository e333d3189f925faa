"""A course adds its own checks and signatures to the engine, in its `checks.py`."""

import pytest
import torch

from tensorgrade.attempts.attempt import Attempt
from tensorgrade.attempts.naming import answer_to
from tensorgrade.attempts.recognized import mistakes
from tensorgrade.attempts.side import Side
from tensorgrade.author import call
from tensorgrade.course import Chapter, Course, CourseError, Exercise, Tolerance
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import Loaded, Looked, Observation
from tensorgrade.exchange.references import References
from tensorgrade.judging.checks import load_checks
from tensorgrade.judging.diagnosis import Wrong
from tensorgrade.recognition.fingerprints import Fingerprint, Fingerprints
from tensorgrade.recognition.signatures import imprint
from tensorgrade.sources.program import Program, Source

from ..support import Answering

POSITIVE = """
from tensorgrade import check, signature
from tensorgrade.recognition.imprints import Imprint

@check
def is_positive(exercise, group):
    for case, expected, observed in exercise.answered(group):
        if (exercise.result(case, "result", expected, observed) < 0).any():
            exercise.wrong("values", "it has negative entries", case=case)

@signature("signs")
def signs(case, expected, seen):
    return Imprint(str((seen.tensors["result"] < 0).tolist()))
"""
COURSE = Course(
    "small",
    "A small course",
    (Chapter("ch1", "One", (Exercise("negate", 1),)),),
    {"cpu": {"float64": Tolerance(1e-9, 1e-9)}},
)


def written(folder, text: str):
    """Return the additions of a folder with this `checks.py`."""
    (folder / "checks.py").write_text(text, encoding="utf-8")
    return load_checks(folder)


def attempt_that_gives(result: torch.Tensor, own) -> Attempt:
    """An attempt at one exercise, whose one case came to this result."""
    case = record("negate", "values/2", [call("negate", x=torch.ones(2))])
    references = References("ch1", False, ((case, Observation(tensors={"result": -result})),))
    seen = [Observation(tensors={"result": result})]
    lab = Answering(lambda cases: seen, Loaded(), Looked())
    attempt = Attempt(lab, Program("ch1", Source("", "")), COURSE, Side(references, own))
    answer_to(attempt, "negate")
    return attempt


def test_a_check_is_called_like_one_of_the_engine(tmp_path):
    own = written(tmp_path, POSITIVE)
    attempt_that_gives(torch.tensor([1.0, 2.0]), own).answers["negate"].is_positive("values")
    with pytest.raises(Wrong) as wrong:
        attempt_that_gives(torch.tensor([1.0, -2.0]), own).answers["negate"].is_positive("values")
    assert "it has negative entries" in wrong.value.diagnosis.problem


def test_a_mistake_is_recognized_by_it(tmp_path):
    own = written(tmp_path, POSITIVE)
    attempt = attempt_that_gives(torch.tensor([1.0, -2.0]), own)
    (case, expected), seen = attempt.references.entries[0], attempt.answers["negate"].seen
    found = {case.name: imprint(case, expected, seen[0][2], own.signatures)}
    attempt.side.fingerprints = Fingerprints(lambda _: [Fingerprint(("sign_kept",), found)])
    assert mistakes(attempt.answers["negate"]) == ("sign_kept",)


@pytest.mark.parametrize(
    "text, said",
    [
        (
            POSITIVE + "\n@check\ndef is_positive(exercise): ...",
            "check 'is_positive' is there twice",
        ),
        (POSITIVE + "\n@signature('signs')\ndef other(): ...", "signature 'signs' is there twice"),
        (
            "from tensorgrade import check\n@check\ndef agrees(exercise): ...",
            "has a check 'agrees'",
        ),
        ("from tensorgrade import check\n@check\ndef seen(exercise): ...", "has a check 'seen'"),
        (
            "from tensorgrade import signature\n@signature('values')\ndef v(): ...",
            "has a signature 'values'",
        ),
    ],
)
def test_a_name_is_taken_once(tmp_path, text, said):
    with pytest.raises(CourseError, match=said) as raised:
        written(tmp_path, text)
    assert str(tmp_path / "checks.py") in str(raised.value)


def test_two_courses_in_one_process_share_nothing(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = written(tmp_path / "a", POSITIVE)
    second = written(tmp_path / "b", POSITIVE.replace("is_positive", "has_signs"))
    assert set(first.checks) == {"is_positive"} and set(second.checks) == {"has_signs"}
    attempt = attempt_that_gives(torch.ones(2), second)
    assert not hasattr(attempt.answers["negate"], "is_positive")


def test_a_folder_without_the_file_adds_nothing(tmp_path):
    assert load_checks(tmp_path).checks == {} and load_checks(tmp_path).signatures == {}


def test_a_case_that_names_no_rate_is_the_courses_fault():
    step = call("drop", x=torch.ones(2, 2), p=0.5, result="plain")
    runs = Observation(tensors={"plain": torch.ones(2, 2), "dropped": torch.ones(2, 2)})
    named = record("drop", "a/1", [step], signature="dropout", rate="p")
    assert "zeros=none" in imprint(named, runs, runs, {}).words
    unnamed = record("drop", "a/1", [step], signature="dropout")
    with pytest.raises(CourseError, match="drop:a/1: which argument is the dropout rate"):
        imprint(unnamed, runs, runs, {})
