class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads or num_heads % num_kv_heads:
            raise ValueError("the numbers of heads do not fit")
        self.h, self.g, self.w = num_heads, num_kv_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, self.g * self.w, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, self.g * self.w, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        q = self.W_query(x).view(b, n, self.h, self.w)
        k = self.W_key(x).view(b, n, self.g, self.w)
        v = self.W_value(x).view(b, n, self.g, self.w)
        k = k.repeat(1, 1, self.h // self.g, 1)
        v = v.repeat(1, 1, self.h // self.g, 1)
        q = q.permute(0, 2, 1, 3)
        k = k.permute(0, 2, 1, 3)
        v = v.permute(0, 2, 1, 3)
        scores = q @ k.transpose(2, 3) / self.w ** 0.5
        scores = scores.masked_fill(self.mask[:n, :n], -torch.inf)
        mixed = self.dropout(scores.softmax(dim=-1)) @ v
        return self.out_proj(mixed.permute(0, 2, 1, 3).reshape(b, n, -1))
