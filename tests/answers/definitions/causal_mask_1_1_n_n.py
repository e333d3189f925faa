def causal_mask(context_length):
    return torch.triu(torch.ones(1, 1, context_length, context_length), diagonal=1).bool()
