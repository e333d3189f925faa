class TransformerBlock(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        self.attn = MultiHeadAttention(d, d, context_length, dropout, num_heads)
        self.ffn = FeedForward(d)
        self.norm_ffn = LayerNorm(d)
        self.norm_attn = LayerNorm(d)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attn(self.norm_attn(x)))
        return x + self.drop(self.ffn(self.norm_ffn(x)))
