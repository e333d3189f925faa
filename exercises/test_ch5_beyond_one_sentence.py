"""Checks of chapter 5: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise, for_learners

REFUSED = "; creating such a module should raise an error"

UNEVEN_HEADS = f"a d_out that num_heads does not divide is accepted{REFUSED}"

UNEVEN_GROUPS = f"a num_heads that num_kv_heads does not divide is accepted{REFUSED}"


@for_learners("padding_mask")
def test_padding_mask_by_eye(attempt):
    """Three texts, two of them padded."""
    attempt.padding_mask.agrees("sentence")


@exercise("padding_mask", points=3.5)
def test_padding_mask_values(attempt):
    """True after the end of each text, False before it; one row for each text."""
    attempt.padding_mask.agrees("values")


@exercise("padding_mask", points=1)
def test_padding_mask_dtype(attempt):
    """The mask is boolean."""
    attempt.padding_mask.keeps_dtype("dtype")


@exercise("padding_mask", points=0.5)
def test_padding_mask_inputs(attempt):
    """The lengths stay unchanged."""
    attempt.padding_mask.keeps_inputs("values")


@for_learners("CrossAttention")
def test_CrossAttention_runs_on_the_sentence(attempt):
    """It runs on the sentence as its own context (seed 123)."""
    attempt.CrossAttention.answered("sentence")


@exercise("CrossAttention", points=3)
def test_CrossAttention_one_head(attempt):
    """With one head: queries from x, keys and values from the context."""
    attempt.CrossAttention.agrees("one head")


@exercise("CrossAttention", points=6)
def test_CrossAttention_values(attempt):
    """With several heads, and two texts of different lengths and widths."""
    attempt.CrossAttention.agrees("values")


@exercise("CrossAttention", points=4)
def test_CrossAttention_mask(attempt):
    """True hides, in a mask for each pair of tokens, for each text, or for all texts."""
    attempt.CrossAttention.agrees("mask")


@exercise("CrossAttention", points=1)
def test_CrossAttention_order(attempt):
    """The order of the context does not matter if its mask has the same order."""
    attempt.CrossAttention.agrees("order", only="result")
    attempt.CrossAttention.gives_the_same("order")


@exercise("CrossAttention", points=1)
def test_CrossAttention_large_scores(attempt):
    """Scores of a million do not overflow, and hidden scores are lower still."""
    attempt.CrossAttention.agrees("large")


@exercise("CrossAttention", points=1)
def test_CrossAttention_bias(attempt):
    """With `qkv_bias=True` each input projection adds its bias."""
    attempt.CrossAttention.agrees("bias")


@exercise("CrossAttention", points=2.5)
def test_CrossAttention_gradients(attempt):
    """Gradients reach both texts and all weights."""
    attempt.CrossAttention.agrees("gradients", only="gradient")


@exercise("CrossAttention", points=1)
def test_CrossAttention_parameters(attempt):
    """Three input projections and an output projection, and no other parameters."""
    attempt.CrossAttention.has_parameters("parameters")
    attempt.CrossAttention.starts_alive("start")


@exercise("CrossAttention", points=0.5)
def test_CrossAttention_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.CrossAttention.keeps_inputs("values", "mask", "bias")
    attempt.CrossAttention.gives_the_same("same")


@for_learners("sinusoidal_positions")
def test_sinusoidal_positions_by_eye(attempt):
    """Four positions, six columns."""
    attempt.sinusoidal_positions.agrees("sentence")


@exercise("sinusoidal_positions", points=1)
def test_sinusoidal_positions_start(attempt):
    """At position 0 all sines are 0 and all cosines 1."""
    attempt.sinusoidal_positions.agrees("start")


@exercise("sinusoidal_positions", points=5)
def test_sinusoidal_positions_values(attempt):
    """Sines and cosines of slower and slower clocks, side by side."""
    attempt.sinusoidal_positions.agrees("values")


@for_learners("rotate")
def test_rotate_by_eye(attempt):
    """Four rows of ones."""
    attempt.rotate.agrees("sentence")


@exercise("rotate", points=5)
def test_rotate_values(attempt):
    """Entry i turns together with entry i + head_dim / 2, and later pairs turn more slowly."""
    attempt.rotate.agrees("values")


@exercise("rotate", points=2)
def test_rotate_places(attempt):
    """The positions that are passed in are used, even if they do not start at 0."""
    attempt.rotate.agrees("places")


@exercise("rotate", points=1)
def test_rotate_base(attempt):
    """The base that is passed in is used."""
    attempt.rotate.agrees("base")


@exercise("rotate", points=1.5)
def test_rotate_gradients(attempt):
    """Gradients reach x."""
    attempt.rotate.agrees("gradients", only="gradient")


@exercise("rotate", points=0.5)
def test_rotate_inputs(attempt):
    """The arguments stay unchanged; they may have any dtype, and need not be contiguous."""
    attempt.rotate.keeps_inputs("values", "places", "base")
    attempt.rotate.gives_the_same("same")
    attempt.rotate.keeps_dtype("same")


@for_learners("GroupedQueryAttention")
def test_GroupedQueryAttention_runs_on_the_sentence(attempt):
    """It runs on the sentence (seed 123)."""
    attempt.GroupedQueryAttention.answered("sentence")


@exercise("GroupedQueryAttention", points=4)
def test_GroupedQueryAttention_all_heads(attempt):
    """With as many heads of keys as of queries, it is chapter 4's layer."""
    attempt.GroupedQueryAttention.agrees("all heads")


