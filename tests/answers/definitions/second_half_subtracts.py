def rotate(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    theta = base ** (-torch.arange(half) / half)
    angles = positions[:, None] * theta
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos - a * sin], dim=-1)
