class CachedAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        future = torch.ones(context_length, context_length).triu(1).bool()
        self.register_buffer("mask", future)

    def forward(self, x, cache=None):
        b, n, _ = x.shape
        heads = (b, n, self.num_heads, self.head_dim)
        layers = (self.W_query, self.W_key, self.W_value)
        q, k, v = (layer(x).view(heads).transpose(1, 2) for layer in layers)
        t = 0
        if cache is not None:
            t = cache[0].shape[2]
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        scores = q @ k.transpose(2, 3) / self.head_dim**0.5
        scores = scores.masked_fill(self.mask[t : t + n, : t + n], -torch.inf)
        z = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(b, n, -1)
        return self.out_proj(z), cache
