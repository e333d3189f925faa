"""Checks of chapter 3: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise, for_learners


@for_learners("causal_mask")
def test_causal_mask_for_the_sentence(attempt):
    """A mask for six tokens."""
    attempt.causal_mask.agrees("sentence")


@exercise("causal_mask", points=4)
def test_causal_mask_values(attempt):
    """True above the diagonal, False on it and below."""
    attempt.causal_mask.agrees("values")


@exercise("causal_mask", points=1)
def test_causal_mask_dtype(attempt):
    """The mask is boolean."""
    attempt.causal_mask.keeps_dtype("dtype")


@for_learners("mask_and_renormalize")
def test_mask_and_renormalize_on_the_sentence(attempt):
    """The weights of the sentence."""
    attempt.mask_and_renormalize.agrees("sentence")


@exercise("mask_and_renormalize", points=7)
def test_mask_and_renormalize_values(attempt):
    """The future gets weight 0, and each row sums to 1 again."""
    attempt.mask_and_renormalize.agrees("values")


@exercise("mask_and_renormalize", points=2)
def test_mask_and_renormalize_gradients(attempt):
    """Gradients reach the weights."""
    attempt.mask_and_renormalize.agrees("gradients", only="gradient")


@exercise("mask_and_renormalize", points=1)
def test_mask_and_renormalize_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.mask_and_renormalize.keeps_inputs("values")
    attempt.mask_and_renormalize.gives_the_same("same")


@for_learners("causal_attention_weights")
def test_causal_attention_weights_on_the_sentence(attempt):
    """The scores of the sentence."""
    attempt.causal_attention_weights.agrees("sentence")


@exercise("causal_attention_weights", points=5)
def test_causal_attention_weights_values(attempt):
    """Hidden scores are left out of the softmax; the others are scaled by sqrt(d_k)."""
    attempt.causal_attention_weights.agrees("values")
    attempt.causal_attention_weights.is_zero_where_expected("values")


@exercise("causal_attention_weights", points=1)
def test_causal_attention_weights_leading(attempt):
    """Leading dimensions stay in front: each table of scores is masked on its own."""
    attempt.causal_attention_weights.agrees("leading")


@exercise("causal_attention_weights", points=1)
def test_causal_attention_weights_large_scores(attempt):
    """Scores of thousands do not overflow; large hidden scores leave weights for the others."""
    attempt.causal_attention_weights.agrees("large")


@exercise("causal_attention_weights", points=2)
def test_causal_attention_weights_gradients(attempt):
    """Gradients reach the scores."""
    attempt.causal_attention_weights.agrees("gradients", only="gradient")


@exercise("causal_attention_weights", points=1)
def test_causal_attention_weights_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.causal_attention_weights.keeps_inputs("values", "leading")
    attempt.causal_attention_weights.gives_the_same("same")


@exercise("inverted_dropout", points=6)
def test_inverted_dropout_in_training(attempt):
    """A share p becomes 0, and the rest is divided by 1 - p."""
    attempt.inverted_dropout.drops_entries("dropout")


@exercise("inverted_dropout", points=1.5)
def test_inverted_dropout_in_evaluation(attempt):
    """With training=False the weights stay unchanged."""
    attempt.inverted_dropout.drops_something("dropout")
    attempt.inverted_dropout.agrees("evaluation")
    attempt.inverted_dropout.agrees("dropout", only="plain")


@exercise("inverted_dropout", points=1)
def test_inverted_dropout_gradients(attempt):
    """Gradients reach the entries that were kept: all of them if none is dropped."""
    attempt.inverted_dropout.drops_gradients("gradients", "attn_weights")
    attempt.inverted_dropout.agrees("gradients alone", only="gradient")


@exercise("inverted_dropout", points=0.5)
def test_inverted_dropout_of_nothing(attempt):
    """With p = 0 the weights stay unchanged."""
    attempt.inverted_dropout.drops_something("dropout")
    attempt.inverted_dropout.agrees("nothing")


@exercise("inverted_dropout", points=0.5)
def test_inverted_dropout_is_your_own(attempt):
    """It is your own code and does not call torch's dropout."""
    attempt.inverted_dropout.drops_something("dropout")
    attempt.inverted_dropout.avoids_dropout("own")


@exercise("inverted_dropout", points=0.25)
def test_inverted_dropout_by_chance(attempt):
    """Each entry can be dropped and kept."""
    attempt.inverted_dropout.drops_something("dropout")
    attempt.inverted_dropout.drops_each_entry("by chance")


@exercise("inverted_dropout", points=0.25)
def test_inverted_dropout_inputs(attempt):
    """The weights that are passed in stay unchanged."""
    attempt.inverted_dropout.drops_something("dropout")
    attempt.inverted_dropout.keeps_inputs("dropout", "evaluation", "nothing")


@for_learners("CausalAttention")
def test_CausalAttention_runs_on_the_sentence(attempt):
    """It runs on a batch that contains the sentence twice (seed 123)."""
    attempt.CausalAttention.answered("sentence")


@exercise("CausalAttention", points=5)
def test_CausalAttention_values(attempt):
    """Masked attention for every row of a batch."""
    attempt.CausalAttention.agrees("values")


@exercise("CausalAttention", points=1)
def test_CausalAttention_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.CausalAttention.agrees("large")


