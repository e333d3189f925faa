class CrossAttention(nn.Module):
    def __init__(self, d_in, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
    def forward(self, x, context, mask=None):
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(context), self.num_heads)
        v = split_heads(self.W_value(context), self.num_heads)
        scores = q @ k.transpose(0, 1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.expand(q.shape[0], q.shape[2], k.shape[2]).unsqueeze(1), -torch.inf)
        return self.out_proj(merge_heads(torch.softmax(scores, dim=-1) @ v))
