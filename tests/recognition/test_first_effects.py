"""First effects of mistakes: stored as JSON, and joined for several mistakes in one answer."""

import json

import pytest
import torch

from tensorgrade.attempts.pairs import read_sources
from tensorgrade.course import CourseError
from tensorgrade.recognition.first_effects import (
    FirstEffect,
    FirstEffects,
    read_effects,
    together,
)

ONE, OTHER = torch.tensor([[1.5, float("nan")]]), torch.tensor(2)
FIRST = FirstEffects(
    {"f:small": FirstEffect(((ONE, OTHER),), {"x": ONE})}, texts=frozenset({"y = x"}), placed=True
)
SECOND = FirstEffects(
    {"f:small": FirstEffect(((OTHER,),), {}, ("ValueError",)), "f:large": FirstEffect()},
    texts=frozenset({"z = x"}),
)


def test_effects_are_the_same_after_they_were_stored():
    stored = json.loads(json.dumps(FIRST.as_json()))
    read = read_effects(stored)
    assert json.dumps(read.as_json()) == json.dumps(stored)
    (line,) = read.by_case["f:small"].values
    assert torch.equal(line[0].nan_to_num(7), ONE.nan_to_num(7)) and torch.equal(line[1], OTHER)


def test_each_of_two_mistakes_adds_its_effects_on_a_case():
    both = together([FIRST, SECOND])
    small = both.by_case["f:small"]
    assert both.by_case.keys() == {"f:small", "f:large"} and both.texts == {"y = x", "z = x"}
    assert [len(line) for line in small.values] == [2, 1] and small.raises == ("ValueError",)
    assert not both.placed  # the first wrong value may be the other mistake's


def test_parts_and_calls_count_only_if_no_result_of_either_mistake_does():
    quiet = FirstEffects(is_quiet=True, made=("mask",), calls=frozenset({"tril"}))
    without_parts = FirstEffects(is_quiet=True)
    assert together([quiet, without_parts]).made == ("mask",)
    assert together([quiet, quiet]).made and together([quiet, quiet]).calls
    assert not together([quiet, SECOND]).made and not together([quiet, SECOND]).calls


def test_sources_of_an_earlier_version_ask_for_a_build(tmp_path):
    path = tmp_path / "ch1.sources.json"
    path.write_text(json.dumps({"text": "", "edits": {}}), encoding="utf-8")
    with pytest.raises(CourseError, match="older format; run `tensorgrade build`"):
        read_sources(path)
