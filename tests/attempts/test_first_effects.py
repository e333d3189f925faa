"""First effects of mistakes, stored as JSON."""

import json

import pytest
import torch

from tensorgrade.attempts.first_effects import FirstEffect, FirstEffects, read_effects
from tensorgrade.attempts.pairs import read_sources
from tensorgrade.course import CourseError

ONE, OTHER = torch.tensor([[1.5, float("nan")]]), torch.tensor(2)
FIRST = FirstEffects(
    {"f:small": FirstEffect(((ONE, OTHER),), {"x": ONE})}, texts=frozenset({"y = x"}), placed=True
)


def test_effects_are_the_same_after_they_were_stored():
    stored = json.loads(json.dumps(FIRST.as_json()))
    read = read_effects(stored)
    assert json.dumps(read.as_json()) == json.dumps(stored)
    (line,) = read.by_case["f:small"].values
    assert torch.equal(line[0].nan_to_num(7), ONE.nan_to_num(7)) and torch.equal(line[1], OTHER)


def test_sources_of_an_earlier_version_ask_for_a_build(tmp_path):
    path = tmp_path / "ch1.sources.json"
    path.write_text(json.dumps({"text": "", "edits": {}}), encoding="utf-8")
    with pytest.raises(CourseError, match="older format; run `tensorgrade build`"):
        read_sources(path)
