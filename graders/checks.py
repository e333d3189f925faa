"""The checks and signatures that only this course needs, and what its known mistakes cost.

`tensorgrade build` copies this file to `exercises/`, for learners: nothing in it is secret.
"""

import torch

from tensorgrade import check, signature
from tensorgrade.recognition.dropout import in_parts, number_of_parts, of_dropout, pair_of_runs
from tensorgrade.recognition.imprints import Imprint, of_structure, of_use
from tensorgrade.recognition.operations import PRODUCTS

# What an exercise on softmax, or on dropout, may not call: there the point is to write it.
FUSED = {name for name in PRODUCTS if name.startswith("_scaled_dot_product")}
SOFTMAXES = {"call:softmax", "call:log_softmax", "call:softmin", "call:gumbel_softmax"} | FUSED
SOFTMAXES |= {"_softmax", "_log_softmax", "_safe_softmax", "call:logsumexp"}
DROPOUTS = {"call:dropout", "call:dropout_", "call:alpha_dropout", "call:feature_dropout"} | FUSED
DROPOUTS |= {"native_dropout", "_fused_dropout"}


@check
def avoids_softmax(exercise, group: str) -> None:
    """A watched call made no use of torch's own softmax."""
    said = "it calls torch's own softmax; the point of the exercise is to write it"
    exercise.avoids(group, SOFTMAXES, said)
    for case, expected, observed in exercise.answered(group):
        result = exercise.result(case, "result", expected, observed)
        (x,) = case.tensors.values()
        if any(torch.equal(result, torch.softmax(x.to(d), dim=-1).to(result)) for d in FLOATS):
            exercise.wrong("fact", said, case=case, actual=result)


# Written out, no softmax of 300 numbers came to the very bits of torch's own.
FLOATS = (torch.float64, torch.float32)


@check
def avoids_dropout(exercise, group: str) -> None:
    """A watched call made no use of torch's own dropout."""
    said = "it calls torch's own dropout; the point of the exercise is to write it"
    exercise.avoids(group, DROPOUTS, said)


@check
def sees_no_future(exercise, group: str) -> None:
    """Inputs differ from some token on: results before it stay, and after it change.

    They stay where the later tokens are huge, too; and a change of the first token shows.
    """
    exercise.mixes_tokens(group)
    for case, expected, observed in exercise.answered(group):
        before, after, huge = (
            exercise.result(case, r, expected, observed) for r in ("before", "after", "huge")
        )
        first, second, *_ = (t for name, t in sorted(case.tensors.items()) if name.endswith(".x"))
        cut = int((first != second).any(dim=-1).any(dim=0).nonzero()[0])
        earlier = before[:, :cut].double(), after[:, :cut].double()
        if not torch.allclose(*earlier, rtol=1e-4, atol=1e-6):
            said = (
                f"changing only the tokens from {cut} on changes results before them: "
                "they see the future"
            )
            exercise.wrong("values", said, case=case, actual=after)
        if not torch.allclose(huge[:, :cut].double(), before[:, :cut].double(), 1e-4, 1e-6):
            said = (
                f"tokens from {cut} on that draw all attention leave nothing to those before: "
                "hide their scores before the softmax, not their weights after it"
            )
            exercise.wrong("values", said, case=case, actual=huge)
        if torch.equal(before[:, cut:], after[:, cut:]):
            said = f"changing the tokens from {cut} on changes nothing at all"
            exercise.wrong("values", said, case=case)


@check
def mixes_tokens(exercise, group: str) -> None:
    """Two inputs differ in the first token: the results of others change. Else nothing attends."""
    for case, expected, observed in exercise.answered(group):
        before, earlier = (
            exercise.result(case, r, expected, observed) for r in ("before", "earlier")
        )
        if torch.allclose(before[..., 1:, :].double(), earlier[..., 1:, :].double(), atol=1e-6):
            said = "changing the first token changes no other token's result: nothing is attended"
            exercise.wrong("values", said, case=case, actual=earlier)


