"""Cases, checks and known mistakes of the exercise online_softmax_attention."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import FEATURES, TOKENS, scattered, with_an_equal_row
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases (n, m, d, d_v, block_size), with blocks that divide m, or not, or exceed it."""
    n, m, d, d_v, block = draw((10, 12), TOKENS, FEATURES, (17, 19), (13, 16))
    sizes = [(1, 6, 4, 2, 3), (4, 7, 2, 1, 3), (2, 5, 1, 3, 4), (8, 3, 5, 4, 2), (2, 4, 3, 5, 1)]
    example = {"queries": torch.ones(1, 1), "keys": torch.tensor([[1.0], [3.0], [2.0]])}
    example |= {"values": torch.tensor([[10.0], [20.0], [30.0]])}
    return [
        shown("sentence/blocks of 2", call(**drawn(2, 5, 3, 2), block_size=2)),
        *(case(f"one block/{size}", called(*size)) for size in [(4, 1, 3, 2, 5), (3, 4, 2, 5, 64)]),
        case("one block/drawn", called(n, block, d, d_v, block)),
        case("values/example", call(**example, block_size=1)),
        *(case(f"values/{size}", called(*size)) for size in sizes),
        case("values/drawn", called(n, m, d, d_v, block)),
        case("values/float32", called(3, 7, 4, 5, 2), dtype=torch.float32),
        case("values/one after another", *again()),
        # The largest score is in the first block, then in the last one.
        case("large/falling", call(**at_1e4(m, falling=True), block_size=block)),
        case("large/rising", call(**at_1e4(m, falling=False), block_size=block)),
        case("large/rows apart", call(**rows_apart(m), block_size=block)),
        case("low/-32768", call(**all_low(n, m), block_size=block)),
        case("gradients/drawn", called(n, m, d, d_v, block, gradient=normal(n, d_v))),
        case("operations/no table", called(20, 60, 3, 5, 8, watch=True), signature="largest"),
        case("same/scattered", *scattered(**drawn(3, 5, 4, 2), block_size=2)),
    ]


def drawn(n, m, d, d_v):
    """Return random queries, keys and values."""
    return {"queries": 2 * normal(n, d), "keys": normal(m, d), "values": normal(m, d_v)}


def called(n, m, d, d_v, block_size, **settings):
    """Return a call on random numbers."""
    return call(**drawn(n, m, d, d_v), block_size=block_size, **settings)


def again():
    """Return two calls on different numbers: the second must not depend on the first.

    In the first one, tables have two equal rows.
    """
    first = {name: computed(with_an_equal_row, x) for name, x in drawn(3, 5, 4, 2).items()}
    return (
        call(**first, block_size=2, result="first"),
        call(**drawn(3, 5, 4, 2), block_size=2, no_grad=True),
    )


def at_1e4(m, falling):
    """Return a call with scores up to ten thousand, the largest first or last."""
    steps = torch.arange(m, 0, -1) if falling else torch.arange(1, m + 1)
    keys = steps[:, None].double().repeat(1, 3)
    return {"queries": normal(2, 3) + 1e3, "keys": keys, "values": normal(m, 2)}


def rows_apart(m):
    """Return a call whose queries have scores of 1 and of ten thousand: each needs its maximum."""
    queries = normal(3, 4) * torch.tensor([[1e4], [1.0], [1e-2]])
    return {"queries": queries, "keys": normal(m, 4), "values": normal(m, 2)}


def all_low(n, m):
    """Return a call with similar scores near -2^15: the maximum has to start below them.

    The numbers are short, so that scores in float32 are just as exact.
    """
    queries, keys = (
        computed(with_last, normal(n, 3), 256.0),
        computed(with_last, normal(m, 3), -256.0),
    )
    return {"queries": queries, "keys": keys, "values": normal(m, 3)}


def with_last(numbers: torch.Tensor, last: float) -> torch.Tensor:
    """Return numbers rounded to quarters, with one more column that is equal in all rows."""
    return torch.cat(((4 * numbers).round() / 4, numbers.new_full((len(numbers), 1), last)), dim=1)


