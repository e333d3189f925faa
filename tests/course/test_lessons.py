"""The figures, answers and sources that the lessons name: they come out of the solutions."""

import importlib
import math
import re
import sys
from collections.abc import Iterator

import pytest
import torch

from ..answers.reader import solution
from ..support import ROOT

NAMES = [path.stem for path in sorted((ROOT / "solutions").glob("ch*.py"))]


@pytest.fixture(scope="module")
def chapters():
    """The solution modules, in order."""
    torch.set_num_threads(1)
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(ROOT / "solutions"))
    for name in NAMES:  # a substitute of that name may have been loaded by a test before
        patch.delitem(sys.modules, name, raising=False)
    yield [importlib.import_module(name) for name in NAMES]
    patch.undo()


def quoted(number: int, figures: str) -> None:
    """Check that each of the figures is in the lesson of that chapter."""
    for figure in figures.split():
        assert figure.lstrip("-").lstrip("0") in solution(NAMES[number - 1]), figure


def parameters(module: torch.nn.Module) -> int:
    return sum(one.numel() for one in module.parameters())


def seeded(seed: int, layer: type, *sizes) -> torch.nn.Module:
    torch.manual_seed(seed)
    return layer(*sizes)


def figures_1(ch1, *_) -> Iterator[tuple[torch.Tensor, str]]:
    scores = ch1.attention_scores(ch1.sentence[1], ch1.sentence)
    yield scores, "0.9544 1.4950 1.4754 0.8434 0.7070 1.0865"
    yield ch1.softmax_naive(scores), "0.1385 0.2379 0.2333 0.1240 0.1082 0.1581"
    yield ch1.context_vector(ch1.sentence[1], ch1.sentence), "0.4419 0.6515 0.5683"
    yield scores / scores.sum(), "0.1455 0.2278 0.2249 0.1285 0.1077 0.1656"


def figures_2(_, ch2, *__):
    torch.manual_seed(123)
    queries, keys, values = ch2.project_qkv(ch2.sentence, *(torch.rand(3, 2) for _ in range(3)))
    yield queries[1], "0.4306 1.4551"
    yield queries[1] @ keys.T, "1.2705 1.8524 1.8111 1.0795 0.5577 1.5440"
    yield ch2.attention_weights(queries, keys)[1], "0.1500 0.2264 0.2199 0.1311 0.0906 0.1820"
    yield ch2.scaled_dot_product_attention(queries, keys, values)[1], "0.3061 0.8210"
    out = seeded(789, ch2.SelfAttention_v2, 3, 2)(ch2.sentence)
    yield out[0], "-0.0739 0.0713"
    yield out[5], "-0.0754 0.0693"


def figures_3(_, ch2, ch3, *__):
    module = seeded(789, ch2.SelfAttention_v2, 3, 2)
    queries, keys = module.W_query(ch2.sentence), module.W_key(ch2.sentence)
    weights = ch3.causal_attention_weights(queries @ keys.T, 2)
    yield weights[1, :2], "0.5517 0.4483"
    yield weights[2, :3], "0.3800 0.3097 0.3103"
    yield weights[5], "0.1935 0.1663 0.1666 0.1542 0.1666 0.1529"
    again = ch3.mask_and_renormalize(ch2.attention_weights(queries, keys))
    assert torch.allclose(again, weights, atol=1e-6)
    batch = torch.stack((ch3.sentence, ch3.sentence))
    out = seeded(123, ch3.CausalAttention, 3, 2, 6, 0.0)(batch)
    yield out[0, 0], "-0.4519 0.2216"
    yield out[1, 5], "-0.5299 -0.1081"


def figures_4(_, __, ch3, ch4, *___):
    batch = torch.stack((ch3.sentence, ch3.sentence))
    out = seeded(123, ch4.MultiHeadAttentionWrapper, 3, 2, 6, 0.0, 2)(batch)
    yield out[0, 0], "-0.4519 0.2216 0.4772 0.1063"
    yield out[0, 5], "-0.5299 -0.1081 0.5077 0.3493"


def figures_5(_, __, ___, ____, ch5, *_____):
    reader = seeded(123, ch5.CrossAttention, 3, 3, 4, 2)
    two = torch.stack([ch5.sentence, torch.cat([ch5.sentence[4:], torch.ones(4, 3)])])
    hidden = ch5.padding_mask(torch.tensor([6, 2]), 6)
    yield reader(two, two)[1, 0], "-0.0878 0.3496 -0.0715 -0.2823"
    yield reader(two, two, hidden)[1, 0], "-0.0174 0.2715 -0.0653 -0.3222"
    alone = reader(two[1:, :2], two[1:, :2])
    assert torch.allclose(reader(two, two, hidden)[1, :2], alone[0], atol=1e-6)
    queries, keys = torch.ones(1, 1), torch.tensor([[1.0], [3.0], [2.0]])
    values = torch.tensor([[10.0], [20.0], [30.0]])
    yield ch5.online_softmax_attention(queries, keys, values, 1), "21.5470"
    parts = [(keys[:n, 0] - keys[:n, 0].max()).exp() for n in (1, 2, 3)]
    yield torch.stack([part.sum() for part in parts[1:]]), "1.1353 1.5032"
    mixed = [(part * values[: len(part), 0]).sum() for part in parts[1:]]
    yield torch.stack(mixed), "21.3534 32.3897"


