"""Results compared with the formula of attention or of a block, right or with a known mistake."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isfinite

import torch
from torch import Tensor

from .code import Made, Raised
from .formula import Cause, Recipe, attend, mistakes
from .mapping import Mapping, expected, mapping_of, readings
from .roles import Sizes, snake
from .subject import Subject, scale_of
from .trials import FAILURES

CLOSE = 1e-4
DRAWS = (
    Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2, tokens_of_context=7, seed=1),
    Sizes(3, 6, 2, 4, kv_heads=1, tokens_of_context=4, seed=2, biases=True),
    Sizes(1, 9, 6, 2, kv_heads=3, tokens_of_context=31, seed=3, biases=True, twins=True),
)
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
    made = subject.build(subject.fitted(DRAWS[0]))
    if made and (made.weights or subject.tensors != "q, k, v"):
        mapping = mapping_of(made)
        if not mapping.complete:
            why = f"`{mapping.extra[0]}`" if mapping.extra else "queries, keys or values"
            raise Skip(f"no role was found for {why} among its weights")


@dataclass(frozen=True)
class Run:
    """One run of a definition, to compare with many recipes."""

    sizes: Sizes
    inputs: dict[str, Tensor]
    mapping: Mapping | None
    actual: Tensor

    def results(self, recipe: Recipe) -> list[Tensor]:
        """Return the results by a recipe, one for each reading of the weights."""
        sizes = self.sizes
        if self.mapping is None:
            q, k, v = (self.inputs[name] for name in "qkv")
            made = attend(q, k, v, sizes.heads, recipe, kv_heads=sizes.kv_heads)
            return [-made if recipe.output == "negative" else made]
        found = []
        for reading in readings(self.mapping):
            try:
                found.append(expected(self.mapping, reading, self.inputs, sizes, recipe))
            except (RuntimeError, IndexError):
                continue
        return found

    def agrees(self, recipe: Recipe) -> bool:
        """Return True if a recipe gives the definition's results."""
        return any(agrees(self.actual, one) for one in self.results(recipe))


def run_of(subject: Subject, sizes: Sizes) -> Run:
    """Run a definition."""
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    actual = subject.run(made, inputs, sizes).value
    is_bare = subject.tensors == "q, k, v" and not (made and made.weights)
    mapping = mapping_of(made) if made and not is_bare else None
    return Run(sizes, inputs, mapping, actual)


def follows_formula(subject: Subject) -> bool:
    """Return True if a function gives the right results, causal or not."""
    if subject.tensors != "q, k, v":
        return False
    try:
        run = run_of(subject, subject.fitted(DRAWS[0]))
        return any(run.agrees(Recipe(mask=mask)) for mask in ("none", "causal"))
    except FAILURES:
        return False


def agrees(actual: Tensor, found: Tensor) -> bool:
    """Return True if two results are equal but for rounding in single precision."""
    if actual.shape != found.shape:
        return False
    both_nan = actual.isnan() & found.isnan()
    known = ~found.isnan() | both_nan  # for a row without visible keys, any value agrees
    near = (actual - found).abs() <= CLOSE * max(scale_of(actual), 1e-2)
    enough = bool(known.double().mean() > 0.5)
    return enough and bool((near | (actual == found) | both_nan | ~known).all())


def right_recipe(subject: Subject) -> Recipe:
    """Return the recipe that a definition should follow."""
    return Recipe(mask="causal" if subject.causal else "none")


def gap_to_formula(subject: Subject, sizes: Sizes) -> str:
    """Return in words how far results are from the formula's, an empty text if they agree.

    Raises Skip.
    """
    must_be_plain(subject)
    run, right = run_of(subject, sizes), right_recipe(subject)
    if run.agrees(right):
        return ""
    of_this_width = [one for one in run.results(right) if one.shape == run.actual.shape]
    if not of_this_width and not named_mistake(subject, sizes):
        raise Skip("its widths do not fit the formula")
    gaps = [float((run.actual - one).abs().max()) for one in of_this_width]
    largest = min(filter(isfinite, gaps), default=inf)
    by = f" by up to {largest:.2g}" if isfinite(largest) else ""
    return f"The results differ{by} from those of the same formula in torch."


SPECIAL_CASE = Cause(
    "special_case",
    "The results are right at other sizes or options. Something has a fixed size, or a special "
    "case is wrong.",
    "min( [: if softmax scaled_dot_product_attention return",
)


def named_mistake(subject: Subject, sizes: Sizes) -> Cause | None:
    """Return the known mistake whose results match, at these sizes and at others."""
    right, run = right_recipe(subject), run_of(subject, sizes)
    others: list[Run] = []
    for other in DRAWS:
        try:
            others.append(run_of(subject, subject.fitted(other)))
        except FAILURES:
            return None
    if run.sizes != others[0].sizes and others[0].agrees(right):
        return SPECIAL_CASE  # a mistake of the formula shows at every size
    for recipe, cause in mistakes(right):
        try:
            if all(one.agrees(recipe) for one in (run, *others)):
                return cause
        except (RuntimeError, IndexError):  # the recipe does not fit one of the sizes
            continue
    return None


