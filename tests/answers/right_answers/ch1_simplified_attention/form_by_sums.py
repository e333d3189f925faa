"""Every product as a sum over numbers side by side; softmax written by hand."""

import torch


def attention_scores(query, inputs):
    products = inputs * query
    return products.sum(dim=-1)


def softmax_naive(x):
    exponentials = torch.exp(x)
    totals = torch.sum(exponentials, dim=0)
    return exponentials / totals


def softmax(x, dim=-1):
    highest = torch.max(x, dim=dim, keepdim=True).values
    exponentials = torch.exp(x - highest)
    totals = torch.sum(exponentials, dim=dim, keepdim=True)
    return exponentials / totals


def context_vector(query, inputs):
    attn_scores = (inputs * query).sum(dim=-1)
    exponentials = torch.exp(attn_scores - attn_scores.max())
    attn_weights = exponentials / exponentials.sum()
    weighted = attn_weights.unsqueeze(-1) * inputs
    return weighted.sum(dim=0)


def simplified_self_attention(inputs):
    attn_scores = (inputs.unsqueeze(1) * inputs.unsqueeze(0)).sum(dim=-1)
    exponentials = torch.exp(attn_scores - attn_scores.amax(dim=-1, keepdim=True))
    attn_weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    weighted = attn_weights.unsqueeze(-1) * inputs.unsqueeze(0)
    return weighted.sum(dim=1), attn_weights
