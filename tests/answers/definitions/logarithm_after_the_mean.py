def cross_entropy(logits, targets):
    probs = torch.softmax(logits, dim=-1)
    picked = probs.gather(-1, targets.unsqueeze(-1))
    return -torch.log(picked.mean())