ATTENTION = r"(self_|causal_|masked_)*(attn|attention|mha|sa|att)(_heads?|_layer|\d)?|sa_heads"
FEED_FORWARD = r"ff|ffn|mlp|ffwd|feed_?forward|ff_net|ff_layer"
NORM = r"(layer_?|rms_?|attention_|attn_|ffn_|ff_|pre_|post_|input_|mlp_)*(norm|ln)(_?[12]|_[a-f]|_\w+)?"
IN_A_BLOCK = "x = x + norm return"
# Forms of a block: sums from left to right. Each adds the result of attention (a) or feed-forward
# (f) to x, to the normed x (n), or to nothing (0). The part gets x from a norm, or x itself.
RIGHT_BLOCKS = ("x+a(n1) x+f(n2)", "behind", "x+a(n1)+f(n2)", "x+a(n1)+f(n1)")
WRONG_BLOCKS = {
    "n+a(n1) x+f(n2)": ("normed_input_added_to_attention", "The normed x is added to the attention's result. Add x itself."),
    "x+a(n1) n+f(n2)": ("normed_input_added_to_feed_forward", "The normed x is added to the feed-forward network's result. Add x itself."),
    "n+a(n1) n+f(n2)": ("normed_inputs_added", "The normed x is added in both sums. Add x itself."),
    "x+a(x) x+f(n2)": ("attention_without_norm", "The attention gets x without its norm."),
    "x+a(n1) x+f(x)": ("feed_forward_without_norm", "The feed-forward network gets x without its norm."),
    "x+a(x) x+f(x)": ("norms_not_used", "Neither norm is used."),
    "0+a(n1) x+f(n2)": ("no_residual_around_attention", "x is not added to the attention's result."),
    "x+a(n1) 0+f(n2)": ("no_residual_around_feed_forward", "x is not added to the feed-forward network's result."),
    "0+a(n1) 0+f(n2)": ("no_residuals", "Nothing is added to what the two parts make."),
    "x+a(n1) x+f(n1)": ("first_norm_twice", "The first norm is used in both places."),
    "x+a(n2) x+f(n2)": ("second_norm_twice", "The second norm is used in both places."),
    "x+f(n2) x+a(n1)": ("feed_forward_first", "The feed-forward network comes before the attention."),
    "x+f(n2)": ("attention_left_out", "The attention takes no part."),
    "x+a(n1)": ("feed_forward_left_out", "The feed-forward network takes no part."),
}  # fmt: skip
Parts = dict[str, Callable[[Tensor], Tensor]]


def parts_of(subject: Subject, made: Made) -> Parts:
    """Return the parts of a block as functions, by their names. Raises Skip if it is none."""
    found: dict[str, list[str]] = {"a": [], "f": [], "n": [], "": []}
    patterns = {"a": ATTENTION, "f": FEED_FORWARD, "n": NORM}
    for name, kind in made.kinds.items():
        if name and "." not in name and kind != "Dropout":
            roles = [role for role, p in patterns.items() if re.fullmatch(p, snake(name))]
            found[roles[0] if roles else ""].append(name)
    own = [name for name in made.parameters if "." not in name]
    if [len(found[role]) for role in found] != [1, 1, 2, 0] or own:
        raise Skip("it is not a block of attention, feed-forward network and two norms")

    def part(path: str) -> Callable[[Tensor], Tensor]:
        names = "qkv" if made.kinds[path] == "MultiheadAttention" else "x"
        return lambda x: subject.ask(made, dict.fromkeys(names, x), path=path)[1]["part.0"]

    names = dict(zip(("a", "f", "n1", "n2"), found["a"] + found["f"] + found["n"], strict=True))
    return {role: part(name) for role, name in names.items()}


def chained(x: Tensor, parts: Parts, form: str) -> Tensor:
    """Return x after the sums of a form."""
    if form == "behind":  # the norms are behind the sums
        x = parts["n1"](x + parts["a"](x))
        return parts["n2"](x + parts["f"](x))
    for step in form.split():
        added, *terms = step.split("+")
        given = [term[2:-1] for term in terms]
        normed = [x if norm == "x" else parts[norm](x) for norm in given]
        made = [parts[term[0]](one) for term, one in zip(terms, normed, strict=True)]
        start = {"x": x, "n": normed[0], "0": torch.zeros_like(x)}[added]
        x = sum(made, start)
    return x


def forms_of(subject: Subject, sizes: Sizes) -> tuple[Tensor, Iterator[tuple[str, Tensor]]]:
    """Return a block's result, and the result of each form with the norms in both orders.

    Raises Skip.
    """
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    if made is None or subject.tensors != "x":
        raise Skip("it is not a block")
    parts = parts_of(subject, made)
    actual = subject.run(made, inputs, sizes).value
    orders = (parts, parts | {"n1": parts["n2"], "n2": parts["n1"]})

    def results() -> Iterator[tuple[str, Tensor]]:
        for form in (*RIGHT_BLOCKS, *WRONG_BLOCKS):
            for order in orders:
                try:
                    yield form, chained(inputs["x"], order, form)
                except Raised as error:
                    raise Skip("its attention takes more than x") from error

    return actual, results()


def gap_to_block(subject: Subject, sizes: Sizes) -> str:
    """Return in words how far a block is from its parts, put together; an empty text if it agrees.

    Raises Skip.
    """
    actual, results = forms_of(subject, sizes)
    gap = 0.0
    for form, value in results:
        if form not in RIGHT_BLOCKS:
            break
        if agrees(actual, value):
            return ""
        gap = gap or float((actual - value).abs().max())
    return f"The results differ by up to {gap:.2g} from those of its parts, put together."


def named_form(subject: Subject, sizes: Sizes) -> Cause | None:
    """Return the mistake whose form gives the result of a block."""
    actual, results = forms_of(subject, sizes)
    for form, value in results:
        if form in WRONG_BLOCKS and agrees(actual, value):
            name, sentence = WRONG_BLOCKS[form]
            words = {
                "feed_forward": "feed_forward ffn ffwd ff mlp",
                "attention": "attention attn sa",
            }
            own = next((where for word, where in words.items() if word in name), "")
            return Cause(name, sentence, f"{own} {IN_A_BLOCK}")
    return None