@exercise("CausalAttention", points=3)
def test_CausalAttention_short_sequences(attempt):
    """Texts shorter than context_length."""
    attempt.CausalAttention.agrees("short")


@exercise("CausalAttention", points=2)
def test_CausalAttention_bias(attempt):
    """With `qkv_bias=True` each projection adds its bias."""
    attempt.CausalAttention.agrees("bias")


@exercise("CausalAttention", points=2)
def test_CausalAttention_sees_no_future(attempt):
    """Later tokens do not change earlier results, in training or in evaluation."""
    attempt.CausalAttention.sees_no_future("future")
    attempt.CausalAttention.hides_in_training("dropout")


@exercise("CausalAttention", points=1)
def test_CausalAttention_in_evaluation(attempt):
    """In evaluation nothing is dropped."""
    attempt.CausalAttention.agrees("dropout", only="plain")


@exercise("CausalAttention", points=2)
def test_CausalAttention_dropout(attempt):
    """In training, single attention weights are dropped and the others scaled up."""
    attempt.CausalAttention.drops_both_halves("dropout")


@exercise("CausalAttention", points=2)
def test_CausalAttention_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.CausalAttention.agrees("gradients", only="gradient")


@exercise("CausalAttention", points=0.5)
def test_CausalAttention_mask_is_a_buffer(attempt):
    """The mask is a buffer named `mask`."""
    attempt.CausalAttention.has_buffer("parameters", "mask")


@exercise("CausalAttention", points=0.5)
def test_CausalAttention_moves_as_a_whole(attempt):
    """All its tensors move with it to another device, such as a GPU."""
    attempt.CausalAttention.mixes_tokens("future")
    attempt.CausalAttention.moves_as_a_whole("moved")


@exercise("CausalAttention", points=0.5)
def test_CausalAttention_parameters(attempt):
    """Exactly the weights of three nn.Linear, with biases only if `qkv_bias` is True."""
    attempt.CausalAttention.has_parameters("parameters")
    attempt.CausalAttention.starts_alive("start")


@exercise("CausalAttention", points=0.5)
def test_CausalAttention_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.CausalAttention.mixes_tokens("future")
    attempt.CausalAttention.keeps_inputs("values", "bias", "gradients", "same")
    attempt.CausalAttention.gives_the_same("same")


@for_learners("bug_mask_and_renormalize")
def test_bug_mask_and_renormalize_on_the_sentence(attempt):
    """The weights of the sentence."""
    attempt.bug_mask_and_renormalize.agrees("sentence")


@exercise("bug_mask_and_renormalize", points=7)
def test_bug_mask_and_renormalize_values(attempt):
    """The future gets weight 0, and each row sums to 1 again."""
    attempt.bug_mask_and_renormalize.agrees("values")


@exercise("bug_mask_and_renormalize", points=2)
def test_bug_mask_and_renormalize_gradients(attempt):
    """Gradients reach the weights."""
    attempt.bug_mask_and_renormalize.agrees("gradients", only="gradient")


@exercise("bug_mask_and_renormalize", points=1)
def test_bug_mask_and_renormalize_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.bug_mask_and_renormalize.keeps_inputs("values")
    attempt.bug_mask_and_renormalize.gives_the_same("same")


@exercise("bug_inverted_dropout", points=6)
def test_bug_inverted_dropout_in_training(attempt):
    """A share p becomes 0, and the rest is divided by 1 - p."""
    attempt.bug_inverted_dropout.drops_entries("dropout")


@exercise("bug_inverted_dropout", points=1.5)
def test_bug_inverted_dropout_in_evaluation(attempt):
    """With training=False the weights stay unchanged."""
    attempt.bug_inverted_dropout.drops_something("dropout")
    attempt.bug_inverted_dropout.agrees("evaluation")
    attempt.bug_inverted_dropout.agrees("dropout", only="plain")


@exercise("bug_inverted_dropout", points=1)
def test_bug_inverted_dropout_gradients(attempt):
    """Gradients reach the entries that were kept: all of them if none is dropped."""
    attempt.bug_inverted_dropout.drops_gradients("gradients", "attn_weights")
    attempt.bug_inverted_dropout.agrees("gradients alone", only="gradient")


@exercise("bug_inverted_dropout", points=0.5)
def test_bug_inverted_dropout_of_nothing(attempt):
    """With p = 0 the weights stay unchanged."""
    attempt.bug_inverted_dropout.drops_something("dropout")
    attempt.bug_inverted_dropout.agrees("nothing")


@exercise("bug_inverted_dropout", points=0.5)
def test_bug_inverted_dropout_is_your_own(attempt):
    """It is your own code and does not call torch's dropout."""
    attempt.bug_inverted_dropout.drops_something("dropout")
    attempt.bug_inverted_dropout.avoids_dropout("own")


@exercise("bug_inverted_dropout", points=0.25)
def test_bug_inverted_dropout_by_chance(attempt):
    """Each entry can be dropped and kept."""
    attempt.bug_inverted_dropout.drops_something("dropout")
    attempt.bug_inverted_dropout.drops_each_entry("by chance")


@exercise("bug_inverted_dropout", points=0.25)
def test_bug_inverted_dropout_inputs(attempt):
    """The weights that are passed in stay unchanged."""
    attempt.bug_inverted_dropout.drops_something("dropout")
    attempt.bug_inverted_dropout.keeps_inputs("dropout", "evaluation", "nothing")
