"""Cases, tests and known mistakes of the exercise padding_mask."""

import torch

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, mistake, shown

from ..sizes import BATCH, LONG, Sizes


def cases(pick):
    """Lengths of several texts, the shortest of one token, some as long as the batch."""
    draw = Sizes(pick, "padding_mask")
    b, many = draw(BATCH, LONG)
    drawn = [draw.chance.randint(1, many) for _ in range(b - 2)]
    one, some, alike, typed = (
        [draw.chance.randint(1, most) for _ in range(count)]
        for count, most in ((1, 4), (2, 3), (3, 5), (3, 4))
    )
    lengths = pick(
        public=[((2, 3), 3), ((4, 1, 6), 6), ((3, 2), 5)],
        hidden=[
            ((1,), 1),
            ((1, 2), 2),
            (tuple(one), 5),
            ((*some, 3), 3),
            ((*alike, 5), 5),
            ((*drawn, many - 1, many), many),
        ],
    )
    dtype = pick(public=[((2, 4, 1), 4)], hidden=[(tuple(typed), 5)])
    return [
        shown("sentence/6, 2 and 4 tokens", call(**asked((6, 2, 4), 6))),
        *(case(f"values/{real} of {n}", call(**asked(real, n))) for real, n in lengths),
        *(case("dtype/3 texts", call(**asked(r, n)), signature="dtype") for r, n in dtype),
    ]


def asked(lengths, num_tokens):
    """The arguments of a call."""
    return {"lengths": torch.tensor(lengths), "num_tokens": num_tokens}


def anything(chance):
    """Return one valid call, with random sizes and options, on which all right answers agree."""
    n = chance.randint(1, 30)
    lengths = [chance.randint(1, n) for _ in range(chance.randint(1, 6))]
    return case("anything", call(**asked(lengths, n)))


@for_learners("padding_mask")
def test_padding_mask_by_eye(attempt):
    """Three texts, of which two are filled up."""
    attempt.padding_mask.agrees("sentence")


@exercise("padding_mask", points=3.5)
def test_padding_mask_values(attempt):
    """True behind the end of each text, False before it; one row for each text."""
    attempt.padding_mask.agrees("values")


@exercise("padding_mask", points=1)
def test_padding_mask_dtype(attempt):
    """The mask is boolean."""
    attempt.padding_mask.keeps_dtype("dtype")


@exercise("padding_mask", points=0.5)
def test_padding_mask_inputs(attempt):
    """The lengths stay as they were."""
    attempt.padding_mask.keeps_inputs("values")


RULE = "positions >= lengths[:, None, None]"

MISTAKES = [
    mistake(
        "padding_shown_text_hidden",
        "True stands at the tokens of the text. In this course True hides, and what is to be "
        "hidden is the padding.",
        (RULE, "positions < lengths[:, None, None]"),
    ),
    mistake(
        "padding_one_too_late",
        "The first token of the padding stays visible. Places are counted from 0, so the last "
        "token of a text stands at length - 1.",
        (RULE, "positions > lengths[:, None, None]"),
    ),
    mistake(
        "padding_one_too_early",
        "The last token of each text is hidden too. Places are counted from 0, so it stands at "
        "length - 1.",
        (RULE, "positions >= lengths[:, None, None] - 1"),
    ),
    mistake(
        "padding_in_front",
        "The front of each text is hidden. The padding stands behind it.",
        (RULE, "positions < num_tokens - lengths[:, None, None]"),
    ),
    mistake(
        "padding_mask_without_queries",
        "The dimension of the queries is missing: a mask of shape (b, 1, num_tokens) fits scores "
        "of shape (b, n, num_tokens), one of (b, num_tokens) does not.",
        (RULE, "positions >= lengths[:, None]"),
    ),
    mistake(
        "padding_mask_for_every_query",
        "The mask has a row for each query. One row serves them all, since it broadcasts.",
        (RULE, f"({RULE}).expand(-1, num_tokens, -1)"),
    ),
    mistake(
        "padding_mask_of_queries",
        "The queries that are padding are hidden, not the keys: the mask stands on its side.",
        (RULE, f"({RULE}).transpose(1, 2)"),
    ),
    mistake(
        "one_length_for_all",
        "All texts are taken to be as long as the longest. Each has a length of its own.",
        (RULE, "positions >= lengths.max().expand(len(lengths))[:, None, None]"),
    ),
    mistake(
        "padding_mask_of_numbers",
        "The mask holds numbers, not booleans. True and False are asked for.",
        (RULE, f"({RULE}).float()"),
    ),
]