@exercise("GroupedQueryAttention", points=2)
def test_GroupedQueryAttention_one_head_of_keys(attempt):
    """All query heads share one head of keys and values."""
    attempt.GroupedQueryAttention.agrees("one head of keys")


@exercise("GroupedQueryAttention", points=7.1)
def test_GroupedQueryAttention_values(attempt):
    """Groups of neighbouring query heads share a head of keys and values."""
    attempt.GroupedQueryAttention.agrees("values")


@exercise("GroupedQueryAttention", points=2)
def test_GroupedQueryAttention_short_sequences(attempt):
    """Texts shorter than context_length."""
    attempt.GroupedQueryAttention.agrees("short")


@exercise("GroupedQueryAttention", points=1)
def test_GroupedQueryAttention_bias(attempt):
    """With `qkv_bias=True` each input projection adds its bias."""
    attempt.GroupedQueryAttention.agrees("bias")


@exercise("GroupedQueryAttention", points=0.5)
def test_GroupedQueryAttention_large_scores(attempt):
    """Scores of a million do not overflow."""
    attempt.GroupedQueryAttention.agrees("large")


@exercise("GroupedQueryAttention", points=1)
def test_GroupedQueryAttention_sees_no_future(attempt):
    """Later tokens do not change earlier results, in training or in evaluation."""
    attempt.GroupedQueryAttention.sees_no_future("future")
    attempt.GroupedQueryAttention.hides_in_training("dropout")


@exercise("GroupedQueryAttention", points=1.5)
def test_GroupedQueryAttention_dropout(attempt):
    """In training, single attention weights are dropped; in evaluation none."""
    attempt.GroupedQueryAttention.agrees("dropout", only="plain")
    attempt.GroupedQueryAttention.drops_both_halves("dropout")
    attempt.GroupedQueryAttention.drops_entries("dropout in heads", twice=True)


@exercise("GroupedQueryAttention", points=2.5)
def test_GroupedQueryAttention_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.GroupedQueryAttention.agrees("gradients", only="gradient")


@exercise("GroupedQueryAttention", points=0.9)
def test_GroupedQueryAttention_parameters(attempt):
    """Keys and values have num_kv_heads heads; the mask is a registered buffer."""
    attempt.GroupedQueryAttention.has_parameters("parameters")
    attempt.GroupedQueryAttention.starts_alive("start")
    attempt.GroupedQueryAttention.has_buffer("parameters", "mask")
    attempt.GroupedQueryAttention.moves_as_a_whole("moved")


@exercise("GroupedQueryAttention", points=1)
def test_GroupedQueryAttention_refuses_uneven_groups(attempt):
    """Heads that do not divide d_out or form uneven groups raise an error."""
    for group, said in (("indivisible", UNEVEN_HEADS), ("uneven groups", UNEVEN_GROUPS)):
        attempt.GroupedQueryAttention.refuses(group, said)


@exercise("GroupedQueryAttention", points=0.5)
def test_GroupedQueryAttention_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.GroupedQueryAttention.mixes_tokens("future")
    attempt.GroupedQueryAttention.keeps_inputs("values", "bias", "gradients", "same")
    attempt.GroupedQueryAttention.gives_the_same("same")


@for_learners("CachedAttention")
def test_CachedAttention_runs_on_the_sentence(attempt):
    """It runs on the whole sentence (seed 123)."""
    attempt.CachedAttention.answered("sentence")


@exercise("CachedAttention", points=5)
def test_CachedAttention_whole(attempt):
    """Without a cache, it is causal attention with several heads."""
    attempt.CachedAttention.agrees("whole", only="result.0")


