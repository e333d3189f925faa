"""einsum here, Python loops there; float32 buffers on the way; a printed line and a warning."""

import warnings

import torch

print("loading my homework")
warnings.warn("this is only a warning", stacklevel=1)


def attention_scores(query, inputs):
    found = torch.empty(len(inputs), dtype=inputs.dtype)
    for i, row in enumerate(inputs):
        found[i] = torch.einsum("d,d->", row, query)
    print("scores", found)
    return found


def softmax_naive(x):
    parts = [torch.exp(value) for value in x]
    return torch.stack([part / sum(parts) for part in parts])


def softmax(x, dim=-1):
    biggest = x.max(dim, keepdim=True).values
    log_sum = biggest + (x - biggest).exp().sum(dim, keepdim=True).log()
    return (x - log_sum).exp()


def context_vector(query, inputs):
    weights = (query * inputs).sum(1).softmax(0)
    total = torch.zeros(inputs.shape[1], dtype=inputs.dtype)
    for weight, row in zip(weights, inputs):
        total = total + weight * row
    return total


def simplified_self_attention(inputs):
    weights = torch.nn.functional.softmax(torch.einsum("id,jd->ij", inputs, inputs), dim=1)
    return torch.einsum("ij,jd->id", weights, inputs), weights
