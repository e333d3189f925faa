"""Cases of chapter 2. d_in, d_out and the number of tokens differ, and d_k is never 64."""

import torch

from .sentence import SENTENCE

FLOAT32 = torch.float32
QKV = ("W_query", "W_key", "W_value")


def write_cases(book):
    """All cases of the chapter, exercise by exercise."""
    project_qkv(book)
    attention_weights(book)
    scaled_dot_product_attention(book)
    SelfAttention_v1(book)
    SelfAttention_v2(book)
    copy_v2_into_v1(book)


def book_weights():
    """The three matrices of the lesson: seed 123, torch.rand(3, 2), query, key, value."""
    generator = torch.Generator().manual_seed(123)
    return {name: torch.rand(3, 2, generator=generator) for name in QKV}


def project_qkv(book):
    name = "project_qkv"

    def random(n, d_in, d_out, gradient=False):
        return lambda attempt, draw: attempt.call(
            name,
            x=draw.normal(n, d_in),
            **{matrix: draw.weights(d_in, d_out) for matrix in QKV},
            gradient=tuple(draw.normal(n, d_out) for _ in QKV) if gradient else None,
        )

    book.show(name, "sentence/seed 123", lambda a, d: a.call(name, x=SENTENCE, **book_weights()))
    sizes = book.pick(
        public=[(6, 3, 2), (4, 5, 6)], hidden=[(6, 3, 2), (5, 4, 7), (3, 8, 8), (9, 2, 3), (1, 5, 4)]
    )
    for size in sizes:
        book.add(name, f"values/{size}", random(*size))
    book.add(name, "values/square", random(3, 3, 3))
    book.add(name, "values/float32", random(7, 5, 4), FLOAT32)
    book.add(name, "gradients/4x3x2", random(4, 3, 2, gradient=True))


def attention_weights(book):
    name = "attention_weights"

    def random(n, m, d_k, lead=(), **settings):
        return lambda attempt, draw: attempt.call(
            name,
            queries=2 * draw.normal(*lead, n, d_k),
            keys=draw.normal(*lead, m, d_k),
            **{key: draw.normal(*shape) for key, shape in settings.items()},
        )

    def sentence(attempt, draw):
        weights = book_weights()
        queries, keys = SENTENCE @ weights["W_query"], SENTENCE @ weights["W_key"]
        attempt.call(name, queries=queries, keys=keys)

    book.show(name, "sentence/seed 123", sentence)
    for n, d_k in book.pick(public=[(6, 4), (4, 9)], hidden=[(6, 5), (3, 8), (7, 2), (5, 16)]):
        book.add(name, f"values/{n} tokens, d_k {d_k}", random(n, n, d_k))
    book.add(name, "values/float32", random(5, 5, 7), FLOAT32)
    for n, m in book.pick(public=[(3, 5)], hidden=[(2, 7), (6, 4)]):
        book.add(name, f"cross/{n} queries, {m} keys", random(n, m, 3))
    for lead in book.pick(public=[(2,)], hidden=[(3,), (2, 3)]):
        book.add(name, f"leading/{lead}", random(4, 5, 6, lead))
    book.add(name, "gradients/4x3x5", random(4, 3, 5, gradient=(4, 3)))


def scaled_dot_product_attention(book):
    name = "scaled_dot_product_attention"

    def random(n, m, d_k, d_v, lead=(), **settings):
        return lambda attempt, draw: attempt.call(
            name,
            queries=2 * draw.normal(*lead, n, d_k),
            keys=draw.normal(*lead, m, d_k),
            values=draw.normal(*lead, m, d_v),
            **{key: draw.normal(*shape) for key, shape in settings.items()},
        )

    def sentence(attempt, draw):
        queries, keys, values = (SENTENCE @ matrix for matrix in book_weights().values())
        attempt.call(name, queries=queries, keys=keys, values=values)

    book.show(name, "sentence/seed 123", sentence)
    sizes = book.pick(public=[(6, 4), (4, 9)], hidden=[(6, 5), (3, 8), (7, 2), (5, 16)])
    for n, d_k in sizes:
        book.add(name, f"values/{n} tokens, d_k {d_k}", random(n, n, d_k, d_k))
    book.add(name, "values/d_v of its own", random(5, 5, 4, 7))
    book.add(name, "values/float32", random(5, 5, 7, 7), FLOAT32)
    for n, m in book.pick(public=[(3, 5)], hidden=[(2, 7), (6, 4)]):
        book.add(name, f"cross/{n} queries, {m} keys", random(n, m, 3, 3))
    for lead in book.pick(public=[(2,)], hidden=[(3,), (2, 3)]):
        book.add(name, f"leading/{lead}", random(4, 5, 6, 3, lead))
    book.add(name, "gradients/4x3x5", random(4, 3, 5, 6, gradient=(4, 6)))


def module_case(name, shapes, n, d_in, d_out, gradient=False, dtype="float64", **arguments):
    """Construct, load weights of these shapes by name, call on (n, d_in)."""

    def write(attempt, draw):
        module = attempt.construct(name, d_in=d_in, d_out=d_out, dtype=dtype, **arguments)
        module.load({key: draw.weights(*shape) for key, shape in shapes.items()})
        seed = draw.normal(n, d_out) if gradient else None
        module.call(x=draw.normal(n, d_in), gradient=seed)

    return write


