"""The inferred mapping of weights: which of a module's layers make queries, keys and values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from torch import nn

from .reference import Recipe, attend
from .roles import Sizes

NAMES = {
    "q": r"(w|to|lin|linear|proj|fc)?_?(q|query|queries|wq|q_?proj\w*|q_?lin\w*|query_?\w*|queries_\w*|w_?q\w*|q_(layer|fc|net|map)|fc_q|lin_q)(_?proj|_?projection|_?linear|_?layer|_?lin)?",
    "k": r"(w|to|lin|linear|proj|fc)?_?(k|key|keys|wk|k_?proj\w*|k_?lin\w*|key_?\w*|keys_\w*|w_?k\w*|k_(layer|fc|net|map)|fc_k|lin_k)(_?proj|_?projection|_?linear|_?layer|_?lin)?",
    "v": r"(w|to|lin|linear|proj|fc)?_?(v|value|values|wv|v_?proj\w*|v_?lin\w*|value_?\w*|values_\w*|w_?v\w*|v_(layer|fc|net|map)|fc_v|lin_v)(_?proj|_?projection|_?linear|_?layer|_?lin)?",
    "qkv": r"(to_?|c_|w_?|in_|proj_|lin_|linear_|fc_)?(qkv|attn|kqv|in_proj|qkv_?proj\w*|proj|qkv_?lin\w*|query_key_value|wqkv|w_?pack|qkvs?_?\w*)(_?proj|_?weights?)?",
    "kv": r"(to_?|w_?|lin_)?kv(_?proj\w*|_?lin\w*)?",
    "out": r"(to_|c_|w_|attn_|final_|resid_)?(out|o|wo|w_?o|out_?proj\w*|o_?proj|proj|output|output_?proj\w*|out_?lin\w*|dense|projection|fc_?out|fc_?o|linear_?out|unify_?heads|w_?out\w*|combine_?heads|fc|linear|out_?layer|mix|final_?linear|head_?proj)(\.0|_linear|_proj\w*)?",
}
ORDERS = ("blocks", "by head", "by feature", "heads last")


@dataclass(frozen=True)
class Layer:
    """One linear map of a module: a weight for `x @ weight.T`, and a bias or None."""

    name: str
    weight: torch.Tensor
    bias: torch.Tensor | None
    is_linear: bool

    def __call__(self, x: torch.Tensor, flipped: bool = False) -> torch.Tensor:
        weight = self.weight.mT if flipped else self.weight
        made = x @ weight.mT
        return made if self.bias is None else made + self.bias


@dataclass(frozen=True)
class Mapping:
    """The layers for queries, keys, values and the output; one fused layer for several.

    fused: the layer of queries, keys and values together. latent: one before keys and values.
    extra: names of parameters without a role. If there are any, the formula of the module is not
    known.
    """

    q: Layer | None = None
    k: Layer | None = None
    v: Layer | None = None
    fused: Layer | None = None
    fused_kv: Layer | None = None
    out: Layer | None = None
    latent: Layer | None = None
    extra: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return True if queries, keys and values are known and each parameter has a role."""
        known = self.fused or (self.q and (self.fused_kv or (self.k and self.v)))
        return bool(known) and not self.extra


def layers_of(module: nn.Module) -> Iterator[Layer]:
    """Yield the linear layers of a module, its bare matrices, and its other parameters."""
    seen: set[int] = set()
    for name, part in module.named_modules():
        weight = getattr(part, "weight", None)
        if weight is None or weight.dim() != 2 or isinstance(part, nn.Embedding):
            continue
        bias = getattr(part, "bias", None)
        seen |= {id(weight), id(bias)}
        is_conv = type(part).__name__ == "Conv1D"  # stores its weight the other way round
        yield Layer(name, weight.mT if is_conv else weight, bias, True)
    parameters = dict(module.named_parameters())
    for name, value in parameters.items():
        if id(value) in seen:
            continue
        if value.dim() == 2:
            weight_ends = name.endswith("weight")
            bias = parameters.get(name.removesuffix("weight") + "bias") if weight_ends else None
            seen.add(id(bias))
            yield Layer(name, value.mT, bias, False)
        else:
            yield Layer(name, value, None, False)


def layers_by_role(module: nn.Module) -> tuple[dict[str, list[Layer]], list[str]]:
    """Return the layers by the role that the last part of their name shows; names of the others."""
    found: dict[str, list[Layer]] = {}
    extra = []
    for layer in layers_of(module):
        parts = [part for part in layer.name.split(".") if not part.isdigit()]
        word = next((w for w in reversed(parts) if w not in ("weight", "0", "proj_fn")), layer.name)
        word = (re.sub(r"_?weight$", "", word) or word).lower().strip("_")
        role = next((role for role, names in NAMES.items() if re.fullmatch(names, word)), "")
        if role and layer.weight.dim() == 2:
            found.setdefault(role, []).append(layer)
        else:
            extra.append(layer.name)
    return found, extra


