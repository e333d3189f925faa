"""The checks and signatures that only this course needs, and what its known mistakes cost.

`tensorgrade build` copies this file to `exercises/`, for learners: nothing in it is secret.
"""

from dataclasses import replace

import torch

from tensorgrade import check, signature
from tensorgrade.judging.diagnosis import Diagnosis, Kind, Wrong
from tensorgrade.recognition import imprints
from tensorgrade.recognition.dropout import (
    behaviour,
    chances,
    dependence,
    difference,
    in_parts,
    is_uneven,
    looks_like,
    number_of_parts,
    of_dropout,
    pair_of_runs,
    rate,
    same_zeros,
)
from tensorgrade.recognition.imprints import Imprint, of_use, weighted
from tensorgrade.recognition.operations import PRODUCTS

# Operations that must not be called in the exercises that implement them.
FUSED = {name for name in PRODUCTS if name.startswith("_scaled_dot_product")}
SOFTMAXES = {"call:softmax", "call:log_softmax", "call:softmin", "call:gumbel_softmax"} | FUSED
SOFTMAXES |= {"_softmax", "_log_softmax", "_safe_softmax", "call:logsumexp"}
DROPOUTS = {"call:dropout", "call:dropout_", "call:alpha_dropout", "call:feature_dropout"} | FUSED
DROPOUTS |= {"native_dropout", "_fused_dropout"}
ATTENTION = {"call:scaled_dot_product_attention", "call:multi_head_attention_forward"} | FUSED
LOSSES = {"call:cross_entropy", "call:nll_loss", "nll_loss_forward", "nll_loss_nd"}
LOSSES |= {"nll_loss2d_forward", "cross_entropy_loss"}
NORMS = {"call:layer_norm", "native_layer_norm", "call:rms_norm", "call:group_norm"}
LIBRARY = {"softmax": SOFTMAXES, "dropout": DROPOUTS, "loss": LOSSES, "norm": NORMS}

# The same names in source code, on any object: x.softmax, nn.Softmax, getattr(torch, "softmax").
NAMED = """softmax softmax_ log_softmax softmin gumbel_softmax logsumexp Softmax LogSoftmax Softmin
Softmax2d special_softmax special_log_softmax _softmax _log_softmax _safe_softmax
scaled_dot_product_attention""".split()
OWN = "it calls torch's own softmax or a related function; the exercise is to write it yourself"


@check
def names_no_softmax(exercise) -> None:
    """Check that the source names no softmax of torch. Half of the exercise depends on it."""
    exercise.names_none(NAMED, OWN, share=0.5)


@check
def avoids_softmax(exercise, group: str) -> None:
    """Check that a watched call does not use torch's own softmax."""
    exercise.avoids(group, SOFTMAXES, OWN)
    for case, expected, observed in exercise.answered(group):
        result = exercise.result(case, "result", expected, observed)
        (x,) = case.tensors.values()
        same = (torch.equal(result, torch.softmax(x.to(d), dim=-1).to(result)) for d in FLOATS)
        if x.numel() >= TELLING and any(same):
            exercise.wrong("fact", OWN, case=case, actual=result, forbidden=frozenset(NAMED))


TELLING = 300  # on this many numbers, no hand-written softmax was bit-identical to torch's own
FLOATS = (torch.float64, torch.float32)


@check
def avoids_attention(exercise, group: str) -> None:
    """Check that a watched call does not use torch's own attention, at half of the points."""
    for case, _, observed in exercise.answered(group):
        if observed.uses(ATTENTION):
            said = "it calls torch's own attention; the exercise is to write it yourself"
            names = frozenset(name.removeprefix("call:") for name in ATTENTION)
            told = Diagnosis(Kind.FACT, said, case=case.name, share=0.5, forbidden=names)
            raise Wrong(told)


@check
def avoids_library(exercise, group: str, what: str) -> None:
    """Check that a watched call does not use torch's own function. what: a key of LIBRARY."""
    said = f"it calls torch's own {what}; the exercise is to write it yourself"
    exercise.avoids(group, LIBRARY[what], said)


