"""Checks of chapter 4: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise, for_learners


@exercise("MultiHeadAttentionWrapper", points=7)
def test_MultiHeadAttentionWrapper_values(attempt):
    """All heads' outputs side by side, for one head and for many."""
    attempt.MultiHeadAttentionWrapper.agrees("values")


@exercise("MultiHeadAttentionWrapper", points=2)
def test_MultiHeadAttentionWrapper_arguments(attempt):
    """Every head gets the context_length and the dropout that were passed in."""
    attempt.MultiHeadAttentionWrapper.agrees("arguments")


@exercise("MultiHeadAttentionWrapper", points=2)
def test_MultiHeadAttentionWrapper_bias(attempt):
    """Every head gets `qkv_bias`."""
    attempt.MultiHeadAttentionWrapper.agrees("bias")


@exercise("MultiHeadAttentionWrapper", points=2.5)
def test_MultiHeadAttentionWrapper_gradients(attempt):
    """Gradients reach x and every head."""
    attempt.MultiHeadAttentionWrapper.agrees("gradients", only="gradient")


@exercise("MultiHeadAttentionWrapper", points=1)
def test_MultiHeadAttentionWrapper_parameters(attempt):
    """The heads are registered: torch finds their parameters, and no others."""
    attempt.MultiHeadAttentionWrapper.has_parameters("parameters")


@exercise("MultiHeadAttentionWrapper", points=0.5)
def test_MultiHeadAttentionWrapper_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.MultiHeadAttentionWrapper.keeps_inputs("values", "bias", "gradients")
    attempt.MultiHeadAttentionWrapper.gives_the_same("same")


@for_learners("split_heads")
def test_split_heads_by_eye(attempt):
    """Three tokens of four features, for two heads."""
    attempt.split_heads.agrees("sentence")


@exercise("split_heads", points=3.5)
def test_split_heads_values(attempt):
    """(b, n, d_out) becomes (b, h, n, head_dim); each head is a block of features."""
    attempt.split_heads.agrees("values")


@exercise("split_heads", points=1)
def test_split_heads_gradients(attempt):
    """Gradients pass through."""
    attempt.split_heads.agrees("gradients", only="gradient")


@exercise("split_heads", points=0.5)
def test_split_heads_inputs(attempt):
    """x stays unchanged; it may have any dtype, and need not be contiguous in memory."""
    attempt.split_heads.keeps_inputs("values")
    attempt.split_heads.agrees("whole numbers")
    attempt.split_heads.keeps_dtype("whole numbers")
    attempt.split_heads.gives_the_same("same")


@for_learners("merge_heads")
def test_merge_heads_by_eye(attempt):
    """Two heads of three tokens, placed side by side."""
    attempt.merge_heads.agrees("sentence")


@exercise("merge_heads", points=3.5)
def test_merge_heads_values(attempt):
    """(b, h, n, head_dim) becomes (b, n, h * head_dim), heads side by side."""
    attempt.merge_heads.agrees("values")


@exercise("merge_heads", points=1)
def test_merge_heads_gradients(attempt):
    """Gradients pass through."""
    attempt.merge_heads.agrees("gradients", only="gradient")


@exercise("merge_heads", points=0.5)
def test_merge_heads_inputs(attempt):
    """x stays unchanged; it may have any dtype, and need not be contiguous in memory."""
    attempt.merge_heads.keeps_inputs("values")
    attempt.merge_heads.agrees("whole numbers")
    attempt.merge_heads.keeps_dtype("whole numbers")
    attempt.merge_heads.gives_the_same("same")


@exercise("trace_shapes", points=1)
def test_trace_shapes_projections(attempt):
    """Shapes of x and of the queries."""
    attempt.trace_shapes.agrees_on_keys("values", "x", "queries")


@exercise("trace_shapes", points=1.5)
def test_trace_shapes_heads(attempt):
    """Shapes after splitting into heads."""
    attempt.trace_shapes.agrees_on_keys("values", "queries_heads", "context_heads")


@exercise("trace_shapes", points=1)
def test_trace_shapes_scores(attempt):
    """Shape of the scores."""
    attempt.trace_shapes.agrees_on_keys("values", "attn_scores")


@exercise("trace_shapes", points=1)
def test_trace_shapes_output(attempt):
    """Shapes after merging and after the output projection."""
    attempt.trace_shapes.agrees_on_keys("values", "context_merged", "output")


@exercise("trace_shapes", points=0.5)
def test_trace_shapes_order(attempt):
    """The steps are in the order in which they happen."""
    attempt.trace_shapes.keeps_order("values")


@for_learners("MultiHeadAttention")
def test_MultiHeadAttention_runs_on_the_sentence(attempt):
    """It runs on a batch that contains the sentence twice (seed 123)."""
    attempt.MultiHeadAttention.answered("sentence")


