class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.valor = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.chave = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.consulta = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        v, k, q = self.valor(x), self.chave(x), self.consulta(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v
