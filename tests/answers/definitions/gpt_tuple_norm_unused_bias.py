from torch.nn import functional as F


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, d, num_heads, num_layers, dropout=0.0):
        super().__init__()
        self.context_length = context_length
        self.token_embedding = nn.Embedding(vocab_size, d)
        self.position_embedding = nn.Embedding(context_length, d)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*[TransformerBlock(d, context_length, dropout, num_heads) for _ in range(num_layers)])
        self.final_norm = LayerNorm(d)
        self.head = nn.Linear(d, vocab_size)

    def forward(self, ids, targets=None):
        x = self.token_embedding(ids) + self.position_embedding(torch.arange(ids.shape[1]))
        logits = self.head(self.blocks(self.dropout(x)))
        if targets is None:
            loss = None
        else:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss
