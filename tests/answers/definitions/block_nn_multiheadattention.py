class TransformerBlock(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        self.norm1 = LayerNorm(d)
        self.attention = nn.MultiheadAttention(d, num_heads, dropout=dropout, batch_first=True)
        self.norm2 = LayerNorm(d)
        self.feed_forward = FeedForward(d)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = self.norm1(x)
        n = x.shape[1]
        hidden = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        x = x + self.dropout(self.attention(h, h, h, attn_mask=hidden, need_weights=False)[0])
        return x + self.dropout(self.feed_forward(self.norm2(x)))
