"""Cases of chapter 4. Several numbers of heads, and head_dim unlike every other size."""

import torch

from .ch2_self_attention import linear_shapes, structure
from .ch3_causal_attention import (
    attention_module, changed_future, dropped_weights, low_scores, short_then_long, zero_scores,
)
from .sentence import SENTENCE

FLOAT32 = torch.float32


def write_cases(book):
    """All cases of the chapter, exercise by exercise."""
    wrapper(book)
    split_heads(book)
    merge_heads(book)
    trace_shapes(book)
    multi_head_attention(book)


def wrapper(book):
    name = "MultiHeadAttentionWrapper"

    def random(b, n, d_in, d_out, num_heads, context=9, dropout=0.0, bias=False, gradient=False,
               dtype="float64"):
        def write(attempt, draw):
            arguments = {"qkv_bias": True} if bias else {}
            module = attempt.construct(
                name, d_in=d_in, d_out=d_out, context_length=context, dropout=dropout,
                num_heads=num_heads, dtype=dtype, **arguments,
            )
            module.load(head_weights(draw, d_in, d_out, num_heads, bias))
            seed = draw.normal(b, n, num_heads * d_out) if gradient else None
            module.call(x=draw.normal(b, n, d_in), gradient=seed)

        return write

    sizes = book.pick(
        public=[(2, 6, 3, 2, 2), (1, 4, 5, 3, 3)],
        hidden=[(1, 5, 3, 4, 1), (3, 4, 6, 2, 2), (2, 7, 2, 5, 4), (3, 3, 4, 6, 3), (2, 2, 5, 3, 2)],
    )
    for size in sizes:
        book.add(name, f"values/{size}", random(*size))
    book.add(name, "values/float32", random(2, 5, 4, 3, 2, dtype="float32"), FLOAT32)
    book.add(name, "arguments/dropout and context", random(2, 4, 3, 4, 2, context=11, dropout=0.3))
    book.add(name, "bias/3x4", random(2, 4, 3, 4, 2, bias=True))
    book.add(name, "gradients/4", random(2, 4, 3, 4, 2, gradient=True))
    for num_heads, bias in ((1, False), (3, True)):
        arguments = dict(d_in=3, d_out=4, context_length=5, dropout=0.1, num_heads=num_heads, qkv_bias=bias)
        book.add(name, f"parameters/{num_heads} heads", structure(name, **arguments), signature="structure")


def head_weights(draw, d_in, d_out, num_heads, bias):
    """Weights of the stand-in heads, each head with its own."""
    weights = {}
    for head in range(num_heads):
        weights[f"heads.{head}.projection.weight"] = draw.weights(d_out, d_in)
        if bias:
            weights[f"heads.{head}.projection.bias"] = draw.weights(d_out)
    return weights


def split_heads(book):
    name = "split_heads"
    book.show(name, "sentence/2 heads", lambda a, d: a.call(name, x=counted(1, 3, 4), num_heads=2))
    sizes = book.pick(
        public=[(2, 3, 4, 2), (1, 5, 6, 3)],
        hidden=[(1, 2, 6, 1), (3, 4, 8, 2), (2, 5, 12, 4), (2, 3, 3, 3), (4, 4, 4, 2), (1, 7, 10, 5)],
    )
    for b, n, d_out, heads in sizes:
        book.add(
            name, f"values/{(b, n, d_out, heads)}",
            lambda a, d: a.call(name, x=d.normal(b, n, d_out), num_heads=heads),
        )
    book.add(
        name, "gradients/3",
        lambda a, d: a.call(name, x=d.normal(2, 3, 6), num_heads=2, gradient=d.normal(2, 2, 3, 3)),
    )


def counted(*shape):
    """1, 2, 3, … in a shape: easy to follow by eye."""
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


def merge_heads(book):
    name = "merge_heads"
    book.show(name, "sentence/2 heads", lambda a, d: a.call(name, x=counted(1, 2, 3, 2)))
    sizes = book.pick(
        public=[(2, 2, 3, 4), (1, 3, 5, 2)],
        hidden=[(1, 1, 4, 3), (3, 2, 4, 5), (2, 4, 3, 6), (2, 3, 3, 3), (4, 2, 2, 2), (1, 5, 7, 2)],
    )
    for b, heads, n, head_dim in sizes:
        book.add(
            name, f"values/{(b, heads, n, head_dim)}",
            lambda a, d: a.call(name, x=d.normal(b, heads, n, head_dim)),
        )
    book.add(
        name, "gradients/3",
        lambda a, d: a.call(name, x=d.normal(2, 2, 3, 4), gradient=d.normal(2, 3, 8)),
    )


def trace_shapes(book):
    name = "trace_shapes"
    keys = ("b", "num_tokens", "d_in", "d_out", "num_heads")
    sizes = book.pick(
        public=[(2, 6, 3, 4, 2), (1, 5, 8, 12, 3)],
        hidden=[(1, 4, 3, 5, 1), (3, 7, 5, 8, 2), (2, 3, 16, 12, 4), (5, 9, 4, 6, 6), (4, 4, 4, 4, 2), (8, 1024, 768, 768, 12)],
    )
    for size in sizes:
        book.add(
            name, f"values/{size}", lambda a, d: a.call(name, **dict(zip(keys, size))),
        )


