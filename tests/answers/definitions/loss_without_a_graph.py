def train_step(model, optimizer, inputs, targets):
    optimizer.zero_grad()
    with torch.no_grad():
        loss = cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()
