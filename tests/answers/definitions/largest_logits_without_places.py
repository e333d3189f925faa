def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, generator=None):
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(ids[:, -model.context_length:])[:, -1]
        if temperature == 0:
            nxt = logits.argmax(-1, keepdim=True)
        else:
            if top_k is not None:
                logits = logits.topk(top_k).values
            nxt = torch.multinomial(torch.softmax(logits / temperature, dim=-1), 1, generator=generator)
        ids = torch.cat((ids, nxt), dim=1)
    return ids
