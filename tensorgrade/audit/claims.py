"""What a definition claims to calculate: right forms of a formula, and those of known mistakes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from .code import CannotRun, Made
from .formula import Mistake, Recipe, mistakes
from .kinds import LAYER_NORM, RMS_NORM, SINUSOIDAL, Kind
from .mapping import Layers, expected, mapping_of, readings
from .roles import Sizes, snake
from .subject import Call, Subject, scale_of

CLOSE = 1e-4
USUAL_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3)
# Names in code of attention that does not follow the formula, on purpose.
OTHER_FORMULAS = re.compile(
    r"(^|_)(norm|normalize|rms_norm|layer_norm|cosine\w*|relu|elu|phi|kernel\w*|linformer|temperature|tau|gates?|gating"
    r"|sinks?|null|memory_key|talking|topk|entmax|sparsemax|soft_?cap|tanh|bias_k|zero_attn|mix_heads|lambda\w*)(_|$)"
)
# The same in the name of the definition.
OTHER_ATTENTION = re.compile(
    r"linear|linformer|performer|nystrom|kernel|sparse|local|axial|focal|fast|efficient|agent|cosine"
    r"|relative|differential|gated|retention|hyper|lambda",
    re.I,
)
POSITIONS = re.compile(
    r"(^|_)(rope|rotary|rotate|alibi|slopes?|windows?|local|relative|rel|freqs?|inv_freq|pe|pos|positions?"
    r"|positional\w*|position\w*|band|bucket\w*|cos|sin|distance\w*)(_|$)"
)


@dataclass(frozen=True)
class Run:
    """One run of a definition, to compare with many forms."""

    subject: Subject
    sizes: Sizes
    made: Made | None
    inputs: dict[str, Any]
    actual: Tensor

    @cached_property
    def mapping(self) -> Layers:
        """Return the roles of the module's layers."""
        return mapping_of(self.made) if self.made else Layers({})

    def agrees(self, form: "Form") -> bool:
        """Return True if a form gives the definition's results."""
        return any(agrees(self.actual, one) for one in form(self))


Form = Callable[[Run], Iterable[Tensor]]  # the possible results of a run


@dataclass(frozen=True)
class Claim:
    """The right forms of a definition, and those of known mistakes."""

    right: Sequence[Form]
    wrong: Sequence[tuple[Form, Mistake]]


def claim_of(subject: Subject) -> Claim:
    """Return what a definition claims to calculate. Raises CannotRun if nothing is known."""
    if subject.kind is SINUSOIDAL and subject.made and subject.made.weights:
        raise CannotRun("its positions are learned")
    if subject.kind:
        return claim_of_part(subject.kind)
    names = names_of_parts(subject.made) if subject.made and subject.tensors == "x" else {}
    if names:
        form = partial(partial, by_sums, names)
        right = [form(one) for one in RIGHT_BLOCKS]
        return Claim(right, [(form(one), mistake) for one, mistake in WRONG_BLOCKS.items()])
    must_be_plain(subject)
    recipe = Recipe(mask="causal" if subject.causal else "none")
    wrong = [(partial(by_recipe, one), mistake) for one, mistake in mistakes(recipe)]
    return Claim([partial(by_recipe, recipe)], wrong)


def run_of(subject: Subject, sizes: Sizes) -> Run:
    """Run a definition. Parts are in training for every second seed, since it changes nothing."""
    inputs = subject.inputs(sizes)
    training = subject.kind is not None and sizes.seed % 2 == 0
    made, (output,) = subject.run(sizes, Call(inputs, training=training))
    return Run(subject, sizes, made, inputs, output.value)


def agrees(actual: Tensor, found: Tensor) -> bool:
    """Return True if two results are equal but for rounding in single precision."""
    if actual.shape != found.shape:
        return False
    both_nan = actual.isnan() & found.isnan()
    known = ~found.isnan() | both_nan  # for a row without visible keys, any value agrees
    near = (actual - found).abs() <= CLOSE * max(scale_of(actual), 1e-2)
    enough = bool(known.double().mean() > 0.5)
    return enough and bool((near | (actual == found) | both_nan | ~known).all())


def must_be_plain(subject: Subject) -> None:
    """Raise CannotRun if the definition does not claim to follow the plain formula."""
    if subject.tensors == "q, k":
        raise CannotRun("it returns weights only")
    names, own = [snake(name) for name in subject.definition.names], subject.definition.name
    own = own if OTHER_ATTENTION.search(own) else next(filter(OTHER_FORMULAS.search, names), "")
    if own:
        raise CannotRun(f"its code has a formula of its own (`{own}`)")
    if any(map(POSITIONS.search, names)) or subject.has("positions"):
        raise CannotRun("it knows positions")
    made = subject.made
    if made and (made.weights or subject.tensors != "q, k, v"):
        mapping = mapping_of(made)
        if not mapping.complete:
            why = f"`{mapping.extra[0]}`" if mapping.extra else "queries, keys or values"
            raise CannotRun(f"no role was found for {why} among its weights")


def is_plain(subject: Subject) -> bool:
    """Return True if the definition claims to follow the plain formula."""
    with suppress(CannotRun):
        must_be_plain(subject)
        return True
    return False


def by_recipe(recipe: Recipe, run: Run) -> Iterator[Tensor]:
    """Yield the results by a recipe, one for each reading of the weights."""
    for reading in readings(run.mapping):
        with suppress(RuntimeError, IndexError):
            yield expected(run.mapping, reading, run.inputs, run.sizes, recipe)


