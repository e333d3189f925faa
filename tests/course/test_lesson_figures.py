"""The figures that the lessons quote come out of the solutions, to four decimals."""

import importlib
import sys
from pathlib import Path

import pytest
import torch

from tensorgrade.author.building.script import read_script

SOLUTIONS = Path(__file__).parents[2] / "solutions"


@pytest.fixture(scope="module")
def chapters():
    """The solution modules, in order."""
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(SOLUTIONS))
    names = [path.stem for path in sorted(SOLUTIONS.glob("ch*.py"))]
    for name in names:  # a stand-in of that name may have been loaded by a test before
        patch.delitem(sys.modules, name, raising=False)
    yield [importlib.import_module(name) for name in names]
    patch.undo()


def close(tensor, figures: str) -> bool:
    """Return True if a tensor shows these figures when printed with four decimals."""
    wanted = torch.tensor([float(figure) for figure in figures.split()])
    return torch.allclose(tensor.detach().flatten(), wanted, atol=6e-5)


def quoted(number: int, figures: str) -> None:
    """Each of the figures is in the lesson of that chapter."""
    text = next(SOLUTIONS.glob(f"ch{number}_*.py")).read_text(encoding="utf-8")
    for figure in figures.split():
        assert figure.lstrip("-").lstrip("0") in text, figure


def both(number: int, tensor, figures: str) -> None:
    assert close(tensor, figures), tensor
    quoted(number, figures)


def test_scores_weights_and_context_of_token_2(chapters):
    ch1 = chapters[0]
    scores = ch1.attention_scores(ch1.sentence[1], ch1.sentence)
    both(1, scores, "0.9544 1.4950 1.4754 0.8434 0.7070 1.0865")
    both(1, ch1.softmax_naive(scores), "0.1385 0.2379 0.2333 0.1240 0.1082 0.1581")
    both(1, ch1.context_vector(ch1.sentence[1], ch1.sentence), "0.4419 0.6515 0.5683")
    both(1, scores / scores.sum(), "0.1455 0.2278 0.2249 0.1285 0.1077 0.1656")


def test_projections_with_seed_123(chapters):
    ch2 = chapters[1]
    torch.manual_seed(123)
    queries, keys, values = ch2.project_qkv(ch2.sentence, *(torch.rand(3, 2) for _ in range(3)))
    both(2, queries[1], "0.4306 1.4551")
    both(2, queries[1] @ keys.T, "1.2705 1.8524 1.8111 1.0795 0.5577 1.5440")
    both(2, ch2.attention_weights(queries, keys)[1], "0.1500 0.2264 0.2199 0.1311 0.0906 0.1820")
    both(2, ch2.scaled_dot_product_attention(queries, keys, values)[1], "0.3061 0.8210")


def test_second_version_with_seed_789(chapters):
    ch2 = chapters[1]
    torch.manual_seed(789)
    out = ch2.SelfAttention_v2(3, 2)(ch2.sentence)
    both(2, out[0], "-0.0739 0.0713")
    both(2, out[5], "-0.0754 0.0693")


def test_causal_weights_of_that_module(chapters):
    _, ch2, ch3, *_ = chapters
    torch.manual_seed(789)
    module = ch2.SelfAttention_v2(3, 2)
    queries, keys = module.W_query(ch2.sentence), module.W_key(ch2.sentence)
    weights = ch3.causal_attention_weights(queries @ keys.T, 2)
    both(3, weights[1, :2], "0.5517 0.4483")
    both(3, weights[2, :3], "0.3800 0.3097 0.3103")
    both(3, weights[5], "0.1935 0.1663 0.1666 0.1542 0.1666 0.1529")
    again = ch3.mask_and_renormalize(ch2.attention_weights(queries, keys))
    assert torch.allclose(again, weights, atol=1e-6)


def test_causal_attention_and_two_heads_with_seed_123(chapters):
    _, _, ch3, ch4, *_ = chapters
    batch = torch.stack((ch3.sentence, ch3.sentence))
    torch.manual_seed(123)
    out = ch3.CausalAttention(3, 2, 6, 0.0)(batch)
    both(3, out[0, 0], "-0.4519 0.2216")
    both(3, out[1, 5], "-0.5299 -0.1081")
    torch.manual_seed(123)
    out = ch4.MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=2)(batch)
    both(4, out[0, 0], "-0.4519 0.2216 0.4772 0.1063")
    both(4, out[0, 5], "-0.5299 -0.1081 0.5077 0.3493")


def test_padding_changes_nothing_where_it_is_hidden(chapters):
    ch5 = chapters[4]
    torch.manual_seed(123)
    reader = ch5.CrossAttention(d_in=3, d_context=3, d_out=4, num_heads=2)
    two = torch.stack([ch5.sentence, torch.cat([ch5.sentence[4:], torch.ones(4, 3)])])
    hidden = ch5.padding_mask(torch.tensor([6, 2]), 6)
    both(5, reader(two, two)[1, 0], "-0.0878 0.3496 -0.0715 -0.2823")
    both(5, reader(two, two, hidden)[1, 0], "-0.0174 0.2715 -0.0653 -0.3222")
    alone = reader(two[1:, :2], two[1:, :2])
    assert torch.allclose(reader(two, two, hidden)[1, :2], alone[0], atol=1e-6)


def test_attention_is_blind_to_order_without_positions(chapters):
    ch5 = chapters[4]
    torch.manual_seed(123)
    blind, text = ch5.CrossAttention(3, 3, 4, 2), ch5.sentence[None]
    turned = text.flip(1)
    assert torch.allclose(blind(turned, turned).flip(1), blind(text, text), atol=1e-6)
    placed = text + ch5.sinusoidal_positions(6, 4)[:, :3]
    other = turned + ch5.sinusoidal_positions(6, 4)[:, :3]
    assert not torch.allclose(blind(other, other).flip(1), blind(placed, placed), atol=1e-3)


