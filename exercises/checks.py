"""The checks and signatures that only this course needs, and what its known mistakes cost.

`tensorgrade build` copies this file to `exercises/`, for learners: nothing in it is secret.
"""

import re
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn import functional

from tensorgrade import check, signature
from tensorgrade.exchange.values import plain
from tensorgrade.judging.diagnosis import Diagnosis, Kind, Wrong
from tensorgrade.judging.learner_names import texts
from tensorgrade.messages.message import Plain
from tensorgrade.recognition import imprints
from tensorgrade.recognition.dropout import (
    behaviour,
    chances,
    dependence,
    in_parts,
    looks_like,
    number_of_parts,
    of_dropout,
    pair_of_runs,
    rate,
    sentence,
)
from tensorgrade.recognition.imprints import Imprint, of_structure, of_use, weighted
from tensorgrade.recognition.operations import PRODUCTS
from tensorgrade.runner.names import as_asked, meant_parts

# What an exercise on softmax, or on dropout, may not call: there the point is to write it.
FUSED = {name for name in PRODUCTS if name.startswith("_scaled_dot_product")}
SOFTMAXES = {"call:softmax", "call:log_softmax", "call:softmin", "call:gumbel_softmax"} | FUSED
SOFTMAXES |= {"_softmax", "_log_softmax", "_safe_softmax", "call:logsumexp"}
DROPOUTS = {"call:dropout", "call:dropout_", "call:alpha_dropout", "call:feature_dropout"} | FUSED
DROPOUTS |= {"native_dropout", "_fused_dropout"}


ATTENTION = {"call:scaled_dot_product_attention", "call:multi_head_attention_forward"} | FUSED


# The same in a text, whatever it is called on: x.softmax, nn.Softmax, getattr(torch, "softmax").
NAMED = """softmax softmax_ log_softmax softmin gumbel_softmax logsumexp Softmax LogSoftmax Softmin
Softmax2d special_softmax special_log_softmax _softmax _log_softmax _safe_softmax
scaled_dot_product_attention""".split()
OWN = "it calls torch's own softmax, or a relative of it; the point of the exercise is to write it"


@check
def names_no_softmax(exercise) -> None:
    """The text names no softmax of torch's. Half of the exercise depends on that."""
    exercise.names_none(NAMED, OWN, share=0.5)


@check
def avoids_softmax(exercise, group: str) -> None:
    """A watched call made no use of torch's own softmax."""
    exercise.avoids(group, SOFTMAXES, OWN)
    for case, expected, observed in exercise.answered(group):
        result = exercise.result(case, "result", expected, observed)
        (x,) = case.tensors.values()
        same = (torch.equal(result, torch.softmax(x.to(d), dim=-1).to(result)) for d in FLOATS)
        if x.numel() >= TELLING and any(same):
            exercise.wrong("fact", OWN, case=case, actual=result)


TELLING = 300  # written out, no softmax of so many numbers came to the very bits of torch's own
FLOATS = (torch.float64, torch.float32)


@check
def avoids_attention(exercise, group: str) -> None:
    """A watched call made no use of torch's own attention. Half of the exercise depends on that."""
    for case, _, observed in exercise.answered(group):
        if observed.uses(ATTENTION):
            said = "it calls torch's own attention; the point of the exercise is to write it"
            raise Wrong(Diagnosis(Kind.FACT, Plain(said), case=case.name, share=0.5))


@check
def refuses_with_numbers(exercise, group: str, *names: str) -> None:
    """The refusal is a ValueError, and its text gives the numbers of these arguments."""
    for case, _, observed in exercise.group(group):
        exercise.came_back(case, observed)
        error = observed.error
        said = f"the refusal should be a ValueError whose text gives {' and '.join(names)}"
        numbers = set(re.findall(r"\d+", error.text)) if error else set()
        asked = {str(case.asked(name)) for name in names}
        if error is None or "ValueError" not in error.kinds or not asked <= numbers:
            exercise.wrong("fact", said, case=case)


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
        first, second, *_ = passed(case, "x")
        cut = int((first != second).any(dim=-1).any(dim=0).nonzero()[0])
        earlier = before[:, :cut].double(), after[:, :cut].double()
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
    """Two inputs differ in the first token: the results of others change. Else nothing attends."""
    for case, expected, observed in exercise.answered(group):
        before, earlier = (
            exercise.result(case, r, expected, observed) for r in ("before", "earlier")
        )
        if torch.allclose(before[..., 1:, :].double(), earlier[..., 1:, :].double(), atol=1e-6):
            said = "changing the first token changes no later result: no token attends to it"
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
        if not halves_agree(exercise.result(case, "plain", expected, observed)):
            exercise.compare(case, "plain", expected.tensors["plain"], observed)
        if not halves_agree(dropped):
            said = (
                "what is dropped is not an attention weight: a dropped weight takes all of a "
                "value with it"
            )
            exercise.wrong("fact", said, case=case, actual=dropped)
    exercise.drops_entries(group, twice=True)


