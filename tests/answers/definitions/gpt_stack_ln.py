class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, d, num_heads, num_layers, dropout=0.0):
        super().__init__()
        self.context_length = context_length
        self.token_embedding = nn.Embedding(vocab_size, d)
        self.position_embedding = nn.Embedding(context_length, d)
        self.drop = nn.Dropout(dropout)
        self.stack = nn.ModuleList([TransformerBlock(d, context_length, dropout, num_heads) for _ in range(num_layers)])
        self.ln = LayerNorm(d)
        self.head = nn.Linear(d, vocab_size, bias=False)

    def forward(self, ids):
        x = self.drop(self.token_embedding(ids) + self.position_embedding(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.stack:
            x = block(x)
        return self.head(self.ln(x))
