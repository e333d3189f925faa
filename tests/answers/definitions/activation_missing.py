class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, 4 * d), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.layers(x)
