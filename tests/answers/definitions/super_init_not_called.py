class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d))
        self.shift = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return self.scale * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + self.eps).sqrt() + self.shift
