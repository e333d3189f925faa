"""Cases, checks and known mistakes of the exercise rotate."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import TOKENS, WIDTH, Sizes, scattered, with_an_equal_row


def cases(pick):
    """Return cases at positions from 0 on, at others, and in any order.

    In float32 the angles are exact enough. At large positions only two pairs are used, one of
    rate 1 and one that hardly turns, because those are right to 1e-4 in float32 too.
    """
    draw = Sizes(pick, "rotate")
    n, half = draw(TOKENS, WIDTH)
    start, step = draw.chance.randint(4201, 4999), draw.chance.randint(2, 4)
    sizes = pick(
        public=[(4, 6), (2, 3, 4)], hidden=[(1, 2), (2, 1, 4, 8), (n, 4), (1, 6, 2 * half)]
    )
    bases = pick(public=[100.0], hidden=[500.0, 3.0])
    return [
        shown("sentence/4 places", call(x=torch.ones(4, 4), positions=torch.arange(4))),
        *(case(f"values/{size}", turned(*size), dtype=torch.float32) for size in sizes),
        *(
            case("values/equal rows", turned(*size, change=with_an_equal_row), dtype=torch.float32)
            for size in pick(public=[], hidden=[(2, 5, 6)])
        ),
        case("places/from far on", turned(3, 4, 4, start=start), dtype=torch.float32),
        case("places/with gaps", turned(5, 8, start=7, step=step), dtype=torch.float32),
        case(
            "places/others after these",
            turned(3, 4, result="first"),
            turned(3, 4, start=9),
            dtype=torch.float32,
        ),
        case("places/backwards", turned(5, 4, start=9, step=-2), dtype=torch.float32),
        *(case(f"base/{b:g}", turned(4, 6, base=b), dtype=torch.float32) for b in bases),
        case("gradients/4x6", turned(4, 6, gradient=normal(4, 6)), dtype=torch.float32),
        case(
            "same/scattered",
            *scattered(x=normal(2, 3, 4), positions=torch.arange(3)),
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
    check(1.5, "Gradients reach x.", it.agrees("gradients", only="gradient")),
    check(
        0.5,
        "The arguments stay unchanged; they may have any dtype, and need not be contiguous.",
        it.keeps_inputs("values", "places", "base"),
        it.gives_the_same("same"),
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
    cos, sin = angles.cos(), angles.sin() -> cos, sin = angles.cos(), -angles.sin()
both_signs_plus: Both halves add the sine's part. The first half should subtract it.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.cat((first * cos + second * sin, second * cos + first * sin), dim=-1)
second_half_subtracts: In the second half the sine's part is subtracted. It should be added there.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.cat((first * cos - second * sin, second * cos - first * sin), dim=-1)
halves_exchanged: The halves of the result are swapped.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.cat((second * cos + first * sin, first * cos - second * sin), dim=-1)
rate_over_head_dim: Your exponent is i / head_dim; for pair i it should be i / (head_dim / 2).
    - base ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
    + base ** (-torch.arange(half, dtype=x.dtype, device=x.device) / x.shape[-1])
rotation_rates_grow: Later pairs turn faster. They should turn more slowly: divide the position by
  the power.
    - base ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
    + base ** (torch.arange(half, dtype=x.dtype, device=x.device) / half)
one_rate_for_all: All pairs turn at the same rate.
    - base ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
    + torch.ones(half, dtype=x.dtype, device=x.device)
base_fixed: The base is always 10000; the one that was passed in is ignored.
    - base ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
    + 10000.0 ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
positions_ignored: The positions are counted from 0, and those that were passed in are ignored. With
  a cache, every chunk would start at 0 again.
    angles = positions[:, None] -> angles = torch.arange(len(positions))[:, None]
half_left_as_it_is: Only the first half of each row is rotated; both halves should change.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.cat((first * cos - second * sin, second), dim=-1)
positions_added: Sines and cosines are added to the rows. A rotation multiplies the rows by them
  instead.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.cat((first + sin, second + cos), dim=-1)
rotation_detached: No gradient flows back through the result.
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).detach()
"""
