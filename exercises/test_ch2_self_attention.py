"""Checks of chapter 2: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise, for_learners


@for_learners("project_qkv")
def test_project_qkv_on_the_sentence(attempt):
    """Queries, keys and values of the sentence (seed 123)."""
    attempt.project_qkv.agrees("sentence")


@exercise("project_qkv", points=1)
def test_project_qkv_queries(attempt):
    """Queries come first: x times W_query."""
    attempt.project_qkv.agrees("values", only="result.0")


@exercise("project_qkv", points=1)
def test_project_qkv_keys(attempt):
    """Keys come second: x times W_key."""
    attempt.project_qkv.agrees("values", only="result.1")


@exercise("project_qkv", points=1.5)
def test_project_qkv_values(attempt):
    """Values come third: x times W_value."""
    attempt.project_qkv.agrees("values", only="result.2")
    attempt.project_qkv.gives_no_more("values")


@exercise("project_qkv", points=1)
def test_project_qkv_gradients(attempt):
    """Gradients reach x and all three matrices."""
    attempt.project_qkv.agrees("gradients", only="gradient")


@exercise("project_qkv", points=0.5)
def test_project_qkv_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.project_qkv.keeps_inputs("values", "gradients")
    attempt.project_qkv.gives_the_same("same")


@for_learners("attention_weights")
def test_attention_weights_on_the_sentence(attempt):
    """With the sentence's projections (seed 123)."""
    attempt.attention_weights.agrees("sentence")


@exercise("attention_weights", points=4)
def test_attention_weights_values(attempt):
    """Softmax of scaled scores, for every d_k."""
    attempt.attention_weights.agrees("values")


@exercise("attention_weights", points=1)
def test_attention_weights_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.attention_weights.agrees("large")


@exercise("attention_weights", points=1.5)
def test_attention_weights_cross(attempt):
    """The numbers of queries and keys may differ."""
    attempt.attention_weights.agrees("cross")


@exercise("attention_weights", points=1.5)
def test_attention_weights_leading_dimensions(attempt):
    """Leading dimensions stay in front."""
    attempt.attention_weights.agrees("leading")


@exercise("attention_weights", points=1.5)
def test_attention_weights_gradients(attempt):
    """Gradients reach queries and keys."""
    attempt.attention_weights.agrees("gradients", only="gradient")


@exercise("attention_weights", points=0.5)
def test_attention_weights_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.attention_weights.keeps_inputs("values", "cross", "leading", "gradients")
    attempt.attention_weights.gives_the_same("same")


@for_learners("scaled_dot_product_attention")
def test_scaled_dot_product_attention_on_the_sentence(attempt):
    """With the sentence's projections (seed 123)."""
    attempt.scaled_dot_product_attention.agrees("sentence")


@exercise("scaled_dot_product_attention", points=4)
def test_scaled_dot_product_attention_values(attempt):
    """The values, mixed by the weights of each query."""
    attempt.scaled_dot_product_attention.agrees("values")


@exercise("scaled_dot_product_attention", points=1)
def test_scaled_dot_product_attention_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.scaled_dot_product_attention.agrees("large")


@exercise("scaled_dot_product_attention", points=1.5)
def test_scaled_dot_product_attention_cross(attempt):
    """The numbers of queries and keys may differ."""
    attempt.scaled_dot_product_attention.agrees("cross")


@exercise("scaled_dot_product_attention", points=1.5)
def test_scaled_dot_product_attention_leading_dimensions(attempt):
    """Leading dimensions stay in front."""
    attempt.scaled_dot_product_attention.agrees("leading")


@exercise("scaled_dot_product_attention", points=1.5)
def test_scaled_dot_product_attention_gradients(attempt):
    """Gradients reach queries, keys and values."""
    attempt.scaled_dot_product_attention.agrees("gradients", only="gradient")


@exercise("scaled_dot_product_attention", points=0.25)
def test_scaled_dot_product_attention_is_your_own(attempt):
    """It is written out and calls no attention of torch."""
    attempt.scaled_dot_product_attention.agrees("own")
    attempt.scaled_dot_product_attention.avoids_attention("own")


@exercise("scaled_dot_product_attention", points=0.25)
def test_scaled_dot_product_attention_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.scaled_dot_product_attention.keeps_inputs("values", "cross", "leading", "gradients")
    attempt.scaled_dot_product_attention.gives_the_same("same")


@for_learners("SelfAttention_v1")
def test_SelfAttention_v1_on_the_sentence(attempt):
    """The sentence, with the weights of seed 123."""
    attempt.SelfAttention_v1.agrees("sentence")


@exercise("SelfAttention_v1", points=5)
def test_SelfAttention_v1_values(attempt):
    """Projections, attention weights and the weighted sum, with loaded weights."""
    attempt.SelfAttention_v1.agrees("values")


@exercise("SelfAttention_v1", points=1)
def test_SelfAttention_v1_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.SelfAttention_v1.agrees("large")


@exercise("SelfAttention_v1", points=2)
def test_SelfAttention_v1_gradients(attempt):
    """Gradients reach x and all three matrices."""
    attempt.SelfAttention_v1.agrees("gradients", only="gradient")


@exercise("SelfAttention_v1", points=1)
def test_SelfAttention_v1_start(attempt):
    """The matrices start from torch.rand, created in the order query, key, value."""
    attempt.SelfAttention_v1.starts_alive("parameters")
    attempt.SelfAttention_v1.agrees("parameters", only="module.")
    attempt.SelfAttention_v1.agrees("called")


