class TransformerBlock(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        self.norm1 = LayerNorm(d)
        self.attention = MultiHeadAttention(d, d, context_length, dropout, num_heads)
        self.norm2 = LayerNorm(d)
        self.feed_forward = FeedForward(d)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(x))
