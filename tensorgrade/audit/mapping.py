"""The inferred mapping of weights: which of a module's layers make queries, keys and values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from .code import Made
from .formula import Recipe, attend
from .roles import Sizes


def one_of(short: str, long: str) -> str:
    """Return a pattern for the names of the layer of queries, or of keys, or of values."""
    names = f"{short}|{long}|w{short}|{short}_?proj\\w*|{short}_?lin\\w*|{long.split('|')[0]}_?\\w*"
    names += f"|w_?{short}\\w*|{short}_(layer|fc|net|map)|(fc|lin)_{short}"
    return rf"(w|to|lin|linear|proj|fc)?_?({names})(_?proj|_?projection|_?linear|_?layer|_?lin)?"


NAMES = {
    "qkv": r"(to_?|c_|w_?|in_|proj_|lin_|linear_|fc_)?(qkv|attn|kqv|in_proj|qkv_?proj\w*|proj|qkv_?lin\w*|query_key_value|wqkv|w_?pack|qkvs?_?\w*)(_?proj|_?weights?)?",
    "q": one_of("q", "query|queries_\\w*|queries"),
    "k": one_of("k", "key|keys_\\w*|keys"),
    "v": one_of("v", "value|values_\\w*|values"),
    "kv": r"(to_?|w_?|lin_)?kv(_?proj\w*|_?lin\w*)?",
    "out": r"(to_|c_|w_|attn_|final_|resid_)?(out|o|wo|w_?o|out_?proj\w*|o_?proj|proj|output|output_?proj\w*|out_?lin\w*|dense|projection|fc_?out|fc_?o|linear_?out|unify_?heads|w_?out\w*|combine_?heads|fc|linear|out_?layer|mix|final_?linear|head_?proj)(\.0|_linear|_proj\w*)?",
}


@dataclass(frozen=True)
class Layer:
    """One linear map of a module: a weight for `x @ weight.T`, and a bias or None."""

    name: str
    weight: Tensor
    bias: Tensor | None
    is_linear: bool

    def __call__(self, x: Tensor, flipped: bool = False) -> Tensor:
        """Return the layer's result. flipped: a bare matrix is transposed."""
        made = x @ (self.weight if flipped and not self.is_linear else self.weight.mT)
        return made if self.bias is None else made + self.bias


