class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=True)
        self.W_key = nn.Linear(d_in, d_out, bias=True)
        self.W_value = nn.Linear(d_in, d_out, bias=True)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)


    def forward(self, x):
        b, n, _ = x.shape
        q = self.W_query(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        att = (q @ k.transpose(-2, -1)) / self.head_dim ** 0.5
        att = att.masked_fill(mask, float("-inf"))
        att = self.drop(torch.softmax(att, dim=-1))
        out = (att @ v).transpose(1, 2).reshape(b, n, -1)
        return self.out_proj(out)
