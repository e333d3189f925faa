def causal_mask(context_length):
    mask = torch.triu(torch.ones(6, 6), diagonal=1).bool()
    return mask[:context_length, :context_length]