for name, operations in LIBRARY.items():

    @signature(f"{name} used")
    def library_used(case, expected, seen, operations=operations) -> Imprint:
        """Record whether torch's own function ran."""
        return of_use(seen, operations)


@check
def sees_no_future(exercise, group: str) -> None:
    """Check that changing later tokens changes later results and no earlier ones.

    Earlier results must also stay if the later tokens are huge. A change of the first token must
    show in other results.
    """
    exercise.mixes_tokens(group)
    for case, expected, observed in exercise.answered(group):
        before, after, huge = (
            exercise.result(case, r, expected, observed) for r in ("before", "after", "huge")
        )
        first, second, *_ = passed(case, "x")
        cut = int((first != second).any(dim=-1).any(dim=0).nonzero()[0])
        earlier = before[:, :cut].double(), after[:, :cut].double()
        if earlier[0].isnan().any():
            exercise.wrong("nan", "the result contains NaN", case=case, actual=before)
        if not torch.allclose(*earlier, rtol=1e-4, atol=1e-6):
            said = (
                f"changing only the tokens `x[:, {cut}:]` changes results of earlier ones: they "
                "see the future"
            )
            exercise.wrong("values", said, case=case, actual=after)
        if not torch.allclose(huge[:, :cut].double(), before[:, :cut].double(), 1e-4, 1e-6):
            said = (
                f"if the tokens `x[:, {cut}:]` draw all attention, nothing is left for the earlier "
                "ones: hide the scores before the softmax, not the weights after it"
            )
            exercise.wrong("values", said, case=case, actual=huge)
        if torch.equal(before[:, cut:], after[:, cut:]):
            said = f"changing the tokens `x[:, {cut}:]` changes no result"
            exercise.wrong("values", said, case=case)


@check
def mixes_tokens(exercise, group: str) -> None:
    """Check that changing the first token changes other tokens' results, so that they attend."""
    for case, expected, observed in exercise.answered(group):
        before, earlier = (
            exercise.result(case, r, expected, observed) for r in ("before", "earlier")
        )
        if torch.allclose(before[..., 1:, :].double(), earlier[..., 1:, :].double(), atol=1e-6):
            said = "changing the first token changes no later result: no token attends to it"
            exercise.wrong("values", said, case=case, actual=earlier)


@check
def drops_both_halves(exercise, group: str) -> None:
    """Check `drops_entries`, and that attention weights are dropped, not values or outputs.

    The values are two identity matrices side by side, so the result contains the attention
    weights twice, and both halves must have lost the same entries.
    """
    for case, expected, observed in exercise.answered(group):
        dropped = exercise.result(case, "dropped", expected, observed)
        if dropped.isnan().any():
            exercise.wrong("nan", "in training the result contains NaN", case=case, actual=dropped)
        if not halves_agree(exercise.result(case, "plain", expected, observed)):
            exercise.compare(case, "plain", expected.tensors["plain"], observed)
        if not halves_agree(dropped):
            said = (
                "the dropped entries are not attention weights: dropping a weight removes a "
                "value's whole contribution"
            )
            exercise.wrong("fact", said, case=case, actual=dropped)
    exercise.drops_entries(group, twice=True)
    for case, expected, observed in exercise.answered(group):
        runs = [
            exercise.result(case, r, expected, observed) for r in ("dropped", "in a new module")
        ]
        if same_zeros(*runs):
            said = "every new module drops the same entries; draw them with torch's own generator"
            exercise.wrong("fact", said, case=case, actual=runs[1])


