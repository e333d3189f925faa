def generate(model, prompt_ids, num_ids, temperature=1.0, top_k=None, generator=None):
    with torch.no_grad():
        for _ in range(num_ids):
            z = model(prompt_ids[:, -model.context_length :])[:, -1]
            if top_k is not None:
                z = z.masked_fill(z < z.topk(min(top_k, z.shape[-1])).values[:, -1:], -torch.inf)
            new = (
                z.argmax(-1, keepdim=True)
                if temperature == 0
                else torch.multinomial(torch.softmax(z / temperature, -1), 1, generator=generator)
            )
            prompt_ids = torch.cat([prompt_ids, new], 1)
    return prompt_ids
