class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d))
        self.shift = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = (x ** 2).mean(-1, keepdim=True) - mean ** 2
        return self.scale * (x - mean) / torch.sqrt(variance + self.eps) + self.shift
