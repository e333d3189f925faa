def train_step(model, optimizer, inputs, targets):
    logits = model(inputs)[:, :-1]
    loss = cross_entropy(logits, targets[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
