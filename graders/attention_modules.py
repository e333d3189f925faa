"""Cases that classes of attention share, made from a class's arguments and its weights."""

from collections.abc import Callable

import torch

from tensorgrade.author import call, case, computed, construct, load, mode, moved, normal

from .modules import starts, structure, with_another_start
from .steps import LONG, MODERATE, TOKENS, copied, with_an_equal_row

# Sizes that all differ, so that an exchange shows. shared: query heads for each head of keys.
USUAL: dict = {
    "b": 2,
    "n": 7,
    "d_in": 5,
    "width": 4,
    "heads": 3,
    "shared": 1,
    "room": 0,
    "dropout": 0.0,
}
# Ranges for sizes that graders draw. None is in a public case, not even as a product of others.
FEW = {"b": (16, 17), "n": (22, 23), "d_in": (25, 27), "width": (31, 34)}
# The same for checks that are not about sizes: mistakes at large sizes alone cost less.
LITTLE = {"b": (2, 2), "d_in": MODERATE, "width": (10, 11)}
LONGEST = {"n": TOKENS, "d_in": (25, 27), "heads": (16, 17)}
UNEVEN = [(4, 6), (11, 4)]  # d_out and num_heads


class AttentionModule:
    """The cases of one class.

    layers: returns the weights to load, for the constructor's arguments. takes: the names of these
    arguments, without `qkv_bias`. few: ranges for sizes that need not be large; little: for
    those that are smaller still. usual: sizes of
    most cases, if they differ from USUAL.

    A *kind* of case is a dict of sizes and settings that differ from the usual ones, such as
    `room`, by how much a text is shorter than context_length.
    """

    def __init__(self, layers: Callable[..., dict], takes: str, few: dict = FEW, **usual: int):
        self.layers, self.takes, self.few, self.usual = layers, takes.split(), few, USUAL | usual
        self.little = {name: LITTLE.get(name, sizes) for name, sizes in few.items()}

    def drawn(self, draw, ranges: dict, **kind) -> dict:
        """Return a kind of case with a drawn size for each range. No two dimensions are equal."""
        names = [name for name in ranges if name != "heads" or self.usual["heads"] > 1]
        while True:
            found = dict(zip(names, draw(*(ranges[name] for name in names)), strict=True)) | kind
            sizes = [size for size in self.dimensions(found) if size != 1]
            if len(set(sizes)) == len(sizes):
                return found

    def dimensions(self, kind: dict) -> list[int]:
        """Return the sizes of a kind of case, also those of heads together."""
        kind = self.usual | kind
        heads = kind["heads"] * kind["shared"]
        together = [heads] * (kind["shared"] > 1) + [heads * kind["width"]] * (heads > 1)
        others = ("room", "dropout", "shared")
        return [kind[name] for name in self.usual if name not in others] + together

    def arguments(self, qkv_bias=False, **kind) -> dict:
        """Return the constructor's arguments."""
        kind = self.usual | kind
        heads = kind["heads"] * kind["shared"]
        known = kind | {"num_heads": heads, "num_kv_heads": kind["heads"]}
        known |= {"d_out": heads * kind["width"], "context_length": kind["n"] + kind["room"]}
        biased = {"qkv_bias": True} if qkv_bias else {}
        return {name: known[name] for name in self.takes} | biased

    def inputs(self, *, change=torch.clone, **sizes) -> dict:
        """Return a call's arguments. In batches of three texts or more, two are equal.

        If d_in is large, x is small, so that a softmax in float32 is precise enough.
        """
        b, n, d_in = (sizes[name] for name in ("b", "n", "d_in"))
        x = min(1.0, 8 / d_in) * normal(b, n, d_in)
        return {"x": computed(change, computed(with_equal_texts, x))}

    def made(self, *, dtype="float64", training=False, weights=dict, **kind):
        """Return the steps that make a module. weights: changes the weights to load."""
        asked = self.arguments(**kind)
        return (
            construct(**asked, dtype=dtype),
            load(weights(self.layers(**asked))),
            mode(training),
        )

    def used(self, *, gradient=False, constants=(), **kind):
        """Return the steps of one call. constants: arguments that need no gradient."""
        given = self.usual | kind
        asked = {"gradient": self.gradient(**given)} if gradient else {}
        return *self.made(**kind), call(**asked, constants=constants, **self.inputs(**given))

    def gradient(self, b, n, width, heads, shared, **_):
        """Return the gradient of a result, small enough for a softmax in float32."""
        return 0.05 * normal(b, n, width * heads * shared)

    def values(self, group: str, *kinds: dict) -> list:
        """Return a case for each kind."""
        return [
            case(f"{group}/{named(kind)}", *self.used(**kind), dtype=floats_of(kind))
            for kind in kinds
        ]

    def always(self, draw, bias: bool = True, **settings) -> list:
        """Return the cases of every class. bias: it has `qkv_bias`. settings: of an evaluation."""
        heads = min(2, self.usual["heads"])
        width = 2 * heads * self.usual["shared"]
        equal = {"n": 2, "m": 2, "width": 2, "heads": heads, "d_in": width, "d_context": width}
        equal = {name: size for name, size in equal.items() if name in self.usual}
        learning = {"gradient": True, "training": True} | ({"qkv_bias": True} if bias else {})
        alone = {"b": 1, "gradient": True, "constants": ["x"], "dtype": "float32"}
        asked = self.arguments(qkv_bias=bias)
        return [
            # With equal sizes, mistakes that raise an error elsewhere give values.
            *self.values("values", equal, {"d_in": 1, "width": 1}),
            *self.values("values", {"dtype": "float32"}, {"change": with_an_equal_row}),
            *self.values("gradients", self.drawn(draw, self.little, **learning), alone | settings),
            case("same/copies", *copied(asked, self.layers(**asked), **self.inputs(**self.usual))),
            *(
                case(
                    f"parameters/bias {one}",
                    *structure(**self.arguments(dropout=0.1, qkv_bias=one)),
                    signature="structure",
                )
                for one in (False, True)[: 1 + bias]
            ),
        ]

    def causal(self, draw, short: str = "short") -> list:
        """Return the cases of classes with a mask. short: the group of those on shorter texts."""
        ranges = {name: self.few[name] for name in ("b", "d_in", "width")} | {"room": LONG}
        return [
            *self.values("values", {"change": without_token_1}),
            *self.values(short, self.drawn(draw, ranges, n=1)),
            case(f"{short}/8 tokens, then 9", *self.in_turn()),
            *self.values("large", self.drawn(draw, self.little, weights=enlarged)),
            *starts(**self.arguments()),
            # Last, because values that learner code caches there cannot help it anywhere else.
            case(
                "moved/in training",
                construct(**self.arguments(room=2, dropout=0.2), dtype="float32"),
                moved(**self.inputs(**self.usual)),
                dtype=torch.float32,
                signature="ignored",
            ),
        ]

    def refused(self, name: str, **sizes: int):
        """Return a case of sizes with which a class must refuse to make an object."""
        return case(name, *structure(**self.arguments() | sizes), signature="error")

    def in_turn(self):
        """Return calls on 8 tokens, on 9 of more texts, and on 8: none may depend on the others."""
        texts = {"first": {"n": 8}, "second": {"n": 9, "b": 11}, "third": {"n": 8}}
        calls = [
            call(**self.inputs(**self.usual | kind), no_grad=True, result=result)
            for result, kind in texts.items()
        ]
        return *self.made(room=4), *calls

    def future(self, cut: int = 3):
        """Return calls on inputs that differ from a token on, slightly or hugely, or in token 0.

        Earlier outputs must stay. If later tokens attract all weight, nothing is left to
        renormalise.
        """
        b, n, d_in = (self.usual[name] for name in ("b", "n", "d_in"))
        x = normal(b, n, d_in)
        others = {
            "after": computed(with_another_end, x, normal(b, n - cut, d_in)),
            "earlier": computed(with_another_start, x),
            "huge": computed(with_a_huge_end, x, n - cut),
        }
        calls = [call(x=one, result=result) for result, one in ({"before": x} | others).items()]
        return *self.made(), *calls

    def dropped(self, group: str, b, n, p, *, dtype="float64", **kind):
        """Return a case whose results are the attention weights, twice.

        Each text is a little larger than the one before, so that the results show if texts see
        each other.
        """
        kind |= {"n": n, "d_in": n, "width": 2 * n, "dropout": p}
        asked = self.arguments(**kind)
        eye = torch.eye(n, dtype=getattr(torch, dtype))
        heads = kind.get("heads", self.usual["heads"])
        loaded = load(showing(self.layers(**asked), eye, heads, asked["d_out"]))
        x = eye * torch.linspace(1, 1.5, b, dtype=eye.dtype)[:, None, None]
        parts = {"parts": "num_heads"} if "num_heads" in self.takes else {}
        return case(
            f"{group}/p {p}",
            construct(**asked, dtype=dtype),
            loaded,
            mode(training=False),
            call(x=x, result="plain"),
            mode(training=True),
            call(x=x, seed=1, result="dropped"),
            call(x=x, seed=None, no_grad=True, result="again"),
            mode(training=False),
            call(x=x, no_grad=True, result="plain once more"),
            construct(**asked, dtype=dtype),
            loaded,
            mode(training=True),
            call(x=x, seed=None, no_grad=True, result="in a new module"),
            dtype=eye.dtype,
            signature="dropped weights",
            rate="dropout",
            **parts,
        )


