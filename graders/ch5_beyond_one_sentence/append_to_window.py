"""Cases, checks and known mistakes of the exercise append_to_window."""

import torch

from tensorgrade.author import call, case, check, it, normal, shown

from ..steps import BATCH, FEATURES, TOKENS, counted, scattered
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases (leading, t, n, d, d_v, window): not full, overflowing, and tiny windows."""
    b, t, n, d, d_v = draw(BATCH, TOKENS, (19, 20), FEATURES, (9, 11))
    window = (t + n) // 2
    (few,) = draw((30, 33))
    growing = [((2, 3), 5, 4, 6, 7, 12), ((), 0, 3, 4, 5, 6), ((b,), n, 3, d, 1, t + n + d_v)]
    full = [
        ((), 6, 0, 3, 2, 4),  # no new token
        ((), 0, 5, 4, 2, 3),
        ((), 2, 3, 5, 1, 3),  # as many new ones as fit
        ((1,), 1, 2, 3, 4, 1),
        ((2,), 4, 3, 5, 1, 6),
        ((2, 3), 4, 6, 1, 5, 7),
        ((b,), t, n, d, d_v, window),
        ((), n, t, d, d_v, t),
    ]
    old, new = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0]])
    example = {"keys": old, "values": 10 * old, "new_keys": new, "new_values": 10 * new}
    gradient = (normal(b, few, d), normal(b, few, d_v))
    return [
        shown(
            "sentence/window 3",
            call(
                keys=counted(3, 2),
                values=10 * counted(3, 2),
                new_keys=counted(1, 2) + 6,
                new_values=10 * (counted(1, 2) + 6),
                window=3,
            ),
        ),
        *(case(f"growing/{size}", call(**kept(*size))) for size in growing),
        case("full/example", call(**example, window=2)),
        *(case(f"full/{size}", call(**kept(*size))) for size in full),
        case("gradients/drawn", call(**kept((b,), few, 3, d, d_v, few), gradient=gradient)),
        case("same/scattered", *scattered(**kept((2,), 3, 4, 5, 6, 7))),
    ]


def kept(lead, t, n, d, d_v, window):
    """Return the arguments of a call: t tokens are cached, n are new."""
    return {
        "keys": normal(*lead, t, d),
        "values": normal(*lead, t, d_v),
        "new_keys": normal(*lead, n, d),
        "new_values": normal(*lead, n, d_v),
        "window": window,
    }


CHECKS = [
    check(0, "Three rows are cached, one is added, and one is dropped.", it.agrees("sentence")),
    check(1.5, "All tokens are kept while the window is not full.", it.agrees("growing")),
    check(2, "The last `window` tokens are kept, the oldest dropped.", it.agrees("full")),
    check(1, "Gradients reach the tokens that are kept.", GRADIENTS),
    check(0.5, UNCHANGED, it.keeps_inputs("growing", "full"), SAME),
]


MISTAKES = """
oldest_kept: The first tokens are kept and the new ones dropped. A window looks back from the
  newest.
    - return all_keys[..., -window:, :], all_values[..., -window:, :]
    + return all_keys[..., :window, :], all_values[..., :window, :]
window_never_full: Nothing is dropped, so the cache grows without limit.
    return all_keys[..., -window:, :], all_values[..., -window:, :] -> return all_keys, all_values
only_the_new_kept: Only the new tokens are returned; the old ones that still fit belong before them.
    torch.cat((keys, new_keys), dim=-2) -> new_keys
    torch.cat((values, new_values), dim=-2) -> new_values
new_before_old: The new tokens are placed before the old ones. The newest token should come last.
    torch.cat((keys, new_keys), dim=-2) -> torch.cat((new_keys, keys), dim=-2)
    torch.cat((values, new_values), dim=-2) -> torch.cat((new_values, values), dim=-2)
cut_before_joining: The old tokens are cut to the window before the new ones are added, so too many
  remain.
    (keys, -> (keys[..., -window:, :],
    (values, -> (values[..., -window:, :],
    return all_keys[..., -window:, :], all_values[..., -window:, :] -> return all_keys, all_values
old_cut_to_what_is_left: The old tokens are cut to the space that the new ones leave. If that is 0
  or negative, the slice keeps tokens that should go.
    (keys, -> (keys[..., -(window - new_keys.shape[-2]):, :],
    (values, -> (values[..., -(window - new_keys.shape[-2]):, :],
    return all_keys[..., -window:, :], all_values[..., -window:, :] -> return all_keys, all_values
window_one_larger: One token more than the window is kept.
    - return all_keys[..., -window:, :], all_values[..., -window:, :]
    + return all_keys[..., -window - 1 :, :], all_values[..., -window - 1 :, :]
values_cut_like_nothing: Only the keys are cut. Drop the values together with their keys.
    all_values[..., -window:, :] -> all_values
window_over_features: The features are cut. The window limits the tokens.
    - return all_keys[..., -window:, :], all_values[..., -window:, :]
    + return all_keys[..., -window:], all_values[..., -window:]
window_along_dimension_1: Dimension 1 is cut, but that is the tokens' dimension only if exactly one
  comes before it. The tokens are always the second-to-last dimension.
    - return all_keys[..., -window:, :], all_values[..., -window:, :]
    + return all_keys[:, -window:], all_values[:, -window:]
window_along_dimension_0: The first dimension is cut, which counts the tokens only if nothing comes
  before them. The tokens are always the second-to-last dimension.
    - return all_keys[..., -window:, :], all_values[..., -window:, :]
    + return all_keys[-window:], all_values[-window:]
joined_along_dimension_1: Old and new are joined in dimension 1, which counts the tokens only if one
  dimension comes before them. The tokens are always the second-to-last dimension.
    torch.cat((keys, new_keys), dim=-2) -> torch.cat((keys, new_keys), dim=1)
    torch.cat((values, new_values), dim=-2) -> torch.cat((values, new_values), dim=1)
joined_along_dimension_0: Old and new are joined in the first dimension, which counts the tokens
  only if nothing comes before them. The tokens are always the second-to-last dimension.
    torch.cat((keys, new_keys), dim=-2) -> torch.cat((keys, new_keys), dim=0)
    torch.cat((values, new_values), dim=-2) -> torch.cat((values, new_values), dim=0)
window_pair_exchanged: Keys and values are swapped in the result.
    all_keys[..., -window:, :], all_values -> all_values[..., -window:, :], all_keys
window_detached: No gradient flows back through the result.
    - return all_keys[..., -window:, :], all_values[..., -window:, :]
    + return all_keys[..., -window:, :].detach(), all_values[..., -window:, :].detach()
"""
