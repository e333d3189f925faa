"""A course adds its own checks and signatures to the engine, in its `checks.py`."""

import pytest
import torch

from tensorgrade.author import call
from tensorgrade.course import CourseError
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import Observation
from tensorgrade.judging.checks import load_checks
from tensorgrade.recognition.signatures import imprint

CHECK = "from tensorgrade import check\n@check\ndef {}(exercise): ...\n"
SIGNATURE = (
    "from tensorgrade import signature\n@signature('{}')\ndef signs(case, expected, seen): ...\n"
)
REFUSED = {  # what is written, and what is said of it
    2 * CHECK.format("is_positive"): "check 'is_positive' .* twice",
    2 * SIGNATURE.format("signs"): "signature 'signs' .* twice",
    CHECK.format("agrees"): "has a check 'agrees'",
    CHECK.format("seen"): "has a check 'seen'",
    SIGNATURE.format("values"): "has a signature 'values'",
}


def written(folder, text: str):
    """Return the additions of a folder with this `checks.py`."""
    (folder / "checks.py").write_text(text, encoding="utf-8")
    return load_checks(folder)


@pytest.mark.parametrize("text, said", REFUSED.items(), ids=REFUSED.values())
def test_a_name_is_taken_once(tmp_path, text, said):
    with pytest.raises(CourseError, match=said) as raised:
        written(tmp_path, text)
    assert str(tmp_path / "checks.py") in str(raised.value)


def test_two_courses_in_one_process_share_nothing(tmp_path):
    found = written(tmp_path, CHECK.format("is_positive") + SIGNATURE.format("signs"))
    assert set(found.checks) == {"is_positive"} and set(found.signatures) == {"signs"}
    (tmp_path / "checks.py").unlink()
    assert load_checks(tmp_path).checks == {} and load_checks(tmp_path).signatures == {}


def test_a_case_that_names_no_rate_is_the_courses_fault():
    step = call("drop", x=torch.ones(2, 2), p=0.5, result="plain")
    runs = Observation(tensors={"plain": torch.ones(2, 2), "dropped": torch.ones(2, 2)})
    named = record("drop", "a/1", [step], signature="dropout", rate="p")
    assert "zeros=none" in imprint(named, runs, runs, {}).words
    unnamed = record("drop", "a/1", [step], signature="dropout")
    with pytest.raises(CourseError, match="drop:a/1: which argument"):
        imprint(unnamed, runs, runs, {})
