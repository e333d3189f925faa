"""The formula of a block: attention, a feed-forward network, norms and residual sums."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..other_formulas import snake
from ..reference import Cause
from ..roles import Sizes
from .base import DRAWS, Broken, Relation, Skip
from .formula import agrees

Step = Callable[[Tensor], Tensor]
WHERE = ("x = x +", "norm", "return")
ATTENTION = re.compile(
    r"(self_|causal_|masked_)*(attn|attention|mha|sa|att)(_heads?|_layer|\d)?|sa_heads"
)
FEED_FORWARD = re.compile(r"ff|ffn|mlp|ffwd|feed_?forward|ff_net|ff_layer")
NORM = re.compile(
    r"(layer_?|rms_?|attention_|attn_|ffn_|ff_|pre_|post_|input_|mlp_)*(norm|ln)(_?[12]|_[a-f]|_\w+)?"
)


@dataclass(frozen=True)
class Parts:
    """The parts of a block as functions: attention, feed-forward network, and two norms."""

    a: Step
    f: Step
    n1: Step
    n2: Step


def chained(x: Tensor, parts: Parts, steps: str) -> Tensor:
    """Return x after a chain of sums, such as `x+a(n1) x+f(n2)`.

    Each adds the result of a part to x, to the normed x (`n`), or to nothing (`0`). The part gets
    x from one of the norms, or x itself.
    """
    for step in steps.split():
        added, part, given = re.fullmatch(r"([xn0])\+([af])\((n1|n2|x)\)", step).groups()  # type: ignore[union-attr]
        normed = x if given == "x" else getattr(parts, given)(x)
        made = getattr(parts, part)(normed)
        x = made if added == "0" else made + (x if added == "x" else normed)
    return x


RIGHT: dict[str, Callable[[Tensor, Parts], Tensor]] = {
    "norms before": lambda x, p: chained(x, p, "x+a(n1) x+f(n2)"),
    "norms behind": lambda x, p: p.n2(chained(p.n1(x + p.a(x)), p, "x+f(x)")),
    "side by side": lambda x, p: x + p.a(p.n1(x)) + p.f(p.n2(x)),
    "side by side, one norm": lambda x, p: x + p.a(p.n1(x)) + p.f(p.n1(x)),
}
# Known mistakes by name: a sentence, and the chain of sums.
WRONG = {
    "normed_input_added_to_attention": ("The normed x is added to the attention's result. Add x itself.", "n+a(n1) x+f(n2)"),
    "normed_input_added_to_feed_forward": ("The normed x is added to the feed-forward network's result. Add x itself.", "x+a(n1) n+f(n2)"),
    "normed_inputs_added": ("The normed x is added in both sums. Add x itself.", "n+a(n1) n+f(n2)"),
    "attention_without_norm": ("The attention gets x without its norm.", "x+a(x) x+f(n2)"),
    "feed_forward_without_norm": ("The feed-forward network gets x without its norm.", "x+a(n1) x+f(x)"),
    "norms_not_used": ("Neither norm is used.", "x+a(x) x+f(x)"),
    "no_residual_around_attention": ("x is not added to the attention's result.", "0+a(n1) x+f(n2)"),
    "no_residual_around_feed_forward": ("x is not added to the feed-forward network's result.", "x+a(n1) 0+f(n2)"),
    "no_residuals": ("Nothing is added to what the two parts make.", "0+a(n1) 0+f(n2)"),
    "first_norm_twice": ("The first norm is used in both places.", "x+a(n1) x+f(n1)"),
    "second_norm_twice": ("The second norm is used in both places.", "x+a(n2) x+f(n2)"),
    "feed_forward_first": ("The feed-forward network comes before the attention.", "x+f(n2) x+a(n1)"),
    "attention_left_out": ("The attention takes no part.", "x+f(n2)"),
    "feed_forward_left_out": ("The feed-forward network takes no part.", "x+a(n1)"),
}  # fmt: skip


def parts_of(module: nn.Module) -> Parts:
    """Return the parts of a block by their names. Raises Skip if it is no plain block."""
    found: dict[str, list[nn.Module]] = {"a": [], "f": [], "n": [], "": []}
    patterns = {"a": ATTENTION, "f": FEED_FORWARD, "n": NORM}
    for name, child in module.named_children():
        roles = [role for role, pattern in patterns.items() if pattern.fullmatch(snake(name))]
        if not isinstance(child, nn.Dropout):
            found[roles[0] if roles else ""].append(child)
    if [len(found[role]) for role in ("a", "f", "n", "")] != [1, 1, 2, 0]:
        raise Skip("it is not a block of attention, feed-forward network and two norms")
    if any(True for _ in module.parameters(recurse=False)):
        raise Skip("it has weights of its own")
    attention, (n1, n2) = found["a"][0], found["n"]
    return Parts(lambda x: called(attention, x), found["f"][0], n1, n2)


def called(attention: nn.Module, x: Tensor) -> Tensor:
    """Return the result of a block's attention."""
    if isinstance(attention, nn.MultiheadAttention):
        return attention(x, x, x, need_weights=False)[0]
    out = attention(x)
    return out[0] if isinstance(out, tuple) else out


class Block(Relation):
    """A block adds the results of its two parts, with norms before the parts or behind the sums."""

    name = "formula of the block"
    sentence = (
        "x + attention(norm(x)), then x + feed_forward(norm(x)); or the norms behind the sums."
    )
    source = "Xiong et al. 2020, On Layer Normalization in the Transformer"
    draws: ClassVar[tuple[Sizes, ...]] = DRAWS

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.is_module or subject.given != "x":
            raise Skip("it is not a block")
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        parts = parts_of(made)
        made.eval()
        with torch.no_grad():
            actual = subject.run(made, inputs, sizes).value
            try:
                turned = replace(parts, n1=parts.n2, n2=parts.n1)  # in the other order
                both = (parts, turned)
                every = [formula(inputs["x"], p) for formula in RIGHT.values() for p in both]
            except Exception as error:
                raise Skip("its attention takes more than x") from error
            if any(agrees(actual, one) for one in every):
                return None
            gap = float((actual - every[0]).abs().max())
            said = f"The results differ by up to {gap:.2g} from those of its parts, put together."
            cause = wrong_form(actual, inputs["x"], both) if self.explain else None
        return Broken(said, sizes, (cause,)) if cause else Broken(said, sizes, where=WHERE)


def wrong_form(actual: Tensor, x: Tensor, orders: tuple[Parts, ...]) -> Cause | None:
    """Return the mistake whose formula gives the result of a block, with the operations it is on."""
    for name, (sentence, steps) in WRONG.items():
        if any(agrees(actual, chained(x, parts, steps)) for parts in orders):
            if "feed_forward" in name:
                return Cause(name, sentence, ("feed_forward", "ffn", "ffwd", "ff", "mlp", *WHERE))
            own = ("attention", "attn", "sa") if "attention" in name else ()
            return Cause(name, sentence, (*own, *WHERE))
    return None


RELATIONS: tuple[type[Relation], ...] = (Block,)
