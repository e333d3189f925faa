"""What can be said about a wrong result where no known mistake matches: facts, never a guess."""

import torch

from ..cases import Case
from .echoes import echoes
from .not_numbers import not_numbers
from .ratios import ratios
from .reordered import reordered
from .sums import sums


def remarks(
    case: Case, actual: torch.Tensor | None, expected: torch.Tensor, hidden: bool
) -> tuple[str, ...]:
    """Sentences about a result that disagrees.

    On hidden cases they rest on the learner's own values and on what the exercise's text says of
    any right result; only on public ones on the expected values too.
    """
    if actual is None:
        return ()
    found = [not_numbers(actual, expected)]
    if not found[0]:
        found += [sums(actual, expected), echoes(case, actual)]
        found += [] if hidden else [ratios(case, actual, expected), reordered(actual, expected)]
    return tuple(said for said in found if said)
