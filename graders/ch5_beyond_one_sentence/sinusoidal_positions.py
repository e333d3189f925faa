"""Cases, checks and known mistakes of the exercise sinusoidal_positions."""

from tensorgrade.author import call, case, check, it, shown

from ..steps import LONG, WIDTH


def cases(draw):
    """Return cases with more positions than columns, and with fewer."""
    many, half, few, more = draw(LONG, WIDTH, (15, 17), (18, 20))
    sizes = [(2, 4), (6, 4), (3, 10), (9, 2), (many, 2 * few), (more, 2 * half)]
    return [
        shown("sentence/4 places", call(num_tokens=4, d=6)),
        case("start/place 0", call(num_tokens=1, d=8)),
        case("start/place 0, drawn", call(num_tokens=1, d=2 * half)),
        *(case(f"values/{n} places, {d} columns", call(num_tokens=n, d=d)) for n, d in sizes),
    ]


CHECKS = [
    check(0, "Four positions, six columns.", it.agrees("sentence")),
    check(1, "At position 0 all sines are 0 and all cosines 1.", it.agrees("start")),
    check(5, "Sines and cosines of slower and slower clocks, side by side.", it.agrees("values")),
]


MISTAKES = """
sines_then_cosines: All sines come first and all cosines last; each sine should be followed by its
  cosine.
    - torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(num_tokens, d)
    + torch.cat((angles.sin(), angles.cos()), dim=-1)
cosine_first: Sine and cosine are swapped: the sine belongs in the even columns.
    angles.sin(), angles.cos() -> angles.cos(), angles.sin()
only_sines: All columns contain sines; the odd ones should contain cosines.
    angles.cos() -> angles.sin()
exponent_without_two: The exponent is i / d instead of 2i / d, so each clock is slowed down only by
  the root of the right factor.
    10000.0 ** (-torch.arange(0, d, 2) / d) -> 10000.0 ** (-torch.arange(d // 2) / d)
exponent_doubled: The exponent is twice as large as it should be. If i already counts 0, 2, 4, …,
  the exponent is i / d, because that i includes the 2 of 2i / d.
    10000.0 ** (-torch.arange(0, d, 2) / d) -> 10000.0 ** (-2 * torch.arange(0, d, 2) / d)
exponent_doubled_and_one_further: The exponents of the sines are 2i / d for i = 0, 2, 4, …, twice as
  large as they should be, and those of the cosines 2(i + 1) / d. A sine and the next cosine share
  one exponent, i / d.
    10000.0 ** (-torch.arange(0, d, 2) / d) -> 10000.0 ** (-2 * torch.arange(0, d, 2) / d)
    angles.cos() -> (positions * 10000.0 ** (-2 * torch.arange(1, d, 2) / d)).cos()
each_column_its_own_rate: Each column has its own rate; a sine and the next cosine should share one.
    - torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(num_tokens, d)
    + torch.where(
    +     torch.arange(d) % 2 == 0,
    +     (positions * 10000.0 ** (-torch.arange(d) / d)).sin(),
    +     (positions * 10000.0 ** (-torch.arange(d) / d)).cos(),
    + )
rates_grow: The angles are multiplied by the power of 10000, so the clocks get faster, not slower.
    10000.0 ** (-torch.arange(0, d, 2) / d) -> 10000.0 ** (torch.arange(0, d, 2) / d)
another_base: The base is not 10000.
    10000.0 ** (-torch.arange(0, d, 2) / d) -> 1000.0 ** (-torch.arange(0, d, 2) / d)
angles_times_pi: The angles are multiplied by pi. The first clock should turn by 1 radian per token.
    angles = positions * rates -> angles = positions * rates * torch.pi
places_from_one: The positions start at 1; they should start at 0.
    torch.arange(num_tokens)[:, None] -> torch.arange(1, num_tokens + 1)[:, None]
places_in_columns: Positions run along the columns; each position should be a row.
    .reshape(num_tokens, d) -> .reshape(num_tokens, d).T
"""
