def context_vector(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    w = softmax_naive(attention_scores(query, inputs))
    context = torch.zeros(query.shape)
    for i, q in enumerate(query):
        context += w[i] * q
    return context
