class CachedAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, qkv_bias=False):
        super().__init__()
        self.h, self.hd = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)


    def forward(self, x, cache=None):
        b, n, _ = x.shape
        q = self.W_query(x).view(b, n, self.h, self.hd).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.h, self.hd).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.h, self.hd).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        t = k.shape[2]
        mask = torch.triu(torch.ones(n, t, dtype=torch.bool), diagonal=1)
        s = (q @ k.transpose(2, 3) / self.hd ** 0.5).masked_fill(mask, -torch.inf)
        out = (torch.softmax(s, dim=-1) @ v).transpose(1, 2).reshape(b, n, -1)
        return self.out_proj(out), (k, v)
