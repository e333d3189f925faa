"""Loops over heads, tokens and blocks; einsum; the mask as an addition; absorbed matrices."""

import torch
from torch import einsum, nn


def padding_mask(lengths, num_tokens):
    rows = []
    for length in lengths.tolist():
        rows.append([[j >= length for j in range(num_tokens)]])
    return torch.tensor(rows, dtype=torch.bool)


class CrossAttention(nn.Module):
    def __init__(self, d_in, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, mask=None):
        v = self.W_value(context)
        k = self.W_key(context)
        q = self.W_query(x)
        bias = torch.zeros(len(x), x.shape[1], context.shape[1], dtype=x.dtype)
        if mask is not None:
            bias = bias.masked_fill(mask, -1e9)
        width = q.shape[-1] // self.num_heads
        outputs = []
        for head in range(self.num_heads):
            cut = slice(head * width, (head + 1) * width)
            scores = einsum("bnd,bmd->bnm", q[..., cut], k[..., cut]) / width**0.5 + bias
            outputs.append(torch.softmax(scores, -1) @ v[..., cut])
        return self.out_proj(torch.cat(outputs, -1))


def sinusoidal_positions(num_tokens, d):
    angles = torch.tensor([[t / 10000 ** (2 * (i // 2) / d) for i in range(d)] for t in range(num_tokens)])
    even = torch.arange(d) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())


def rotate(x, positions, base=10000.0):
    half = x.size(-1) // 2
    pairs = torch.complex(x[..., :half].float(), x[..., half:].float())
    angles = positions.reshape(-1, 1) / base ** (torch.arange(half) / half)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)


class GroupedQueryAttention(nn.Module):
    def __init__(
        self, d_in, d_out, context_length, dropout, num_heads, num_kv_heads, qkv_bias=False
    ):
        super().__init__()
        if d_out % num_heads or num_heads % num_kv_heads:
            raise ValueError("these heads cannot be shared out evenly")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        n, d = x.shape[1], self.head_dim
        k, v, q = self.W_key(x), self.W_value(x), self.W_query(x)
        outputs = []
        for head in range(self.num_heads):
            own = slice(head * d, (head + 1) * d)
            shared = head * self.num_kv_heads // self.num_heads
            cut = slice(shared * d, (shared + 1) * d)
            scores = q[..., own] @ k[..., cut].transpose(1, 2)
            scores = scores.masked_fill(self.mask[:n, :n] == 0, float("-inf"))
            outputs.append(self.dropout(torch.softmax(scores / d**0.5, dim=-1)) @ v[..., cut])
        return self.out_proj(torch.cat(outputs, dim=-1))


class CachedAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1) == 1)

    def split(self, t):
        b, n, d = t.shape
        return einsum("bnhd->bhnd", t.reshape(b, n, self.num_heads, d // self.num_heads))

    def forward(self, x, cache=None):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        if cache:
            k = torch.cat((cache[0], k), 2)
            v = torch.cat((cache[1], v), 2)
        scores = einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        here, there = q.shape[2], k.shape[2]
        scores = scores + torch.zeros(here, there, dtype=x.dtype, device=x.device).masked_fill(
            self.mask[there - here : there, :there], -torch.inf
        )
        out = einsum("bhij,bhjd->bihd", scores.softmax(-1), v).flatten(2)
        return self.out_proj(out), [k, v]


def sliding_window_mask(num_tokens, window):
    mask = torch.ones(num_tokens, num_tokens, dtype=torch.bool)
    for i in range(num_tokens):
        mask[i, max(0, i - window + 1) : i + 1] = False
    return mask


def append_to_window(keys, values, new_keys, new_values, window):
    def kept(old, new):
        both = torch.cat((old, new), dim=-2)
        return both if both.shape[-2] <= window else both[..., both.shape[-2] - window :, :].clone()

    return kept(keys, new_keys), kept(values, new_values)


def online_softmax_attention(queries, keys, values, block_size):
    """One query after another, its keys in blocks."""
    rows = []
    for query in queries:
        top, total, mixed = None, 0.0, 0.0
        for start in range(0, keys.shape[0], block_size):
            k, v = keys[start : start + block_size], values[start : start + block_size]
            scores = (k @ query) / query.numel() ** 0.5
            new_top = scores.max() if top is None else torch.maximum(top, scores.max())
            if top is not None:
                total, mixed = total * torch.exp(top - new_top), mixed * torch.exp(top - new_top)
            weights = torch.exp(scores - new_top)
            total, mixed, top = total + weights.sum(), mixed + weights @ v, new_top
        rows.append(mixed / total)
    return torch.stack(rows)


class LatentAttention(nn.Module):
    """Keys are never made: the queries are carried into the latent's space."""

    def __init__(self, d_in, d_out, d_latent, context_length, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_down = nn.Linear(d_in, d_latent, bias=False)
        self.W_key_up = nn.Linear(d_latent, d_out, bias=False)
        self.W_value_up = nn.Linear(d_latent, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        n = x.shape[1]
        latent = self.W_down(x)
        q = self.W_query(x).unflatten(-1, (self.num_heads, self.head_dim))
        up_k = self.W_key_up.weight.unflatten(0, (self.num_heads, self.head_dim))
        up_v = self.W_value_up.weight.unflatten(0, (self.num_heads, self.head_dim))
        carried = einsum("bnhd,hdc->bhnc", q, up_k)
        scores = einsum("bhnc,bmc->bhnm", carried, latent) / self.head_dim**0.5
        weights = scores.masked_fill(self.mask[:n, :n], -torch.inf).softmax(-1)
        mixed = einsum("bhnm,bmc->bhnc", weights, latent)
        return self.out_proj(einsum("bhnc,hdc->bnhd", mixed, up_v).flatten(2))