def multi_head_shapes(d_in, d_out, bias):
    """Shapes of the three input projections and of the output projection, which has a bias."""
    return linear_shapes(d_in, d_out, bias) | {
        "out_proj.weight": (d_out, d_out),
        "out_proj.bias": (d_out,),
    }


def identity_projection(d_out):
    """An output projection that changes nothing."""
    return {
        "out_proj.weight": torch.eye(d_out, dtype=torch.float64),
        "out_proj.bias": torch.zeros(d_out, dtype=torch.float64),
    }


def multi_head_attention(book):
    name = "MultiHeadAttention"

    def random(b, n, d_in, d_out, heads, context, **settings):
        return attention_module(
            name, b, n, d_in, d_out, context, num_heads=heads, shapes=multi_head_shapes, **settings
        )

    def sentence(attempt, draw):
        module = attempt.construct(
            name, d_in=3, d_out=2, context_length=6, dropout=0.0, num_heads=2, seed=123, dtype="float32"
        )
        module.call(x=torch.stack((SENTENCE, SENTENCE)))

    book.show(name, "sentence/seed 123, twice", sentence, signature="ignored")
    for b, n, d_in, d_out in book.pick(public=[(2, 5, 3, 4)], hidden=[(1, 5, 3, 4), (3, 4, 6, 7)]):
        book.add(name, f"one head/{(b, n, d_in, d_out)}", random(b, n, d_in, d_out, 1, n))
    sizes = book.pick(
        public=[(2, 6, 3, 4, 2), (1, 5, 4, 9, 3)],
        hidden=[(1, 5, 3, 6, 2), (3, 4, 6, 12, 4), (2, 7, 2, 10, 2), (3, 3, 5, 8, 4), (2, 6, 4, 15, 3)],
    )
    for b, n, d_in, d_out, heads in sizes:
        book.add(
            name, f"values/{heads} heads {(b, n, d_in, d_out)}", random(b, n, d_in, d_out, heads, n)
        )
    # With all sizes alike, mistakes that would end in an error elsewhere give values to know them by.
    book.add(name, "values/square", random(2, 2, 4, 4, 2, 2))
    book.add(name, "values/float32", random(2, 5, 4, 6, 2, 5, dtype="float32"), FLOAT32)
    heads = dict(shapes=multi_head_shapes, num_heads=2)
    book.add(name, "values/low scores", low_scores(name, 2, 4, 3, 6, **heads))
    book.add(name, "values/zero scores", zero_scores(name, 2, 4, 3, 6, **heads))
    book.add(name, "short/2 tokens, then 5", short_then_long(name, 3, 6, **heads))
    short = book.pick(
        public=[(2, 3, 4, 6, 2, 7)],
        hidden=[(3, 4, 5, 6, 3, 9), (1, 1, 3, 4, 2, 5), (2, 5, 3, 8, 4, 30)],
    )
    for b, n, d_in, d_out, heads, context in short:
        book.add(
            name, f"short/{n} tokens of {context}", random(b, n, d_in, d_out, heads, context)
        )
    book.add(name, "bias/3x6", random(2, 4, 3, 6, 2, 5, bias=True))
    book.add(name, "gradients/4", random(2, 4, 3, 6, 2, 5, bias=True, gradient=True))
    book.add(name, "future/cut 3", changed_future(name, 6, 3, 3, 6, shapes=multi_head_shapes, num_heads=2))
    for p in book.pick(public=[0.3], hidden=[0.5, 0.2]):
        book.add(
            name, f"dropout/p {p}",
            dropped_weights(name, 8, 20, p, identity_projection, num_heads=1), signature="dropout",
        )
    book.add(
        name, "dropout in heads/p 0.4",
        dropped_weights(name, 4, 12, 0.4, identity_projection, num_heads=3), signature="dropout",
    )
    for bias in (False, True):
        arguments = dict(d_in=3, d_out=6, context_length=5, dropout=0.1, num_heads=2, qkv_bias=bias)
        book.add(name, f"parameters/bias {bias}", structure(name, **arguments), signature="structure")
    for d_out, heads in book.pick(public=[(7, 2)], hidden=[(7, 2), (8, 3)]):
        odd = dict(d_in=3, d_out=d_out, context_length=5, dropout=0.0, num_heads=heads)
        book.add(name, f"indivisible/{d_out} by {heads}", structure(name, **odd), signature="error")
    book.add(name, "operations/growth", two_numbers_of_heads(name), signature="growth")


def two_numbers_of_heads(name):
    """Two watched modules: the number of matrix products must not grow with the heads."""

    def write(attempt, draw):
        for result, heads in (("few", 1), ("many", 4)):
            module = attempt.construct(
                name, d_in=3, d_out=8, context_length=5, dropout=0.0, num_heads=heads
            )
            module.call(x=draw.normal(2, 5, 3), watch=True, result=result)

    return write