@check
def hides_in_training(exercise, group: str) -> None:
    """Check that in training no weight goes to a later token, whichever entries are dropped.

    The results are attention weights, as in the cases of `drops_both_halves`. If tokens see the
    future in evaluation too, `sees_no_future` reports it.
    """
    for case, expected, observed in exercise.answered(group):
        runs = [exercise.result(case, r, expected, observed) for r in ("plain", "dropped", "again")]
        for run in runs[1:]:
            weights = run.nan_to_num(0.0)  # rows of NaN are a different mistake
            if leaks_in_training(expected.tensors["plain"], runs[0], weights):
                exercise.wrong("values", LEAKS_IN_TRAINING, case=case, actual=run)


LEAKS_IN_TRAINING = "tokens see the future in training, although not in evaluation"


def leaks_in_training(expected: torch.Tensor, plain: torch.Tensor, run: torch.Tensor) -> bool:
    """Return True if a training run has weights where evaluation correctly has none."""
    if expected.shape != plain.shape or expected.shape != run.shape:
        return False
    hidden = expected == 0
    return not (hidden & (plain != 0)).any() and bool((hidden & (run != 0)).any())


@check
def drops_each_entry(exercise, group: str) -> None:
    """Check that each entry is dropped in some run at a high rate, and kept in some at a low one.

    A right answer fails with eight runs of 35 entries and a rate of 0.97 or 0.03 with a probability
    below 1e-10.
    """
    for case, expected, observed in exercise.answered(group):
        runs = [exercise.result(case, name, expected, observed) for name in expected.tensors]
        if spares_some(case, runs):
            exercise.wrong("fact", EVENLY, case=case, actual=runs[0])


def spares_some(case, runs: list[torch.Tensor]) -> bool:
    """Return True if an entry has the less likely of the two states in every run."""
    dropped = torch.stack(runs) == 0
    likely = dropped if rate(case) > 0.5 else ~dropped
    return not bool(likely.any(dim=0).all())


@signature("each entry")
def each_entry(case, expected, seen) -> Imprint:
    """Record whether some entry was always dropped or always kept, against the rate.

    If all runs drop the same entries, which ones they are is chance.
    """
    runs = parts_in(seen, expected, [*expected.tensors])
    if runs is None:
        return Imprint("no results")
    if all(same_zeros(runs[0], run) for run in runs[1:]):
        return Imprint("the same entries in every run")
    return Imprint(f"spared={spares_some(case, runs)}")


@check
def is_zero_where_expected(exercise, group: str) -> None:
    """Check that weights of hidden scores are exactly 0, not only small."""
    for case, expected, observed in exercise.answered(group):
        result = exercise.result(case, "result", expected, observed)
        if result[expected.tensors["result"] == 0].any():
            said = "the weight of a hidden score is small, but not exactly 0"
            exercise.wrong("values", said, case=case, actual=result)


@check
def turns_as_far(exercise, group: str) -> None:
    """Check that rows in a short dtype are turned as far as they should be, up to its rounding."""
    for case, expected, observed in exercise.answered(group):
        result = exercise.result(case, "result", expected, observed)
        gap = (result.double() - expected.tensors["result"].double()).abs()
        if not gap.max() < 0.2:  # rounding of numbers of about 3 makes a tenth of this
            said = (
                "rows at large positions are turned by wrong angles, or by rounded ones if x is in "
                "bfloat16. Are the angles computed in float32?"
            )
            exercise.wrong("values", said, case=case, actual=result)


@signature("dropped weights")
def dropped_weights(case, expected, seen) -> Imprint:
    """Record exactly what was dropped, if the result contains the attention weights twice."""
    without = of_dropout(case, expected, seen)
    if (runs := pair_of_runs(seen)) is None:
        return without
    halves = halves_agree(in_parts(runs[1], number_of_parts(case)))
    leaks = leaks_in_training(expected.tensors["plain"], *runs)
    words = f"{without.words} halves={halves} columns={whole_columns(*runs)} leaks={leaks}"
    words += f" mostly right={is_mostly_right(case, *runs)}"
    return Imprint(words, without.numbers, without.facts)


