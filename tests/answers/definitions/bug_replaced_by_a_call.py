def bug_simplified_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return simplified_self_attention(inputs)
