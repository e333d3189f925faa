"""Cases of chapter 1. Sizes differ in every dimension, so that no mix-up of two stays unseen."""

import torch

from .sentence import SENTENCE

FLOAT32 = torch.float32


def write_cases(book):
    """All cases of the chapter, exercise by exercise."""
    attention_scores(book)
    softmax_naive(book)
    softmax(book)
    context_vector(book)
    simplified_self_attention(book)


def query_and_inputs(name, n, d, **settings):
    """A call with one query (d,) and inputs (n, d)."""
    return lambda attempt, draw: attempt.call(
        name, query=draw.normal(d), inputs=draw.normal(n, d), **settings
    )


def query_with_gradient(name, n, d, *result):
    """The same, with the gradient for a result of this shape."""
    return lambda attempt, draw: attempt.call(
        name, query=draw.normal(d), inputs=draw.normal(n, d), gradient=draw.normal(*result)
    )


def attention_scores(book):
    name = "attention_scores"
    book.show(name, "sentence/token 2", lambda a, d: a.call(name, query=SENTENCE[1], inputs=SENTENCE))
    sizes = book.pick(public=[(6, 3), (4, 5)], hidden=[(6, 3), (5, 8), (9, 2), (3, 3), (17, 4)])
    for n, d in sizes:
        book.add(name, f"values/{n}x{d}", query_and_inputs(name, n, d))
    book.add(name, "values/one token", query_and_inputs(name, 1, 4))
    book.add(name, "values/float32", query_and_inputs(name, 7, 5), FLOAT32)
    book.add(name, "gradients/5x3", query_with_gradient(name, 5, 3, 5))


def softmax_naive(book):
    name = "softmax_naive"
    book.show(name, "sentence/token 2", lambda a, d: a.call(name, x=SENTENCE @ SENTENCE[1]))
    for n in book.pick(public=[6, 4], hidden=[6, 2, 5, 11, 30]):
        book.add(name, f"values/{n}", lambda a, d: a.call(name, x=d.normal(n)))
    book.add(name, "values/float32", lambda a, d: a.call(name, x=d.normal(8)), FLOAT32)
    book.add(name, "values/negative", lambda a, d: a.call(name, x=-d.normal(7).abs() - 1))
    book.add(name, "gradients/5", lambda a, d: a.call(name, x=d.normal(5), gradient=d.normal(5)))
    book.add(
        name, "own/5", lambda a, d: a.call(name, x=d.normal(5), watch=True), signature="softmax used"
    )


def softmax(book):
    name = "softmax"
    book.show(name, "sentence/all scores", lambda a, d: a.call(name, x=SENTENCE @ SENTENCE.T, dim=-1))
    for shape in book.pick(public=[(6,), (4, 6)], hidden=[(5,), (3, 7), (2, 3, 5), (2, 4, 3, 5)]):
        book.add(name, f"last/{len(shape)}-D", lambda a, d: a.call(name, x=d.normal(*shape)))
    book.add(name, "last/float32", lambda a, d: a.call(name, x=d.normal(3, 8)), FLOAT32)
    dims = book.pick(
        public=[((4, 6), 0), ((2, 3, 4), 1)],
        hidden=[((3, 5), 0), ((2, 3, 4), 1), ((2, 3, 4), 0), ((2, 5, 3, 4), -3), ((4, 3), -2)],
    )
    for shape, dim in dims:
        book.add(
            name, f"dim/{len(shape)}-D dim {dim}", lambda a, d: a.call(name, x=d.normal(*shape), dim=dim)
        )
    for size in book.pick(public=[1e4], hidden=[1e3, 1e4]):
        book.add(name, f"large/{size:g}", lambda a, d: a.call(name, x=size * d.normal(3, 5)))
        book.add(name, f"large/minus {size:g}", lambda a, d: a.call(name, x=d.normal(3, 5) - size))
    book.add(
        name, "large/rows", lambda a, d: a.call(name, x=d.normal(3, 4) + torch.tensor([[1e4], [0], [-1e4]]))
    )
    book.add(name, "hidden/-inf", lambda a, d: a.call(name, x=some_hidden(d.normal(4, 5)), dim=-1))
    book.add(name, "hidden/-inf dim 0", lambda a, d: a.call(name, x=some_hidden(d.normal(4, 5)), dim=0))
    book.add(
        name, "gradients/3x4", lambda a, d: a.call(name, x=d.normal(3, 4), dim=0, gradient=d.normal(3, 4))
    )
    for dtype in (torch.float32, torch.float64):
        book.add(
            name, f"dtype/{dtype}", lambda a, d: a.call(name, x=d.normal(2, 3), dim=-1), dtype,
            signature="dtype",
        )
    book.add(
        name, "own/3x4", lambda a, d: a.call(name, x=d.normal(3, 4), dim=-1, watch=True),
        signature="softmax used",
    )


def some_hidden(scores):
    """Scores with -inf in places that leave every row and column something."""
    scores[0, 1:3] = -torch.inf
    scores[2, 4] = -torch.inf
    return scores


def context_vector(book):
    name = "context_vector"
    book.show(name, "sentence/token 2", lambda a, d: a.call(name, query=SENTENCE[1], inputs=SENTENCE))
    sizes = book.pick(public=[(6, 3), (4, 5)], hidden=[(6, 3), (5, 8), (9, 2), (3, 3), (17, 4)])
    for n, d in sizes:
        book.add(name, f"values/{n}x{d}", query_and_inputs(name, n, d))
    book.add(name, "values/float32", query_and_inputs(name, 7, 5), FLOAT32)
    book.add(name, "gradients/5x3", query_with_gradient(name, 5, 3, 3))


def simplified_self_attention(book):
    name = "simplified_self_attention"
    book.show(name, "sentence/all tokens", lambda a, d: a.call(name, inputs=SENTENCE))
    sizes = book.pick(public=[(6, 3), (4, 5)], hidden=[(6, 3), (5, 8), (9, 2), (4, 4), (12, 5)])
    for n, d in sizes:
        book.add(name, f"values/{n}x{d}", lambda a, draw: a.call(name, inputs=draw.normal(n, d)))
    book.add(name, "values/one token", lambda a, d: a.call(name, inputs=d.normal(1, 4)))
    book.add(name, "values/float32", lambda a, d: a.call(name, inputs=d.normal(7, 5)), FLOAT32)
    book.add(
        name, "gradients/5x3",
        lambda a, d: a.call(name, inputs=d.normal(5, 3), gradient=(d.normal(5, 3), d.normal(5, 5))),
    )
    book.add(
        name, "operations/growth", two_lengths(name), signature="growth"
    )


def two_lengths(name):
    """Two watched calls: the number of matrix products must not grow with the tokens."""

    def write(attempt, draw):
        attempt.call(name, inputs=draw.normal(3, 4), watch=True, result="few")
        attempt.call(name, inputs=draw.normal(9, 4), watch=True, result="many")

    return write
