"""Checks of chapter 1: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise, for_learners


@for_learners("attention_scores")
def test_attention_scores_on_the_sentence(attempt):
    """The dot products of token 2 with all six tokens."""
    attempt.attention_scores.agrees("sentence")


@exercise("attention_scores", points=3.5)
def test_attention_scores_values(attempt):
    """One dot product for every row of the inputs."""
    attempt.attention_scores.agrees("values")


@exercise("attention_scores", points=1)
def test_attention_scores_gradients(attempt):
    """Gradients reach the query and the inputs."""
    attempt.attention_scores.agrees("gradients", only="gradient")


@exercise("attention_scores", points=0.5)
def test_attention_scores_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.attention_scores.keeps_inputs("values", "gradients")
    attempt.attention_scores.gives_the_same("same")


@for_learners("softmax_naive")
def test_softmax_naive_on_the_sentence(attempt):
    """Exponentials divided by their sum, for the scores of token 2."""
    attempt.softmax_naive.agrees("sentence")


@exercise("softmax_naive", points=3.5)
def test_softmax_naive_values(attempt):
    """Exponentials divided by their sum."""
    attempt.softmax_naive.agrees("values")


@exercise("softmax_naive", points=1)
def test_softmax_naive_gradients(attempt):
    """Gradients reach the scores."""
    attempt.softmax_naive.agrees("gradients", only="gradient")


@exercise("softmax_naive", points=0.25)
def test_softmax_naive_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.softmax_naive.keeps_inputs("values")
    attempt.softmax_naive.gives_the_same("same")


@exercise("softmax_naive", points=0.25)
def test_softmax_naive_is_your_own(attempt):
    """It is your own code and does not call torch's softmax."""
    attempt.softmax_naive.names_no_softmax()
    attempt.softmax_naive.agrees("own")
    attempt.softmax_naive.avoids_softmax("own")


@for_learners("softmax")
def test_softmax_on_the_sentence(attempt):
    """Along the last dimension of all scores of the sentence."""
    attempt.softmax.agrees("sentence")


@exercise("softmax", points=2.5)
def test_softmax_last_dimension(attempt):
    """Along the last dimension, for tensors of every rank."""
    attempt.softmax.agrees("last")


@exercise("softmax", points=2.5)
def test_softmax_any_dimension(attempt):
    """Along the `dim` that is passed in, counted from the front or from the back."""
    attempt.softmax.agrees("dim")


@exercise("softmax", points=1.5)
def test_softmax_large_scores(attempt):
    """Scores of ten thousand do not overflow or vanish."""
    attempt.softmax.agrees("large")


@exercise("softmax", points=1)
def test_softmax_hidden_scores(attempt):
    """Scores of -inf get the weight 0."""
    attempt.softmax.agrees("hidden")
    attempt.softmax.is_zero_where_expected("hidden")


@exercise("softmax", points=1)
def test_softmax_gradients(attempt):
    """Gradients reach the scores."""
    attempt.softmax.agrees("gradients", only="gradient")


@exercise("softmax", points=0.5)
def test_softmax_dtype(attempt):
    """The result has the dtype of the scores."""
    attempt.softmax.keeps_dtype("dtype")


@exercise("softmax", points=0.5)
def test_softmax_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.softmax.keeps_inputs("last", "dim", "large", "hidden")
    attempt.softmax.gives_the_same("same")


@exercise("softmax", points=0.5)
def test_softmax_is_your_own(attempt):
    """It is your own code and does not call torch's softmax."""
    attempt.softmax.names_no_softmax()
    attempt.softmax.agrees("own")
    attempt.softmax.avoids_softmax("own")


@for_learners("context_vector")
def test_context_vector_on_the_sentence(attempt):
    """The context vector of token 2."""
    attempt.context_vector.agrees("sentence")


@exercise("context_vector", points=3)
def test_context_vector_values(attempt):
    """The sum of all rows, each multiplied by its weight."""
    attempt.context_vector.agrees("values")


@exercise("context_vector", points=0.5)
def test_context_vector_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.context_vector.agrees("large")


