"""Relations on modules: dropout, gradients, stored weights, types, and inputs left unchanged."""

from dataclasses import replace
from typing import ClassVar

import torch
from torch import nn

from ..mapping import mapping_of
from ..other_formulas import attributes_read
from ..reference import Cause
from ..roles import CONSTRUCTOR, parameters_of, role_of
from ..subject import moved
from .base import DRAWS, Broken, Relation, Sizes, Skip

DROP = 0.5


class DropoutInTraining(Relation):
    """Dropout is active in training only."""

    name = "dropout only in training"
    sentence = "Dropout changes results in training, and never in evaluation."
    source = "Srivastava et al. 2014"

    def fitted(self, sizes: Sizes) -> Sizes:
        return replace(super().fitted(sizes), dropout=DROP)

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.is_module:
            raise Skip("it is a function")
        if not subject.constructor_has("dropout"):
            raise Skip("it is told no dropout")
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        with torch.no_grad():
            one = subject.run(made, inputs, sizes).value
            other = subject.run(made, inputs, replace(sizes, seed=sizes.seed + 50)).value
            trained, again = (
                subject.run(made, inputs, replace(sizes, seed=seed), training=True).value
                for seed in (sizes.seed, sizes.seed + 50)
            )
            without = replace(sizes, dropout=0.0)
            plain = subject.run(subject.build(without), inputs, without).value
        if not one.isfinite().all():
            raise Skip("its results are not finite")
        if moved(one, other):
            return Broken("In evaluation two calls give different results.", causes=(ALWAYS_ON,))
        if one.shape == plain.shape and moved(one, plain):
            return Broken(
                f"In evaluation, results with dropout={DROP} differ from those without dropout.",
                causes=(RESCALED,),
            )
        if sizes.tokens > 2 and not moved(one, trained):
            return Broken(
                f"In training, with dropout={DROP}, nothing is dropped.", causes=(LEFT_OUT,)
            )
        if sizes.tokens > 2 and not moved(trained, again):
            return Broken("In training two calls drop the same.", causes=(SEED_FIXED,))
        return None


SEED_FIXED = Cause(
    "dropout_seed_fixed", "Dropout drops the same in each call.", ("seed", "Generator", "dropout")
)
ALWAYS_ON = Cause(
    "dropout_always_on",
    "Dropout is active in evaluation too.",
    ("dropout", "scaled_dot_product_attention"),
)
RESCALED = Cause(
    "dropout_rescaled_always",
    "The rate of dropout has an effect in evaluation too, where nothing is dropped.",
    ("1 - ", "dropout.p", "dropout"),
)
LEFT_OUT = Cause(
    "dropout_left_out",
    "Dropout is left out, switched off, or its result is thrown away.",
    ("dropout", "softmax", "scaled_dot_product_attention"),
)


class TrainingWithoutDropout(Relation):
    """Without dropout, training changes nothing."""

    name = "training without dropout"
    sentence = "With dropout=0, results in training are those of evaluation."
    source = "torch: nn.Module.train"
    follows_from = ("causality in training",)
    draws: ClassVar[tuple[Sizes, ...]] = DRAWS[:2]

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.is_module:
            raise Skip("it is a function")
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        state = {name: value.clone() for name, value in made.state_dict().items()}
        with torch.no_grad():
            trained, again = (
                subject.run(made, inputs, replace(sizes, seed=seed), training=True).value
                for seed in (sizes.seed, sizes.seed + 50)
            )
            plain = subject.run(made, inputs, sizes).value
        if moved(trained, again):
            raise Skip("it is random in training")
        if any(not torch.equal(value, state[name]) for name, value in made.state_dict().items()):
            raise Skip("it learns statistics in training")
        if plain.shape == trained.shape and moved(plain, trained):
            return Broken(
                "With dropout=0, the results in training differ from those in evaluation.",
                where=("training", "is_causal", "dropout"),
            )
        return None


