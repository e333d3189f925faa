"""The three questions of each chapter: their answers come out of the solutions."""

import importlib
import math
import re
import sys
from pathlib import Path

import pytest
import torch

SOLUTIONS = Path(__file__).parents[2] / "solutions"
NAMES = [path.stem for path in sorted(SOLUTIONS.glob("ch*.py"))]


def trained(module: torch.nn.Module) -> int:
    return sum(one.numel() for one in module.parameters())


def chapter_1(ch):
    yield round(float(ch.softmax_naive(0 * torch.randn(6))[0]), 4)
    yield round(float(ch.softmax_naive(torch.tensor([1.0, 1.0 + math.log(3)])).max()), 4)
    short, long = (ch.simplified_self_attention(torch.randn(n, 3))[1] for n in (100, 200))
    yield long.numel() // short.numel()


def chapter_2(ch):
    shapes = (5, 8), (7, 8), (7, 3)
    yield tuple(ch.scaled_dot_product_attention(*map(torch.zeros, shapes)).shape)
    torch.manual_seed(123)
    queries, keys = torch.randn(2, 20_000, 64)
    yield round(float((queries * keys).sum(dim=1).std()))
    yield trained(ch.SelfAttention_v2(3, 2))


def chapter_3(ch):
    yield int(ch.causal_mask(8).sum())
    yield float(ch.causal_attention_weights(torch.ones(6, 6), d_k=4)[3, 0])
    kept = ch.inverted_dropout(torch.full((100,), 0.3), 0.25)
    yield round(float(kept.max()), 4)


def chapter_4(ch):
    yield ch.split_heads(torch.zeros(1, 2, 768), 12).shape[-1]
    queries = ch.split_heads(torch.zeros(2, 5, 12), 3)
    yield tuple((queries @ queries.transpose(-2, -1)).shape)
    few, many = (ch.MultiHeadAttention(8, 8, 6, 0.0, heads) for heads in (2, 4))
    yield trained(many) - trained(few)


def chapter_5(ch):
    yield int(ch.padding_mask(torch.tensor([2, 5]), 5).sum())
    layer, text = ch.CachedAttention(3, 8, 10, num_heads=2), torch.ones(1, 8, 3)
    _, cache = layer(text[:, :5])
    yield tuple(layer(text[:, 5:], cache)[1][0].shape)
    torch.manual_seed(123)
    pair = torch.randn(2, 16, dtype=torch.float64)
    near, far = (
        torch.dot(*ch.rotate(pair, torch.tensor(places))) for places in ([3, 7], [103, 107])
    )
    yield abs(round(float(far - near), 9))


def chapter_6(ch):
    loss = ch.cross_entropy(torch.zeros(1, 100), torch.tensor([7]))
    yield round(float(loss.exp()), 2)
    yield trained(ch.FeedForward(16))
    chance = torch.Generator().manual_seed(123)
    yield len(ch.batches(torch.arange(10), 4, 1000, chance)[0][:, 0].unique())


RIGHT = (chapter_1, chapter_2, chapter_3, chapter_4, chapter_5, chapter_6)


@pytest.fixture
def chapter(monkeypatch):
    """A function that imports a solution."""
    monkeypatch.syspath_prepend(str(SOLUTIONS))
    for name in NAMES:  # a substitute of that name may have been loaded by another test
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


@pytest.mark.parametrize(("name", "right"), zip(NAMES, RIGHT, strict=True))
def test_the_answers_of_a_chapter_come_out_of_its_code(chapter, name, right):
    text = (SOLUTIONS / f"{name}.py").read_text(encoding="utf-8").replace("\n# ", "\n")
    quiz = text.split("## Three questions")[1].split("# %%")[0]
    questions, answers = quiz.split("**Answers.**")
    assert re.findall(r"^(\d)\. ", questions, re.M) == ["1", "2", "3"]
    told = re.findall(r"\((\d)\) \*\*(.+?)\*\*", answers)
    computed = [str(one).removesuffix(".0") for one in right(chapter(name))]
    assert told == [(str(number), one) for number, one in enumerate(computed, 1)]


def test_the_loss_of_a_new_model_is_near_that_of_a_uniform_guess(chapter):
    ch = chapter("ch6_small_gpt")
    torch.manual_seed(123)
    model = ch.SmallGPT(vocab_size=65, context_length=64, d=64, num_heads=4, num_layers=2)
    ids = torch.randint(65, (8, 65))
    loss = float(ch.cross_entropy(model(ids[:, :-1]), ids[:, 1:]))
    assert abs(loss - math.log(65)) < 0.3
