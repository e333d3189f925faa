def context_vector(query, inputs):
    scores = attention_scores(query, inputs)
    weights = softmax(scores)
    out = torch.zeros(query.shape)
    for w in weights:
        for row in inputs:
            out += w * row
    return out
