class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, d, num_heads, num_layers, dropout=0.0):
        super().__init__()
        self.context_length = context_length
        self.token_embedding = nn.Embedding(vocab_size, d)
        self.position_embedding = nn.Embedding(context_length, d)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            [TransformerBlock(d, context_length, dropout, num_heads) for _ in range(num_layers)]
        )
        self.final_norm = LayerNorm(d)
        self.head = nn.Linear(d, vocab_size, bias=False)

    def forward(self, ids):
        n = ids.shape[1]
        positions = torch.arange(n, device=ids.device)
        x = self.token_embedding(ids)
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        x = x + self.position_embedding(positions)
        return self.head(self.final_norm(x))
