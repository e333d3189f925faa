def softmax(x: torch.Tensor, axis: int = -1) -> torch.Tensor:
    m = x.amax(axis, keepdim=True)
    e = torch.exp(x - m)
    return e / e.sum(axis, keepdim=True)
