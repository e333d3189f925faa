class LatentAttention(nn.Module):
    def __init__(self, d_in, d_out, d_latent, context_length, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_down = nn.Linear(d_in, d_latent, bias=False)
        self.W_key_up = nn.Linear(d_latent, d_out, bias=False)
        self.W_value_up = nn.Linear(d_latent, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out, bias=False)


    def forward(self, x):
        n = x.shape[1]
        c = self.W_down(x)
        q, k, v = (split_heads(t, self.num_heads) for t in (self.W_query(x), self.W_key_up(c), self.W_value_up(c)))
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        s = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).masked_fill(mask, -torch.inf)
        return self.out_proj(merge_heads(s.softmax(-1) @ v))