class DropoutScaled(Relation):
    """On average dropout changes nothing."""

    name = "dropout is scaled"
    sentence = "On average, results in training are those of evaluation."
    source = "Srivastava et al. 2014, section 10 (inverted dropout)"
    follows_from = ("causality in training", "dropout only in training", "dropout of the weights")
    draws: ClassVar[tuple[Sizes, ...]] = (DRAWS[0],)

    def fitted(self, sizes: Sizes) -> Sizes:
        return replace(super().fitted(sizes), dropout=DROP)

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.is_module or not subject.constructor_has("dropout"):
            raise Skip("it is told no dropout")
        if any("norm" in name.lower() for name in attributes_read(subject.text)):
            raise Skip("a norm hides the scale")
        if subject.layout == "tokens":
            raise Skip("it takes no batch")
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        many = {name: value[:1].repeat(1500, 1, 1) for name, value in inputs.items()}
        with torch.no_grad():
            plain = subject.run(made, many, replace(sizes, batch=1500)).value[:1]
            mean = subject.run(made, many, replace(sizes, batch=1500), training=True).value
        error = mean.std(0) / 1500**0.5
        mean = mean.mean(0, keepdim=True)
        # A bias is not scaled, so the slope over differences of results is compared.
        x, y = plain - plain.mean(1, keepdim=True), mean - mean.mean(1, keepdim=True)
        ratio = float((x * y).sum() / (x * x).sum().clamp_min(1e-12))
        if abs(ratio - 1) > 0.2 and bool(((mean - plain).abs() > 6 * error + 1e-6).any()):
            return Broken(
                f"With dropout={DROP} the results in training are {ratio:.2f} times those of "
                "evaluation on average.",
                where=("dropout", "1 - ", "rand", "bernoulli"),
            )
        return None


class Options(Relation):
    """An option for biases decides if there are biases."""

    name = "option for biases"
    sentence = "With the option for biases there are more weights than without it."
    source = "torch: nn.Linear(bias=False)"
    draws: ClassVar[tuple[Sizes, ...]] = (DRAWS[0],)

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        options = [
            one.name
            for one in (parameters_of(subject.target) if subject.is_module else ())
            if isinstance(one.default, bool) and role_of(one.name, CONSTRUCTOR) == "bias"
        ]
        if not options:
            raise Skip("it has no such option")
        for name in options:
            with_it, without = (
                len([*subject.build(sizes, {name: value}).parameters()]) for value in (True, False)
            )
            if with_it == without:
                said = f"There are as many weights with `{name}` as without it."
                where = (f"{name}", "bias", "Linear")
                cause = Cause("bias_option_ignored", f"The option `{name}` has no effect.", where)
                return Broken(said, causes=(cause,))
        return None


class Gradients(Relation):
    """Gradients reach the weights and the input."""

    name = "gradients"
    sentence = "Gradients reach the input and every weight of the projections."

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        for value in inputs.values():
            value.requires_grad_()
        for training in (True, False) if subject.is_module else (True,):
            try:
                value = subject.run(made, inputs, sizes, training=training).value
            except RuntimeError as error:
                if "leaf" in str(error) or "in-place" in str(error) or "inplace" in str(error):
                    return Broken(f"Autograd refuses: {str(error)[:150]}", where=("+=", "*=", "_("))
                raise
            missing = self.missing(made, inputs, value)
            if missing:
                said = f"No gradient reaches {missing}{'' if training else ' in evaluation'}."
                cut = attributes_read(subject.text) & {*DETACHED.where}
                return Broken(said, causes=(DETACHED,) if cut else (), where=DETACHED.where)
        return None

    def missing(self, made, inputs, value) -> str:  # type: ignore[no-untyped-def]
        """Return the first input or weight without a gradient, or an empty text."""
        named = dict(inputs)
        if value.shape[1] > 1 and self.subject.is_module:
            mapping = mapping_of(made)
            parameters = dict(made.named_parameters())
            layers = (mapping.q, mapping.k, mapping.v, mapping.fused, mapping.out)
            for layer in filter(None, layers):
                own = layer.name in parameters
                name = layer.name if own else f"{layer.name}.weight"
                if name in parameters and parameters[name].requires_grad:
                    named[name] = parameters[name]
        if not value.requires_grad:
            return f"`{next(iter(named))}`"
        chance = torch.Generator().manual_seed(1)
        total = (value * torch.randn(value.shape, generator=chance, dtype=value.dtype)).sum()
        grads = torch.autograd.grad(total, list(named.values()), allow_unused=True)
        if value.shape[1] == 1:
            return "`x`" if grads[0] is None else ""
        pairs = zip(named, grads, strict=True)
        return next((f"`{n}`" for n, g in pairs if g is None or not bool((g != 0).any())), "")


