"""Cases of chapter 3. Sequences are mostly shorter than context_length; batch rows differ."""

import math

import torch

from .ch2_self_attention import linear_shapes, structure
from .sentence import SENTENCE

FLOAT32 = torch.float32


def write_cases(book):
    """All cases of the chapter, exercise by exercise."""
    causal_mask(book)
    mask_and_renormalize(book)
    causal_attention_weights(book)
    inverted_dropout(book)
    causal_attention(book)


def causal_mask(book):
    name = "causal_mask"
    book.show(name, "sentence/6 tokens", lambda a, d: a.call(name, context_length=6))
    for n in book.pick(public=[6, 3], hidden=[1, 2, 4, 7, 12, 33]):
        book.add(name, f"values/{n}", lambda a, d: a.call(name, context_length=n))
    book.add(name, "dtype/5", lambda a, d: a.call(name, context_length=5), signature="dtype")


def weights_of_sentence():
    """Rows of positive weights that sum to 1: the sentence's own simplified attention."""
    return torch.softmax(SENTENCE @ SENTENCE.T, dim=-1)


def rows_of_weights(draw, *shape):
    """Random rows that sum to 1 and are far from even.

    Each token keeps a fair part for itself: a small number added to what is left of a row, to be
    safe from dividing by zero, must not count as wrong.
    """
    scores = 1.5 * draw.normal(*shape).clamp(-1, 1.5)
    return torch.softmax(scores + math.log(shape[-1]) * torch.eye(shape[-1]), dim=-1)


def mask_and_renormalize(book):
    name = "mask_and_renormalize"
    book.show(name, "sentence/weights", lambda a, d: a.call(name, attn_weights=weights_of_sentence()))
    for n in book.pick(public=[6, 4], hidden=[2, 3, 5, 8, 13]):
        book.add(name, f"values/{n}", lambda a, d: a.call(name, attn_weights=rows_of_weights(d, n, n)))
    book.add(
        name, "values/float32", lambda a, d: a.call(name, attn_weights=rows_of_weights(d, 7, 7)), FLOAT32
    )
    book.add(
        name, "gradients/4",
        lambda a, d: a.call(name, attn_weights=rows_of_weights(d, 4, 4), gradient=d.normal(4, 4)),
    )


def causal_attention_weights(book):
    name = "causal_attention_weights"

    def random(n, d_k, **settings):
        return lambda a, draw: a.call(
            name,
            attn_scores=3 * draw.normal(n, n),
            d_k=d_k,
            **{key: draw.normal(*shape) for key, shape in settings.items()},
        )

    book.show(
        name, "sentence/scores", lambda a, d: a.call(name, attn_scores=SENTENCE @ SENTENCE.T, d_k=3)
    )
    for n, d_k in book.pick(public=[(6, 3), (4, 9)], hidden=[(2, 5), (3, 8), (5, 2), (8, 16), (12, 7)]):
        book.add(name, f"values/{n} tokens, d_k {d_k}", random(n, d_k))
    book.add(name, "values/float32", random(7, 5), FLOAT32)
    # Scores so low that whatever stands in the hidden places must be lower still.
    book.add(
        name, "values/low scores",
        lambda a, draw: a.call(name, attn_scores=3 * draw.normal(5, 5) - 400, d_k=3),
    )
    # A score of 0 is a score like any other, not a sign that it is hidden.
    book.add(
        name, "values/zero scores",
        lambda a, draw: a.call(name, attn_scores=draw.normal(5, 5) * (draw.normal(5, 5) > 0), d_k=3),
    )
    book.add(name, "gradients/4", random(4, 3, gradient=(4, 4)))


