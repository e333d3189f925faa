def cross_entropy(logits, targets):
    log_sum = torch.logsumexp(logits, dim=-1)
    picked = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (log_sum - picked).mean().item()