def is_mostly_right(case, plain: torch.Tensor, dropped: torch.Tensor) -> bool:
    """Return True if most of the entries that are left are scaled up as they should be."""
    kept = (plain.abs() > 1e-12) & (dropped != 0)
    right = torch.isclose(dropped[kept].double() * (1 - rate(case)), plain[kept].double(), 1e-3)
    return bool(right.double().mean() > 0.5)


def halves_agree(tensor: torch.Tensor) -> bool:
    """Return True if the left and right halves of the columns are equal."""
    left, right = tensor[..., : tensor.shape[-1] // 2], tensor[..., tensor.shape[-1] // 2 :]
    return left.shape == right.shape and bool(torch.isclose(left, right).all())


def whole_columns(plain: torch.Tensor, dropped: torch.Tensor) -> bool:
    """Return True if whole columns vanish, as they do if dropout acts on the values."""
    filled = (plain != 0).sum(dim=-2) >= 8
    emptied = filled & ((dropped != 0).sum(dim=-2) == 0)
    return bool(emptied.sum() > 0.1 * filled.sum())


@signature("values or scale")
def left_alone(case, expected, seen) -> Imprint:
    """Record the values, or only the scale of the remaining entries if some were dropped."""
    pairs = {n: (t, seen.tensors[n]) for n, t in expected.tensors.items() if n in seen.tensors}
    lost = {n: p for n, p in pairs.items() if dropped_from(*p)}
    if not lost:
        return imprints.of_values(case, expected, seen)
    scales = [behaviour(*pair).scale or 0.0 for pair in lost.values()]
    facts = tuple(imprints.changed_inputs(seen))
    return Imprint(f"dropped: {[*lost]}", (scales[0], 0.0), facts)


def dropped_from(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Return True if entries are 0 that were not 0 before."""
    return before.shape == after.shape and bool(((before != 0) & (after == 0)).any())


@check
def makes_no_table(exercise, group: str, block: str) -> None:
    """Check that no tensor is larger than queries × block, an argument or the result.

    block: the name of the argument with the width of a block.
    """
    for case, expected, observed in exercise.answered(group):
        exercise.result(case, "result", expected, observed)
        if observed.fact("result", "largest", default=0) > most_numbers(case, expected, block):
            said = f"it makes a tensor larger than one block of scores (queries × `{block}`)"
            exercise.wrong("fact", said, case=case)


def most_numbers(case, expected, block: str) -> int:
    """Return the size of the largest tensor that a call needs to make."""
    queries = case.tensors["0.queries"]
    sizes = [tensor.numel() for tensor in (*case.tensors.values(), expected.tensors["result"])]
    return max(*sizes, len(queries) * int(case.asked(block)))


@signature("largest")
def largest(case, expected, seen) -> Imprint:
    """Record whether a call made a larger tensor than it needs."""
    needed = most_numbers(case, expected, "block_size")
    larger = seen.fact("result", "largest", default=0) > needed
    return Imprint(facts=(f"larger={larger}",))


@check
def drops_what_is_added(exercise, group: str) -> None:
    """Check that training drops each added number independently, and nothing of x itself.

    The runs `dropped` and `again` are compared with `plain`. The case names the argument for the
    rate.
    """
    for case, expected, observed in exercise.answered(group):
        for name in expected.tensors:
            exercise.result(case, name, expected, observed)
        added, p = what_is_added(case, observed).tensors, rate(case)
        entries, runs = added["plain"] != 0, [added["dropped"], added["again"]]
        for run in runs:
            seen = behaviour(added["plain"], run)
            if not looks_like(seen, p, run.numel()):
                where = "dropout must act on what each part adds, before it is added to x"
                said = where if seen.scale is None else difference(seen, p)
                # In each of these cases only one part adds something; the other may be dropped.
                said = OF_ONE_PART if run.equal(added["plain"]) else said
                exercise.wrong("fact", said, case=case, actual=run)
        check_chance(exercise, case, runs[0], torch.stack(runs) != 0, entries, p)


@check
def drops_parts_apart(exercise, group: str) -> None:
    """Check that the two parts drop independently, so that sometimes nothing is added.

    In these cases both parts add something to every number.
    """
    for case, expected, observed in exercise.answered(group):
        for name in expected.tensors:
            exercise.result(case, name, expected, observed)
        said = "the two parts drop the same numbers too often or too rarely, not independently"
        check_both_dropped(exercise, case, observed, nothing_added(case, observed), said)


def check_both_dropped(exercise, case, observed, lost: torch.Tensor, said: str) -> None:
    """Check that both draws drop as many numbers as independent ones. lost: where both did."""
    run, p = observed.tensors["dropped"], rate(case) ** 2
    counts = torch.stack((lost.sum(), (~lost).sum()))
    if unlikely(counts, torch.tensor([p, 1 - p], dtype=torch.float64)):
        exercise.wrong("fact", said, case=case, actual=run)
    check_chance(exercise, case, run, ~lost, torch.ones_like(lost), p)


def check_chance(exercise, case, run, kept, entries, p: float) -> None:
    """Check that each of the entries is dropped independently, with the same probability."""
    drawn = chances(kept, entries, p)
    if dependence(drawn, entries, p) is not None:
        exercise.wrong("fact", EACH_BY_ITSELF, case=case, actual=run)
    if is_uneven(drawn, entries, p):
        exercise.wrong("fact", EVENLY, case=case, actual=run)


def nothing_added(case, seen) -> torch.Tensor:
    """Return True for each number that neither training run changed."""
    added = what_is_added(case, seen).tensors
    return torch.stack((added["dropped"], added["again"])) == 0


@signature("both dropped")
def both_dropped_at_once(case, expected, seen) -> Imprint:
    """Record how often nothing was added, and the result without dropout."""
    if parts_in(seen, expected, [*expected.tensors]) is None:
        return Imprint("missing")
    words, plain = f"{nothing_added(case, seen).double().mean():.1f}", [seen.tensors["plain"]]
    return Imprint(words, (weighted(plain, 1.0), weighted(plain, 2.7)))


OF_ONE_PART = "in training, dropout never acts on what one of the parts adds to x"
EACH_BY_ITSELF = "some numbers are always dropped together; each must be dropped independently"
EVENLY = "some numbers are dropped less often than others; each has the same probability"


def what_is_added(case, seen):
    """Return the same runs without the x that was passed in."""
    x, *_ = passed(case, "x")
    runs = {n: t - x.to(t) if t.shape == x.shape else t for n, t in seen.tensors.items()}
    return replace(seen, tensors=runs)


@signature("added")
def added(case, expected, seen) -> Imprint:
    """Record how dropout acted on what was added to x."""
    return of_dropout(case, what_is_added(case, expected), what_is_added(case, seen))


@check
def keeps_what_is_earlier(exercise, group: str) -> None:
    """Check that in training, later tokens and other texts do not change earlier logits.

    Both runs drop the same entries. The first text changes after some token, the second one
    completely.
    """
    for case, expected, observed in exercise.answered(group):
        runs = [exercise.result(case, name, expected, observed) for name in ("before", "after")]
        if not earlier_is_kept(case, *runs):
            said = "in training, changing later tokens or another text changes the logits"
            exercise.wrong("values", said, case=case, actual=runs[1])


def earlier_is_kept(case, before: torch.Tensor, after: torch.Tensor) -> bool:
    """Return True if two runs agree on the first text up to its first change."""
    text, other = passed(case, "ids")
    cut = int((text[0] != other[0]).nonzero()[0])
    return torch.allclose(before[0, :cut].double(), after[0, :cut].double(), rtol=1e-4, atol=1e-6)


@signature("earlier")
def earlier(case, expected, seen) -> Imprint:
    """Record whether changing later tokens leaves earlier logits unchanged."""
    if (runs := parts_in(seen, expected, ["before", "after"])) is None:
        return Imprint("missing")
    return Imprint(f"kept={earlier_is_kept(case, *runs)}")


@check
def drops_sums(exercise, group: str) -> None:
    """Check that training drops the sum of token and position, and what the blocks add to it.

    Both are positive in these cases, and the last norm keeps their order. If both are dropped,
    the smallest number of a row appears, as often as two independent draws coincide.
    """
    for case, expected, observed in exercise.answered(group):
        for name in expected.tensors:
            exercise.result(case, name, expected, observed)
        said = (
            "dropout must act on the sum of token and position, and again on what each block "
            "adds; the number of dropped entries does not fit that"
        )
        check_both_dropped(exercise, case, observed, both_dropped(observed), said)


def both_dropped(seen) -> torch.Tensor:
    """Return True for each number that is the smallest of its row in both runs."""
    runs = torch.stack((seen.tensors["dropped"], seen.tensors["again"])).double()
    return torch.isclose(runs, runs.amin(dim=-1, keepdim=True), atol=1e-4)


@signature("sums")
def sums(case, expected, seen) -> Imprint:
    """Record how often both draws coincided, and the result without dropout."""
    if parts_in(seen, expected, [*expected.tensors]) is None:
        return Imprint("missing")
    words, plain = f"lost={both_dropped(seen).double().mean():.1f}", [seen.tensors["plain"]]
    return Imprint(words, (weighted(plain, 1.0), weighted(plain, 2.7)))


@check
def cuts_windows(exercise, group: str) -> None:
    """Check that inputs are windows of the text, and targets the windows one token later."""
    for case, expected, observed in exercise.answered(group):
        text, inputs, targets = windows_of(exercise, case, expected, observed)
        if problem := window_problem(text, inputs, targets):
            exercise.wrong("values", problem, case=case, actual=inputs)
        starts = len(text) - inputs.shape[1]
        if len(inputs) > 2 and starts > 25 and len(inputs[:, 0].unique()) == 1:
            exercise.wrong(
                "values", "all windows of a batch start at the same place", case=case, actual=inputs
            )


@check
def cuts_everywhere(exercise, group: str) -> None:
    """Check that many windows cover every possible start, each about equally often."""
    exercise.cuts_windows(group)
    for case, expected, observed in exercise.answered(group):
        text, inputs, _ = windows_of(exercise, case, expected, observed)
        starts = len(text) - inputs.shape[1]
        counts = torch.stack([(inputs[:, 0] == text[at]).sum() for at in range(starts)])
        if (counts == 0).any():
            at = int((counts == 0).nonzero()[0])
            said = f"place {at + 1} of the {starts} where a window fits is never used"
            exercise.wrong("values", said, case=case, actual=inputs)
        if unlikely(counts, torch.full((starts,), 1 / starts), exactly=True):
            said = "the starts are not random with equal probability"
            exercise.wrong("values", said, case=case, actual=inputs)
        if any(repeats(inputs[:, 0], step, starts) for step in (1, 2, len(inputs) // 2)):
            said = "the start of one window depends on another; each must be drawn independently"
            exercise.wrong("values", said, case=case, actual=inputs)


def repeats(first: torch.Tensor, step: int, starts: int) -> bool:
    """Return True if windows this many apart start at one place too often or too rarely."""
    same = int((first[step:] == first[:-step]).sum())
    counts = torch.tensor([same, len(first) - step - same])
    return unlikely(counts, torch.tensor([1 / starts, 1 - 1 / starts]))


@check
def draws_from_the_generator(exercise, group: str) -> None:
    """Check that a seed gives the same result again, and another seed or a second draw does not."""
    for case, expected, observed in exercise.answered(group):
        names = sorted({name.split(".")[0] for name in expected.tensors} & RUNS)
        drawn = {
            name: exercise.result(case, key, expected, observed)
            for name in names
            for key in [name if name in expected.tensors else f"{name}.0"]
        }
        if not torch.equal(drawn["first"], drawn["again"]):
            said = "two generators with the same seed give different results"
            exercise.wrong("values", said, case=case, actual=drawn["again"])
        for name, said in LATER.items():
            if name in drawn and torch.equal(drawn["first"], drawn[name]):
                exercise.wrong("values", said, case=case, actual=drawn["first"])
        if "unseeded" in drawn and torch.equal(drawn["unseeded"], drawn["unseeded again"]):
            said = "without a generator, two calls give the same result"
            exercise.wrong("values", said, case=case, actual=drawn["unseeded"])


LATER = {
    "other": "generators with different seeds give the same result",
    "next": "a second call with the same generator gives the same result, but a generator goes on",
}
RUNS = {"first", "again", "unseeded", "unseeded again", *LATER}


@check
def can_learn_afterwards(exercise, group: str) -> None:
    """Check that the model still has gradients in the last call of each case."""
    for case, expected, observed in exercise.answered(group):
        wanted = {name for name in expected.tensors if name.startswith("gradient.")}
        if not wanted <= observed.tensors.keys():
            said = (
                "after the call the model cannot learn: gradients are off, for all tensors or for "
                "its weights"
            )
            exercise.wrong("fact", said, case=case)


@check
def keeps_no_gradients(exercise, group: str) -> None:
    """Check that no operation of torch prepares gradients in a watched call."""
    for case, _, observed in exercise.answered(group):
        if observed.fact("result", "tracked", default=False):
            said = "the model is called with gradients on; call it inside `torch.no_grad()`"
            exercise.wrong("fact", said, case=case)


@check
def draws_by(exercise, group: str) -> None:
    """Check that new tokens are as frequent as the logits, temperature and top_k imply.

    The result `logits` contains the model's output for every context that can come up.
    """
    for case, expected, observed in exercise.answered(group):
        result = exercise.result(case, "result", expected, observed)
        if said := draw_problem(case, expected, result):
            exercise.wrong("values", said, case=case, actual=result)


def draw_problem(case, expected, result: torch.Tensor) -> str:
    """Return what is wrong with sampled tokens, or an empty string."""
    text, seen = passed(case, "ids")
    if not torch.equal(result[:, : text.shape[1]], text.to(result)):
        return "the result does not begin with the text that was passed in"
    chances = chances_of(case, expected.tensors["logits"][:, -1])
    often = "as often as the logits, the temperature and top_k imply"
    for at in range(text.shape[1], result.shape[1]):
        before = result[:, at - seen.shape[1] : at]
        for ids, likely in zip(seen, chances, strict=True):
            new = result[(before == ids).all(dim=1), at]
            counts = torch.stack([(new == token).sum() for token in range(len(likely))])
            if int(counts.sum()) != len(new) or unlikely(counts, likely):
                later = " after the first new one" if at > text.shape[1] else ""
                return f"new tokens{later} do not come up {often}"
    return ""


def chances_of(case, logits: torch.Tensor) -> torch.Tensor:
    """Return each token's probability: softmax(logits / temperature) over its row's top k."""
    passed = (call.arguments for call in case.calls)
    asked = next(arguments for arguments in passed if "max_new_tokens" in arguments)
    logits = logits.double() / asked.get("temperature", 1.0)
    if (top_k := asked.get("top_k")) is not None:
        least = logits.topk(int(top_k), dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    return torch.softmax(logits, dim=-1)


# Counts with a probability below 10^-11, by the bound below.
FAR = 25.0


def unlikely(counts: torch.Tensor, chances: torch.Tensor, exactly: bool = False) -> bool:
    """Return True if counts are too far from these probabilities.

    A share q of n draws, or one further away, has a probability below exp(-n (q log(q / p) +
    (1 - q) log((1 - q) / (1 - p)))) for every n (Chernoff 1952). A token with probability 0 must
    never come up.

    exactly: also reject counts that are all equal, because random counts spread.
    """
    number, p = int(counts.sum()), chances.double()
    q = counts.double() / max(1, number)
    away = (
        torch.xlogy(q, q)
        - torch.xlogy(q, p)
        + torch.xlogy(1 - q, 1 - q)
        - torch.xlogy(1 - q, 1 - p)
    )
    even = exactly and int(counts.max() - counts.min()) <= 1
    return bool((number * away > FAR).any() or even)


def passed(case, argument: str) -> list[torch.Tensor]:
    """Return the tensors that a case passes for an argument, in the order of its steps."""
    return [t for name, t in sorted(case.tensors.items()) if name.endswith(f".{argument}")]


def windows_of(exercise, case, expected, observed) -> list[torch.Tensor]:
    """Return the text of a call, its inputs and its targets."""
    exercise.gives_no_more(case.group)
    text, *_ = passed(case, "ids")
    names = ("result.0", "result.1")
    return [text, *(exercise.result(case, name, expected, observed) for name in names)]


def window_problem(text: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor) -> str:
    """Return what is wrong with windows of a text with unique ids, or an empty string."""
    if inputs.is_floating_point() or targets.is_floating_point():
        return "the windows contain floating-point numbers; ids are integers"
    places = [
        torch.searchsorted(text, part.to(text)).clamp(max=len(text) - 1)
        for part in (inputs, targets)
    ]
    if any((text[at] != part).any() for at, part in zip(places, (inputs, targets), strict=True)):
        return "the windows contain ids that are not in the text"
    if ((places[0][:, 1:] - places[0][:, :-1]) != 1).any():
        return "the rows of the inputs are not windows of the text"
    if (places[1] != places[0] + 1).any():
        return "the targets are not the windows one token later"
    return ""


@signature("windows")
def windows(case, expected, seen) -> Imprint:
    """Record the windows' shapes, the distance of the targets, and the starts."""
    if (parts := parts_in(seen, expected, [*expected.tensors])) is None:
        there = seen.tensors
        told = [tuple(there[name].shape) if name in there else None for name in expected.tensors]
        return Imprint(f"shapes={told} error={seen.error and seen.error.type}")
    on = sorted({int((t - i).flatten()[0]) for i, t in zip(parts[::2], parts[1::2], strict=True)})
    first = parts[0][:, 0]
    common = [bool(torch.equal(parts[0], part)) for part in parts[2::2]]
    ordered = bool((first.diff() == 7).any()) and int((first.diff() == 7).sum()) > len(first) / 2
    starts = sorted(set(first.tolist())) if len(first) > 99 else len(set(first.tolist())) > 1
    fractions = " fractions" * any(part.is_floating_point() for part in parts)
    return Imprint(
        f"on={on} rows={bool((parts[0].diff(dim=1) == 7).all())} {common} {starts} {ordered}"
        + fractions
    )


def parts_in(seen, expected, names: list[str]) -> list[torch.Tensor] | None:
    """Return the named results, or None unless all exist with the reference's shapes."""
    there = [name for name in names if name in seen.tensors]
    if there != names or any(seen.tensors[n].shape != expected.tensors[n].shape for n in names):
        return None
    return [seen.tensors[name] for name in names]


@signature("draws")
def draws(case, expected, seen) -> Imprint:
    """Record whether tokens came up as often as they should, and their shares if not."""
    names = [name for name in expected.tensors if name == "result" or name in RUNS]
    if (parts := parts_in(seen, expected, names)) is None:
        return Imprint(f"missing error={seen.error and seen.error.type}")
    if len(parts) > 1:
        return Imprint(f"same={[bool(torch.equal(parts[0], part)) for part in parts[1:]]}")
    if not (problem := draw_problem(case, expected, parts[0])):
        return Imprint("drawn")
    text, _ = passed(case, "ids")
    new = parts[0][:, text.shape[1] :]
    tokens = range(expected.tensors["logits"].shape[-1])
    shares = [[f"{(at == token).double().mean():.1f}" for token in tokens] for at in new.T]
    return Imprint(f"{problem} {shares}")