@dataclass(frozen=True)
class Layers:
    """The layers by role: q, k, v, qkv and kv for fused ones, out, and latent.

    The latent layer is before keys and values. extra: names of parameters without a role. If there
    are any, the formula of the module is not known.
    """

    by_role: dict[str, Layer]
    extra: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return True if queries, keys and values are known and each parameter has a role."""
        roles = {*self.by_role}
        return not self.extra and any(need <= roles for need in ({"qkv"}, {*"qkv"}, {"q", "kv"}))


def mapping_of(made: Made) -> Layers:
    """Return the layers by their roles. A list of heads, each with its own layers, is stacked."""
    found: dict[str, list[Layer]] = {}
    for layer in layers_of(made):
        found.setdefault(role_of_layer(layer), []).append(layer)
    if len(found.get("qkv", ())) > 1 and "out" not in found:  # `proj` next to `qkv` is the output
        found["out"] = [one for one in found["qkv"] if re.fullmatch(r"(.*\.)?(c_)?proj", one.name)]
        found["qkv"] = [one for one in found["qkv"] if one not in found["out"]]
    extra = found.pop("", [])
    known = {role: stacked(layers) for role, layers in found.items() if layers}
    if "qkv" in known and known.keys() & {"q", "k", "v"}:
        extra.append(known.pop("qkv"))
    names = [one.name for one in extra if "k" in known]
    widths = [one.weight.shape[:1] for one in extra]
    if re.search("down|latent", "".join(names).lower()) and widths == [known["k"].weight.shape[1:]]:
        known["latent"] = extra.pop()
    return Layers(known, tuple(one.name for one in extra))


def layers_of(made: Made) -> Iterator[Layer]:
    """Yield the linear layers of a module, its bare matrices, and its other parameters."""
    biases = set()
    for name, value in made.weights.items():
        owner, _, last = name.rpartition(".")
        kind = made.kinds.get(owner, "")
        if name in biases:
            continue
        if value.dim() != 2 or kind == "Embedding":
            yield Layer(name, value, None, False)
            continue
        bias = f"{name.removesuffix('weight')}bias" if last.endswith("weight") else ""
        biases.add(bias)
        is_linear = last == "weight" and bool(owner)
        turned = not is_linear or kind == "Conv1D"  # which stores its weight the other way round
        weight = value.mT if turned else value
        yield Layer(owner if is_linear else name, weight, made.weights.get(bias), is_linear)


def role_of_layer(layer: Layer) -> str:
    """Return the role that a layer has by its name; an empty text for none."""
    parts = [part for part in layer.name.split(".") if not part.isdigit()]
    word = next((w for w in reversed(parts) if w not in ("weight", "proj_fn")), layer.name)
    word = (re.sub(r"_?weight$", "", word) or word).lower().strip("_")
    found = next((role for role, names in NAMES.items() if re.fullmatch(names, word)), "")
    return found if layer.weight.dim() == 2 else ""


def stacked(layers: list[Layer]) -> Layer:
    """Return one layer for the same layer of each head."""
    biases = [one.bias for one in layers if one.bias is not None]
    weight = torch.cat([one.weight for one in layers])
    return replace(layers[0], weight=weight, bias=torch.cat(biases) if biases else None)


# One way to read the mapping: the order of queries, keys and values in a fused layer, and True if
# bare matrices are transposed.
Reading = tuple[str, bool]


def readings(mapping: Layers) -> list[Reading]:
    """Return all readings; each is a common convention."""
    is_bare = any(not one.is_linear for one in mapping.by_role.values())
    orders = [*ORDERS] if "qkv" in mapping.by_role else ["blocks"]
    return [*product(orders, (False, True) if is_bare else (False,))]


def projected(
    mapping: Layers, reading: Reading, inputs: dict[str, Tensor], sizes: Sizes
) -> tuple[Tensor, ...]:
    """Return queries, keys and values (batch, tokens, width): the inputs themselves, or layers'."""
    layers, (order, flipped) = mapping.by_role, reading
    if not layers:
        return inputs["q"], inputs["k"], inputs["v"]
    first = inputs["x"] if "x" in inputs else inputs["q"]
    other = inputs.get("context", inputs.get("k", first))
    third = inputs.get("v", other)
    if "latent" in layers:
        other, third = layers["latent"](other), layers["latent"](third)
    if "qkv" in layers:
        made = [layers["qkv"](source, flipped) for source in (first, other, third)]
        return tuple(fused_part(one, n, order, sizes) for n, one in enumerate(made))
    if "kv" in layers:
        return layers["q"](first, flipped), *layers["kv"](other, flipped).chunk(2, dim=-1)
    sources = {"q": first, "k": other, "v": third}
    return tuple(layers[role](source, flipped) for role, source in sources.items())


# How one fused layer holds queries, keys and values: the shape of its width, and their axis.
ORDERS = {
    "blocks": ((3, -1), -2),
    "by head": (("heads", 3, -1), -2),
    "by feature": (("heads", -1, 3), -1),
    "heads last": ((3, -1, "heads"), -3),
    "fewer heads of keys": ((), 0),
}


def fused_part(made: Tensor, place: int, order: str, sizes: Sizes) -> Tensor:
    """Return the queries, the keys or the values (place 0, 1 or 2) of a fused layer's result."""
    shape, axis = ORDERS[order]
    if not shape:
        head_dim = made.shape[-1] // (sizes.heads + 2 * sizes.kv_heads)
        keys = sizes.kv_heads * head_dim
        return made.split((sizes.heads * head_dim, keys, keys), -1)[place]
    cut = made.unflatten(-1, [sizes.heads if one == "heads" else one for one in shape])
    part = cut.select(axis, place)
    return (part.mT if order == "heads last" else part).flatten(2)


def expected(
    mapping: Layers, reading: Reading, inputs: dict[str, Tensor], sizes: Sizes, recipe: Recipe
) -> Tensor:
    """Return the result of a module by a recipe. Raises RuntimeError if the widths do not fit."""
    q, k, v = projected(mapping, reading, inputs, sizes)
    x = inputs.get("context", inputs["x"] if "x" in inputs else inputs["q"])
    mixed = attend({"q": q, "k": k, "v": v, "x": x}, sizes.heads, sizes.kv_heads, recipe)
    out = mapping.by_role.get("out")
    return out(mixed, reading[1]) if out and recipe.output != "none" else mixed