@exercise("SelfAttention_v1", points=0.5)
def test_SelfAttention_v1_parameters(attempt):
    """Exactly three parameters of shape (d_in, d_out)."""
    attempt.SelfAttention_v1.has_parameters("parameters")


@exercise("SelfAttention_v1", points=0.5)
def test_SelfAttention_v1_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.SelfAttention_v1.mixes_tokens("mixed")
    attempt.SelfAttention_v1.keeps_inputs("values", "gradients")
    attempt.SelfAttention_v1.gives_the_same("same")


@for_learners("SelfAttention_v2")
def test_SelfAttention_v2_runs_on_the_sentence(attempt):
    """It runs on the sentence (seed 789)."""
    attempt.SelfAttention_v2.answered("sentence")


@exercise("SelfAttention_v2", points=4)
def test_SelfAttention_v2_values(attempt):
    """Projections, attention weights and the weighted sum, with loaded weights."""
    attempt.SelfAttention_v2.agrees("values")


@exercise("SelfAttention_v2", points=1)
def test_SelfAttention_v2_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.SelfAttention_v2.agrees("large")


@exercise("SelfAttention_v2", points=2)
def test_SelfAttention_v2_bias(attempt):
    """With `qkv_bias=True` each projection adds its bias."""
    attempt.SelfAttention_v2.agrees("bias")


@exercise("SelfAttention_v2", points=2)
def test_SelfAttention_v2_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.SelfAttention_v2.agrees("gradients", only="gradient")


@exercise("SelfAttention_v2", points=0.5)
def test_SelfAttention_v2_parameters(attempt):
    """Exactly the weights of three nn.Linear, with biases only if `qkv_bias` is True."""
    attempt.SelfAttention_v2.has_parameters("parameters")
    attempt.SelfAttention_v2.starts_alive("start")


@exercise("SelfAttention_v2", points=0.5)
def test_SelfAttention_v2_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.SelfAttention_v2.mixes_tokens("mixed")
    attempt.SelfAttention_v2.keeps_inputs("values", "bias", "gradients")
    attempt.SelfAttention_v2.gives_the_same("same")


@exercise("copy_v2_into_v1", points=1.5)
def test_copy_v2_into_v1_query(attempt):
    """W_query is copied into v1."""
    attempt.copy_v2_into_v1.agrees("values", only="v1.W_query")


@exercise("copy_v2_into_v1", points=1.5)
def test_copy_v2_into_v1_key(attempt):
    """W_key is copied into v1."""
    attempt.copy_v2_into_v1.agrees("values", only="v1.W_key")


@exercise("copy_v2_into_v1", points=1.5)
def test_copy_v2_into_v1_value(attempt):
    """W_value is copied into v1."""
    attempt.copy_v2_into_v1.agrees("values", only="v1.W_value")


@exercise("copy_v2_into_v1", points=0.5)
def test_copy_v2_into_v1_leaves_v2(attempt):
    """v2 stays unchanged, both modules can continue to learn, and the result is None."""
    attempt.copy_v2_into_v1.agrees("values")
    attempt.copy_v2_into_v1.has_parameters("values", "v1")
    attempt.copy_v2_into_v1.has_parameters("values", "v2")


@for_learners("bug_scaled_dot_product_attention")
def test_bug_scaled_dot_product_attention_on_the_sentence(attempt):
    """With the sentence's projections (seed 123)."""
    attempt.bug_scaled_dot_product_attention.agrees("sentence")


@exercise("bug_scaled_dot_product_attention", points=4)
def test_bug_scaled_dot_product_attention_values(attempt):
    """The values, mixed by the weights of each query."""
    attempt.bug_scaled_dot_product_attention.agrees("values")


@exercise("bug_scaled_dot_product_attention", points=1)
def test_bug_scaled_dot_product_attention_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.bug_scaled_dot_product_attention.agrees("large")


@exercise("bug_scaled_dot_product_attention", points=1.5)
def test_bug_scaled_dot_product_attention_cross(attempt):
    """The numbers of queries and keys may differ."""
    attempt.bug_scaled_dot_product_attention.agrees("cross")


@exercise("bug_scaled_dot_product_attention", points=1.5)
def test_bug_scaled_dot_product_attention_leading_dimensions(attempt):
    """Leading dimensions stay in front."""
    attempt.bug_scaled_dot_product_attention.agrees("leading")


@exercise("bug_scaled_dot_product_attention", points=1.5)
def test_bug_scaled_dot_product_attention_gradients(attempt):
    """Gradients reach queries, keys and values."""
    attempt.bug_scaled_dot_product_attention.agrees("gradients", only="gradient")


@exercise("bug_scaled_dot_product_attention", points=0.25)
def test_bug_scaled_dot_product_attention_is_your_own(attempt):
    """It is written out and calls no attention of torch."""
    attempt.bug_scaled_dot_product_attention.agrees("own")
    attempt.bug_scaled_dot_product_attention.avoids_attention("own")


@exercise("bug_scaled_dot_product_attention", points=0.25)
def test_bug_scaled_dot_product_attention_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.bug_scaled_dot_product_attention.keeps_inputs("values", "cross", "leading", "gradients")
    attempt.bug_scaled_dot_product_attention.gives_the_same("same")