@check
def drops_both_halves(exercise, group: str) -> None:
    """`drops_entries`, and what is dropped is an attention weight, not a value or an output.

    The values are two identity matrices side by side, so the result holds the attention
    weights twice, and both halves must have lost the same entries.
    """
    for case, expected, observed in exercise.answered(group):
        dropped = exercise.result(case, "dropped", expected, observed)
        if dropped.isnan().any():
            exercise.wrong("nan", "in training the result contains NaN", case=case, actual=dropped)
        if not halves_agree(dropped):
            said = (
                "what is dropped is not an attention weight: a dropped weight takes all of a "
                "value with it"
            )
            exercise.wrong("fact", said, case=case, actual=dropped)
    exercise.drops_entries(group, twice=True)


@signature("softmax used")
def softmax_used(case, expected, seen) -> Imprint:
    """Whether torch's own softmax ran."""
    return of_use(seen, SOFTMAXES)


@signature("dropout used")
def dropout_used(case, expected, seen) -> Imprint:
    """Whether torch's own dropout ran."""
    return of_use(seen, DROPOUTS)


@signature("dropped weights")
def dropped_weights(case, expected, seen) -> Imprint:
    """Dropout where the result holds the attention weights twice: what exactly was dropped."""
    without = of_dropout(case, expected, seen)
    if (runs := pair_of_runs(seen)) is None:
        return without
    halves = halves_agree(in_parts(runs[1], number_of_parts(case)))
    words = f"{without.words} halves={halves} columns={whole_columns(*runs)}"
    return Imprint(words, without.numbers)


def halves_agree(tensor: torch.Tensor) -> bool:
    """Whether the left and the right half of the columns are the same."""
    left, right = tensor[..., : tensor.shape[-1] // 2], tensor[..., tensor.shape[-1] // 2 :]
    return left.shape == right.shape and bool(torch.isclose(left, right).all())


def whole_columns(plain: torch.Tensor, dropped: torch.Tensor) -> bool:
    """Whether entries vanish by the column, as they do when the values are thinned out."""
    filled = (plain != 0).sum(dim=-2) >= 8
    emptied = filled & ((dropped != 0).sum(dim=-2) == 0)
    return bool(emptied.sum() > 0.1 * filled.sum())


@signature("structure of heads")
def structure_of_heads(case, expected, seen) -> Imprint:
    """The structure of a module, and whether its heads are in a list that torch never sees."""
    structure = of_structure(case, expected, seen)
    loose = "heads" in seen.fact("module", "attributes", default=[])
    return Imprint(f"{structure.words}; loose={loose}", structure.numbers)


# What leaves nothing of an exercise's idea, and why: it costs everything.
NOTHING_LEFT = {
    "inverted_dropout.dropout_left_out": "what was passed in comes back",
    "mask_and_renormalize.mask_thrown_away": "rows that sum to 1 are divided by their sum, which "
    "gives back what was passed in",
    "causal_mask.mask_hides_nothing": "a mask without a single entry",
    "copy_v2_into_v1.copied_nowhere": "nothing is copied",
}
# By the share of its exercise that a mistake costs where all else is right. What is not listed
# costs what the tests take for it, but no less than a tenth and no more than a half.
BY_SHARE = {
    0.2: """output_projection_without_bias output_bias_tied_to_qkv_bias bias_never
    value_without_bias""",
    0.3: """no_scale scaled_by_d_k multiplied_by_sqrt_d_k scaled_by_tokens scaled_by_a_constant
    scaled_by_sqrt_d_in scaled_by_sqrt_d_out scaled_by_sqrt_num_heads scaled_too_early
    queries_scaled_already scores_scaled products_averaged rows_averaged heads_meaned
    bias_always mask_not_cut context_length_not_passed_on base_two dim_ignored
    mask_fill_not_low_enough zeros_taken_for_hidden output_projection_twice""",
    0.4: """scaled_after_softmax softmax_over_columns softmax_over_everything softmax_over_heads
    softmax_over_batch softmax_twice always_dim_zero all_entries_share_one_sum
    scores_transposed weights_transposed t_on_a_batch one_projection_for_two
    keys_instead_of_values queries_instead_of_values scores_from_values
    scores_from_queries_alone scores_from_keys_alone mask_inverted mask_hides_the_past
    mask_on_the_diagonal mask_one_too_late copied_without_transpose heads_interleaved
    merged_interleaved heads_in_reverse keys_split_differently values_split_differently
    masked_without_renormalizing renormalized_before_masking""",
}
PRICES = {name: share for share, names in BY_SHARE.items() for name in names.split()}
PRICES |= dict.fromkeys(NOTHING_LEFT, 1.0)
