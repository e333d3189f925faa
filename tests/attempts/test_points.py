"""The points of an exercise, and the work to compute them."""

import pytest

from tensorgrade.attempts.points import with_deduction
from tensorgrade.attempts.results import CheckResult


class Asked(Exception):
    """Somebody asks which mistakes were made, which takes longer than all checks."""


class Part:
    """An exercise of an attempt as far as its price asks for it."""

    excused_by = ""

    @property
    def results_cache(self):
        raise Asked


def test_no_mistake_is_looked_for_where_all_checks_pass():
    checks = [CheckResult("mean", 2.0, True), CheckResult("mean", 1.0, True)]
    assert with_deduction(Part(), checks) is checks


def test_one_is_looked_for_where_a_check_fails():
    with pytest.raises(Asked):
        with_deduction(Part(), [CheckResult("mean", 2.0, True), CheckResult("mean", 1.0, False)])