def test_rotated_scores_depend_on_distance_and_norms_stay(chapters):
    ch5 = chapters[4]
    query, key = torch.randn(2, 16, generator=torch.Generator().manual_seed(123)).double()
    far = torch.arange(40)
    near, later = (
        (
            ch5.rotate(query.expand(40, 16), far + start) * ch5.rotate(key[None], far[:1] + start)
        ).sum(-1)
        for start in (0, 500)
    )
    assert torch.allclose(near, later)
    assert torch.allclose(ch5.rotate(query.expand(40, 16), far).norm(dim=-1), query.norm())


def test_grouped_queries_keep_and_learn_fewer_numbers(chapters):
    ch5 = chapters[4]
    for heads, (kept, parameters) in {
        8: (128, 16448),
        4: (64, 12352),
        2: (32, 10304),
        1: (16, 9280),
    }.items():
        layer = ch5.GroupedQueryAttention(64, 64, 8, 0.0, num_heads=8, num_kv_heads=heads)
        assert len(layer.W_key.weight) + len(layer.W_value.weight) == kept
        assert sum(p.numel() for p in layer.parameters()) == parameters
        quoted(5, f"{kept} {parameters}")


def test_as_many_key_heads_as_query_heads_is_chapter_4(chapters):
    ch4, ch5 = chapters[3:5]
    torch.manual_seed(123)
    grouped = ch5.GroupedQueryAttention(3, 4, 6, 0.0, num_heads=2, num_kv_heads=2)
    plain = ch4.MultiHeadAttention(3, 4, 6, 0.0, num_heads=2)
    plain.load_state_dict(grouped.state_dict())
    assert torch.equal(grouped(ch5.sentence[None]), plain(ch5.sentence[None]))


def test_token_by_token_gives_what_all_at_once_gives(chapters):
    ch5 = chapters[4]
    torch.manual_seed(123)
    layer, cache, rows = ch5.CachedAttention(3, 4, 6, num_heads=2), None, []
    for token in ch5.sentence:
        row, cache = layer(token[None, None], cache)
        rows.append(row)
    assert torch.allclose(torch.cat(rows, dim=1), layer(ch5.sentence[None])[0], atol=1e-6)
    quoted(5, str(sum(range(1, 101))))


def test_a_full_window_is_chapter_3s_mask(chapters):
    ch3, ch5 = chapters[2], chapters[4]
    for window in (5, 9):
        assert torch.equal(ch5.sliding_window_mask(5, window), ch3.causal_mask(5))


def test_softmax_in_blocks_step_by_step(chapters):
    ch5 = chapters[4]
    queries, keys = torch.ones(1, 1), torch.tensor([[1.0], [3.0], [2.0]])
    values = torch.tensor([[10.0], [20.0], [30.0]])
    both(5, ch5.online_softmax_attention(queries, keys, values, 1), "21.5470")
    scores = keys[:, 0]
    total = torch.stack([(scores[:n] - scores[:n].max()).exp().sum() for n in (1, 2, 3)])
    mixed = [((scores[:n] - scores[:n].max()).exp() * values[:n, 0]).sum() for n in (1, 2, 3)]
    assert close(total, "1 1.1353 1.5032")
    assert close(torch.stack(mixed), "10 21.3534 32.3897")
    quoted(5, "0.1353 1.1353 1.5032 21.3534 32.3897")


def test_latent_attention_is_attention_with_a_product_of_matrices(chapters):
    ch4, ch5 = chapters[3:5]
    torch.manual_seed(123)
    latent = ch5.LatentAttention(3, 4, 2, 6, num_heads=2)
    plain = ch4.MultiHeadAttention(3, 4, 6, 0.0, num_heads=2)
    state = latent.state_dict()
    plain.load_state_dict(
        {
            name: state[name]
            for name in ("W_query.weight", "out_proj.weight", "out_proj.bias", "mask")
        }
        | {
            "W_key.weight": state["W_key_up.weight"] @ state["W_down.weight"],
            "W_value.weight": state["W_value_up.weight"] @ state["W_down.weight"],
        }
    )
    text = ch5.sentence[None]
    assert torch.allclose(latent(text), plain(text), atol=1e-6)
    quoted(5, "4096 1024 128 512")


@pytest.mark.parametrize("prompt, new", [(1, 0), (1, 1), (1, 11), (5, 3), (5, 7), (11, 1)])
def test_a_kv_cache_writes_what_generate_writes_up_to_the_whole_context(chapters, prompt, new):
    ch6 = chapters[5]
    for seed in range(5):
        torch.manual_seed(seed)
        model = ch6.SmallGPT(20, context_length=12, d=16, num_heads=2, num_layers=2, dropout=0.5)
        ids = torch.randint(20, (3, prompt))
        cached = ch6.generate_with_cache(model, ids, new, num_heads=2)
        assert model.training, "the model that is passed in stays unchanged"
        assert torch.equal(cached, ch6.generate(model.eval(), ids, new, temperature=0))


def test_a_kv_cache_computes_each_token_once(chapters, capsys):
    ch6 = chapters[5]
    script = read_script(SOLUTIONS / "ch6_small_gpt.py")
    demonstrations = [c.source for c in script.notebook.cells if "active" in c.metadata]
    code = next(source for source in demonstrations if "generate_with_cache" in source)
    exec(code, vars(ch6).copy())
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        f"without a cache: {sum(range(6, 64))} tokens computed",
        f"with a cache:    {6 + 57} tokens computed; same text: True",
    ]
    quoted(6, f"{sum(range(6, 64))} {6 + 57}")


@pytest.mark.slow
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
