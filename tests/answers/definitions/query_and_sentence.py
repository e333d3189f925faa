def attention_scores(input_2, sentence):
    return sentence @ input_2
