class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out = {d_out} is not a multiple of num_heads = {num_heads}")
        self.heads, self.head_dim = num_heads, d_out // num_heads
        self.values = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.keys = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.queries = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.fc_out = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        q = self.queries(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        k = self.keys(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        v = self.values(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        mask = self.mask[:n, :n]
        att = (q @ k.transpose(-2, -1)) / self.head_dim ** 0.5
        att = att.masked_fill(mask, float("-inf"))
        att = self.drop(torch.softmax(att, dim=-1))
        out = (att @ v).transpose(1, 2).reshape(b, n, -1)
        return self.fc_out(out)
