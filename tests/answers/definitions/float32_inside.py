def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    m = x.amax(dim=dim, keepdim=True)
    e = torch.exp(x.float() - m)
    return e / e.sum(dim=dim, keepdim=True)