@exercise("CachedAttention", points=2)
def test_CachedAttention_gives_a_cache(attempt):
    """It returns keys and values by head, (b, num_heads, tokens, head_dim)."""
    attempt.CachedAttention.agrees("whole", only="result.1")
    attempt.CachedAttention.agrees("one by one", only="result.1")


@exercise("CachedAttention", points=4)
def test_CachedAttention_one_by_one(attempt):
    """One token at a time gives the same result as the whole text."""
    attempt.CachedAttention.agrees("one by one", only="result.0")


@exercise("CachedAttention", points=4)
def test_CachedAttention_chunks(attempt):
    """Chunks of any size give the same result as the whole text."""
    attempt.CachedAttention.agrees("chunks", only="result.0")


@exercise("CachedAttention", points=0.5)
def test_CachedAttention_goes_on_twice(attempt):
    """Two texts can continue from the same cache."""
    attempt.CachedAttention.agrees("twice")


@exercise("CachedAttention", points=0.5)
def test_CachedAttention_inputs(attempt):
    """The arguments stay unchanged, including the cache."""
    attempt.CachedAttention.keeps_inputs("twice")


@exercise("CachedAttention", points=1)
def test_CachedAttention_bias(attempt):
    """With `qkv_bias=True` each input projection adds its bias."""
    attempt.CachedAttention.agrees("bias")


@exercise("CachedAttention", points=0.5)
def test_CachedAttention_large_scores(attempt):
    """Scores of a million do not overflow."""
    attempt.CachedAttention.agrees("large")


@exercise("CachedAttention", points=1)
def test_CachedAttention_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.CachedAttention.agrees("gradients", only="gradient")


@exercise("CachedAttention", points=0.5)
def test_CachedAttention_has_no_loop(attempt):
    """A longer text needs no more operations for one more token."""
    attempt.CachedAttention.does_not_grow("operations", "more tokens take more operations")


@exercise("CachedAttention", points=0.5)
def test_CachedAttention_mask_is_a_buffer(attempt):
    """The mask is a buffer named `mask`, which moves to another device, such as a GPU."""
    attempt.CachedAttention.has_buffer("parameters", "mask")
    attempt.CachedAttention.moves_as_a_whole("moved")


@exercise("CachedAttention", points=0.5)
def test_CachedAttention_parameters(attempt):
    """Three input projections and an output projection, and no other parameters."""
    attempt.CachedAttention.has_parameters("parameters")
    attempt.CachedAttention.starts_alive("start")


@for_learners("sliding_window_mask")
def test_sliding_window_mask_by_eye(attempt):
    """Six tokens and a window of three."""
    attempt.sliding_window_mask.agrees("sentence")


@exercise("sliding_window_mask", points=3)
def test_sliding_window_mask_values(attempt):
    """A token sees itself and the window - 1 tokens before it."""
    attempt.sliding_window_mask.agrees("values")


@exercise("sliding_window_mask", points=1)
def test_sliding_window_mask_full(attempt):
    """A window as long as the text gives chapter 3's mask."""
    attempt.sliding_window_mask.agrees("full")


@exercise("sliding_window_mask", points=1)
def test_sliding_window_mask_dtype(attempt):
    """The mask is boolean."""
    attempt.sliding_window_mask.keeps_dtype("dtype")


@for_learners("append_to_window")
def test_append_to_window_by_eye(attempt):
    """Three rows are cached, one is added, and one is dropped."""
    attempt.append_to_window.agrees("sentence")


@exercise("append_to_window", points=1.5)
def test_append_to_window_growing(attempt):
    """All tokens are kept while the window is not full."""
    attempt.append_to_window.agrees("growing")


@exercise("append_to_window", points=2)
def test_append_to_window_full(attempt):
    """The last `window` tokens are kept, the oldest dropped."""
    attempt.append_to_window.agrees("full")


@exercise("append_to_window", points=1)
def test_append_to_window_gradients(attempt):
    """Gradients reach the tokens that are kept."""
    attempt.append_to_window.agrees("gradients", only="gradient")


@exercise("append_to_window", points=0.5)
def test_append_to_window_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.append_to_window.keeps_inputs("growing", "full")
    attempt.append_to_window.gives_the_same("same")


@for_learners("online_softmax_attention")
def test_online_softmax_attention_by_eye(attempt):
    """Five keys in blocks of two."""
    attempt.online_softmax_attention.agrees("sentence")


@exercise("online_softmax_attention", points=1.5)
def test_online_softmax_attention_one_block(attempt):
    """With all keys in one block, it is scaled dot-product attention."""
    attempt.online_softmax_attention.agrees("one block")


