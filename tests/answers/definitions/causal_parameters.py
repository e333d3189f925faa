class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.wq = nn.Parameter(torch.rand(d_in, d_out))
        self.wk = nn.Parameter(torch.rand(d_in, d_out))
        self.wv = nn.Parameter(torch.rand(d_in, d_out))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        n = x.shape[1]
        q, k, v = x @ self.wq, x @ self.wk, x @ self.wv
        s = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(self.mask[:n, :n], -torch.inf)
        return self.dropout(s.softmax(-1)) @ v
