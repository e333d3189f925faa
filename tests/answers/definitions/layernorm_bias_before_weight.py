class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(d))
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        normed = centred / torch.sqrt((centred ** 2).mean(-1, keepdim=True) + self.eps)
        return normed * self.weight + self.bias
