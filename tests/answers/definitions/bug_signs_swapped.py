def bug_rotate(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    pairs = x.shape[-1] // 2
    slower = torch.arange(pairs, dtype=x.dtype, device=x.device) / pairs
    angles = torch.outer(torch.arange(len(positions)).to(x.dtype), base**-slower).repeat(1, 2)
    left, right = x.split(pairs, dim=-1)
    exchanged = torch.cat((right, -left), dim=-1)
    return x * angles.cos() + exchanged * angles.sin()