def mapping_of(module: nn.Module) -> Mapping:
    """Return the layers by their roles. A list of heads, each with its own layers, is stacked."""
    found, extra = layers_by_role(module)
    if isinstance(module, nn.MultiheadAttention):
        extra = [name for name in extra if not name.startswith("in_proj")]
        found["qkv"] = [Layer("in_proj_weight", module.in_proj_weight, module.in_proj_bias, True)]
    if len(found.get("qkv", ())) > 1 and "out" not in found:  # `proj` next to `qkv` is the output
        found["out"] = [one for one in found["qkv"] if re.fullmatch(r"(.*\.)?proj", one.name)]
        found["qkv"] = [one for one in found["qkv"] if one not in found["out"]]
    known = {role: stacked(layers) for role, layers in found.items() if layers}
    separate = {"q", "k", "v"} & known.keys()
    fused = known.pop("qkv", None) if not separate else None
    if separate and "qkv" in known:
        extra.append(known.pop("qkv").name)
    latent = latent_layer(module, extra, known.get("k"))
    extra = [name for name in extra if latent is None or latent.name != name]
    return Mapping(
        known.get("q"), known.get("k"), known.get("v"), fused, known.get("kv"),
        known.get("out"), latent, tuple(extra),
    )  # fmt: skip


def latent_layer(module: nn.Module, extra: list[str], keys: Layer | None) -> Layer | None:
    """Return the only layer without a role, if its name and shape are those of a latent layer.

    The keys are made from the result of such a layer.
    """
    if len(extra) != 1 or keys is None:
        return None
    layer = next(one for one in layers_of(module) if one.name == extra[0])
    fits = layer.weight.dim() == 2 and layer.weight.shape[0] == keys.weight.shape[1]
    return (
        layer
        if (fits and "down" in layer.name.lower()) or (fits and "latent" in layer.name.lower())
        else None
    )


def stacked(layers: list[Layer]) -> Layer:
    """Return one layer for the same layer of each head."""
    if len(layers) == 1:
        return layers[0]
    weight = torch.cat([one.weight for one in layers])
    biases = [one.bias for one in layers]
    bias = None if any(b is None for b in biases) else torch.cat(biases)  # type: ignore[arg-type]
    return Layer(layers[0].name, weight, bias, layers[0].is_linear)


@dataclass(frozen=True)
class Reading:
    """One way to read the mapping.

    order: of queries, keys and values in a fused layer. flipped: bare matrices are transposed.
    """

    order: str = "blocks"
    flipped: bool = False


def readings(mapping: Mapping) -> list[Reading]:
    """Return all readings; each is a common convention."""
    bare = [one for one in (mapping.q, mapping.fused, mapping.out) if one and not one.is_linear]
    orders = ORDERS if mapping.fused else ORDERS[:1]
    flips = (False, True) if bare else (False,)
    return [Reading(order, flipped) for order, flipped in product(orders, flips)]


def projected(
    mapping: Mapping, reading: Reading, inputs: dict[str, torch.Tensor], sizes: Sizes
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return queries, keys and values (batch, tokens, width) of drawn inputs."""
    first = inputs.get("x", inputs.get("q"))
    assert first is not None
    other = inputs.get("context", inputs.get("k", first))
    third = inputs.get("v", other)
    if mapping.latent:
        other, third = mapping.latent(other), mapping.latent(third)
    if mapping.fused:
        return fused_parts(mapping.fused, reading, (first, other, third), sizes)
    assert mapping.q
    q = bare(mapping.q, first, reading)
    if mapping.fused_kv:
        k, v = bare(mapping.fused_kv, other, reading).chunk(2, dim=-1)
        return q, k, v
    assert mapping.k and mapping.v
    return q, bare(mapping.k, other, reading), bare(mapping.v, third, reading)


def bare(layer: Layer, x: torch.Tensor, reading: Reading) -> torch.Tensor:
    """Apply a layer; the reading says if a bare matrix is transposed."""
    return layer(x, reading.flipped and not layer.is_linear)


def fused_parts(
    layer: Layer, reading: Reading, sources: tuple[torch.Tensor, ...], sizes: Sizes
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return queries, keys and values of one fused layer."""
    made = [bare(layer, source, reading) for source in sources]
    width = made[0].shape[-1]
    if width % 3 or sizes.kv_heads != sizes.heads:
        kv = (width - sizes.width) // 2
        if sizes.width + 2 * kv == width and kv > 0 and width != 3 * sizes.width:
            ends = (0, sizes.width, sizes.width + kv, width)
            q, k, v = (one[..., ends[i] : ends[i + 1]] for i, one in enumerate(made))
            return q, k, v
    b, heads = made[0].shape[0], sizes.heads
    if reading.order == "blocks":
        q, k, v = (one.chunk(3, dim=-1)[i] for i, one in enumerate(made))
        return q, k, v
    shape, axis, back = {
        "by head": ((heads, 3, -1), 3, None),
        "by feature": ((heads, -1, 3), 4, None),
        "heads last": ((3, -1, heads), 2, "turn"),
    }[reading.order]
    out = []
    for i, one in enumerate(made):
        part = one.reshape(b, one.shape[1], *shape).select(axis, i)
        out.append((part.mT if back else part).flatten(2))
    return out[0], out[1], out[2]


def expected(
    mapping: Mapping,
    reading: Reading,
    inputs: dict[str, torch.Tensor],
    sizes: Sizes,
    recipe: Recipe,
) -> torch.Tensor:
    """Return the result of a module by a recipe. Raises RuntimeError if the widths do not fit."""
    q, k, v = projected(mapping, reading, inputs, sizes)
    first = inputs.get("x", inputs.get("q"))
    assert first is not None
    source = inputs.get("context", first)
    mixed = attend(q, k, v, sizes.heads, recipe, first.shape[-1], sizes.kv_heads, source)
    times = 0 if mapping.out is None else {"none": 0, "twice": 2}.get(recipe.output, 1)
    for _ in range(times):
        mixed = bare(mapping.out, mixed, reading)  # type: ignore[arg-type]
    return -mixed if recipe.output == "negative" else mixed
