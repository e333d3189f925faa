"""Messages on cases without a result: parameters that were not set, and errors."""

from types import SimpleNamespace

import pytest
import torch

from tensorgrade.author import call
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import CaughtError, Loaded, Observation
from tensorgrade.exchange.references import References
from tensorgrade.judging.errors import why_it_raised


def said_on(error: CaughtError) -> str:
    """Return the message on an error in the first of two cases, which does not pass `scale`."""
    cases = [record("mix", f"a/{n}", [call("mix", **given)]) for n, given in enumerate(CALLS)]
    references = References("ch1", False, tuple((one, Observation()) for one in cases))
    attempt = SimpleNamespace(references=references, loaded=Loaded(), place="line {}".format)
    return why_it_raised(attempt, "mix", cases[0], error).problem


CALLS = [{"x": torch.ones(2)}, {"x": torch.ones(2), "scale": 2.0}]
MEETS = "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"


@pytest.mark.parametrize(
    ("sizes", "short"),
    [
        ({"scores": (2, 3, 4), "total": (2, 3), "n": 3}, "total"),
        ({"scores": (2, 3, 4), "total": (2, 3), "bias": (4,)}, "total"),
        ({"scores": (2, 3, 4), "total": (2, 3), "largest": (2, 3)}, ""),
        ({"scores": (2, 3, 4), "total": (2, 5)}, ""),
        ({"scores": (2, 3, 5), "total": (2, 3)}, ""),
    ],
)
def test_a_lost_last_dimension_is_named_if_only_one_pair_of_shapes_fits(sizes, short):
    said = said_on(CaughtError("RuntimeError", MEETS, 3, "scores - total", sizes=sizes))
    assert ("torch compares shapes from the right" in said) == bool(short)
    assert not short or said.endswith(
        f"Does `{short}` need one more dimension at its end, of size 1?"
    )
