"""What a definition claims to calculate: right forms of a formula, and those of known mistakes."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from torch import Tensor

from .code import CannotRun, Made
from .formula import Mistake, Recipe, mistakes, results
from .layers import is_complete, layers_by_role
from .roles import Sizes
from .subject import Call, Inputs, Subject, scale_of

CLOSE = 1e-4
# Names in code of attention that does not follow the formula, on purpose.
OTHER_FORMULAS = re.compile(
    r"(^|_)(norm|normalize|rms_norm|layer_norm|cosine\w*|relu|elu|phi|kernel\w*|linformer|temperature|tau|gates?|gating"
    r"|sinks?|null|memory_key|talking|topk|entmax|sparsemax|soft_?cap|tanh|bias_k|zero_attn|mix_heads|lambda\w*"
    r"|rope|rotary|rotate|alibi|slopes?|windows?|local|relative|rel|freqs?|inv_freq|pe|pos|positions?"
    r"|positional\w*|position\w*|band|bucket\w*|cos|sin|distance\w*)(_|$)"
)
# The same in the name of the definition.
OTHER_ATTENTION = re.compile(
    r"linear|linformer|performer|nystrom|kernel|sparse|local|axial|focal|fast|efficient|agent|cosine"
    r"|relative|differential|gated|retention|hyper|lambda",
    re.I,
)


@dataclass(frozen=True)
class Run:
    """One run of a definition, to compare with many forms."""

    made: Made
    inputs: Inputs
    sizes: Sizes
    actual: Tensor


Form = Callable[[Made, Inputs, Sizes], Iterable[Tensor]]  # the possible results of a run


def run_of(subject: Subject, sizes: Sizes) -> Run:
    """Run a definition. Parts are in training for every second seed, since it changes nothing."""
    inputs = subject.inputs(sizes)
    training = subject.kind is not None and sizes.seed % 2 == 0
    made, (output,) = subject.run(sizes, Call(inputs, training=training))
    return Run(made, inputs, sizes, output.value)


def agrees(form: Form, run: Run) -> bool:
    """Return True if one result of a form is that of a run."""
    return any(is_close(run.actual, one) for one in form(run.made, run.inputs, run.sizes))


def is_close(actual: Tensor, found: Tensor) -> bool:
    """Return True if two results are equal but for rounding in single precision."""
    if actual.shape != found.shape:
        return False
    both_nan = actual.isnan() & found.isnan()
    known = ~found.isnan() | both_nan  # for a row without visible keys, any value agrees
    near = (actual - found).abs() <= CLOSE * max(scale_of(actual), 1e-2)
    enough = bool(known.double().mean() > 0.5)
    return enough and bool((near | (actual == found) | both_nan | ~known).all())


def forms_of(subject: Subject) -> list[tuple[Mistake | None, Form]]:
    """Return forms of what a definition claims to calculate: right ones, and known mistakes.

    Raises CannotRun if it claims nothing that is known.
    """
    if subject.kind:
        calculate, forms = subject.kind.results, subject.kind.forms
        return [(mistake, partial(calculate, form)) for form, mistake in forms.items()]
    if why := why_not_plain(subject):
        raise CannotRun(why)
    right = Recipe(mask="causal" if subject.causal else "none")
    every = ((None, right), *mistakes(right))
    return [(mistake, partial(results, recipe)) for mistake, recipe in every]


def why_not_plain(subject: Subject) -> str:
    """Return why a definition does not claim to follow the formula of attention; "" if it does."""
    if subject.tensors == "q, k":
        return "it returns weights only"
    own = subject.definition.name
    if not OTHER_ATTENTION.search(own):
        words = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one) for one in subject.definition.names)
        own = next((one for one in words if OTHER_FORMULAS.search(one.lower())), "")
    if own:
        return f"its code has a formula of its own (`{own}`)"
    if subject.made.weights or subject.tensors != "q, k, v":
        layers, extra = layers_by_role(subject.made)
        if extra or not is_complete(layers):
            why = f"`{extra[0]}`" if extra else "queries, keys or values"
            return f"no role was found for {why} among its weights"
    return ""
