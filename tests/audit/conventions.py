"""Correct attention in the conventions that public code uses. Each definition is audited."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class SequenceFirstAttention(nn.Module):
    """Tokens first, as torch's default."""

    def __init__(self, d_model, nhead):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, nhead)

    def forward(self, src):
        return self.attn(src, src, src)[0]


class CausalSelfAttention(nn.Module):
    """One fused projection and a configuration, as in small GPTs."""

    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.attn_dropout = nn.Dropout(config.attn_pdrop)
        self.resid_dropout = nn.Dropout(config.resid_pdrop)
        size = config.block_size
        self.register_buffer("bias", torch.tril(torch.ones(size, size)).view(1, 1, size, size))
        self.n_head = config.n_head
        self.n_embd = config.n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class Head(nn.Module):
    """One head of a tutorial."""

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.dropout(F.softmax(wei, dim=-1)) @ self.value(x)


class HeadsSideBySide(nn.Module):
    """Several heads of that tutorial, each with layers of its own, and attention in `forward`."""

    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList(
            Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)
        )
        self.proj = nn.Linear(head_size * num_heads, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.proj(torch.cat([h(x) for h in self.heads], dim=-1)))


class BertSelfAttention(nn.Module):
    """An encoder's attention with an additive mask that broadcasts over queries."""

    def __init__(self, hidden_size, num_attention_heads, attention_probs_dropout_prob=0.1):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.head_size = hidden_size // num_attention_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.dropout = nn.Dropout(attention_probs_dropout_prob)

    def transpose_for_scores(self, x):
        return x.view(*x.shape[:-1], self.num_attention_heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None, output_attentions=False):
        q = self.transpose_for_scores(self.query(hidden_states))
        k = self.transpose_for_scores(self.key(hidden_states))
        v = self.transpose_for_scores(self.value(hidden_states))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_size)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous().flatten(2)
        return (context, probs) if output_attentions else (context,)


class MultiHeadedAttention(nn.Module):
    """The annotated form: queries, keys, values, and a mask in which 0 hides."""

    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        n = query.size(0)
        query = self.w_q(query).view(n, -1, self.h, self.d_k).transpose(1, 2)
        key = self.w_k(key).view(n, -1, self.h, self.d_k).transpose(1, 2)
        value = self.w_v(value).view(n, -1, self.h, self.d_k).transpose(1, 2)
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        p = self.dropout(scores.softmax(dim=-1))
        x = (p @ value).transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.w_o(x)


class FusedByHeadAttention(nn.Module):
    """A fused projection in which each head's queries, keys and values are neighbours."""

    def __init__(self, hidden_size, num_attention_heads):
        super().__init__()
        self.num_heads = num_attention_heads
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states):
        b, n, d = hidden_states.shape
        fused = self.query_key_value(hidden_states).view(b, n, self.num_heads, -1)
        q, k, v = (t.transpose(1, 2) for t in fused.chunk(3, dim=-1))
        out = F.scaled_dot_product_attention(q, k, v)
        return self.dense(out.transpose(1, 2).reshape(b, n, d))


class CrossAttention(nn.Module):
    """Queries from one sequence, keys and values from another of another width."""

    def __init__(self, query_dim, context_dim, heads=8, dim_head=64, dropout=0.0):
        super().__init__()
        inner = heads * dim_head
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_q = nn.Linear(query_dim, inner, bias=False)
        self.to_k = nn.Linear(context_dim, inner, bias=False)
        self.to_v = nn.Linear(context_dim, inner, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner, query_dim), nn.Dropout(dropout))

    def forward(self, x, context=None):
        context = x if context is None else context
        q, k, v = (
            t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for t in (self.to_q(x), self.to_k(context), self.to_v(context))
        )
        attn = (q @ k.mT * self.scale).softmax(dim=-1)
        return self.to_out((attn @ v).transpose(1, 2).flatten(2))


@dataclass
class ModelArgs:
    """A configuration as a dataclass."""

    dim: int = 64
    n_heads: int = 8
    n_kv_heads: int | None = None
    max_seq_len: int = 128


class LlamaAttention(nn.Module):
    """Grouped heads with a configuration."""

    def __init__(self, args: ModelArgs):
        super().__init__()
        self.n_heads = args.n_heads
        self.n_kv_heads = args.n_kv_heads or args.n_heads
        self.head_dim = args.dim // args.n_heads
        self.wq = nn.Linear(args.dim, self.n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(self.n_heads * self.head_dim, args.dim, bias=False)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.n_heads, self.head_dim).transpose(1, 2)
        k = self.wk(x).view(b, n, self.n_kv_heads, self.head_dim).transpose(1, 2)
        v = self.wv(x).view(b, n, self.n_kv_heads, self.head_dim).transpose(1, 2)
        times = self.n_heads // self.n_kv_heads
        k, v = k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + mask
        scores = F.softmax(scores.float(), dim=-1).type_as(q)
        return self.wo((scores @ v).transpose(1, 2).contiguous().view(b, n, -1))