def claim_of_part(kind: Kind) -> Claim:
    """Return the claim of a softmax, a norm, positions or a loss."""
    by = by_norm if kind in (LAYER_NORM, RMS_NORM) else by_formula
    right = [partial(by, kind, form) for form in kind.right]
    return Claim(right, [(partial(by, kind, form), one) for form, one in kind.wrong.items()])


def by_formula(kind: Kind, form: str, run: Run) -> Iterator[Tensor]:
    """Yield the result of a formula in a form."""
    yield kind.formula(*run.inputs.values(), form=form)


def by_norm(kind: Kind, form: str, run: Run) -> Iterator[Tensor]:
    """Yield the results of a norm with each usual eps.

    Either of two weights can be its scale, and the other one its shift.
    """
    drawn = [one.flatten() for one in (run.made.weights if run.made else {}).values()]
    own = [one for one in drawn if one.numel() == run.sizes.width]
    ones, zeros = torch.ones(run.sizes.width), torch.zeros(run.sizes.width)
    match own:
        case [one]:
            pairs = [(one, zeros), (ones, one)]
        case [one, other]:
            pairs = [(one, other), (other, one)]
        case _:
            pairs = [(ones, zeros)]
    for scale, shift in pairs:
        for eps in USUAL_EPS:
            yield kind.formula(run.inputs["x"], scale, shift, eps, form=form)


ATTENTION = r"(self_|causal_|masked_)*(attn|attention|mha|sa|att)(_heads?|_layer|\d)?|sa_heads"
FEED_FORWARD = r"ff|ffn|mlp|ffwd|feed_?forward|ff_net|ff_layer"
NORM = r"(layer_?|rms_?|attention_|attn_|ffn_|ff_|pre_|post_|input_|mlp_)*(norm|ln)(_?[12]|_[a-f]|_\w+)?"
PATTERNS = (ATTENTION, FEED_FORWARD, NORM)
SUM = "x = x + norm return"
# Forms of a block: sums from left to right. Each adds the result of attention (a) or feed-forward
# (f) to x, to the normed x (n), or to nothing (0). The part gets x from a norm, or x itself.
RIGHT_BLOCKS = ("x+a(n1) x+f(n2)", "behind", "x+a(n1)+f(n2)", "x+a(n1)+f(n1)")
ATTENDS, FEEDS = f"attention attn sa {SUM}", f"feed_forward ffn ffwd ff mlp {SUM}"
WRONG_BLOCKS = {
    "n+a(n1) x+f(n2)": Mistake("normed_input_added_to_attention", ATTENDS, "The normed x is added to the attention's result. Add x itself."),
    "x+a(n1) n+f(n2)": Mistake("normed_input_added_to_feed_forward", FEEDS, "The normed x is added to the feed-forward network's result. Add x itself."),
    "n+a(n1) n+f(n2)": Mistake("normed_inputs_added", SUM, "The normed x is added in both sums. Add x itself."),
    "x+a(x) x+f(n2)": Mistake("attention_without_norm", ATTENDS, "The attention gets x without its norm."),
    "x+a(n1) x+f(x)": Mistake("feed_forward_without_norm", FEEDS, "The feed-forward network gets x without its norm."),
    "x+a(x) x+f(x)": Mistake("norms_not_used", SUM, "Neither norm is used."),
    "0+a(n1) x+f(n2)": Mistake("no_residual_around_attention", ATTENDS, "x is not added to the attention's result."),
    "x+a(n1) 0+f(n2)": Mistake("no_residual_around_feed_forward", FEEDS, "x is not added to the feed-forward network's result."),
    "x+a(n1) x+f(n1)": Mistake("first_norm_twice", SUM, "The first norm is used in both places."),
    "x+f(n2) x+a(n1)": Mistake("feed_forward_first", FEEDS, "The feed-forward network comes before the attention."),
    "x+f(n2)": Mistake("attention_left_out", FEEDS, "The attention takes no part."),
    "x+a(n1)": Mistake("feed_forward_left_out", FEEDS, "The feed-forward network takes no part."),
}  # fmt: skip


def names_of_parts(made: Made) -> dict[str, str]:
    """Return the names of the parts of a block (a, f, n1, n2); {} if the module is none."""
    parts = [n for n, kind in made.kinds.items() if n and "." not in n and kind != "Dropout"]
    named = [[n for n in parts if re.fullmatch(p, snake(n))] for p in PATTERNS]
    own = [name for name in made.parameters if "." not in name]
    if [len(names) for names in named] != [1, 1, 2] or len(parts) != 4 or own:
        return {}
    return dict(zip(("a", "f", "n1", "n2"), chain(*named), strict=True))


def by_sums(names: dict[str, str], form: str, run: Run) -> Iterator[Tensor]:
    """Yield a block's results in a form, with the norms in both orders."""

    def called(path: str, x: Tensor) -> Tensor:
        return run.subject.values(run.sizes, Call({"x": x}, path=path))[0]

    for order in (names, names | {"n1": names["n2"], "n2": names["n1"]}):
        parts = {role: partial(called, path) for role, path in order.items()}
        yield chained(run.inputs["x"], form, parts)


def chained(x: Tensor, form: str, parts: Mapping[str, Callable[[Tensor], Tensor]]) -> Tensor:
    """Return x after the sums of a form."""
    if form == "behind":  # the norms are behind the sums
        x = parts["n1"](x + parts["a"](x))
        return parts["n2"](x + parts["f"](x))
    for step in form.split():
        added, *terms = step.split("+")
        normed = [x if term[2] == "x" else parts[term[2:-1]](x) for term in terms]
        made = [parts[term[0]](one) for term, one in zip(terms, normed, strict=True)]
        x = sum(made, {"x": x, "n": normed[0], "0": torch.zeros_like(x)}[added])
    return x