CHECKS = [
    check(0, "Five keys in blocks of two.", it.agrees("sentence")),
    check(
        1.5,
        "With all keys in one block, it is scaled dot-product attention.",
        it.agrees("one block"),
    ),
    check(6.6, "With several blocks, the last one smaller.", it.agrees("values")),
    check(
        3,
        "Scores of ten thousand do not overflow, and scores of minus thirty thousand do "
        "not vanish.",
        it.agrees("large"),
        it.agrees("low"),
    ),
    check(1.5, "Gradients reach queries, keys and values.", GRADIENTS),
    check(
        0.9, "It makes no tensor of n x m entries.", it.makes_no_table("operations", "block_size")
    ),
    check(0.5, UNCHANGED, it.keeps_inputs("values", "one block"), SAME),
]


MISTAKES = """
one_maximum_for_all_queries: One maximum is subtracted from the scores of all queries, so a query
  whose scores are far below it loses all its weights.
    attn_scores.amax(dim=-1, keepdim=True) -> attn_scores.max()
largest_never_replaced: The new maximum is never stored, so each block compares with the very first
  one. It has to be replaced after each block.
    largest = new_largest -> pass
total_not_brought_up_to_date: When a larger score appears, the sum of exponentials so far is not
  rescaled.
    total * factor + -> total +
context_not_brought_up_to_date: When a larger score appears, the sum of values so far is not
  rescaled.
    context * factor + -> context +
nothing_brought_up_to_date: When a larger score appears, the sums so far, of exponentials and of
  values, are not rescaled.
    torch.exp(largest - new_largest) -> torch.ones_like(new_largest)
factor_turned_round: The factor is inverted: from the old maximum to a larger new one, the sums so
  far must shrink.
    torch.exp(largest - new_largest) -> torch.exp(new_largest - largest).nan_to_num(posinf=0.0)
blocks_averaged: Each block is divided by its own sum before the blocks are added. A softmax has one
  sum for all keys.
    total * factor + exponentials.sum(dim=-1, keepdim=True) -> torch.ones_like(new_largest)
    context * factor + exponentials -> context + exponentials / exponentials.sum(-1, keepdim=True)
never_divided: The sum of values is not divided by the sum of exponentials.
    return context / total -> return context
without_a_maximum: The exponentials are taken without a maximum, so large scores overflow.
    torch.maximum(largest, attn_scores.amax(dim=-1, keepdim=True)) -> torch.zeros_like(total)
    torch.exp(largest - new_largest) -> torch.ones_like(new_largest)
maximum_starts_at_zero: The maximum starts at a number such as 0. If all scores are far below that,
  every exponential vanishes. It has to start below every score.
    queries.new_full((n, 1), -torch.inf) -> queries.new_zeros(n, 1)
last_block_left_out: The keys after the last full block are left out.
    range(0, len(keys), block_size) -> range(0, len(keys) - block_size + 1, block_size)
last_block_always_left_out: The loop ends before the last block, whole or not. A block has to start
  at every multiple of block_size below `len(keys)`.
    range(0, len(keys), block_size) -> range(0, len(keys) - block_size, block_size)
keys_counted_by_queries: The loop runs over as many keys as there are queries. There may be more
  keys, or fewer.
    range(0, len(keys), block_size) -> range(0, n, block_size)
online_no_scale: The scores are not scaled. Divide by the root of the number of features.
    queries @ keys[block].T / d_k**0.5 -> queries @ keys[block].T
online_scaled_by_d: The scores are divided by d itself. The spread of a dot product grows more
  slowly than its number of terms.
    queries @ keys[block].T / d_k**0.5 -> queries @ keys[block].T / d_k
whole_table_made: A tensor is larger than one block of scores (queries × block_size): for example
  all scores at once, or a block with one more dimension.
    queries @ keys[block].T / d_k**0.5 -> (queries @ keys.T)[:, block] / d_k**0.5
online_detached: No gradient flows back through the result.
    return context / total -> return (context / total).detach()
"""
