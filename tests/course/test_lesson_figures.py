"""The figures that the lessons quote come out of the solutions, to four decimals."""

import importlib
import sys
from pathlib import Path

import pytest
import torch

SOLUTIONS = Path(__file__).parents[2] / "solutions"


@pytest.fixture(scope="module")
def chapters():
    """The four solution modules."""
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(SOLUTIONS))
    names = [path.stem for path in sorted(SOLUTIONS.glob("ch*.py"))]
    for name in names:  # a stand-in of that name may have been loaded by a test before
        patch.delitem(sys.modules, name, raising=False)
    yield [importlib.import_module(name) for name in names]
    patch.undo()


def close(tensor, figures: str) -> bool:
    """Whether a tensor shows these figures when it is printed to four decimals."""
    wanted = torch.tensor([float(figure) for figure in figures.split()])
    return torch.allclose(tensor.detach().flatten(), wanted, atol=6e-5)


def quoted(number: int, figures: str) -> None:
    """Every one of the figures stands in the lesson of that chapter."""
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
    _, ch2, ch3, _ = chapters
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
    _, _, ch3, ch4 = chapters
    batch = torch.stack((ch3.sentence, ch3.sentence))
    torch.manual_seed(123)
    out = ch3.CausalAttention(3, 2, 6, 0.0)(batch)
    both(3, out[0, 0], "-0.4519 0.2216")
    both(3, out[1, 5], "-0.5299 -0.1081")
    torch.manual_seed(123)
    out = ch4.MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=2)(batch)
    both(4, out[0, 0], "-0.4519 0.2216 0.4772 0.1063")
    both(4, out[0, 5], "-0.5299 -0.1081 0.5077 0.3493")
