"""Library calls wherever they are allowed; other parameter names, in the same order."""

import torch
import torch.nn.functional as F
from torch import Tensor


def attention_scores(q: Tensor, tokens: Tensor) -> Tensor:
    return F.linear(tokens, q)


def softmax_naive(scores):
    e = torch.e**scores
    return e / torch.sum(e, dim=0, keepdim=True)


def softmax(scores, dim: int = -1):
    # Transposed to the last place and back again.
    moved = scores.movedim(dim, -1)
    e = torch.exp(moved - torch.max(moved, dim=-1, keepdim=True)[0])
    return torch.div(e, e.sum(-1, keepdim=True)).movedim(-1, dim)


def context_vector(q, tokens):
    return F.scaled_dot_product_attention(q[None], tokens, tokens, scale=1.0)[0]


def simplified_self_attention(tokens):
    weights = torch.softmax(torch.mm(tokens, tokens.t()), -1)
    return [weights.mm(tokens), weights]