class RotaryAttention(nn.Module):
    """Causal attention that turns queries and keys by their positions."""

    def __init__(self, dim, num_heads, base=10000.0):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        freqs = base ** (-torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        self.register_buffer("inv_freq", freqs)

    def rotate(self, x):
        angles = torch.outer(torch.arange(x.shape[2]), self.inv_freq).to(x.dtype)
        cos, sin = angles.cos(), angles.sin()
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (
            t.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
            for t in self.qkv(x).chunk(3, dim=-1)
        )
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class NormalizedAttention(nn.Module):
    """Queries and keys are normalized, and a learned factor takes the place of the scale."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.temperature = nn.Parameter(torch.ones(num_heads, 1, 1))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (
            t.view(b, n, self.num_heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1)
        )
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * self.temperature
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


class CachedSelfAttention(nn.Module):
    """Causal attention with keys and values of earlier tokens."""

    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(hidden_size, hidden_size)
        self.k_proj = nn.Linear(hidden_size, hidden_size)
        self.v_proj = nn.Linear(hidden_size, hidden_size)
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states, past_key_value=None, use_cache=False):
        b, n, d = hidden_states.shape
        q, k, v = (
            layer(hidden_states).view(b, n, self.num_heads, -1).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        if past_key_value is not None:
            k = torch.cat([past_key_value[0], k], dim=2)
            v = torch.cat([past_key_value[1], v], dim=2)
        mask = torch.ones(n, k.shape[2], dtype=torch.bool).tril(k.shape[2] - n)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        y = self.o_proj(y.transpose(1, 2).reshape(b, n, d))
        return y, (k, v) if use_cache else None


class PaddedAttention(nn.Module):
    """Attention with a mask of keys, True for those to hide."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return self.attn(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)[0]


def attention(query, key, value, mask=None, dropout=None):
    """The annotated function, with the weights."""
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


def scaled_dot_product_attention(q, k, v, mask=None, is_causal=False):
    """A function with a mask in which True hides, and a causal mask."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if is_causal:
        n, m = scores.shape[-2:]
        scores = scores.masked_fill(torch.ones(n, m, dtype=torch.bool).triu(m - n + 1), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    return scores.softmax(-1) @ v


def causal_attention(q, k, v):
    """A causal function."""
    n = q.shape[-2]
    scores = torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    scores = scores + torch.full((n, n), -torch.inf).triu(1)
    return torch.einsum("...ij,...jd->...id", scores.softmax(-1), v)


def attention_tokens_before_heads(q, k, v):
    """A function on (batch, tokens, heads, width)."""
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v)


def attention_of_one_sequence(Q, K, V):
    """A function on (tokens, width), by hand."""
    scores = Q @ K.T / math.sqrt(K.shape[1])
    powers = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
    return powers / powers.sum(dim=1, keepdim=True) @ V


def multi_head_attention(q: Tensor, k: Tensor, v: Tensor, num_heads: int) -> Tensor:
    """A function that splits heads by itself."""
    q, k, v = (t.unflatten(-1, (num_heads, -1)).transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def attention_with_dropout(query, key, value, dropout_p=0.0, training=True):
    """A function with dropout."""
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)
    return F.dropout(weights, dropout_p, training) @ value


class SpatialGatingBlock(nn.Module):
    """Tokens first, with a norm that hides a constant."""

    def __init__(self, d_model, seq_len):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.weight = nn.Parameter(torch.zeros(seq_len, seq_len))

    def forward(self, x):
        n = x.shape[0]
        return x + torch.einsum("ij,jbd->ibd", self.weight[:n, :n], self.norm(x))


class PositionalEncoding(nn.Module):
    """Sinusoidal positions for (tokens, batch, width)."""

    def __init__(self, d_model, max_len=100):
        super().__init__()
        rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        angles = torch.arange(max_len)[:, None] * rates
        pe = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
        self.register_buffer("pe", pe[:, None])

    def forward(self, x):
        return x + self.pe[: x.shape[0]]


class LearnedPositionalEncoding(nn.Module):
    """Positions without a formula."""

    def __init__(self, d_model, max_len=120):
        super().__init__()
        self.pe = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        return x + self.pe[: x.shape[1]]


class RoPE(nn.Module):
    """Rotary positions for one head, whose positions are those of the tokens."""

    def __init__(self, head_dim, max_len=120):
        super().__init__()
        rates = 10000 ** (-torch.arange(0, head_dim, 2) / head_dim)
        angles = torch.outer(torch.arange(max_len), rates)
        self.register_buffer("turns", torch.stack([angles.cos(), angles.sin()]))

    def forward(self, x):
        cos, sin = self.turns[:, : x.shape[-2]]
        one, other = x[..., ::2], x[..., 1::2]
        return torch.stack([one * cos - other * sin, one * sin + other * cos], -1).flatten(-2)


class Softmax(nn.Module):
    """A softmax over an axis that the constructor is told."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.softmax(x, self.dim)


def linear_attention(q, k, v):
    """Attention without a softmax, as its name says."""
    return q @ (k.mT @ v) / q.shape[-1]
