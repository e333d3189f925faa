def batches(ids, context_length, batch_size, generator):
    starts = torch.randint(len(ids) - context_length, (batch_size,), generator=generator)
    inputs = [ids[s : s + context_length] for s in starts]
    targets = [ids[s + 1 : s + context_length + 1] for s in starts]
    return inputs, targets
