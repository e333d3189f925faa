def causal_attention_weights(attn_scores, d_k):
    return mask_and_renormalize(torch.softmax(attn_scores / d_k ** 0.5, dim=-1))
