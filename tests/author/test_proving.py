"""What a proof says of mistakes and checks; `make proofs` runs it on the course."""

from types import SimpleNamespace

from tensorgrade.author.proving import Trial, idle_checks, prices, where_shared
from tensorgrade.course import Check

ONE = Trial("f", "turned", True, 0.5, ("Its values.",))
TWO = Trial("g", "turned", True, 1.0, ())


def test_a_line_for_each_mistake_has_its_price():
    first, second = prices([TWO, ONE])[1:]
    assert first.split() == ["f", "turned", "50%"]
    assert second.split() == ["g", "turned", "100%"]
    assert where_shared([ONE, TWO]) == ["turned applies in f, g"]


def test_a_check_that_no_mistake_fails_is_listed():
    checks = (Check(1, "Its values.", ()), Check(0, "For learners.", ()))
    exercises = [SimpleNamespace(name=name, like="", checks=checks) for name in ("f", "g")]
    course = SimpleNamespace(chapters=[SimpleNamespace(exercises=exercises)])
    assert idle_checks(SimpleNamespace(course=course), [ONE, TWO]) == [
        "g notices no mistake: Its values."
    ]
