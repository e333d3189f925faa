class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, d, num_heads, num_layers, dropout=0.0):
        super().__init__()
        self.context_length = context_length
        self.wpe = nn.Embedding(context_length, d)
        self.wte = nn.Embedding(vocab_size, d)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList([TransformerBlock(d, context_length, dropout, num_heads) for _ in range(num_layers)])
        self.ln_f = LayerNorm(d)
        self.lm_head = nn.Linear(d, vocab_size, bias=False)

    def forward(self, ids):
        x = self.drop(self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))
