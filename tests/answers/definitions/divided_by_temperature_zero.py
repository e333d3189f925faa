def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, generator=None):
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(ids[:, -model.context_length :])[:, -1, :] / temperature
            if top_k is not None:
                least = torch.topk(logits, min(top_k, logits.shape[-1])).values[:, [-1]]
                logits[logits < least] = -float("inf")
            chosen = torch.multinomial(torch.softmax(logits, dim=-1), 1, generator=generator)
            ids = torch.cat((ids, chosen), dim=1)
    return ids
