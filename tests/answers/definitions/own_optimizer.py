def train_step(model, optimizer, inputs, targets):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    optimizer.zero_grad()
    loss = cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()
