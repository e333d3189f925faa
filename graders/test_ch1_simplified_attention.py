"""Hidden tests of chapter 1. Each test's docstring is the line that a learner reads."""

from tensorgrade import exercise
from tensorgrade.judging.operations import SOFTMAXES

OWN_SOFTMAX = "it calls torch's own softmax; the point of the exercise is to write it"


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
    """What is passed in stays as it was."""
    attempt.attention_scores.keeps_inputs("values", "gradients")


@exercise("softmax_naive", points=3.5)
def test_softmax_naive_values(attempt):
    """Exponentials over their sum."""
    attempt.softmax_naive.agrees("values")


@exercise("softmax_naive", points=1)
def test_softmax_naive_gradients(attempt):
    """Gradients reach the scores."""
    attempt.softmax_naive.agrees("gradients", only="gradient")


@exercise("softmax_naive", points=0.25)
def test_softmax_naive_inputs(attempt):
    """What is passed in stays as it was."""
    attempt.softmax_naive.keeps_inputs("values")


@exercise("softmax_naive", points=0.25)
def test_softmax_naive_is_your_own(attempt):
    """It is written out and calls no softmax of torch."""
    attempt.softmax_naive.agrees("own")
    attempt.softmax_naive.avoids("own", SOFTMAXES, OWN_SOFTMAX)


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
    """Scores of ten thousand neither overflow nor vanish."""
    attempt.softmax.agrees("large")


@exercise("softmax", points=1)
def test_softmax_hidden_scores(attempt):
    """Scores of -inf get the weight 0."""
    attempt.softmax.agrees("hidden")


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
    """What is passed in stays as it was."""
    attempt.softmax.keeps_inputs("last", "dim", "large")


@exercise("softmax", points=0.5)
def test_softmax_is_your_own(attempt):
    """It is written out and calls no softmax of torch."""
    attempt.softmax.agrees("own")
    attempt.softmax.avoids("own", SOFTMAXES, OWN_SOFTMAX)


@exercise("context_vector", points=3.5)
def test_context_vector_values(attempt):
    """The sum of all rows, each times its weight."""
    attempt.context_vector.agrees("values")


@exercise("context_vector", points=1)
def test_context_vector_gradients(attempt):
    """Gradients reach the query and the inputs, through the weights too."""
    attempt.context_vector.agrees("gradients", only="gradient")


@exercise("context_vector", points=0.5)
def test_context_vector_inputs(attempt):
    """What is passed in stays as it was."""
    attempt.context_vector.keeps_inputs("values", "gradients")


@exercise("simplified_self_attention", points=4)
def test_simplified_self_attention_context(attempt):
    """One context vector for every token."""
    attempt.simplified_self_attention.agrees("values", only="result.0")


@exercise("simplified_self_attention", points=3)
def test_simplified_self_attention_weights(attempt):
    """One row of weights for every token, each summing to 1."""
    attempt.simplified_self_attention.agrees("values", only="result.1")
    attempt.simplified_self_attention.gives_no_more("values")


@exercise("simplified_self_attention", points=2)
def test_simplified_self_attention_gradients(attempt):
    """Gradients reach the inputs, through the weights too."""
    attempt.simplified_self_attention.agrees("gradients", only="gradient")


@exercise("simplified_self_attention", points=0.5)
def test_simplified_self_attention_inputs(attempt):
    """What is passed in stays as it was."""
    attempt.simplified_self_attention.keeps_inputs("values", "gradients")


@exercise("simplified_self_attention", points=0.5)
def test_simplified_self_attention_has_no_loop(attempt):
    """All tokens at once: more tokens need no more operations."""
    attempt.simplified_self_attention.does_not_grow("operations", "a loop goes over the tokens")