def named(kind: dict) -> str:
    """Return a name for a kind of case."""
    return ", ".join(f"{name} {getattr(it, '__name__', it)}" for name, it in kind.items())


def floats_of(kind: dict) -> torch.dtype:
    """Return the dtype of a case's numbers."""
    return getattr(torch, kind.get("dtype", "float64"))


def with_equal_texts(x: torch.Tensor) -> torch.Tensor:
    """Return x with its last text replaced by its first, if it has three texts or more."""
    return torch.cat([x[:-1], x[:1]]) if len(x) > 2 else x


def with_another_end(x: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    """Return x with its last tokens replaced."""
    return torch.cat([x[:, : x.shape[1] - end.shape[1]], end], dim=1)


def with_a_huge_end(x: torch.Tensor, last: int) -> torch.Tensor:
    """Return x with its last tokens multiplied by a thousand."""
    return torch.cat([x[:, :-last], 1000 * x[:, -last:]], dim=1)


def without_token_1(x: torch.Tensor) -> torch.Tensor:
    """Return x with zeros for its second token: its scores are 0, which must not hide it."""
    x[:, 1] = 0
    return x


def averaging(values: dict) -> dict:
    """Return weights of the docstrings' examples: the visible tokens are averaged unchanged."""
    ones = {k: computed(diagonal, v) for k, v in values.items() if "value" in k or "out_proj" in k}
    return values | ones | {"W_query.weight": 0 * values["W_query.weight"]}


def diagonal(weights: torch.Tensor) -> torch.Tensor:
    """Return an identity matrix in the shape of a weight; for a bias, zeros."""
    return torch.eye(*weights.shape) if weights.dim() == 2 else torch.zeros_like(weights)


def enlarged(values: dict) -> dict:
    """Return weights that give scores of millions, far apart: their exponentials overflow."""
    return values | {k: 1000 * v for k, v in values.items() if "query" in k or "key" in k}


def lowered(values: dict) -> dict:
    """Return short weights whose queries and keys point in opposite directions."""
    query, key = (computed(shortened, values[f"{name}.weight"]) for name in ("W_query", "W_key"))
    return values | {"W_query.weight": query, "W_key.weight": -key}


def shortened(weights: torch.Tensor) -> torch.Tensor:
    """Return the absolute values of weights, rounded to quarters."""
    return (4 * weights.abs()).round() / 4


def near_twelve(x: torch.Tensor) -> torch.Tensor:
    """Return short numbers near 12."""
    return 12 + x.round() / 8


# Similar scores far below -1000: hidden entries must be lower still. The numbers are short, so that
# a softmax in float32 is just as exact.
LOW = {"weights": lowered, "change": near_twelve}


def showing(values: dict, eye: torch.Tensor, heads: int, d_out: int) -> dict:
    """Return weights with which each head's output is its attention weights, twice."""
    shown = {k: 0.2 * values[k] for k in ("W_query.weight", "W_key.weight")}
    shown["W_value.weight"] = torch.cat([eye, eye] * heads)
    shown["W_value.bias"] = torch.zeros(len(shown["W_value.weight"]))
    shown |= {"out_proj.weight": torch.eye(d_out), "out_proj.bias": torch.zeros(d_out)}
    return values | {k: v for k, v in shown.items() if k in values}


def rates(draw) -> tuple[float, float]:
    """Return a small and a large dropout rate, in hundredths."""
    chance = draw.chance("rates")
    return chance.randint(15, 19) / 100, chance.randint(55, 70) / 100
