def attention_scores(query, inputs):
    scores = torch.empty(inputs.shape[0])
    for i, row in enumerate(inputs):
        scores[i] = torch.dot(row, query)
        return scores
