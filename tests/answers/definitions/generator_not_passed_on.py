def batches(ids, context_length, batch_size, generator):
    starts = torch.randint(len(ids) - context_length, (batch_size,))
    inputs = torch.stack([ids[s : s + context_length] for s in starts])
    targets = torch.stack([ids[s + 1 : s + 1 + context_length] for s in starts])
    return inputs, targets
