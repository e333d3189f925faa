def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, generator=None):
    for _ in range(max_new_tokens):
        logits = model(ids[:, -model.context_length :])[:, -1]
        if top_k is not None:
            least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        if temperature == 0:
            new = logits.argmax(dim=-1, keepdim=True)
        else:
            p = torch.softmax(logits / temperature, dim=-1)
            new = torch.multinomial(p, 1, generator=generator)
        ids = torch.cat([ids, new], dim=1)
    return ids
