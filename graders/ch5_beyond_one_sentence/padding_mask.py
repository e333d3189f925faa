"""Cases, checks and known mistakes of the exercise padding_mask."""

import torch

from tensorgrade.author import call, case, check, it, shown

from ..steps import BATCH, LONG


def cases(draw):
    """Return cases with lengths of several texts, from one token to the full length."""
    b, n = draw(BATCH, LONG)
    chance = draw.chance("lengths")
    drawn = (*(chance.randint(1, n) for _ in range(b)), n - 1, n)
    texts = [((1,), 1), ((1, 2), 2), ((4, 1, 6), 6), ((3, 2), 5), (drawn, n)]
    return [
        shown("sentence/6, 2 and 4 tokens", call(**asked((6, 2, 4), 6))),
        case("values/example", call(**asked((2, 3), 3))),
        *(case(f"values/{lengths} of {n}", call(**asked(lengths, n))) for lengths, n in texts),
        case("dtype/3 texts", call(**asked((2, 4, 1), 4)), signature="dtype"),
    ]


def asked(lengths, num_tokens):
    """Return the arguments of a call."""
    return {"lengths": torch.tensor(lengths), "num_tokens": num_tokens}


CHECKS = [
    check(0, "Three texts, two of them padded.", it.agrees("sentence")),
    check(
        3.5,
        "True after the end of each text, False before it; one row for each text.",
        it.agrees("values"),
    ),
    check(1, "The mask is boolean.", it.keeps_dtype("dtype")),
    check(0.5, "The lengths stay unchanged.", it.keeps_inputs("values")),
]


MISTAKES = """
padding_shown_text_hidden: The mask is True for the text. In this course True means hidden, and the
  padding should be hidden.
    positions >= lengths[:, None, None] -> positions < lengths[:, None, None]
padding_one_too_late: The first token of the padding stays visible. Positions are counted from 0, so
  the last token of a text is at length - 1.
    positions >= lengths[:, None, None] -> positions > lengths[:, None, None]
padding_one_too_early: The last token of each text is hidden too. Positions are counted from 0, so
  it is at length - 1.
    positions >= lengths[:, None, None] -> positions >= lengths[:, None, None] - 1
padding_in_front: The start of each text is hidden. The padding is at the end.
    positions >= lengths[:, None, None] -> positions < num_tokens - lengths[:, None, None]
padding_mask_without_queries: The dimension of the queries is missing. A mask of shape (b, 1,
  num_tokens) fits scores of shape (b, n, num_tokens); a mask of shape (b, num_tokens) does not.
    positions >= lengths[:, None, None] -> positions >= lengths[:, None]
padding_mask_for_every_query: The mask has a row for each query. One row is enough, because it
  broadcasts.
    lengths[:, None, None] -> lengths[:, None, None].expand(-1, num_tokens, -1)
padding_mask_of_queries: The queries of the padding are hidden instead of the keys: the mask is
  transposed.
    positions >= lengths[:, None, None] -> (positions >= lengths[:, None, None]).transpose(1, 2)
one_length_for_all: All texts get the length of the longest. Use each text's own.
    >= lengths -> >= lengths.max().expand(len(lengths))
padding_mask_of_numbers: The mask contains numbers instead of True and False.
    positions >= lengths[:, None, None] -> (positions >= lengths[:, None, None]).float()
"""
