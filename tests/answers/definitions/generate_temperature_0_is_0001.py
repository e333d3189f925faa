def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, generator=None):
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(ids[:, -model.context_length:])[:, -1]
        logits = logits / max(temperature, 1e-3)
        if top_k is not None:
            kept = logits.topk(top_k).values[:, -1:]
            logits = logits.masked_fill(logits < kept, -torch.inf)
        nxt = torch.multinomial(logits.softmax(-1), 1, generator=generator)
        ids = torch.cat((ids, nxt), 1)
    return ids