@pytest.mark.parametrize("number", range(1, 6))
def test_figures_come_out_of_the_solutions(chapters, number: int):
    for tensor, figures in globals()[f"figures_{number}"](*chapters):
        wanted = torch.tensor([float(figure) for figure in figures.split()])
        assert torch.allclose(tensor.detach().flatten(), wanted, atol=6e-5), (tensor, figures)
        quoted(number, figures)


def test_what_chapter_5_says_of_order_and_distance(chapters):
    ch5 = chapters[4]
    blind, text = seeded(123, ch5.CrossAttention, 3, 3, 4, 2), ch5.sentence[None]
    turned = text.flip(1)
    assert torch.allclose(blind(turned, turned).flip(1), blind(text, text), atol=1e-6)
    placed = text + ch5.sinusoidal_positions(6, 4)[:, :3]
    other = turned + ch5.sinusoidal_positions(6, 4)[:, :3]
    assert not torch.allclose(blind(other, other).flip(1), blind(placed, placed), atol=1e-3)
    query, key = torch.randn(2, 16, generator=torch.Generator().manual_seed(123)).double()
    far, rotate = torch.arange(40), ch5.rotate

    def scores(start: int) -> torch.Tensor:
        return (rotate(query.expand(40, 16), far + start) * rotate(key[None], far[:1] + start)).sum(
            -1
        )

    assert torch.allclose(scores(0), scores(500), atol=1e-3)  # angles are in float32
    assert torch.allclose(rotate(query.expand(40, 16), far).norm(dim=-1), query.norm())


def test_the_layers_of_chapter_5_are_those_of_chapter_4(chapters):
    _, _, ch3, ch4, ch5, _ = chapters
    text = ch5.sentence[None]
    grouped = seeded(123, ch5.GroupedQueryAttention, 3, 4, 6, 0.0, 2, 2)
    plain = ch4.MultiHeadAttention(3, 4, 6, 0.0, num_heads=2)
    plain.load_state_dict(grouped.state_dict())
    assert torch.equal(grouped(text), plain(text))
    layer, cache, rows = seeded(123, ch5.CachedAttention, 3, 4, 6, 2), None, []
    for token in ch5.sentence:
        row, cache = layer(token[None, None], cache)
        rows.append(row)
    assert torch.allclose(torch.cat(rows, dim=1), layer(text)[0], atol=1e-6)
    for window in (5, 9):
        assert torch.equal(ch5.sliding_window_mask(5, window), ch3.causal_mask(5))
    latent = seeded(123, ch5.LatentAttention, 3, 4, 2, 6, 2)
    state = latent.state_dict()
    made = {name: state[name] for name in plain.state_dict() if name in state}
    made |= {
        f"W_{part}.weight": state[f"W_{part}_up.weight"] @ state["W_down.weight"]
        for part in ("key", "value")
    }
    plain.load_state_dict(made)
    assert torch.allclose(latent(text), plain(text), atol=1e-6)
    quoted(5, f"{sum(range(1, 101))} 4096 1024 128 512 0.1353")
    for heads, kept, numbers in ((8, 128, 16448), (4, 64, 12352), (2, 32, 10304), (1, 16, 9280)):
        layer = ch5.GroupedQueryAttention(64, 64, 8, 0.0, num_heads=8, num_kv_heads=heads)
        assert len(layer.W_key.weight) + len(layer.W_value.weight) == kept
        assert parameters(layer) == numbers
        quoted(5, f"{kept} {numbers}")


def test_a_kv_cache_writes_what_generate_writes_and_computes_each_token_once(chapters, capsys):
    ch6 = chapters[5]
    for seed, (prompt, new) in enumerate([(1, 0), (1, 1), (1, 11), (5, 3), (5, 7), (11, 1)]):
        torch.manual_seed(seed)
        model = ch6.SmallGPT(20, context_length=12, d=16, num_heads=2, num_layers=2, dropout=0.5)
        ids = torch.randint(20, (3, prompt))
        cached = ch6.generate_with_cache(model, ids, new, num_heads=2)
        assert model.training, "the model that is passed in stays unchanged"
        assert torch.equal(cached, ch6.generate(model.eval(), ids, new, temperature=0))
    cells = solution("ch6_small_gpt").split("# %%")
    code = next(one for one in cells if '# print("without a cache:"' in one)
    exec(re.sub(r"^# ?", "", code.partition("\n")[2], flags=re.M), vars(ch6).copy())
    assert capsys.readouterr().out.splitlines() == [
        f"without a cache: {sum(range(6, 64))} tokens computed",
        f"with a cache:    {6 + 57} tokens computed; same text: True",
    ]
    quoted(6, f"{sum(range(6, 64))} {6 + 57}")