def inverted_dropout(book):
    name = "inverted_dropout"

    def dropped(shape, p, gradient=None):
        def write(attempt, draw):
            weights = torch.softmax(draw.normal(*shape), dim=-1)
            attempt.call(name, attn_weights=weights, p=p, training=False, result="plain")
            attempt.call(name, attn_weights=weights, p=p, training=True, seed=1, result="dropped", gradient=gradient)
            attempt.call(name, attn_weights=weights, p=p, seed=2, result="again")  # training is the default

        return write

    def evaluated(n, p):
        return lambda a, draw: a.call(name, attn_weights=draw.normal(n, n), p=p, training=False)

    shapes = book.pick(
        public=[((60, 60), 0.5), ((60, 60), 0.2)],
        hidden=[((60, 60), 0.5), ((60, 60), 0.1), ((40, 70), 0.3), ((5, 20, 30), 0.8)],
    )
    for shape, p in shapes:
        book.add(name, f"dropout/p {p}", dropped(shape, p), signature="dropout")
    ones = torch.ones(30, 40, dtype=torch.float64)
    book.add(name, "gradients/p 0.4", dropped((30, 40), 0.4, gradient=ones), signature="dropout")
    for p in book.pick(public=[0.5], hidden=[0.5, 0.9]):
        book.add(name, f"evaluation/p {p}", evaluated(5, p))
    book.add(
        name, "nothing/p 0",
        lambda a, d: a.call(name, attn_weights=d.normal(4, 4), p=0.0, training=True),
    )
    book.add(
        name, "own/6",
        lambda a, d: a.call(name, attn_weights=d.normal(6, 6), p=0.5, training=True, watch=True),
        signature="dropout used",
    )


def drawn(draw, shapes, d_in, d_out, bias=False):
    """Weights by name, of these shapes."""
    return {key: draw.weights(*shape) for key, shape in shapes(d_in, d_out, bias).items()}


def evaluated(attempt, name, weights, d_in, d_out, context, dtype="float64", **arguments):
    """A module without dropout, with these weights, in evaluation."""
    module = attempt.construct(
        name, d_in=d_in, d_out=d_out, context_length=context, dropout=0.0, dtype=dtype, **arguments
    )
    module.load(weights)
    module.mode(training=False)
    return module


def attention_module(name, b, n, d_in, d_out, context, *, bias=False, gradient=False,
                     dtype="float64", shapes=linear_shapes, **arguments):
    """Called on b different rows of n tokens."""

    def write(attempt, draw):
        extra = arguments | ({"qkv_bias": True} if bias else {})
        weights = drawn(draw, shapes, d_in, d_out, bias)
        module = evaluated(attempt, name, weights, d_in, d_out, context, dtype, **extra)
        seed = draw.normal(b, n, d_out) if gradient else None
        module.call(x=draw.normal(b, n, d_in), gradient=seed)

    return write


def changed_future(name, n, cut, d_in, d_out, shapes=linear_shapes, **arguments):
    """Two calls on inputs that differ from token `cut` on: earlier outputs must stay."""

    def write(attempt, draw):
        weights = drawn(draw, shapes, d_in, d_out)
        module = evaluated(attempt, name, weights, d_in, d_out, n, **arguments)
        x = draw.normal(2, n, d_in)
        other = torch.cat([x[:, :cut], draw.normal(2, n - cut, d_in)], dim=1)
        module.call(x=x, result="before")
        module.call(x=other, result="after")

    return write


def low_scores(name, b, n, d_in, d_out, shapes=linear_shapes, **arguments):
    """All scores far below -100 and nearly alike: a hidden place must be lower than any score."""

    def write(attempt, draw):
        weights = drawn(draw, shapes, d_in, d_out)
        weights["W_query.weight"] = weights["W_query.weight"].abs()
        weights["W_key.weight"] = -weights["W_key.weight"].abs()
        module = evaluated(attempt, name, weights, d_in, d_out, n, **arguments)
        module.call(x=4 + 0.05 * draw.normal(b, n, d_in))

    return write


def zero_scores(name, b, n, d_in, d_out, shapes=linear_shapes, **arguments):
    """One token of zeros: its scores are 0, which hides nothing."""

    def write(attempt, draw):
        weights = drawn(draw, shapes, d_in, d_out)
        module = evaluated(attempt, name, weights, d_in, d_out, n, **arguments)
        x = draw.normal(b, n, d_in)
        x[:, 1] = 0
        module.call(x=x)

    return write


