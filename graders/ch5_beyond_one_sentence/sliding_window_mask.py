"""Cases, checks and known mistakes of the exercise sliding_window_mask."""

from tensorgrade.author import call, case, check, it, shown

from ..steps import LONG


def cases(draw):
    """Return cases with windows of one token, shorter than the text, and at least as long."""
    window, many = sorted(draw((30, 40), LONG))
    short, long = sorted(draw((15, 19), (20, 29)))
    sizes = [(4, 2), (6, 3), (5, 1), (9, 6), (many, window), (long, short)]
    full = [(8, 8), (3, 8), (1, 1), (1, 3), (short, short), (short, long)]
    return [
        shown("sentence/6 tokens, window 3", call(num_tokens=6, window=3)),
        *(case(f"values/{n}, window {w}", call(num_tokens=n, window=w)) for n, w in sizes),
        *(case(f"full/{n}, window {w}", call(num_tokens=n, window=w)) for n, w in full),
        case("dtype/5", call(num_tokens=5, window=2), signature="dtype"),
    ]


CHECKS = [
    check(0, "Six tokens and a window of three.", it.agrees("sentence")),
    check(3, "A token sees itself and the window - 1 tokens before it.", it.agrees("values")),
    check(1, "A window as long as the text gives chapter 3's mask.", it.agrees("full")),
    check(1, "The mask is boolean.", it.keeps_dtype("dtype")),
]


MISTAKES = """
window_one_too_wide: The window is one token too wide: the token itself is part of the window.
    (distance < 0) | (distance >= window) -> (distance < 0) | (distance > window)
window_one_too_narrow: The window is one token too narrow.
    (distance < 0) | (distance >= window) -> (distance < 0) | (distance >= window - 1)
window_shows_the_future: Only tokens that are too old are hidden; the future must be hidden too.
    (distance < 0) | (distance >= window) -> distance >= window
window_on_both_sides: The window reaches as far ahead as back. A token must not see anything after
  itself.
    (distance < 0) | (distance >= window) -> distance.abs() >= window
window_without_end: Only the future is hidden; tokens older than the window stay visible.
    (distance < 0) | (distance >= window) -> distance < 0
window_into_the_future: The window is ahead of each token. It should be behind it.
    (distance < 0) | (distance >= window) -> (distance > 0) | (distance <= -window)
window_hides_nothing: Nothing is hidden, because no token is both in the future and too old. Either
  condition is enough to hide it.
    (distance < 0) | (distance >= window) -> (distance < 0) & (distance >= window)
window_in_blocks: The tokens are cut into blocks that see only themselves. The window should move
  along with each token.
    (distance >= window) -> (positions[:, None] // window != positions // window)
window_of_the_last_tokens: All tokens share one window at the end of the text. Each token should
  look back from itself.
    (distance < 0) | (distance >= window) -> (distance < 0) | (positions < num_tokens - window)
window_mask_shows: True means visible in this mask. In this course True means hidden.
    (distance < 0) | (distance >= window) -> (distance >= 0) & (distance < window)
window_mask_of_numbers: The mask contains numbers instead of True and False.
    (distance < 0) | (distance >= window) -> ((distance < 0) | (distance >= window)).float()
"""
