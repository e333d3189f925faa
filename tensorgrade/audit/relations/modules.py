"""Relations on modules: dropout, gradients, stored weights, types, and inputs left unchanged."""

from copy import deepcopy
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..mapping import mapping_of
from ..other_formulas import attributes_read
from ..reference import Cause
from ..slopes import gradients, wrong_slope
from ..subject import moved
from ..trials import drawn_mask
from .base import DETACHED, DRAWS, IN_PLACE, Broken, Relation, Sizes, Skip

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
            new = subject.build(replace(sizes, seed=sizes.seed + 50))
            new.load_state_dict(made.state_dict())
            first, again, trained = (
                subject.run(one, inputs, replace(sizes, seed=seed), training=True).value
                for one, seed in ((made, sizes.seed), (new, sizes.seed + 50), (made, sizes.seed))
            )
            seeded = torch.Generator().manual_seed(sizes.seed + 2).get_state()
            rewound = torch.equal(seeded, torch.default_generator.get_state())
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
        rarely = replace(sizes, dropout=DROP / 2)
        with torch.no_grad():
            rated = subject.run(subject.build(rarely), inputs, rarely, training=True).value
        if sizes.tokens > 2 and not moved(first, rated):
            return Broken("The rate of dropout has no effect.", causes=(RATE_IGNORED,))
        if sizes.tokens > 2 and (
            not moved(first, again) or (rewound and not moved(first, trained))
        ):
            return Broken("In training two calls drop the same.", causes=(SEED_FIXED,))
        return None


SEED_FIXED = Cause(
    "dropout_seed_fixed", "Dropout drops the same in each call.", ("seed", "Generator", "dropout")
)
RATE_IGNORED = Cause(
    "dropout_rate_ignored",
    "The rate that the constructor gets is not the one that dropout uses.",
    ("Dropout(", "dropout("),
)
ALWAYS_ON = Cause(
    "dropout_always_on",
    "Dropout is active in evaluation too.",
    ("dropout(", "dropout", "scaled_dot_product_attention"),
)
RESCALED = Cause(
    "dropout_rescaled_always",
    "The rate of dropout has an effect in evaluation too, where nothing is dropped.",
    ("1 - ", "dropout.p", "dropout"),
)
LEFT_OUT = Cause(
    "dropout_left_out",
    "Dropout is left out, switched off, or its result is thrown away.",
    ("Identity", "dropout(", "dropout", "softmax", "scaled_dot_product_attention"),
)


class TrainingWithoutDropout(Relation):
    """Without dropout, training changes nothing."""

    name = "training without dropout"
    sentence = "With dropout=0, results in training are those of evaluation."
    source = "torch: nn.Module.train"
    follows_from = "causality in training"
    draws: ClassVar[tuple[Sizes, ...]] = DRAWS[:2]

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.is_module:
            raise Skip("it is a function")
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        state = {name: value.clone() for name, value in made.state_dict().items()}
        visible = drawn_mask(subject, sizes) if subject.mask else None
        with torch.no_grad():
            trained, again = (
                subject.run(made, inputs, replace(sizes, seed=seed), visible, training=True).value
                for seed in (sizes.seed, sizes.seed + 50)
            )
            plain = subject.run(made, inputs, sizes, visible).value
        if moved(trained, again):
            raise Skip("it is random in training")
        if any(not torch.equal(value, state[name]) for name, value in made.state_dict().items()):
            raise Skip("it learns statistics in training")
        if plain.shape == trained.shape and moved(plain, trained):
            return Broken(
                "With dropout=0, the results in training differ from those in evaluation.",
                causes=(OTHER_IN_TRAINING,),
            )
        return None


OTHER_IN_TRAINING = Cause(
    "other_in_training",
    "Something else than dropout depends on the mode.",
    ("training", "is_causal", "dropout"),
)


