def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    for x in inputs:
        return torch.dot(query, x)
