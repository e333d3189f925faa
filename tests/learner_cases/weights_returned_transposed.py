def simplified_self_attention(inputs):
    w = torch.softmax(inputs @ inputs.T, dim=-1)
    return w @ inputs, w.T
