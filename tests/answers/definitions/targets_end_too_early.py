def batches(ids, context_length, batch_size, generator):
    begins = torch.randint(len(ids) - context_length, (batch_size,), generator=generator)
    ends = begins + context_length
    x = torch.stack([ids[a:z] for a, z in zip(begins, ends)])
    y = torch.stack([ids[a + 1 : z] for a, z in zip(begins, ends)])
    return x, y
