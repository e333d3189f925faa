def attention_scores(query, inputs):
    import numpy as np

    return torch.from_numpy(np.dot(inputs.numpy(), query.numpy()))