@check
def hides_in_training(exercise, group: str) -> None:
    """In training no weight goes to a later token, whichever entries are dropped.

    The results are attention weights, as in the cases of `drops_both_halves`. If tokens see the
    future in evaluation too, `sees_no_future` reports it.
    """
    for case, expected, observed in exercise.answered(group):
        runs = [exercise.result(case, r, expected, observed) for r in ("plain", "dropped", "again")]
        for run in runs[1:]:
            weights = run.nan_to_num(0.0)  # rows of NaN are another fault
            if leaks_in_training(expected.tensors["plain"], runs[0], weights):
                exercise.wrong("values", LEAKS_IN_TRAINING, case=case, actual=run)


LEAKS_IN_TRAINING = "in training tokens see the future, which is hidden from them in evaluation"


def leaks_in_training(expected: torch.Tensor, plain: torch.Tensor, run: torch.Tensor) -> bool:
    """Return True if a run in training has weights where evaluation has none, as it should."""
    if expected.shape != plain.shape or expected.shape != run.shape:
        return False
    hidden = expected == 0
    return bool((plain[hidden] == 0).all() and (run[hidden] != 0).any())


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
    leaks = leaks_in_training(expected.tensors["plain"], *runs)
    words = f"{without.words} halves={halves} columns={whole_columns(*runs)} leaks={leaks}"
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


@signature("values or scale")
def left_alone(case, expected, seen) -> Imprint:
    """The values; of those that chance has dropped no more than how the kept ones are scaled."""
    pairs = {n: (t, seen.tensors[n]) for n, t in expected.tensors.items() if n in seen.tensors}
    lost = {n: p for n, p in pairs.items() if dropped_from(*p)}
    if not lost:
        return imprints.of_values(case, expected, seen)
    scales = [behaviour(*pair).scale or 0.0 for pair in lost.values()]
    return Imprint(
        "; ".join([f"dropped: {[*lost]}", *imprints.changed_inputs(seen)]), (scales[0], 0.0)
    )


