class TransformerBlock(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        self.norm1 = LayerNorm(d)
        self.attention = MultiHeadAttention(d, d, context_length, dropout, num_heads)
        self.norm2 = LayerNorm(d)
        self.feed_forward = FeedForward(d)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        attn_out = self.dropout(self.attention(self.norm1(x)))
        ff_out = self.dropout(self.feed_forward(self.norm2(attn_out)))
        return x + ff_out