class Gradients(Relation):
    """Gradients reach the weights and the input."""

    name = "gradients"
    sentence = "Gradients reach the input and every weight of the projections."

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        modes = product((True, False), (True, False)) if subject.is_module else [(True, True)]
        for training, of_inputs in modes:
            for value in inputs.values():
                value.requires_grad_(of_inputs)
            try:
                missing = self.missing(made, inputs, sizes, training)
            except RuntimeError as error:
                if "leaf" in str(error) or "in-place" in str(error) or "inplace" in str(error):
                    return Broken(f"Autograd refuses: {str(error)[:150]}", where=("+=", "*=", "_("))
                raise
            if missing:
                during = "" if training else " in evaluation"
                during += "" if of_inputs else " if the input needs none"
                said = f"{missing}{during}."
                return Broken(said, causes=self.causes(), where=DETACHED.where)
        return None

    def causes(self) -> tuple[Cause, ...]:
        """Return the known mistake, if a name in the code suggests it."""
        cut = attributes_read(self.subject.text) & {*DETACHED.where}
        return (DETACHED,) if cut else ()

    def missing(self, made: Any, inputs: dict[str, Tensor], sizes: Sizes, training: bool) -> str:
        """Return in words which gradient is missing or wrong, or an empty text."""

        def run() -> Tensor:
            return self.subject.run(made, inputs, sizes, training=training).value

        weights = dict(made.named_parameters()) if self.subject.is_module else {}
        leaves = {name: one for name, one in (inputs | weights).items() if one.requires_grad}
        value = run()
        if leaves and not value.requires_grad:
            return f"No gradient reaches `{next(iter(leaves))}`"
        grads = gradients(value, leaves)
        needed = [name for name in inputs if name in leaves]
        if value.shape[1] > 1 and self.subject.is_module:
            mapping = mapping_of(made)
            layers = filter(None, (mapping.q, mapping.k, mapping.v, mapping.fused, mapping.out))
            either = (name for one in layers for name in (one.name, f"{one.name}.weight"))
            needed += [name for name in either if name in leaves]
        for name in needed:
            if not bool((grads[name] != 0).any()):
                return f"No gradient reaches `{name}`"
        return wrong_slope(run, leaves, grads) if value.dtype == torch.float64 else ""


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
        if torch.default_generator.initial_seed() != sizes.seed + 17:
            return Broken("Its constructor sets torch's seed.", causes=(SEED_SET,))
        try:
            copied = deepcopy(other)
        except Exception as error:
            if "deepcopy protocol" in str(error):
                return Broken("copy.deepcopy raises an error.", causes=(NOT_COPIED,))
            copied = other
        inputs, values = subject.inputs(sizes), []
        with torch.no_grad():
            for made in (one, copied, other):  # the copied one last, so that it has other weights
                try:
                    made.load_state_dict(one.state_dict())
                except RuntimeError as error:
                    raise Skip("its state_dict cannot be loaded") from error
                values.append(subject.run(made, inputs, sizes).value)
        before, of_copy, after = values
        if not moved(before, after):
            said = "A copy of it, by copy.deepcopy, does not use its own weights."
            return Broken(said, causes=(NOT_COPIED,)) if moved(before, of_copy) else None
        said = "Some weights are missing in the state_dict: results differ after loading it."
        name = unregistered(one)
        where = (f"self.{name}=",)
        cause = Cause("not_registered", f"`{name}` is {NOT_REGISTERED}", where)
        return Broken(said, causes=(cause,) if name else (), where=("rand", "Parameter"))


SEED_SET = Cause(
    "seed_set_inside",
    "A fixed seed inside gives all modules the same weights, and changes the caller's numbers.",
    ("seed",),
)
NOT_COPIED = Cause(
    "keeps_a_weight_elsewhere",
    "A function or tensor made from weights is kept in the module, and copies keep the old one.",
    ("lambda", "weight.", "Parameter"),
)
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
            return Broken(f"The result is {value.dtype} instead of {wanted}.", causes=(TYPE_LOST,))
        return None


TYPE_LOST = Cause(
    "type_lost",
    "A tensor is made, or converted, without the type of the input.",
    ("float", "to(", "zeros", "full", "ones"),
)


class InputsUnchanged(Relation):
    """The inputs are not changed in place."""

    name = "inputs unchanged"
    sentence = "A call does not change its inputs."

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        before = {name: value.clone() for name, value in inputs.items()}
        with torch.no_grad():
            subject.run(made, inputs, sizes)
        for name, value in inputs.items():
            if not torch.equal(value, before[name]):
                return Broken(f"`{name}` is changed in place.", causes=(IN_PLACE,))
        return None


RELATIONS: tuple[type[Relation], ...] = (
    DropoutInTraining, TrainingWithoutDropout, Gradients, StateDict, Types, InputsUnchanged,
)  # fmt: skip