@exercise("MultiHeadAttention", points=3)
def test_MultiHeadAttention_one_head(attempt):
    """With one head, it is causal attention followed by an output projection."""
    attempt.MultiHeadAttention.agrees("one head")


@exercise("MultiHeadAttention", points=8)
def test_MultiHeadAttention_values(attempt):
    """With several heads."""
    attempt.MultiHeadAttention.agrees("values")


@exercise("MultiHeadAttention", points=1)
def test_MultiHeadAttention_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.MultiHeadAttention.agrees("large")


@exercise("MultiHeadAttention", points=4)
def test_MultiHeadAttention_short_sequences(attempt):
    """Texts shorter than context_length."""
    attempt.MultiHeadAttention.agrees("short")


@exercise("MultiHeadAttention", points=2)
def test_MultiHeadAttention_bias(attempt):
    """With `qkv_bias=True` each input projection adds its bias."""
    attempt.MultiHeadAttention.agrees("bias")


@exercise("MultiHeadAttention", points=2)
def test_MultiHeadAttention_sees_no_future(attempt):
    """Later tokens do not change earlier results, in training or in evaluation."""
    attempt.MultiHeadAttention.sees_no_future("future")
    attempt.MultiHeadAttention.hides_in_training("dropout")


@exercise("MultiHeadAttention", points=1)
def test_MultiHeadAttention_in_evaluation(attempt):
    """In evaluation nothing is dropped."""
    attempt.MultiHeadAttention.agrees("dropout", only="plain")


@exercise("MultiHeadAttention", points=3)
def test_MultiHeadAttention_dropout(attempt):
    """In training, single attention weights are dropped and the others scaled up."""
    attempt.MultiHeadAttention.drops_both_halves("dropout")
    attempt.MultiHeadAttention.drops_entries("dropout in heads", twice=True)


@exercise("MultiHeadAttention", points=3)
def test_MultiHeadAttention_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.MultiHeadAttention.agrees("gradients", only="gradient")


@exercise("MultiHeadAttention", points=0.75)
def test_MultiHeadAttention_refuses_an_uneven_split(attempt):
    """A d_out that num_heads does not divide raises an error."""
    attempt.MultiHeadAttention.refuses(
        "indivisible",
        "a d_out that num_heads does not divide is accepted; raise an error when the module is "
        "created",
    )


@exercise("MultiHeadAttention", points=0.75)
def test_MultiHeadAttention_has_no_loop(attempt):
    """All heads are computed at once: more heads need no more operations."""
    attempt.MultiHeadAttention.mixes_tokens("future")
    attempt.MultiHeadAttention.does_not_grow("operations", "more heads take more operations")


@exercise("MultiHeadAttention", points=0.25)
def test_MultiHeadAttention_mask_is_a_buffer(attempt):
    """The mask is a buffer named `mask`."""
    attempt.MultiHeadAttention.has_buffer("parameters", "mask")


@exercise("MultiHeadAttention", points=0.25)
def test_MultiHeadAttention_moves_as_a_whole(attempt):
    """All its tensors move with it to another device, such as a GPU."""
    attempt.MultiHeadAttention.mixes_tokens("future")
    attempt.MultiHeadAttention.moves_as_a_whole("moved")


@exercise("MultiHeadAttention", points=0.5)
def test_MultiHeadAttention_parameters(attempt):
    """Three input projections and an output projection, and no other parameters."""
    attempt.MultiHeadAttention.has_parameters("parameters")
    attempt.MultiHeadAttention.starts_alive("start")


@exercise("MultiHeadAttention", points=0.5)
def test_MultiHeadAttention_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.MultiHeadAttention.mixes_tokens("future")
    attempt.MultiHeadAttention.keeps_inputs("values", "bias", "gradients", "same")
    attempt.MultiHeadAttention.gives_the_same("same")


@for_learners("bug_merge_heads")
def test_bug_merge_heads_by_eye(attempt):
    """Two heads of three tokens, placed side by side."""
    attempt.bug_merge_heads.agrees("sentence")


@exercise("bug_merge_heads", points=3.5)
def test_bug_merge_heads_values(attempt):
    """(b, h, n, head_dim) becomes (b, n, h * head_dim), heads side by side."""
    attempt.bug_merge_heads.agrees("values")


@exercise("bug_merge_heads", points=1)
def test_bug_merge_heads_gradients(attempt):
    """Gradients pass through."""
    attempt.bug_merge_heads.agrees("gradients", only="gradient")


@exercise("bug_merge_heads", points=0.5)
def test_bug_merge_heads_inputs(attempt):
    """x stays unchanged; it may have any dtype, and need not be contiguous in memory."""
    attempt.bug_merge_heads.keeps_inputs("values")
    attempt.bug_merge_heads.agrees("whole numbers")
    attempt.bug_merge_heads.keeps_dtype("whole numbers")
    attempt.bug_merge_heads.gives_the_same("same")
