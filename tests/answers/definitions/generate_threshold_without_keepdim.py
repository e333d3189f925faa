def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, generator=None):
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(ids[:, -model.context_length:])[:, -1, :]
        if temperature == 0:
            new = torch.argmax(logits, dim=-1, keepdim=True)
        else:
            if top_k is not None:
                top_logits, _ = torch.topk(logits, top_k)
                min_val = top_logits[:, -1]
                logits = torch.where(logits < min_val, torch.tensor(float("-inf")), logits)
            probs = torch.softmax(logits / temperature, dim=-1)
            new = torch.multinomial(probs, num_samples=1, generator=generator)
        ids = torch.cat((ids, new), dim=1)
    return ids
