def context_vector(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    w = torch.softmax(inputs @ query, dim=0)
    return w * inputs