@exercise("context_vector", points=1)
def test_context_vector_gradients(attempt):
    """Gradients reach the query and the inputs, through the weights too."""
    attempt.context_vector.agrees("gradients", only="gradient")


@exercise("context_vector", points=0.5)
def test_context_vector_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.context_vector.keeps_inputs("values", "gradients")
    attempt.context_vector.gives_the_same("same")


@for_learners("simplified_self_attention")
def test_simplified_self_attention_context_on_the_sentence(attempt):
    """A context vector for each of the six tokens."""
    attempt.simplified_self_attention.agrees("sentence", only="result.0")


@for_learners("simplified_self_attention")
def test_simplified_self_attention_weights_on_the_sentence(attempt):
    """Six rows of weights, each summing to 1."""
    attempt.simplified_self_attention.agrees("sentence", only="result.1")


@exercise("simplified_self_attention", points=3.5)
def test_simplified_self_attention_context(attempt):
    """One context vector for every token."""
    attempt.simplified_self_attention.agrees("values", only="result.0")


@exercise("simplified_self_attention", points=3)
def test_simplified_self_attention_weights(attempt):
    """One row of weights for every token, each summing to 1."""
    attempt.simplified_self_attention.agrees("values", only="result.1")
    attempt.simplified_self_attention.gives_no_more("values")


@exercise("simplified_self_attention", points=0.5)
def test_simplified_self_attention_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.simplified_self_attention.agrees("large")


@exercise("simplified_self_attention", points=2)
def test_simplified_self_attention_gradients(attempt):
    """Gradients reach the inputs, through the weights too."""
    attempt.simplified_self_attention.agrees("gradients", only="gradient")


@exercise("simplified_self_attention", points=0.5)
def test_simplified_self_attention_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.simplified_self_attention.keeps_inputs("values", "gradients")
    attempt.simplified_self_attention.gives_the_same("same")


@exercise("simplified_self_attention", points=0.5)
def test_simplified_self_attention_has_no_loop(attempt):
    """All tokens are computed at once: more tokens need no more operations."""
    attempt.simplified_self_attention.does_not_grow(
        "operations", "more tokens take more operations"
    )


@for_learners("bug_simplified_self_attention")
def test_bug_simplified_self_attention_context_on_the_sentence(attempt):
    """A context vector for each of the six tokens."""
    attempt.bug_simplified_self_attention.agrees("sentence", only="result.0")


@for_learners("bug_simplified_self_attention")
def test_bug_simplified_self_attention_weights_on_the_sentence(attempt):
    """Six rows of weights, each summing to 1."""
    attempt.bug_simplified_self_attention.agrees("sentence", only="result.1")


@exercise("bug_simplified_self_attention", points=3.5)
def test_bug_simplified_self_attention_context(attempt):
    """One context vector for every token."""
    attempt.bug_simplified_self_attention.agrees("values", only="result.0")


@exercise("bug_simplified_self_attention", points=3)
def test_bug_simplified_self_attention_weights(attempt):
    """One row of weights for every token, each summing to 1."""
    attempt.bug_simplified_self_attention.agrees("values", only="result.1")
    attempt.bug_simplified_self_attention.gives_no_more("values")


@exercise("bug_simplified_self_attention", points=0.5)
def test_bug_simplified_self_attention_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.bug_simplified_self_attention.agrees("large")


@exercise("bug_simplified_self_attention", points=2)
def test_bug_simplified_self_attention_gradients(attempt):
    """Gradients reach the inputs, through the weights too."""
    attempt.bug_simplified_self_attention.agrees("gradients", only="gradient")


@exercise("bug_simplified_self_attention", points=0.5)
def test_bug_simplified_self_attention_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.bug_simplified_self_attention.keeps_inputs("values", "gradients")
    attempt.bug_simplified_self_attention.gives_the_same("same")


@exercise("bug_simplified_self_attention", points=0.5)
def test_bug_simplified_self_attention_has_no_loop(attempt):
    """All tokens are computed at once: more tokens need no more operations."""
    attempt.bug_simplified_self_attention.does_not_grow(
        "operations", "more tokens take more operations"
    )
