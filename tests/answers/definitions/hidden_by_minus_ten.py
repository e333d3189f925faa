def causal_attention_weights(attn_scores, d_k):
    n = attn_scores.shape[-1]
    return torch.softmax(attn_scores.masked_fill(causal_mask(n), -10.0) / d_k**0.5, dim=-1)
