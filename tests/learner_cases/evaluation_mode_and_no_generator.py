def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, generator=None):
    model.eval()
    for _ in range(max_new_tokens):
        with torch.no_grad():
            last = model(ids[:, -model.context_length :])[:, -1]
        if temperature == 0:
            new = last.argmax(dim=-1, keepdim=True)
        else:
            last = last / temperature
            if top_k is not None:
                last = last.masked_fill(last < last.topk(top_k).values[:, -1:], -torch.inf)
            new = torch.multinomial(last.softmax(dim=-1), 1)
        ids = torch.cat((ids, new), dim=1)
    return ids
