"""No matrix product at all: everything is broadcast and added up."""



def attention_scores(query, inputs):
    return (inputs * query).sum(-1)


def context_vector(query, inputs):
    weights = attention_scores(query, inputs).softmax(0)
    return (weights.unsqueeze(-1) * inputs).sum(0)


def simplified_self_attention(inputs):
    scores = (inputs.unsqueeze(1) * inputs.unsqueeze(0)).sum(-1)
    weights = scores.softmax(-1)
    mixed = (weights.unsqueeze(-1) * inputs.unsqueeze(0)).sum(1)
    return mixed, weights