@exercise("online_softmax_attention", points=6.6)
def test_online_softmax_attention_values(attempt):
    """With several blocks, the last one smaller."""
    attempt.online_softmax_attention.agrees("values")


@exercise("online_softmax_attention", points=3)
def test_online_softmax_attention_large_scores(attempt):
    """Scores of ten thousand do not overflow, and scores of minus thirty thousand do not vanish."""
    attempt.online_softmax_attention.agrees("large")
    attempt.online_softmax_attention.agrees("low")


@exercise("online_softmax_attention", points=1.5)
def test_online_softmax_attention_gradients(attempt):
    """Gradients reach queries, keys and values."""
    attempt.online_softmax_attention.agrees("gradients", only="gradient")


@exercise("online_softmax_attention", points=0.9)
def test_online_softmax_attention_has_no_table(attempt):
    """It makes no tensor of n x m entries."""
    attempt.online_softmax_attention.makes_no_table("operations", "block_size")


@exercise("online_softmax_attention", points=0.5)
def test_online_softmax_attention_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.online_softmax_attention.keeps_inputs("values", "one block")
    attempt.online_softmax_attention.gives_the_same("same")


@for_learners("LatentAttention")
def test_LatentAttention_runs_on_the_sentence(attempt):
    """It runs on the sentence (seed 123)."""
    attempt.LatentAttention.answered("sentence")


@exercise("LatentAttention", points=6)
def test_LatentAttention_values(attempt):
    """Keys and values come from the latent, for several heads."""
    attempt.LatentAttention.agrees("values")


@exercise("LatentAttention", points=1)
def test_LatentAttention_short_sequences(attempt):
    """Texts shorter than context_length."""
    attempt.LatentAttention.agrees("short")


@exercise("LatentAttention", points=0.5)
def test_LatentAttention_large_scores(attempt):
    """Scores of a million do not overflow."""
    attempt.LatentAttention.agrees("large")


@exercise("LatentAttention", points=1.5)
def test_LatentAttention_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.LatentAttention.agrees("gradients", only="gradient")


@exercise("LatentAttention", points=0.5)
def test_LatentAttention_parameters(attempt):
    """One projection down, two up, a bias only in the output; the mask is a registered buffer."""
    attempt.LatentAttention.has_parameters("parameters")
    attempt.LatentAttention.starts_alive("start")
    attempt.LatentAttention.has_buffer("parameters", "mask")
    attempt.LatentAttention.moves_as_a_whole("moved")


@exercise("LatentAttention", points=0.5)
def test_LatentAttention_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.LatentAttention.keeps_inputs("values")
    attempt.LatentAttention.gives_the_same("same")


@for_learners("bug_sinusoidal_positions")
def test_bug_sinusoidal_positions_by_eye(attempt):
    """Four positions, six columns."""
    attempt.bug_sinusoidal_positions.agrees("sentence")


@exercise("bug_sinusoidal_positions", points=1)
def test_bug_sinusoidal_positions_start(attempt):
    """At position 0 all sines are 0 and all cosines 1."""
    attempt.bug_sinusoidal_positions.agrees("start")


@exercise("bug_sinusoidal_positions", points=5)
def test_bug_sinusoidal_positions_values(attempt):
    """Sines and cosines of slower and slower clocks, side by side."""
    attempt.bug_sinusoidal_positions.agrees("values")


@for_learners("bug_rotate")
def test_bug_rotate_by_eye(attempt):
    """Four rows of ones."""
    attempt.bug_rotate.agrees("sentence")


@exercise("bug_rotate", points=5)
def test_bug_rotate_values(attempt):
    """Entry i turns together with entry i + head_dim / 2, and later pairs turn more slowly."""
    attempt.bug_rotate.agrees("values")


@exercise("bug_rotate", points=2)
def test_bug_rotate_places(attempt):
    """The positions that are passed in are used, even if they do not start at 0."""
    attempt.bug_rotate.agrees("places")


@exercise("bug_rotate", points=1)
def test_bug_rotate_base(attempt):
    """The base that is passed in is used."""
    attempt.bug_rotate.agrees("base")


@exercise("bug_rotate", points=1.5)
def test_bug_rotate_gradients(attempt):
    """Gradients reach x."""
    attempt.bug_rotate.agrees("gradients", only="gradient")


@exercise("bug_rotate", points=0.5)
def test_bug_rotate_inputs(attempt):
    """The arguments stay unchanged; they may have any dtype, and need not be contiguous."""
    attempt.bug_rotate.keeps_inputs("values", "places", "base")
    attempt.bug_rotate.gives_the_same("same")
    attempt.bug_rotate.keeps_dtype("same")