@pytest.mark.proof
def test_a_small_gpt_learns_to_reverse(chapters):
    ch6 = chapters[5]
    torch.manual_seed(123)
    chance = torch.Generator().manual_seed(123)

    def reversals(count):
        letters = torch.randint(0, 5, (count, 5), generator=chance)
        bar = torch.full((count, 1), 5)
        return torch.cat((letters, bar, letters.flip(1)), dim=1)

    model = ch6.SmallGPT(vocab_size=6, context_length=10, d=32, num_heads=2, num_layers=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(300):
        text = reversals(32)
        loss = ch6.train_step(model, optimizer, text[:, :-1], text[:, 1:])
    assert abs(loss - 0.6438) < 0.05
    asked = reversals(200)
    written = ch6.generate(model, asked[:, :6], 5, temperature=0)
    assert (written == asked).all(dim=1).float().mean() > 0.95
    quoted(6, "1.6094 0.6438 4.1744")
    torch.manual_seed(123)
    model, ids = ch6.SmallGPT(65, 64, 64, 4, 2), torch.randint(65, (8, 65))
    loss = float(ch6.cross_entropy(model(ids[:, :-1]), ids[:, 1:]))
    assert abs(loss - math.log(65)) < 0.3, "a new model guesses"


def answers_1(ch):
    yield round(float(ch.softmax_naive(0 * torch.randn(6))[0]), 4)
    yield round(float(ch.softmax_naive(torch.tensor([1.0, 1.0 + math.log(3)])).max()), 4)
    short, long = (ch.simplified_self_attention(torch.randn(n, 3))[1] for n in (100, 200))
    yield long.numel() // short.numel()


def answers_2(ch):
    shapes = (5, 8), (7, 8), (7, 3)
    yield tuple(ch.scaled_dot_product_attention(*map(torch.zeros, shapes)).shape)
    torch.manual_seed(123)
    queries, keys = torch.randn(2, 20_000, 64)
    yield round(float((queries * keys).sum(dim=1).std()))
    yield parameters(ch.SelfAttention_v2(3, 2))


def answers_3(ch):
    yield int(ch.causal_mask(8).sum())
    yield float(ch.causal_attention_weights(torch.ones(6, 6), d_k=4)[3, 0])
    kept = ch.inverted_dropout(torch.full((100,), 0.3), 0.25)
    yield round(float(kept.max()), 4)


def answers_4(ch):
    yield ch.split_heads(torch.zeros(1, 2, 768), 12).shape[-1]
    queries = ch.split_heads(torch.zeros(2, 5, 12), 3)
    yield tuple((queries @ queries.transpose(-2, -1)).shape)
    few, many = (ch.MultiHeadAttention(8, 8, 6, 0.0, heads) for heads in (2, 4))
    yield parameters(many) - parameters(few)


def answers_5(ch):
    yield int(ch.padding_mask(torch.tensor([2, 5]), 5).sum())
    layer, text = ch.CachedAttention(3, 8, 10, num_heads=2), torch.ones(1, 8, 3)
    _, cache = layer(text[:, :5])
    yield tuple(layer(text[:, 5:], cache)[1][0].shape)
    torch.manual_seed(123)
    pair = torch.randn(2, 16, dtype=torch.float64)
    near, far = (torch.dot(*ch.rotate(pair, torch.tensor(at))) for at in ([3, 7], [103, 107]))
    yield abs(round(float(far - near), 4))


def answers_6(ch):
    loss = ch.cross_entropy(torch.zeros(1, 100), torch.tensor([7]))
    yield round(float(loss.exp()), 2)
    yield parameters(ch.FeedForward(16))
    chance = torch.Generator().manual_seed(123)
    yield len(ch.batches(torch.arange(10), 4, 1000, chance)[0][:, 0].unique())


def test_the_answers_to_the_three_questions_come_out_of_the_code(chapters):
    for number, name in enumerate(NAMES, 1):
        text = solution(name).replace("\n# ", "\n")
        questions, answers = (
            text.split("## Three questions")[1].split("# %%")[0].split("**Answers.**")
        )
        assert re.findall(r"^(\d)\. ", questions, re.M) == ["1", "2", "3"]
        told = re.findall(r"\((\d)\) \*\*(.+?)\*\*", answers)
        found = globals()[f"answers_{number}"](chapters[number - 1])
        computed = [str(one).removesuffix(".0") for one in found]
        assert told == [(str(at), one) for at, one in enumerate(computed, 1)], name


CITED = re.compile(
    r"([A-Z][A-Za-z-]+\d?)(?: et al\.|(?:, \w+)? (?:&|and) [A-Z]\w+)?,? \(?((?:19|20)\d\d)\b"
)


def test_every_source_of_a_lesson_is_on_the_page_of_sources():
    page = (ROOT / "docs" / "reference" / "sources.md").read_text(encoding="utf-8")
    listed = {one for line in page.splitlines() if "*" in line for one in CITED.findall(line)}
    for name in NAMES:
        named = {*CITED.findall(re.sub(r"\n# ?", " ", solution(name)))}
        named = {one for one in named if one[0] != "The"}  # "The 2014 paper"
        assert named and named <= listed, (name, named - listed)
