def cross_entropy(logits, targets):
    p = torch.softmax(logits, dim=-1)
    chosen = p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -torch.log(chosen + 1e-8).mean()
