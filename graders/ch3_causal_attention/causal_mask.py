"""Cases, checks and known mistakes of the exercise causal_mask."""

from tensorgrade.author import call, case, check, it, shown

from ..steps import LONG


def cases(draw):
    """Return cases with masks of several lengths."""
    (many,) = draw(LONG)
    return [
        shown("sentence/6 tokens", call(context_length=6)),
        *(case(f"values/{n}", call(context_length=n)) for n in (1, 3, 9)),
        case("values/drawn", call(context_length=many)),
        case("dtype/drawn", call(context_length=many), signature="dtype"),
    ]


CHECKS = [
    check(0, "A mask for six tokens.", it.agrees("sentence")),
    check(4, "True above the diagonal, False on it and below.", it.agrees("values")),
    check(1, "The mask is boolean.", it.keeps_dtype("dtype")),
]


MISTAKES = """
mask_of_numbers: The mask contains numbers instead of True and False.
    .bool() ->
mask_of_minus_inf: The mask contains -inf, to be added to scores. It should be boolean: True for
  each hidden token.
    torch.triu(ones, diagonal=1).bool() -> torch.full(ones.shape, -torch.inf).triu(1)
mask_hides_nothing 100%: Nothing is hidden: the mask is False everywhere.
    torch.triu(ones, diagonal=1).bool() -> torch.zeros(context_length, context_length).bool()
mask_hides_all_others: All other tokens are hidden; the past should stay visible.
    torch.triu(ones, diagonal=1).bool() -> ~torch.eye(context_length).bool()
mask_cut_from_six_tokens: The mask is cut from one for six tokens, so longer texts get a mask that
  is too small. It needs as many rows and columns as `context_length` says.
    - torch.triu(ones, diagonal=1).bool()
    + torch.triu(torch.ones(6, 6), diagonal=1).bool()[:context_length, :context_length]
mask_one_too_large: The mask has one row and one column too many.
    torch.ones(context_length, context_length) -> torch.ones(context_length + 1, context_length + 1)
"""
