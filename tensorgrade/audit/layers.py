"""Which of a module's layers make queries, keys and values; it is inferred from their names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .code import Made
from .roles import Sizes

# The words in the names of layers: what they make, if not the output.
MAKES = {
    **dict.fromkeys(("q", "wq", "query", "queries"), "q"),
    **dict.fromkeys(("k", "wk", "key", "keys"), "k"),
    **dict.fromkeys(("v", "wv", "value", "values"), "v"),
    **dict.fromkeys(("kv", "wkv"), "kv"),
    **dict.fromkeys(("qkv", "kqv", "wqkv", "attn", "in", "pack"), "qkv"),
}
LATENT = {"down", "latent"}  # what keys and values are made from
OUT = set("o wo out output dense unify combine unifyheads heads head mix".split())
SAY_NOTHING = set("w to c lin linear proj projection fc final resid layer net map up".split())
# How one fused layer holds queries, keys and values: the shape of its width, and their axis.
ORDERS = {
    "blocks": ((3, -1), -2),
    "by head": (("heads", 3, -1), -2),
    "by feature": (("heads", -1, 3), -1),
    "heads last": ((3, -1, "heads"), -3),
    "fewer heads of keys": ((), 0),
}


@dataclass(frozen=True)
class Layer:
    """One linear map of a module: a weight for `x @ weight.T`, and a bias or None.

    is_bare: the weight is a parameter of its own, so that it may be used the other way round.
    """

    name: str
    weight: Tensor
    bias: Tensor | None = None
    is_bare: bool = False

    def __call__(self, x: Tensor, flipped: bool = False) -> Tensor:
        """Return the layer's result. flipped: a bare matrix is transposed."""
        made = x @ (self.weight if flipped and self.is_bare else self.weight.mT)
        return made if self.bias is None else made + self.bias


Layers = dict[str, Layer]  # by role: q, k, v, qkv and kv for fused ones, latent, out


def layers_by_role(made: Made) -> tuple[Layers, list[str]]:
    """Return the layers by role, and the names of parameters without a role.

    A list of heads, each with its own layers, is stacked.
    """
    found: dict[str, list[Layer]] = {}
    for layer in layers_of(made):
        found.setdefault(role_of_layer(layer), []).append(layer)
    extra = found.pop("", [])
    if "qkv" in found and found.keys() & {"q", "k", "v"}:
        extra += found.pop("qkv")
    known = {role: stacked(layers) for role, layers in found.items()}
    return known, [one.name for one in extra]


def is_complete(layers: Layers) -> bool:
    """Return True if queries, keys and values are known."""
    return any(need <= layers.keys() for need in ({"qkv"}, {*"qkv"}, {"q", "kv"}))


def layers_of(made: Made) -> Iterator[Layer]:
    """Yield the linear layers of a module, its bare matrices, and its other parameters."""
    biases = set()
    for name, value in made.weights.items():
        owner, _, last = name.rpartition(".")
        kind = made.modules.get(owner, "")
        if name in biases:
            continue
        if value.dim() != 2 or kind == "Embedding":
            yield Layer(name, value)
            continue
        bias = f"{name.removesuffix('weight')}bias" if last.endswith("weight") else ""
        biases.add(bias)
        is_bare = last != "weight" or not owner
        turned = is_bare or kind == "Conv1D"  # which stores its weight the other way round
        weight = value.mT if turned else value
        yield Layer(name if is_bare else owner, weight, made.weights.get(bias), is_bare)


def role_of_layer(layer: Layer) -> str:
    """Return the role that a layer has by its name; an empty text for none."""
    parts = [part for part in layer.name.lower().split(".") if not part.isdigit()]
    name = next((one for one in reversed(parts) if one not in ("weight", "proj_fn")), "")
    words = {*re.findall(r"[a-z]+|\d+", name)} - {"weight", "weights"}
    if layer.weight.dim() == 2 and words & LATENT:
        return "latent"
    if layer.weight.dim() != 2 or not words or words - MAKES.keys() - OUT - SAY_NOTHING:
        return ""
    made = "".join(MAKES.get(word, "") for word in words - OUT)
    return "out" if words & OUT or not made else "".join(one for one in "qkv" if one in made)


def stacked(layers: list[Layer]) -> Layer:
    """Return one layer for the same layer of each head."""
    biases = [one.bias for one in layers if one.bias is not None]
    weight = torch.cat([one.weight for one in layers])
    return replace(layers[0], weight=weight, bias=torch.cat(biases) if biases else None)


def projected(
    layers: Layers, sources: tuple[Tensor, ...], order: str, flipped: bool, sizes: Sizes
) -> tuple[Tensor, ...]:
    """Return queries, keys and values (batch, tokens, width): the sources, or layers' results."""
    if not layers:
        return sources
    if "latent" in layers:
        sources = sources[0], *map(layers["latent"], sources[1:])
    if "qkv" in layers:
        made = (layers["qkv"](one, flipped) for one in sources)
        return tuple(fused_part(one, n, order, sizes) for n, one in enumerate(made))
    if "kv" in layers:
        return layers["q"](sources[0], flipped), *layers["kv"](sources[1], flipped).chunk(2, -1)
    return tuple(layers[role](one, flipped) for role, one in zip("qkv", sources, strict=True))


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