def twice(name, shapes, d_in, d_out):
    """One module, called on three tokens and then on five: the second call owes nothing to the first."""

    def write(attempt, draw):
        module = attempt.construct(name, d_in=d_in, d_out=d_out, dtype="float64")
        module.load({key: draw.weights(*shape) for key, shape in shapes.items()})
        module.call(x=draw.normal(3, d_in), result="first")
        module.call(x=draw.normal(5, d_in), result="second")

    return write


def structure(name, state=False, seed=123, **arguments):
    """Construct and describe; with `state`, the values that the seed gives as well."""

    def write(attempt, draw):
        attempt.construct(name, seed=seed, dtype="float32", **arguments).describe(state=state)

    return write


def SelfAttention_v1(book):
    name = "SelfAttention_v1"

    def random(n, d_in, d_out, **settings):
        shapes = {matrix: (d_in, d_out) for matrix in QKV}
        return module_case(name, shapes, n, d_in, d_out, **settings)

    def sentence(attempt, draw):
        module = attempt.construct(name, d_in=3, d_out=2, seed=123, dtype="float32")
        module.call(x=SENTENCE)

    book.show(name, "sentence/seed 123", sentence)
    sizes = book.pick(
        public=[(6, 3, 2), (4, 5, 9)], hidden=[(6, 3, 5), (5, 4, 8), (3, 6, 2), (8, 2, 7), (4, 5, 16)]
    )
    for size in sizes:
        book.add(name, f"values/{size}", random(*size))
    book.add(name, "values/one token", random(1, 3, 4))
    book.add(name, "values/twice", twice(name, {matrix: (3, 4) for matrix in QKV}, 3, 4))
    # With all sizes alike, mistakes that would end in an error elsewhere give values to know them by.
    book.add(name, "values/square", random(3, 3, 3))
    book.add(name, "values/float32", random(7, 5, 4, dtype="float32"), FLOAT32)
    book.add(name, "gradients/5x3x4", random(5, 3, 4, gradient=True))
    seed = book.pick(public=123, hidden=book.seed % 2**31)
    start = structure(name, state=True, seed=seed, d_in=3, d_out=4)
    book.add(name, "parameters/3x4", start, signature="structure")


def linear_shapes(d_in, d_out, bias):
    """Shapes of the three nn.Linear's weights (and biases)."""
    shapes = {f"{matrix}.weight": (d_out, d_in) for matrix in QKV}
    return shapes | ({f"{matrix}.bias": (d_out,) for matrix in QKV} if bias else {})


def SelfAttention_v2(book):
    name = "SelfAttention_v2"

    def random(n, d_in, d_out, bias=False, **settings):
        arguments = {"qkv_bias": True} if bias else {}
        shapes = linear_shapes(d_in, d_out, bias)
        return module_case(name, shapes, n, d_in, d_out, **settings, **arguments)

    def sentence(attempt, draw):
        module = attempt.construct(name, d_in=3, d_out=2, seed=789, dtype="float32")
        module.call(x=SENTENCE)

    book.show(name, "sentence/seed 789", sentence, signature="ignored")
    sizes = book.pick(
        public=[(6, 3, 2), (4, 5, 9)], hidden=[(6, 3, 5), (5, 4, 8), (3, 6, 2), (8, 2, 7), (4, 5, 16)]
    )
    for size in sizes:
        book.add(name, f"values/{size}", random(*size))
    book.add(name, "values/one token", random(1, 3, 4))
    book.add(name, "values/twice", twice(name, linear_shapes(3, 4, False), 3, 4))
    book.add(name, "values/square", random(3, 3, 3))
    book.add(name, "values/float32", random(7, 5, 4, dtype="float32"), FLOAT32)
    book.add(name, "bias/5x3x4", random(5, 3, 4, bias=True))
    book.add(name, "gradients/5x3x4", random(5, 3, 4, bias=True, gradient=True))
    for bias in (False, True):
        book.add(
            name, f"parameters/bias {bias}", structure(name, d_in=3, d_out=4, qkv_bias=bias),
            signature="structure",
        )


def copy_v2_into_v1(book):
    name = "copy_v2_into_v1"

    def random(d_in, d_out):
        def write(attempt, draw):
            v2 = attempt.construct("LinearProjections", given=True, d_in=d_in, d_out=d_out)
            v1 = attempt.construct("MatrixProjections", given=True, d_in=d_in, d_out=d_out)
            v2.load({k: draw.weights(*s) for k, s in linear_shapes(d_in, d_out, False).items()})
            attempt.call(name, v2=v2, v1=v1, result="returned")
            v1.describe("v1", state=True)
            v2.describe("v2", state=True)

        return write

    sizes = book.pick(public=[(3, 2), (4, 4)], hidden=[(3, 2), (2, 5), (4, 4), (6, 3), (1, 3), (5, 7)])
    for size in sizes:
        book.add(name, f"values/{size}", random(*size), signature="structure")
