"""Library calls where they are allowed, other orders, other ways to cut and to draw."""

import torch
import torch.nn.functional as F
from ch4_multi_head_attention import MultiHeadAttention
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(d))
        self.scale = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.scale + self.shift


class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        wide = nn.Linear(d, d * 4)
        self.layers = nn.Sequential(wide, nn.GELU(), nn.Linear(d * 4, d))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class TransformerBlock(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        self.feed_forward = FeedForward(d)
        self.norm2 = LayerNorm(d)
        self.norm1 = LayerNorm(d)
        self.attention = MultiHeadAttention(
            d_in=d, d_out=d, context_length=context_length, dropout=dropout, num_heads=num_heads
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        kept = x
        kept = self.dropout(self.attention(self.norm1(x))) + kept
        return torch.add(kept, self.dropout(self.feed_forward(self.norm2(kept))))


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, d, num_heads, num_layers, dropout=0.0):
        super().__init__()
        self.context_length = context_length
        self.token_embedding = nn.Embedding(vocab_size, d)
        self.position_embedding = nn.Embedding(context_length, d)
        self.dropout = nn.Dropout(dropout)
        layers = [TransformerBlock(d, context_length, dropout, num_heads) for _ in range(num_layers)]
        self.blocks = nn.Sequential(*layers)
        self.final_norm = LayerNorm(d)
        self.head = nn.Linear(d, vocab_size, bias=False)

    def forward(self, ids):
        b, n = ids.shape
        assert n <= self.context_length, "the text is too long"
        x = self.position_embedding.weight[:n].expand(b, -1, -1) + self.token_embedding(ids)
        return self.final_norm(self.blocks(self.dropout(x))) @ self.head.weight.T


def batches(ids, context_length, batch_size, generator):
    inputs, targets = [], []
    for _ in range(batch_size):
        at = int(torch.randint(len(ids) - context_length, (), generator=generator))
        inputs.append(ids[at : at + context_length])
        targets.append(ids[at + 1 : at + context_length + 1])
    return torch.stack(inputs), torch.stack(targets)


def cross_entropy(logits, targets):
    logs = logits.log_softmax(-1).reshape(-1, logits.shape[-1])
    return -logs[torch.arange(len(logs)), targets.reshape(-1)].mean()


def train_step(model, optimizer, inputs, targets):
    logits = model(inputs)
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))
    model.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return float(loss.detach())


@torch.no_grad()
def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, generator=None):
    text = ids.clone()
    while text.shape[1] < ids.shape[1] + max_new_tokens:
        seen = text if text.shape[1] <= model.context_length else text[:, -model.context_length :]
        logits = model(seen)[:, -1, :]
        if temperature <= 0:
            following = logits.max(dim=-1).indices
        else:
            choices = torch.arange(logits.shape[-1]).expand_as(logits)
            if top_k:
                logits, choices = torch.topk(logits, top_k)
            limits = torch.softmax(logits / temperature, dim=-1).cumsum(-1)
            point = torch.rand(len(ids), 1, generator=generator)
            at = torch.searchsorted(limits, point).clamp(max=logits.shape[-1] - 1)
            following = choices.gather(1, at)[:, 0]
        text = torch.cat([text, following[:, None]], dim=-1)
    return text
