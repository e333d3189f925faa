"""Cases, checks and known mistakes of the exercise rotate."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import TOKENS, WIDTH, scattered, with_an_equal_row
from ..usual import GRADIENTS, SAME


def cases(draw):
    """Return cases at positions from 0 on, at others, and in any order.

    In float32 the angles are exact enough. At large positions only two pairs are used, one of
    rate 1 and one that hardly turns, because those are right to 1e-4 in float32 too.
    """
    n, half = draw(TOKENS, WIDTH)
    chance = draw.chance("positions")
    start, step, base = chance.randint(4201, 4999), chance.randint(2, 4), chance.randint(101, 999)
    sizes = [(1, 2), (2, 3, 4), (1, 7, 2 * half), (2, 1, 3, 8), (n, 8)]
    example = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    calls = {
        "values/example": [call(x=example, positions=torch.arange(2))],
        **{f"values/{size}": [turned(*size)] for size in sizes},
        "values/equal rows": [turned(2, 5, 6, change=with_an_equal_row)],
        "places/from far on": [turned(3, 5, 4, start=start)],
        "places/with gaps": [turned(5, 8, start=7, step=step)],
        "places/others after these": [turned(3, 4, result="first"), turned(3, 4, start=9)],
        "places/backwards": [turned(5, 4, start=9, step=-2)],
        "base/drawn": [turned(4, 6, base=float(base))],
        "base/3": [turned(4, 6, base=3.0)],
        "gradients/drawn": [turned(9, 2 * half, gradient=normal(9, 2 * half))],
    }
    return [
        shown("sentence/4 places", call(x=torch.ones(4, 4), positions=torch.arange(4))),
        *(case(name, *steps, dtype=torch.float32) for name, steps in calls.items()),
        case("same/scattered", *scattered(x=normal(2, 3, 4), positions=torch.arange(3))),
        case(
            "narrow/far on", turned(3, 64, start=start), dtype=torch.bfloat16, signature="ignored"
        ),
    ]


def turned(*shape, start=0, step=1, change=torch.clone, **settings):
    """Return a call on rows of a shape, at positions that are `step` apart."""
    places = torch.arange(shape[-2]) * step + start
    return call(x=computed(change, normal(*shape)), positions=places, **settings)


CHECKS = [
    check(0, "Four rows of ones.", it.agrees("sentence")),
    check(
        5,
        "Entry i turns together with entry i + head_dim / 2, and later pairs turn more slowly.",
        it.agrees("values"),
    ),
    check(
        2,
        "The positions that are passed in are used, even if they do not start at 0.",
        it.agrees("places"),
    ),
    check(1, "The base that is passed in is used.", it.agrees("base")),
    check(1.5, "Gradients reach x.", GRADIENTS),
    check(
        0.25,
        "The angles of large positions are right too if x is in bfloat16.",
        it.agrees("values"),
        it.turns_as_far("narrow"),
    ),
    check(
        0.25,
        "The arguments stay unchanged; they may have any dtype, and need not be contiguous.",
        it.keeps_inputs("values", "places", "base"),
        SAME,
        it.keeps_dtype("same"),
    ),
]


MISTAKES = """
neighbours_paired: Neighbouring entries are rotated together. Entry i should be paired with entry i
  + head_dim / 2.
    first, second = x[..., :half], x[..., half:] -> first, second = x[..., 0::2], x[..., 1::2]
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1).flatten(-2)
angles_of_neighbours: Two conventions are mixed: the angles are for neighbours (a a b b), but the
  rotation is for halves. Entry i and entry i + head_dim / 2 need the same angle (a b a b).
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + x * cos.repeat_interleave(2, dim=-1) + (
    +     torch.cat((-second, first), dim=-1) * sin.repeat_interleave(2, dim=-1)
    + )
angles_of_halves_for_neighbours: Two conventions are mixed: the angles are for halves (a b a b), but
  the rotation is for neighbours. Rotate halves: entry i is paired with entry i + head_dim / 2.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + x * cos.repeat(1, 2) + (
    +     torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2) * sin.repeat(1, 2)
    + )
neighbours_split_halves_joined: Two conventions are mixed: the rows are split into even and odd
  entries but joined as halves. Split them into halves too: entry i is paired with entry i +
  head_dim / 2.
    first, second = x[..., :half], x[..., half:] -> first, second = x[..., 0::2], x[..., 1::2]
halves_split_neighbours_joined: Two conventions are mixed: the rows are split into halves but joined
  alternately. Join them as halves.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1).flatten(-2)
turned_backwards: The rotation goes in the opposite direction: the sine has the wrong sign.
    angles.sin().to(x.dtype) -> -angles.sin().to(x.dtype)
both_signs_plus: Both halves add the sine's part. The first half should subtract it.
    first * cos - second -> first * cos + second
second_half_subtracts: In the second half the sine's part is subtracted. It should be added there.
    second * cos + first -> second * cos - first
halves_exchanged: The halves of the result are swapped.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.cat((second * cos + first * sin, first * cos - second * sin), dim=-1)
rate_over_head_dim: Your exponent is i / head_dim; for pair i it should be i / (head_dim / 2).
    / half) -> / x.shape[-1])
rotation_rates_grow: Later pairs turn faster. They should turn more slowly: divide the position by
  the power.
    (-torch.arange( -> (torch.arange(
one_rate_for_all: All pairs turn at the same rate.
    base ** (-torch.arange(half, device=x.device) / half) -> torch.ones(half, device=x.device)
base_fixed: The base is always 10000; the one that was passed in is ignored.
    base ** -> 10000.0 **
positions_ignored: The positions are counted from 0, and those that were passed in are ignored. With
  a cache, every chunk would start at 0 again.
    angles = positions[:, None] -> angles = torch.arange(len(positions))[:, None]
half_left_as_it_is: Only the first half of each row is rotated; both halves should change.
    second * cos + first * sin -> second
positions_added: Sines and cosines are added to the rows. A rotation multiplies the rows by them
  instead.
    first * cos - second * sin, second * cos + first * sin -> first + sin, second + cos
rotation_detached: No gradient flows back through the result.
    * sin), dim=-1) -> * sin), dim=-1).detach()
"""
