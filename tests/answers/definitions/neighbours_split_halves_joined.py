def rotate(x, positions, base=10000.0):
    even, odd = x[..., ::2], x[..., 1::2]
    rates = 1.0 / base ** (torch.arange(0, x.shape[-1], 2).to(x.dtype) / x.shape[-1])
    angles = torch.outer(positions.to(x.dtype), rates)
    return torch.cat([even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()], dim=-1)