def dropped_from(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Return True if entries are 0 that were not."""
    return before.shape == after.shape and bool(((before != 0) & (after == 0)).any())


@signature("structure of heads")
def structure_of_heads(case, expected, seen) -> Imprint:
    """The structure of a module, and whether its heads are in a list that torch never sees."""
    structure = of_structure(case, expected, seen)
    loose = "heads" in seen.fact("module", "attributes", default=[])
    return Imprint(f"{structure.words}; loose={loose}", structure.numbers)


@check
def makes_no_table(exercise, group: str, block: str) -> None:
    """A watched call made no tensor larger than queries × block, an argument or the result.

    block: the name of the argument that says how wide a block is.
    """
    for case, expected, observed in exercise.answered(group):
        exercise.result(case, "result", expected, observed)
        if observed.fact("result", "largest", default=0) > most_numbers(case, expected, block):
            said = f"it makes a tensor larger than a block of scores, queries by `{block}`"
            exercise.wrong("fact", said, case=case)


def most_numbers(case, expected, block: str) -> int:
    """The numbers in the largest tensor that a call has to make."""
    queries = case.tensors["0.queries"]
    sizes = [tensor.numel() for tensor in (*case.tensors.values(), expected.tensors["result"])]
    return max(*sizes, len(queries) * int(case.asked(block)))


@signature("largest")
def largest(case, expected, seen) -> Imprint:
    """Whether a call made a tensor that is larger than any that it needs."""
    needed = most_numbers(case, expected, "block_size")
    return Imprint(f"larger={seen.fact('result', 'largest', default=0) > needed}")


LOSSES = {"call:cross_entropy", "call:nll_loss", "nll_loss_forward", "nll_loss_nd"}
LOSSES |= {"nll_loss2d_forward", "cross_entropy_loss"}


@check
def avoids_losses(exercise, group: str) -> None:
    """A watched call made no use of torch's own cross-entropy."""
    said = "it calls torch's own loss; the point of the exercise is to write it"
    exercise.avoids(group, LOSSES, said)


@signature("loss used")
def loss_used(case, expected, seen) -> Imprint:
    """Whether torch's own cross-entropy ran."""
    return of_use(seen, LOSSES)


NORMS = {"call:layer_norm", "native_layer_norm", "call:rms_norm", "call:group_norm"}


@check
def avoids_norms(exercise, group: str) -> None:
    """A watched call made no use of torch's own norms."""
    said = "it calls torch's own norm; the point of the exercise is to write it"
    exercise.avoids(group, NORMS, said)


@signature("norm used")
def norm_used(case, expected, seen) -> Imprint:
    """Whether one of torch's own norms ran."""
    return of_use(seen, NORMS)


@check
def drops_what_is_added(exercise, group: str) -> None:
    """In training each number that is added to x is dropped by its own chance, and x is whole.

    The runs `dropped` and `again` are held against `plain`; the case names the argument that is
    the rate.
    """
    for case, expected, observed in exercise.answered(group):
        for name in expected.tensors:
            exercise.result(case, name, expected, observed)
        added, p = what_is_added(case, observed).tensors, rate(case)
        entries, runs = added["plain"] != 0, [added["dropped"], added["again"]]
        for run in runs:
            seen = behaviour(added["plain"], run)
            if not looks_like(seen, p, run.numel()):
                where = "dropout is to act on what each part adds, before it is added to x"
                said = where if seen.scale is None else sentence(seen, p)
                # In each of these cases one part alone adds something; the other may well drop.
                said = OF_ONE_PART if run.equal(added["plain"]) else said
                exercise.wrong("fact", said, case=case, actual=run)
        if dependence(chances(torch.stack(runs) != 0, entries, p), entries, p) is not None:
            exercise.wrong("fact", EACH_BY_ITSELF, case=case, actual=runs[0])


@check
def drops_parts_apart(exercise, group: str) -> None:
    """What the two parts add is dropped by chances of their own: sometimes both, nothing is added.

    In these cases both parts add something to every number.
    """
    for case, expected, observed in exercise.answered(group):
        for name in expected.tensors:
            exercise.result(case, name, expected, observed)
        whole, p = nothing_added(case, observed), rate(case) ** 2
        counts = torch.stack((whole.sum(), (~whole).sum()))
        if unlikely(counts, torch.tensor([p, 1 - p], dtype=torch.float64)):
            said = "what the second part adds is dropped where the first one's is, or never there"
            exercise.wrong("fact", said, case=case, actual=observed.tensors["dropped"])
        every = torch.ones_like(whole)
        if dependence(chances(~whole, every, p), every, p) is not None:
            exercise.wrong("fact", EACH_BY_ITSELF, case=case, actual=observed.tensors["dropped"])


def nothing_added(case, seen) -> torch.Tensor:
    """Where both runs in training give back what was passed in."""
    added = what_is_added(case, seen).tensors
    return torch.stack((added["dropped"], added["again"])) == 0


@signature("both dropped")
def both_dropped_at_once(case, expected, seen) -> Imprint:
    """How often nothing was added, and what comes back without dropout."""
    if parts_in(seen, expected, [*expected.tensors]) is None:
        return Imprint("missing")
    words, plain = f"{nothing_added(case, seen).double().mean():.1f}", [seen.tensors["plain"]]
    return Imprint(words, (weighted(plain, 1.0), weighted(plain, 2.7)))


OF_ONE_PART = "in training nothing is dropped of what one of the parts adds to x"
EACH_BY_ITSELF = "numbers are dropped together; each is dropped by a chance of its own"


def what_is_added(case, seen):
    """The same runs less the x that was passed in."""
    x, *_ = passed(case, "x")
    runs = {n: t - x.to(t) if t.shape == x.shape else t for n, t in seen.tensors.items()}
    return replace(seen, tensors=runs)


@signature("added")
def added(case, expected, seen) -> Imprint:
    """How dropout acted on what was added to x."""
    return of_dropout(case, what_is_added(case, expected), what_is_added(case, seen))


@check
def keeps_what_is_earlier(exercise, group: str) -> None:
    """In training a change of later tokens, and of the other text, changes no earlier logits.

    Both runs drop the same entries. The first text changes from some token on, the second one as a
    whole.
    """
    for case, expected, observed in exercise.answered(group):
        runs = [exercise.result(case, name, expected, observed) for name in ("before", "after")]
        if not earlier_is_kept(case, *runs):
            said = "in training a change of later tokens, or of another text, changes the logits"
            exercise.wrong("values", said, case=case, actual=runs[1])


def earlier_is_kept(case, before: torch.Tensor, after: torch.Tensor) -> bool:
    """Return True if two runs agree on the first text up to where it changes."""
    text, other = passed(case, "ids")
    cut = int((text[0] != other[0]).nonzero()[0])
    return torch.allclose(before[0, :cut].double(), after[0, :cut].double(), rtol=1e-4, atol=1e-6)


@signature("earlier")
def earlier(case, expected, seen) -> Imprint:
    """Say whether a change of later tokens leaves the logits of earlier ones."""
    if (runs := parts_in(seen, expected, ["before", "after"])) is None:
        return Imprint("missing")
    return Imprint(f"kept={earlier_is_kept(case, *runs)}")


@check
def drops_sums(exercise, group: str) -> None:
    """In training the sums of token and place are dropped, and then what the blocks add to them.

    Both are positive in these cases and the last norm keeps their order: where both are dropped
    stands the smallest number of a row, as often as two chances of that rate fall together.
    """
    for case, expected, observed in exercise.answered(group):
        for name in expected.tensors:
            exercise.result(case, name, expected, observed)
        lost, p = both_dropped(observed), rate(case) ** 2
        counts = torch.stack((lost.sum(), (~lost).sum()))
        if unlikely(counts, torch.tensor([p, 1 - p], dtype=torch.float64)):
            said = (
                "dropout is to act twice, on the sum of token and place and on what each block "
                "adds to it; it drops as if it did not"
            )
            exercise.wrong("fact", said, case=case, actual=observed.tensors["dropped"])
        every = torch.ones_like(lost)
        if dependence(chances(~lost, every, p), every, p) is not None:
            exercise.wrong("fact", EACH_BY_ITSELF, case=case, actual=observed.tensors["dropped"])


def both_dropped(seen) -> torch.Tensor:
    """Where the smallest number of a row stands, in both runs."""
    runs = torch.stack((seen.tensors["dropped"], seen.tensors["again"])).double()
    return torch.isclose(runs, runs.amin(dim=-1, keepdim=True), atol=1e-4)


@signature("sums")
def sums(case, expected, seen) -> Imprint:
    """How often both chances fell together, and what comes back without dropout."""
    if parts_in(seen, expected, [*expected.tensors]) is None:
        return Imprint("missing")
    words, plain = f"lost={both_dropped(seen).double().mean():.1f}", [seen.tensors["plain"]]
    return Imprint(words, (weighted(plain, 1.0), weighted(plain, 2.7)))


@check
def cuts_windows(exercise, group: str) -> None:
    """Inputs are windows of the text, and targets the same windows one token further on."""
    for case, expected, observed in exercise.answered(group):
        text, inputs, targets = windows_of(exercise, case, expected, observed)
        if problem := window_problem(text, inputs, targets):
            exercise.wrong("values", problem, case=case, actual=inputs)
        if len(inputs) > 2 and len(text) > 25 and len(inputs[:, 0].unique()) == 1:
            exercise.wrong("values", "all windows of a batch start alike", case=case, actual=inputs)


@check
def cuts_everywhere(exercise, group: str) -> None:
    """Over many windows every start that fits comes up, and about as often as any other."""
    exercise.cuts_windows(group)
    for case, expected, observed in exercise.answered(group):
        text, inputs, _ = windows_of(exercise, case, expected, observed)
        starts = len(text) - inputs.shape[1]
        counts = torch.stack([(inputs[:, 0] == text[at]).sum() for at in range(starts)])
        if (counts == 0).any():
            at = int((counts == 0).nonzero()[0])
            said = f"of the {starts} places where a window fits, number {at + 1} never comes up"
            exercise.wrong("values", said, case=case, actual=inputs)
        if unlikely(counts, torch.full((starts,), 1 / starts), exactly=True):
            said = "the places do not come up by chance, one as likely as another"
            exercise.wrong("values", said, case=case, actual=inputs)
        if any(repeats(inputs[:, 0], step, starts) for step in (1, 2, len(inputs) // 2)):
            said = "where one window is cut hangs on where another one is; each is drawn anew"
            exercise.wrong("values", said, case=case, actual=inputs)


def repeats(first: torch.Tensor, step: int, starts: int) -> bool:
    """Whether windows that many apart start alike too often, or too seldom, for chance."""
    same = int((first[step:] == first[:-step]).sum())
    counts = torch.tensor([same, len(first) - step - same])
    return unlikely(counts, torch.tensor([1 / starts, 1 - 1 / starts]))


@check
def draws_from_the_generator(exercise, group: str) -> None:
    """The same seed gives the same, another seed and a second draw give something else."""
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
    """The last call of each case, of the model itself, still gives gradients."""
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
    """In a watched call, no operation of torch prepares gradients."""
    for case, _, observed in exercise.answered(group):
        if observed.fact("result", "tracked", default=False):
            said = "the model is called with gradients on; call it inside `torch.no_grad()`"
            exercise.wrong("fact", said, case=case)


@check
def draws_by(exercise, group: str) -> None:
    """New tokens come up as often as the model's logits, a temperature and a top k say.

    The result `logits` is what the model says to all that it may see on the way.
    """
    for case, expected, observed in exercise.answered(group):
        result = exercise.result(case, "result", expected, observed)
        if said := draw_problem(case, expected, result):
            exercise.wrong("values", said, case=case, actual=result)


def draw_problem(case, expected, result: torch.Tensor) -> str:
    """What is wrong with tokens that were drawn; empty if nothing is."""
    text, seen = passed(case, "ids")
    if not torch.equal(result[:, : text.shape[1]], text.to(result)):
        return "the text that was passed in does not stand in front of the new tokens"
    chances = chances_of(case, expected.tensors["logits"][:, -1])
    often = "as often as the logits, the temperature and top_k say"
    for at in range(text.shape[1], result.shape[1]):
        before = result[:, at - seen.shape[1] : at]
        for ids, likely in zip(seen, chances, strict=True):
            new = result[(before == ids).all(dim=1), at]
            counts = torch.stack([(new == token).sum() for token in range(len(likely))])
            if int(counts.sum()) != len(new) or unlikely(counts, likely):
                later = ", behind those drawn before," if at > text.shape[1] else ""
                return f"tokens{later} do not come up {often}"
    return ""


def chances_of(case, logits: torch.Tensor) -> torch.Tensor:
    """The probability of each token: softmax(logits / temperature) over the top k of its row."""
    passed = (call.arguments for call in case.calls)
    asked = next(arguments for arguments in passed if "max_new_tokens" in arguments)
    logits = logits.double() / asked.get("temperature", 1.0)
    if (top_k := asked.get("top_k")) is not None:
        least = logits.topk(int(top_k), dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    return torch.softmax(logits, dim=-1)


# Counts that are less likely than once in 10^11, by the bound below.
FAR = 25.0


def unlikely(counts: torch.Tensor, chances: torch.Tensor, exactly: bool = False) -> bool:
    """Whether counts are too far from what these chances give; what has none never comes up.

    A share q of n draws, or one further off, has a chance below exp(-n (q log(q / p) + (1 - q)
    log((1 - q) / (1 - p)))), however few they are (Chernoff 1952).

    exactly: whether counts without any spread, as no chance gives them, are unlikely too.
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
    """The tensors that a case passes in under an argument's name, in the order of its steps."""
    return [t for name, t in sorted(case.tensors.items()) if name.endswith(f".{argument}")]


def windows_of(exercise, case, expected, observed) -> list[torch.Tensor]:
    """The text that a call cuts, its inputs and its targets."""
    exercise.gives_no_more(case.group)
    text, *_ = passed(case, "ids")
    names = ("result.0", "result.1")
    return [text, *(exercise.result(case, name, expected, observed) for name in names)]


def window_problem(text: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor) -> str:
    """What is wrong with windows of a text in which every id occurs once; empty if nothing is."""
    if inputs.is_floating_point() or targets.is_floating_point():
        return "the windows hold numbers with a fraction; ids are whole numbers"
    places = [
        torch.searchsorted(text, part.to(text)).clamp(max=len(text) - 1)
        for part in (inputs, targets)
    ]
    if any((text[at] != part).any() for at, part in zip(places, (inputs, targets), strict=True)):
        return "there are ids in the windows that are not in the text"
    if ((places[0][:, 1:] - places[0][:, :-1]) != 1).any():
        return "the rows of the inputs are not windows of the text"
    if (places[1] != places[0] + 1).any():
        return "the targets are not the windows one token further on"
    return ""


@signature("windows")
def windows(case, expected, seen) -> Imprint:
    """What kind of windows came back: their shapes, how far the targets are on, which starts."""
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
    """The results of these names; None unless all are there, each with the reference's shape."""
    there = [name for name in names if name in seen.tensors]
    if there != names or any(seen.tensors[n].shape != expected.tensors[n].shape for n in names):
        return None
    return [seen.tensors[name] for name in names]


@signature("draws")
def draws(case, expected, seen) -> Imprint:
    """Whether tokens were drawn as often as they should; which came up where they were not."""
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


# What leaves nothing of an exercise's idea, and why: it costs everything.
NOTHING_LEFT = {
    "inverted_dropout.dropout_left_out": "what was passed in comes back",
    "mask_and_renormalize.mask_thrown_away": "rows that sum to 1 are divided by their sum, which "
    "gives back what was passed in",
    "causal_mask.mask_hides_nothing": "a mask without a single entry",
    "copy_v2_into_v1.copied_nowhere": "nothing is copied",
    "context_vector.query_repeated": "the weights sum to 1, so the query comes back",
}
# By the share of its exercise that a mistake costs where all else is right. What is not listed
# costs what the tests take for it, but no less than a tenth and no more than a half.
BY_SHARE = {
    0.1: "default_eps larger_default_eps gelu_by_tanh",
    0.2: """output_projection_without_bias output_bias_tied_to_qkv_bias bias_never
    value_without_bias first_layer_without_bias feed_forward_without_bias down_with_a_bias
    all_with_a_bias head_with_a_bias output_without_bias""",
    0.3: """no_scale scaled_by_d_k multiplied_by_sqrt_d_k scaled_by_tokens scaled_by_a_constant
    scaled_by_sqrt_d_in scaled_by_sqrt_d_out scaled_by_sqrt_num_heads scaled_too_early
    queries_scaled_already scores_scaled products_averaged rows_averaged heads_meaned
    bias_always mask_not_cut context_length_not_passed_on base_two dim_ignored
    mask_fill_not_low_enough zeros_taken_for_hidden output_projection_twice
    linear_layers_for_matrices cache_of_the_last_call logits_in_a_tuple
    head_is_the_table_of_tokens""",
    0.4: """scaled_after_softmax softmax_over_columns softmax_over_everything softmax_over_heads
    softmax_over_batch softmax_twice always_dim_zero all_entries_share_one_sum
    scores_transposed weights_transposed t_on_a_batch one_projection_for_two
    keys_instead_of_values queries_instead_of_values scores_from_values
    mask_only_in_evaluation mask_only_without_dropout
    normed_input_added_to_attention normed_input_added_to_feed_forward
    linear_layers_with_biases_for_matrices
    scores_from_queries_alone scores_from_keys_alone mask_inverted mask_hides_the_past
    mask_on_the_diagonal mask_one_too_late copied_without_transpose heads_interleaved
    merged_interleaved heads_in_reverse keys_split_differently values_split_differently
    masked_without_renormalizing renormalized_before_masking""",
    0.5: "no_step_taken",
}
PRICES = {name: share for share, names in BY_SHARE.items() for name in names.split()}
PRICES |= dict.fromkeys(NOTHING_LEFT, 1.0)


@check
def foresees(exercise, group: str, below: float, by: str) -> None:
    """With the weights that are handed in, the graders' own model has a loss below that.

    It is the loss at the end of the windows that the group's cases pass in. by: the group of
    cases that load the weights into the learner's own model, which tell what its parts are called.
    docs/explanation/trained_weights.md says what right models come to, and wrong ones.
    """
    names = own_names(exercise, by)
    for case, _, _ in exercise.group(group):
        weights = weights_of(exercise, case, names)
        (windows,) = passed(case, "windows")
        found = loss_at_the_end(weights, windows)
        if not found < below:
            exercise.wrong("values", LEARNED_LITTLE.format(found, below), case=case)


LEARNED_LITTLE = (
    "the graders' model with your weights has a loss of {:.2f} at the last place, on text that it "
    "has not seen; below {:g} is asked for. Either it was trained for too short a time, or the "
    "model that was trained is not the one of this chapter (does it see what comes?)"
)


@check
def agrees_on_weights(exercise, group: str) -> None:
    """The learner's own model makes of the weights that are handed in what the graders' makes.

    Attention is left out in both: a stand-in takes its place in this chapter.
    """
    names = own_names(exercise, group)
    for case, _, observed in exercise.answered(group):
        weights = weights_of(exercise, case, names)
        (windows,) = passed(case, "windows")
        own, found = plain(observed.value("result")), loss_at_the_end(unattended(weights), windows)
        if not isinstance(own, float) or not abs(own - found) < 1e-3:
            said = "your own model does not make of your weights what the graders' model makes"
            exercise.wrong("values", f"{said} (attention left out in both)", case=case)


def unattended(weights: dict) -> dict:
    """The same weights, with which attention adds nothing."""
    return {k: torch.zeros_like(v) if ".out_proj." in k else v for k, v in weights.items()}


MODEL = "my_model.safetensors"


def own_names(exercise, group: str) -> dict:
    """What the learner's own model calls its parts, by the names asked for, where these differ."""
    found = [seen.fact("names", "understood", default={}) for _, _, seen in exercise.group(group)]
    return {asked: own for names in found for asked, own in texts(names).items()}


def weights_of(exercise, case, names: dict) -> dict:
    """The weights that are handed in, by name, as float32. Raises Wrong where they are none.

    names: `own_names`. They decide which weight is which, and can earn nothing by that.
    """
    found = exercise.attempt.weights(MODEL)
    if found.missing:
        said = f"{found.trouble.rstrip('.')}; `tensorgrade train` makes it"
        exercise.wrong("to do", said, case=case)
    if found.trouble:
        said = f"the file {found.trouble.rstrip('.')}; `tensorgrade train` writes one"
        exercise.wrong("fact", said, case=case)
    tensors = under_asked_names(found.tensors, names)
    if said := weights_problem(tensors):
        exercise.wrong("fact", f"the file {MODEL}: {said}", case=case)
    if file := of_the_kit(tensors):
        exercise.wrong("fact", OF_THE_KIT.format(MODEL, file), case=case)
    return {name: tensors[name].float() for name in SHAPES}


def under_asked_names(tensors: dict, names: dict) -> dict:
    """The same under the names that the stub asks for, where theirs can only mean these.

    Masks stand in the way of that: of two that have the shape of a weight one would be taken.
    """
    kept = {as_asked(name, names): t for name, t in tensors.items() if not is_mask(t)}
    renamed = meant_parts(SHAPES, {name: tuple(tensor.shape) for name, tensor in kept.items()})
    return {as_asked(name, renamed): tensor for name, tensor in kept.items()}


def is_mask(tensor: torch.Tensor) -> bool:
    """Whether a table says of each entry only whether it counts; nothing trained is like that."""
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2]:
        return False
    return bool(((tensor == 0) | (tensor == 1) | (tensor == -torch.inf)).all())


def weights_problem(tensors: dict) -> str:
    """What keeps tensors from being the weights of a small GPT; empty where nothing does."""
    if lacking := [name for name in SHAPES if name not in tensors]:
        if any(name.endswith("attention.projection.weight") for name in tensors):
            return STAND_IN
        return f"there is no `{lacking[0]}` in it; the weights of another model?"
    for name, size in SHAPES.items():
        if tuple(tensors[name].shape) != size:
            said = f"`{name}` has shape {tuple(tensors[name].shape)}; {size} is asked for"
            return f"{said}, as `tensorgrade train` makes it of Shakespeare"
        if not tensors[name].is_floating_point():
            return f"`{name}` holds no decimal numbers"
        if not tensors[name].float().isfinite().all():
            return f"`{name}` holds NaN, or numbers without end"
    return ""


OF_THE_KIT = (
    "the file {} holds the numbers of {}, which comes with the course; hand in what you have "
    "trained yourself (`tensorgrade train`)"
)
WITH_THE_KIT = Path(__file__).resolve().parents[1] / "exercises" / "weights"
COMPARED = ("token_embedding", "blocks.0.attention.W_query", "blocks.1.attention.W_value", "head")
# So many numbers of a row are compared; so many that fit are no chance; that close, as logarithms.
LOOKED_AT, ALIKE, CLOSE = 16, 14, 1e-3


def of_the_kit(tensors: dict) -> str:
    """The name of a file of the kit whose numbers these are; empty where they are none of its own.

    They may be cut, permuted and scaled: rows and columns are compared as sets of numbers, up to a
    factor. tensors: as a model has them, by the names asked for.
    """
    for path in sorted(WITH_THE_KIT.glob("*.safetensors")):
        kit = load_file(path)
        names = [f"{name}.weight" for name in COMPARED if f"{name}.weight" in kit]
        found = [same_numbers(tensors[name].double(), kit[name].double()) for name in names]
        if names and 2 * sum(found) >= len(names):
            return path.name
    return ""


def same_numbers(own: torch.Tensor, kit: torch.Tensor) -> bool:
    """Whether the middle row or column of a matrix stands in a row or column of another one."""
    rows = (own[len(own) // 2], kit), (own[:, own.shape[1] // 2], kit.T)
    return any(is_among(row, others) for row, others in rows)


def is_among(row: torch.Tensor, others: torch.Tensor) -> bool:
    """Whether all numbers of a row (n,) are in one of some others (k, m), up to a factor.

    If they are, one quotient comes up for each of them; by chance quotients spread.
    """
    own = row.abs().log()
    own = own[own.isfinite()].unique()[-LOOKED_AT:]
    if len(own) < LOOKED_AT:
        return False
    logarithms = others.abs().log()
    logarithms = torch.where(logarithms.isfinite(), logarithms, torch.nan)
    quotients = (own[:, None, None] - logarithms).transpose(0, 1).flatten(1).sort(dim=1).values
    nearest = quotients[:, ALIKE - 1 :] - quotients[:, : 1 - ALIKE]
    return bool((nearest < CLOSE).any())


STAND_IN = (
    "it was trained with the stand-in for your MultiHeadAttention (chapter 4), which cannot "
    "attend; put that right and train once more"
)


# What `tensorgrade train` trains: Shakespeare's 65 characters, two layers, four heads.
VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS = 65, 64, 64, 4, 2
IN_A_BLOCK = {
    **{f"norm{n}.{part}": (WIDTH,) for n in (1, 2) for part in ("scale", "shift")},
    **{f"attention.{name}.weight": (WIDTH, WIDTH) for name in ("W_query", "W_key", "W_value")},
    "attention.out_proj.weight": (WIDTH, WIDTH),
    "attention.out_proj.bias": (WIDTH,),
    "feed_forward.layers.0.weight": (4 * WIDTH, WIDTH),
    "feed_forward.layers.0.bias": (4 * WIDTH,),
    "feed_forward.layers.2.weight": (WIDTH, 4 * WIDTH),
    "feed_forward.layers.2.bias": (WIDTH,),
}
SHAPES = {
    "token_embedding.weight": (VOCABULARY, WIDTH),
    "position_embedding.weight": (CONTEXT, WIDTH),
    **{f"blocks.{n}.{name}": size for n in range(LAYERS) for name, size in IN_A_BLOCK.items()},
    "final_norm.scale": (WIDTH,),
    "final_norm.shift": (WIDTH,),
    "head.weight": (VOCABULARY, WIDTH),
}


def last_logits(weights: dict, ids: torch.Tensor) -> torch.Tensor:
    """(b, vocab_size): what a small GPT with these weights says at the last place of ids (b, n).

    The graders' own model, of torch's own parts: whatever a learner's model lets its tokens see,
    in this one none sees what comes later.
    """
    x = weights["token_embedding.weight"][ids]
    x = x + weights["position_embedding.weight"][: ids.shape[1]]
    for layer in range(LAYERS):
        part = below(weights, f"blocks.{layer}.")
        seen = normed(x, part, "norm1")
        x = x[:, -1:] if layer == LAYERS - 1 else x  # nobody looks at the other places any more
        x = x + attended(seen, x.shape[1], below(part, "attention."))
        x = x + fed_forward(normed(x, part, "norm2"), below(part, "feed_forward.layers."))
    return functional.linear(normed(x[:, -1], weights, "final_norm"), weights["head.weight"])


def below(weights: dict, prefix: str) -> dict:
    """The weights whose names begin so, without that beginning."""
    return {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}


def normed(x: torch.Tensor, part: dict, name: str) -> torch.Tensor:
    """x (…, d) through one of the norms."""
    scale, shift = part[f"{name}.scale"], part[f"{name}.shift"]
    return functional.layer_norm(x, x.shape[-1:], scale, shift, 1e-5)


def attended(x: torch.Tensor, last: int, part: dict) -> torch.Tensor:
    """(b, last, d): the last places of x (b, n, d) through attention that is causal: torch's own.

    That takes (n, b, d).
    """
    tokens, one = x.shape[1], x.transpose(0, 1)
    together = torch.cat([part[f"W_{name}.weight"] for name in ("query", "key", "value")])
    out, _ = functional.multi_head_attention_forward(
        *(one[-last:], one, one, x.shape[2], HEADS, together, None, None, None, False, 0.0),
        *(part["out_proj.weight"], part["out_proj.bias"]),
        need_weights=False,
        attn_mask=torch.ones(last, tokens, dtype=torch.bool).triu(1 + tokens - last),
    )
    return out.transpose(0, 1)


def fed_forward(x: torch.Tensor, part: dict) -> torch.Tensor:
    """x (b, n, d) through a block's two layers."""
    inside = functional.linear(x, part["0.weight"], part["0.bias"])
    return functional.linear(functional.gelu(inside), part["2.weight"], part["2.bias"])


@torch.no_grad()
def loss_at_the_end(weights: dict, windows: torch.Tensor) -> float:
    """The mean loss at the last place of windows (b, n + 1); what is to be foreseen stands last."""
    logits = [last_logits(weights, part[:, :-1]) for part in windows.split(128)]
    return functional.cross_entropy(torch.cat(logits), windows[:, -1]).item()
