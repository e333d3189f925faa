class SmallGPT(nn.Module):
    def __init__(self, num_tokens, seq_len, emb_dim, n_heads, n_blocks, dropout=0.0):
        super().__init__()
        self.context_length = seq_len
        self.token_embedding = nn.Embedding(num_tokens, emb_dim)
        self.position_embedding = nn.Embedding(seq_len, emb_dim)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            [TransformerBlock(emb_dim, seq_len, dropout, n_heads) for _ in range(n_blocks)]
        )
        self.final_norm = LayerNorm(emb_dim)
        self.head = nn.Linear(emb_dim, num_tokens, bias=False)

    def forward(self, ids):
        x = self.token_embedding(ids) + self.position_embedding(
            torch.arange(ids.shape[1], device=ids.device)
        )
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))
