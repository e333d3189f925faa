"""What a definition claims to calculate: right forms of a formula, and those of known mistakes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from .code import Made
from .formula import Cause, Recipe, mistakes
from .kinds import LAYER_NORM, RMS_NORM
from .mapping import Layers, expected, mapping_of, readings
from .roles import Sizes, snake
from .subject import FIRST, Subject, scale_of

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


class Skip(Exception):
    """The relation does not apply to this definition; the text says why."""


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
# The right forms by name, and those of known mistakes.
Claim = tuple[Mapping[str, Form], Sequence[tuple[Form, Cause]]]


def run_of(subject: Subject, sizes: Sizes) -> Run:
    """Run a definition. Parts are in training for every second seed, since it changes nothing."""
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    training = subject.kind is not None and sizes.seed % 2 == 0
    return Run(subject, sizes, made, inputs, subject.run(made, inputs, sizes, None, training).value)


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
    """Raise Skip if the definition does not claim to follow the plain formula."""
    if subject.tensors == "q, k":
        raise Skip("it returns weights only")
    names = [snake(name) for name in subject.definition.names]
    own = subject.name if OTHER_ATTENTION.search(subject.name) else ""
    if own := own or next(filter(OTHER_FORMULAS.search, names), ""):
        raise Skip(f"its code has a formula of its own (`{own}`)")
    if any(map(POSITIONS.search, names)) or subject.has("positions"):
        raise Skip("it knows positions")
    made = subject.build(subject.fitted(FIRST))
    if made and (made.weights or subject.tensors != "q, k, v"):
        mapping = mapping_of(made)
        if not mapping.complete:
            why = f"`{mapping.extra[0]}`" if mapping.extra else "queries, keys or values"
            raise Skip(f"no role was found for {why} among its weights")


def attention(subject: Subject) -> Claim:
    """Return the forms of plain attention. Raises Skip."""
    must_be_plain(subject)
    right = Recipe(mask="causal" if subject.causal else "none")
    wrong = [(partial(by_recipe, recipe), cause) for recipe, cause in mistakes(right)]
    return {"": partial(by_recipe, right)}, wrong


def by_recipe(recipe: Recipe, run: Run) -> Iterator[Tensor]:
    """Yield the results by a recipe, one for each reading of the weights."""
    for reading in readings(run.mapping):
        with suppress(RuntimeError, IndexError):
            yield expected(run.mapping, reading, run.inputs, run.sizes, recipe)


def part(subject: Subject) -> Claim:
    """Return the forms of a softmax, a norm, positions or a loss."""
    assert subject.kind
    right = {name: partial(by_formula, one) for name, one in subject.kind.right.items()}
    return right, [(partial(by_formula, one), cause) for one, cause in subject.kind.wrong]


def by_formula(formula: Callable[..., Tensor], run: Run) -> Iterator[Tensor]:
    """Yield the results of a formula; of a norm, with each usual eps if it is not known.

    Either of two weights of a norm can be its scale, and the other one its shift.
    """
    if run.subject.kind not in (LAYER_NORM, RMS_NORM):
        yield formula(*run.inputs.values())
        return
    drawn = [one.flatten() for one in (run.made.weights if run.made else {}).values()]
    ones, zeros = torch.ones(run.sizes.width), torch.zeros(run.sizes.width)
    own = [one for one in drawn if one.numel() == run.sizes.width]
    scales: list = [own, own[::-1]] if len(own) == 2 else [(ones, zeros)]
    scales = [(*own, zeros), (ones, *own)] if len(own) == 1 else scales
    known = (run.made.eps,) if run.made and run.made.eps else USUAL_EPS
    yield from (formula(run.inputs["x"], *both, eps) for both in scales for eps in known)


ATTENTION = r"(self_|causal_|masked_)*(attn|attention|mha|sa|att)(_heads?|_layer|\d)?|sa_heads"
FEED_FORWARD = r"ff|ffn|mlp|ffwd|feed_?forward|ff_net|ff_layer"
NORM = r"(layer_?|rms_?|attention_|attn_|ffn_|ff_|pre_|post_|input_|mlp_)*(norm|ln)(_?[12]|_[a-f]|_\w+)?"
SUM = "x = x + norm return"
# Forms of a block: sums from left to right. Each adds the result of attention (a) or feed-forward
# (f) to x, to the normed x (n), or to nothing (0). The part gets x from a norm, or x itself.
RIGHT_BLOCKS = ("x+a(n1) x+f(n2)", "behind", "x+a(n1)+f(n2)", "x+a(n1)+f(n1)")
WRONG_BLOCKS = {
    "n+a(n1) x+f(n2)": ("normed_input_added_to_attention", f"attention attn sa {SUM}", "The normed x is added to the attention's result. Add x itself."),
    "x+a(n1) n+f(n2)": ("normed_input_added_to_feed_forward", f"feed_forward ffn ffwd ff mlp {SUM}", "The normed x is added to the feed-forward network's result. Add x itself."),
    "n+a(n1) n+f(n2)": ("normed_inputs_added", SUM, "The normed x is added in both sums. Add x itself."),
    "x+a(x) x+f(n2)": ("attention_without_norm", f"attention attn sa {SUM}", "The attention gets x without its norm."),
    "x+a(n1) x+f(x)": ("feed_forward_without_norm", f"feed_forward ffn ffwd ff mlp {SUM}", "The feed-forward network gets x without its norm."),
    "x+a(x) x+f(x)": ("norms_not_used", SUM, "Neither norm is used."),
    "0+a(n1) x+f(n2)": ("no_residual_around_attention", f"attention attn sa {SUM}", "x is not added to the attention's result."),
    "x+a(n1) 0+f(n2)": ("no_residual_around_feed_forward", f"feed_forward ffn ffwd ff mlp {SUM}", "x is not added to the feed-forward network's result."),
    "x+a(n1) x+f(n1)": ("first_norm_twice", SUM, "The first norm is used in both places."),
    "x+f(n2) x+a(n1)": ("feed_forward_first", f"feed_forward ffn ffwd ff mlp {SUM}", "The feed-forward network comes before the attention."),
    "x+f(n2)": ("attention_left_out", f"attention attn sa {SUM}", "The attention takes no part."),
    "x+a(n1)": ("feed_forward_left_out", f"feed_forward ffn ffwd ff mlp {SUM}", "The feed-forward network takes no part."),
}  # fmt: skip


def block(subject: Subject) -> Claim:
    """Return the forms of a block of attention and a feed-forward network. Raises Skip."""
    made = subject.build(subject.fitted(FIRST))
    names = dict(names_of_parts(made)) if made and subject.tensors == "x" else {}
    if not names:
        raise Skip("it is not a block of attention, feed-forward network and two norms")
    wrong = [
        (partial(by_sums, names, form), Cause(name, sentence, where))
        for form, (name, where, sentence) in WRONG_BLOCKS.items()
    ]
    return {form: partial(by_sums, names, form) for form in RIGHT_BLOCKS}, wrong


def names_of_parts(made: Made) -> list[tuple[str, str]]:
    """Return the parts of a block (a, f, n1, n2) with their names; [] if the module is none."""
    found: dict[str, list[str]] = {"a": [], "f": [], "n": [], "": []}
    patterns = {"a": ATTENTION, "f": FEED_FORWARD, "n": NORM}
    for name, kind in made.kinds.items():
        if name and "." not in name and kind != "Dropout":
            roles = [role for role, p in patterns.items() if re.fullmatch(p, snake(name))]
            found[roles[0] if roles else ""].append(name)
    own = [name for name in made.parameters if "." not in name]
    if [len(found[role]) for role in found] != [1, 1, 2, 0] or own:
        return []
    return [*zip(("a", "f", "n1", "n2"), found["a"] + found["f"] + found["n"], strict=True)]


def by_sums(names: dict[str, str], form: str, run: Run) -> Iterator[Tensor]:
    """Yield a block's results in a form, with the norms in both orders."""
    subject, made = run.subject, run.made
    assert made

    def called(path: str, x: Tensor) -> Tensor:
        inputs = "qkv" if made.kinds[path] == "MultiheadAttention" else "x"
        return subject.ask(made, dict.fromkeys(inputs, x), run.sizes, path=path)[1]["part.0"]

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
