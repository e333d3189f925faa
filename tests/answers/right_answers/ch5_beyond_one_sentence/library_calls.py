"""torch's own attention wherever it is not forbidden; shorter than the solution."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def padding_mask(lengths, num_tokens):
    return ~(torch.arange(num_tokens).unsqueeze(0) < lengths.unsqueeze(1)).unsqueeze(1)


class CrossAttention(nn.Module):
    def __init__(self, d_in, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.h = num_heads

    def heads(self, t):
        return t.unflatten(-1, (self.h, -1)).transpose(1, 2)

    def forward(self, x, context, mask=None):
        q, k, v = map(self.heads, (self.W_query(x), self.W_key(context), self.W_value(context)))
        may = None
        if mask is not None:
            may = ~torch.broadcast_to(mask, (x.size(0), x.size(1), context.size(1)))[:, None]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=may)
        return self.out_proj(out.transpose(1, 2).flatten(2))


def sinusoidal_positions(num_tokens, d):
    table = torch.zeros(num_tokens, d)
    place = torch.arange(num_tokens, dtype=torch.float).unsqueeze(1)
    rate = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    table[:, 0::2] = torch.sin(place * rate)
    table[:, 1::2] = torch.cos(place * rate)
    return table


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    inverse = 1.0 / base ** (torch.arange(0, d, 2).float() / d)
    angle = torch.outer(positions.float(), inverse)
    angle = torch.cat((angle, angle), dim=-1)
    left, right = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat((-right, left), dim=-1) * angle.sin()


class GroupedQueryAttention(nn.Module):
    def __init__(
        self, d_in, d_out, context_length, dropout, num_heads, num_kv_heads, qkv_bias=False
    ):
        super().__init__()
        assert d_out % num_heads == 0, "heads must share d_out evenly"
        assert num_heads % num_kv_heads == 0, "groups must be of one size"
        self.hd = d_out // num_heads
        self.kv = num_kv_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, self.hd * num_kv_heads, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, self.hd * num_kv_heads, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        q = self.W_query(x).view(b, n, self.kv, -1, self.hd).permute(0, 2, 3, 1, 4)  # b k g n d
        k = self.W_key(x).view(b, n, self.kv, 1, self.hd).permute(0, 2, 3, 1, 4)
        v = self.W_value(x).view(b, n, self.kv, 1, self.hd).permute(0, 2, 3, 1, 4)
        w = (q / self.hd**0.5) @ k.mT
        w = w.masked_fill(self.mask[:n, :n], float("-inf")).softmax(-1)
        out = self.dropout(w) @ v
        return self.out_proj(out.permute(0, 3, 1, 2, 4).reshape(b, n, -1))


class CachedAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.num_heads = num_heads
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x, cache=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        t = 0
        if cache is not None:
            old_k, old_v = cache
            t = old_k.size(-2)
            k, v = torch.cat([old_k, k], -2), torch.cat([old_v, v], -2)
        n = x.size(1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=~self.mask[t : t + n, : t + n])
        return self.out_proj(out.transpose(1, 2).flatten(-2)), (k, v)


def sliding_window_mask(num_tokens, window):
    ones = torch.ones(num_tokens, num_tokens, dtype=torch.bool)
    return ~(ones.tril() & ones.triu(1 - window))


def append_to_window(keys, values, new_keys, new_values, window):
    both = []
    for old, new in ((keys, new_keys), (values, new_values)):
        joined = torch.cat([old, new], dim=-2)
        extra = max(0, joined.size(-2) - window)
        both.append(joined.narrow(-2, extra, joined.size(-2) - extra))
    return tuple(both)


def online_softmax_attention(queries, keys, values, block_size):
    """Block by block with logarithms of sums."""
    result, log_sum = None, None
    for k, v in zip(keys.split(block_size), values.split(block_size), strict=True):
        scores = queries @ k.mT * queries.shape[-1] ** -0.5
        block_sum = scores.logsumexp(-1, keepdim=True)
        block = scores.softmax(-1) @ v
        if result is None:
            result, log_sum = block, block_sum
            continue
        both = torch.logaddexp(log_sum, block_sum)
        result = result * (log_sum - both).exp() + block * (block_sum - both).exp()
        log_sum = both
    return result


class LatentAttention(nn.Module):
    def __init__(self, d_in, d_out, d_latent, context_length, num_heads):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_down = nn.Linear(d_in, d_latent, bias=False)
        self.W_key_up = nn.Linear(d_latent, d_out, bias=False)
        self.W_value_up = nn.Linear(d_latent, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        self.num_heads = num_heads
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        c = self.W_down(x)
        q, k, v = (
            t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for t in (self.W_query(x), self.W_key_up(c), self.W_value_up(c))
        )
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(out.transpose(1, 2).flatten(2))