def short_then_long(name, d_in, d_out, shapes=linear_shapes, **arguments):
    """One module, called on two tokens and then on five: the second call owes nothing to the first."""

    def write(attempt, draw):
        weights = drawn(draw, shapes, d_in, d_out)
        module = evaluated(attempt, name, weights, d_in, d_out, 6, **arguments)
        module.call(x=draw.normal(2, 2, d_in), result="first")
        module.call(x=draw.normal(2, 5, d_in), result="second")

    return write


def dropped_weights(name, b, n, p, extra_weights=None, num_heads=None):
    """Values [I I] through each head: the output *is* the attention weights, twice side by side."""
    heads, arguments = num_heads or 1, {"num_heads": num_heads} if num_heads else {}
    d_out = 2 * n * heads

    def write(attempt, draw):
        module = attempt.construct(
            name, d_in=n, d_out=d_out, context_length=n, dropout=p, dtype="float64", **arguments
        )
        eye = torch.eye(n, dtype=torch.float64)
        weights = {f"{part}.weight": 0.2 * draw.weights(d_out, n) for part in ("W_query", "W_key")}
        weights["W_value.weight"] = torch.cat([eye, eye] * heads)
        module.load(weights | (extra_weights(d_out) if extra_weights else {}))
        x = eye.expand(b, n, n).clone()
        module.mode(training=False)
        module.call(x=x, result="plain")
        module.mode(training=True)
        module.call(x=x, seed=1, result="dropped")
        module.call(x=x, seed=2, result="again")

    return write


def causal_attention(book):
    name = "CausalAttention"

    def sentence(attempt, draw):
        module = attempt.construct(
            name, d_in=3, d_out=2, context_length=6, dropout=0.0, seed=123, dtype="float32"
        )
        module.call(x=torch.stack((SENTENCE, SENTENCE)))

    book.show(name, "sentence/seed 123, twice", sentence, signature="ignored")
    full = book.pick(
        public=[(2, 6, 3, 2), (1, 4, 5, 9)],
        hidden=[(1, 5, 3, 4), (3, 4, 6, 8), (2, 7, 2, 5), (3, 2, 4, 16), (1, 9, 5, 3)],
    )
    for b, n, d_in, d_out in full:
        book.add(name, f"values/{(b, n, d_in, d_out)}", attention_module(name, b, n, d_in, d_out, n))
    # With all sizes alike, mistakes that would end in an error elsewhere give values to know them by.
    book.add(name, "values/square", attention_module(name, 2, 2, 2, 2, 2))
    book.add(name, "values/float32", attention_module(name, 2, 5, 4, 3, 5, dtype="float32"), FLOAT32)
    book.add(name, "values/low scores", low_scores(name, 2, 4, 3, 5))
    book.add(name, "values/zero scores", zero_scores(name, 2, 4, 3, 5))
    book.add(name, "short/2 tokens, then 5", short_then_long(name, 3, 5))
    short = book.pick(public=[(2, 3, 4, 5, 6)], hidden=[(3, 4, 5, 7, 9), (1, 1, 3, 4, 5), (2, 5, 3, 6, 30)])
    for b, n, d_in, d_out, context in short:
        book.add(
            name, f"short/{n} tokens of {context}", attention_module(name, b, n, d_in, d_out, context)
        )
    book.add(name, "bias/3x4", attention_module(name, 2, 4, 3, 5, 6, bias=True))
    book.add(name, "gradients/4", attention_module(name, 2, 4, 3, 5, 6, bias=True, gradient=True))
    book.add(name, "future/cut 3", changed_future(name, 6, 3, 3, 5))
    for p in book.pick(public=[0.3], hidden=[0.5, 0.2]):
        book.add(name, f"dropout/p {p}", dropped_weights(name, 8, 20, p), signature="dropout")
    for bias in (False, True):
        arguments = dict(d_in=3, d_out=4, context_length=5, dropout=0.1, qkv_bias=bias)
        book.add(name, f"parameters/bias {bias}", structure(name, **arguments), signature="structure")
