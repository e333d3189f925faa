def attention_scores(a, b):
    return a @ b