DETACHED = Cause(
    "detached",
    "A value is cut off from the weights that made it, so these never learn.",
    ("detach", "no_grad", "inference_mode", "data", "item", "tensor"),
)


class StateDict(Relation):
    """Stored weights restore a module."""

    name = "state_dict round trip"
    sentence = "A module with another one's state_dict gives its results."
    source = "torch: nn.Module.load_state_dict"
    draws: ClassVar[tuple[Sizes, ...]] = (DRAWS[0],)

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.is_module:
            raise Skip("it is a function")
        one = subject.build(sizes)
        other = subject.build(replace(sizes, seed=sizes.seed + 17))
        try:
            other.load_state_dict(one.state_dict())
        except RuntimeError as error:
            raise Skip("its state_dict cannot be loaded") from error
        inputs = subject.inputs(sizes)
        with torch.no_grad():
            before = subject.run(one, inputs, sizes).value
            after = subject.run(other, inputs, sizes).value
        if not moved(before, after):
            return None
        said = "Some weights are missing in the state_dict: results differ after loading it."
        name = unregistered(one)
        where = (f"self.{name}=",)
        cause = Cause("not_registered", f"`{name}` is {NOT_REGISTERED}", where)
        return Broken(said, causes=(cause,) if name else (), where=("rand", "Parameter"))


NOT_REGISTERED = (
    "no part of the module, so it is not stored, trained or moved to a device. Use nn.Parameter, "
    "register_buffer or nn.ModuleList."
)


def unregistered(module: nn.Module) -> str:
    """Return the name of a plain tensor, or of a plain list of tensors or modules, in a module."""
    for part in module.modules():
        for name, value in vars(part).items():
            items = value if isinstance(value, (list, tuple)) else [value]
            learned = [one for one in items if isinstance(one, (torch.Tensor, nn.Module))]
            if learned and not name.startswith("_"):
                return name
    return ""


class Types(Relation):
    """The result has the type of the input."""

    name = "dtype kept"
    sentence = "Results have the floating-point type of the inputs and weights."
    draws: ClassVar[tuple[Sizes, ...]] = (DRAWS[0],)

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        value = subject.run(made, inputs, sizes).value
        wanted = next(iter(inputs.values())).dtype
        if value.dtype != wanted:
            return Broken(
                f"The result is {value.dtype} instead of {wanted}.", where=("float", "to")
            )
        return None


class InputsUnchanged(Relation):
    """The inputs are not changed in place."""

    name = "inputs unchanged"
    sentence = "A call does not change its inputs, and a second call gives the same results."

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        before = {name: value.clone() for name, value in inputs.items()}
        with torch.no_grad():
            one = subject.run(made, inputs, sizes).value.clone()
            for name, value in inputs.items():
                if not torch.equal(value, before[name]):
                    return Broken(f"`{name}` is changed in place.", where=("_(", "+=", "*=", "-="))
            if any("cache" in name for name in attributes_read(subject.text)):
                return None
            subject.run(made, {n: -v for n, v in before.items()}, sizes)
            other = subject.run(made, before, sizes).value
        if moved(one, other):
            return Broken(
                "A second call with the same inputs gives other results.", where=("self",)
            )
        return None


RELATIONS: tuple[type[Relation], ...] = (
    DropoutInTraining, TrainingWithoutDropout, DropoutScaled, Options, Gradients, StateDict, Types,
    InputsUnchanged,
)  # fmt: skip
