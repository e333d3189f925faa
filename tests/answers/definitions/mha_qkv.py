class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out = {d_out} is not a multiple of num_heads = {num_heads}")
        self.num_heads, self.d_out = num_heads, d_out
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, n, self.num_heads, -1).transpose(1, 2)
        k = k.view(b, n, self.num_heads, -1).transpose(1, 2)
        v = v.view(b, n, self.num_heads, -1).transpose(1, 2)
        scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        weights = self.dropout(scores.masked_fill(self.mask[:n, :n], -torch.inf).softmax(-1))
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, n, self.d_out))
