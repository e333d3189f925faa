# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # Causal attention
#
# In chapter 2 every token looked at every other one. A language model may not do that. It is
# trained to name the *next* token, at all positions of a text at once: the output at "journey"
# has to lead to "starts", the output at "starts" to "with". If "journey" could look at "starts",
# the task would be solved by copying, the loss would fall to nothing, and the model would be
# useless when it has to write, because then the next token does not exist yet.
#
# So we add one rule. **Token i may look at tokens 1, …, i, never at a later one.**
# Attention that obeys it is called *causal*, or *masked* ([Vaswani et al.
# 2017](https://arxiv.org/abs/1706.03762), sec. 3.2.3). You will
#
# 1. build the mask, and apply it in two ways that turn out to be the same;
# 2. write dropout for attention weights, which is used in training only;
# 3. put it all into a module that takes a whole batch of texts.
#
# Shapes, as before: `n` or `num_tokens` tokens, `d_in` numbers in, `d_out` numbers out. New here is
# `b`, the number of texts in a batch.

# %%
import torch
from torch import nn

words = ["Your", "journey", "starts", "with", "one", "step"]
sentence = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)


# %% [markdown]
# ## Where attention sees the future
#
# Take the attention weights of chapter 2's `SelfAttention_v2(3, 2)`, made with seed 789:
#
# | | Your | journey | starts | with | one | step |
# |---|---|---|---|---|---|---|
# | Your | 0.1921 | 0.1646 | 0.1652 | 0.1550 | 0.1721 | 0.1510 |
# | journey | 0.2041 | 0.1659 | 0.1662 | 0.1496 | 0.1665 | 0.1477 |
# | starts | 0.2036 | 0.1659 | 0.1662 | 0.1498 | 0.1664 | 0.1480 |
# | with | 0.1869 | 0.1667 | 0.1668 | 0.1571 | 0.1661 | 0.1564 |
# | one | 0.1830 | 0.1669 | 0.1670 | 0.1588 | 0.1658 | 0.1585 |
# | step | 0.1935 | 0.1663 | 0.1666 | 0.1542 | 0.1666 | 0.1529 |

# %% [markdown]
# Row i says how token i distributes its attention. Everything to the right of the diagonal is
# the future. "Your", the first word, spends only 0.1921 on itself and 0.8079 on words that have not
# been written yet.
#
# ## The mask, and which way round it is
#
# A mask is a table of yes and no, one entry per pair of tokens, of shape (n, n). In this course
#
# > **`True` hides.** `mask[i, j]` is `True` if query i must *not* see key j, that is if
# > j > i.
#
# The diagonal is `False`: a token always sees itself. So the `True` entries form a triangle that
# begins one step above the diagonal: n(n−1)/2 of the n² entries, none in the last row.
#
# [Picture: A table of six by six, a row for each query and a column for each key. The fifteen
# entries above the diagonal are hidden; without the mask they are the words that leak into the
# answer.]
#
# Remind yourself of the convention each time, because PyTorch uses both:
#
# | where | a boolean `True` means |
# |---|---|
# | `Tensor.masked_fill(mask, value)` | fill this entry (so: hide it) |
# | `nn.MultiheadAttention(…, attn_mask=…, key_padding_mask=…)` | hide it |
# | `F.scaled_dot_product_attention(…, attn_mask=…)` | it **may** be attended to |
#
# Pass a mask of the first two kinds to the third function without a `~` (not), and every token sees
# only the future; the last one sees nothing at all. No error is raised. Only the numbers show it.

# %%
def causal_mask(context_length: int) -> torch.Tensor:
    """Return the mask that hides from every token all the tokens after it.

    Shapes:
        context_length: an int, written n below
        result: (n, n), dtype torch.bool; row = query i, column = key j

    Formula (the masking of Vaswani et al. 2017, sec. 3.2.3):
        mask[i, j] = True   if j > i   (a future token: hide it)
                     False  if j <= i  (the past, and the token itself)

    >>> causal_mask(3)
    tensor([[False,  True,  True],
            [False, False,  True],
            [False, False, False]])
    """
    raise NotImplementedError


# %% [markdown]
# ## First way: zero the future, then renormalise
#
# The obvious way to use the mask is to take finished attention weights and set the hidden ones to
# zero. For row 2, "journey", that leaves
#
# | | Your | journey | starts | with | one | step | sum |
# |---|---|---|---|---|---|---|---|
# | weights | 0.2041 | 0.1659 | 0.1662 | 0.1496 | 0.1665 | 0.1477 | 1 |
# | future set to 0 | 0.2041 | 0.1659 | 0 | 0 | 0 | 0 | 0.3700 |
# | divided by 0.3700 | 0.5517 | 0.4483 | 0 | 0 | 0 | 0 | 1 |
#
# Zeroing alone is not enough, and the reason is not just tidiness. The weights came out of a
# softmax whose denominator runs over *all* tokens, so the future has already reduced the visible
# ones. The row's missing mass, 1 − 0.3700 = 0.6300, is exactly the weight that the future had:
# the output would shrink or grow with words that are supposed to be invisible.
#
# Dividing each row by its remaining sum repairs this completely. Write s_ij for the scaled
# scores, and split the softmax's denominator into the visible part V_i = ∑_(j ≤ i) e^(s_ij) and the future F_i = ∑_(j > i) e^(s_ij). For a visible j
#
#     w_ij / ∑_(k ≤ i) w_ik = (e^(s_ij) / (V_i + F_i)) / (V_i / (V_i + F_i)) = e^(s_ij) / V_i.
#
# The future F_i cancels. The result is a softmax over the visible tokens alone.

# %%
def mask_and_renormalize(attn_weights: torch.Tensor) -> torch.Tensor:
    """Set the weights of future tokens to zero and make every row sum to 1 again.

    Shapes:
        attn_weights: (n, n), every row sums to 1; row = query i, column = key j.
        result: same shape, a new tensor; `attn_weights` itself stays unchanged

    Formula:
        result[i, j] = w[i, j] / (w[i, 0] + ... + w[i, i])  if j <= i,  else 0

    >>> mask_and_renormalize(torch.tensor([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]))
    tensor([[1.0000, 0.0000, 0.0000],
            [0.4000, 0.6000, 0.0000],
            [0.2000, 0.3000, 0.5000]])
    """
    raise NotImplementedError


# %% [markdown]
# After zeroing, the row sums are 0.1921, 0.3700, 0.5357, 0.6775, 0.8415 and 1.0000; after
# renormalising they are all 1. The first row is now 1, 0, 0, …: the first token can only
# attend to itself, in every causal model, whatever its weights.
#
# And the leak? With the *last* word swapped for (3, −2, 1), the output for the *first* word is
#
# | first word's output | last word "step" | last word swapped |
# |---|---|---|
# | zeroed only | -0.0168, 0.0055 | -0.0130, 0.0043 |
# | renormalised | -0.0872, 0.0286 | -0.0872, 0.0286 |
#
# Without renormalising, the first word's output depends on the sixth word. After renormalising, it
# cannot.
#
# ## Second way: −∞ before the softmax
#
# If the result is a softmax over the visible tokens, we can ask for that at once. We want
# e^(s_ij) to be 0 for the future, and e^(−∞) = 0. So fill the hidden *scores* with
# −∞ and take one softmax:
#
#     attn_weights
#     = softmax((attn_scores + M) / √d_k),    M_ij
#     = { −∞ for j > i; 0 for j ≤ i }
#
# You may scale before or after masking, because −∞ / √d_k is still −∞. By the
# algebra above both ways give the same numbers, but this one is shorter, and safer: if a future
# score is so large that the visible weights underflow to 0, the first way ends in 0/0, while here
# the future never enters the sum.
#
# There are two traps.
#
# - **Never multiply by −∞.** In floating point 0 · (−∞) is `nan`, so
#   a 0/1 mask times −∞ puts `nan` where you meant 0, and one `nan` spoils its whole row.
#   Fill or select; do not multiply.
# - **`masked_fill` returns a new tensor.** If you do not use its result, it masks nothing, and
#   every shape still fits. (`masked_fill_`, with the underscore, changes the tensor in place; be
#   sure that the tensor is yours to change.)
#
# Write your function for any number of tables at once: all dimensions before the last two (a batch
# of texts, say) stay unchanged. So count dimensions from the end: the keys are always the last. The
# class at the end of this chapter can then call your function.

# %%
def causal_attention_weights(attn_scores: torch.Tensor, d_k: int) -> torch.Tensor:
    """Turn raw scores into causal attention weights with a single softmax.

    Shapes:
        attn_scores: (..., n, n), unscaled; row = query i, column = key j
        d_k: an int, the number of features of a key
        result: (..., n, n), rows sum to 1, exactly 0 above the diagonal;
            `attn_scores` itself stays unchanged
        The leading dimensions ... may be absent, a batch, or several; all are treated the same.

    Formula (Vaswani et al. 2017, eq. 1 with the masking of sec. 3.2.3):
        softmax over j of  s[i, j] / sqrt(d_k),  where s[i, j] = -inf for j > i

    In the example 2.1972 is 2 ln 3, so the second row is softmax(ln 3, 0) = 3/4, 1/4.

    >>> causal_attention_weights(torch.tensor([[1.0, 9.0], [2.1972, 0.0]]), d_k=4)
    tensor([[1.0000, 0.0000],
            [0.7500, 0.2500]])
    """
    raise NotImplementedError


# %% [markdown]
# Both ways give the same weights, to within rounding. Here are rows 2, 3 and 6:
#
# | row | Your | journey | starts | with | one | step |
# |---|---|---|---|---|---|---|
# | 2, journey | 0.5517 | 0.4483 | 0 | 0 | 0 | 0 |
# | 3, starts | 0.3800 | 0.3097 | 0.3103 | 0 | 0 | 0 |
# | 6, step | 0.1935 | 0.1663 | 0.1666 | 0.1542 | 0.1666 | 0.1529 |
#
# Row 6 is the same as before masking: the last token has no future to lose.
#
# ## Dropout on the weights
#
# A model that relies on one single connection learns badly.
# [Dropout](https://jmlr.org/papers/v15/srivastava14a.html) (Srivastava et al. 2014) prevents
# that: in training each attention weight is set to zero with probability p, drawn again for
# every entry and every call. When the trained model is used, nothing is dropped.
#
# That alone would change the scale. If a fraction p of the weights disappears, a row sums to
# about 1 − p in training but to 1 afterwards, and the following layers would see smaller inputs
# in training than afterwards. So the kept entries are divided by 1 − p. The expected value of an
# entry w is then
#
#     p · 0 + (1 − p) · w / (1 − p) = w,
#
# just as without dropout. Since the correction is made in training and not afterwards, this is
# called *inverted* dropout, and in `eval()` mode dropout then does nothing. (The 2014 paper's main
# text scales down at test time instead, and its p is the chance to *keep*. In PyTorch, and here,
# p is the chance to *drop*.)
#
# After dropout a row sums to 1 only on average, over many draws; do not renormalise it. And do
# not expect the same zeros as a classmate: the pattern that a seed gives differs between
# platforms. You can rely on the properties: every entry is 0 or w / (1 − p), and about a
# share p of them is dropped.

# %%
def inverted_dropout(
    attn_weights: torch.Tensor, p: float, training: bool = True
) -> torch.Tensor:
    """Drop each entry with probability p and scale the others to keep the mean.

    Shapes:
        attn_weights: any shape
        p: a float, 0 <= p < 1, the probability that an entry is dropped
        training: when False, the weights come back unchanged
        result: same shape as `attn_weights`

    Formula (Srivastava et al. 2014, with the scaling moved into training):
        result = w / (1 - p)  with probability 1 - p,  else 0;  each entry on its own

    Must not call nn.Dropout or torch.nn.functional.dropout: this is what they do inside.
    As with them, each call in training drops other entries.

    >>> sorted(set(inverted_dropout(torch.ones(1000), p=0.5).tolist()))
    [0.0, 2.0]
    >>> inverted_dropout(torch.tensor([0.25, 0.75]), p=0.5, training=False)
    tensor([0.2500, 0.7500])
    """
    raise NotImplementedError


# %% [markdown]
# With p = 0.5, each weight of one draw is either gone or exactly twice as large; the average over
# many draws is the original weight.
#
# ## A whole batch, and a mask that travels along
#
# Now everything becomes a module. Three things are new.
#
# **Batches.** `x` has shape (b, n, d_in). `nn.Linear` acts on the last dimension and leaves the
# others alone, so queries and keys come out as (b, n, d_out). The scores, (b, n, n), are a
# separate matrix for each text, and `@` multiplies the last two dimensions for each text of the
# batch. Therefore swap only the last two dimensions of the keys: `keys.transpose(1, 2)`, of shape
# (b, d_out, n). `keys.T` would reverse all three, and the sizes would no longer fit.
#
# **A buffer.** The mask belongs to the module, but it must not be trained. As a plain attribute it
# would stay behind on the CPU when the model moves to a GPU; as an `nn.Parameter` it would be
# given to the optimizer. `self.register_buffer("mask", …)` is made for this case: `self.mask`
# moves with `.to(device)`, it is saved in the `state_dict`, and it has no gradient. Take care with
# tensors that `forward` creates, too: `torch.ones(n, n)` is on the CPU even if `x` is not, unless
# you pass `device=x.device`.
#
# **Shorter texts.** The mask is built once, for `context_length` tokens, the longest text the
# module will get. A text of `num_tokens` < `context_length` needs only the upper left
# `num_tokens` × `num_tokens` corner, so cut it in both dimensions on every call. (A longer text is
# an error.)
#
# | step | shape |
# |---|---|
# | `x` | (b, n, d_in) |
# | queries, keys, values | (b, n, d_out) |
# | attn_scores, masked, softmax, dropout | (b, n, n) |
# | result: the context vectors | (b, n, d_out) |
#
# One mask of shape (n, n) serves all texts: it broadcasts over the batch. Dropout comes
# last, on the finished weights and before they meet the values. `nn.Dropout` is your
# `inverted_dropout` as a module; `.train()` and `.eval()` switch it for you.

# %%
class CausalAttention(nn.Module):
    """One head of causal self-attention, for a batch of texts.

    Shapes:
        d_in, d_out: ints, numbers per token in and out
        context_length: int, the largest number of tokens in a text
        dropout: float, the probability that an attention weight is dropped in training
        x: (b, num_tokens, d_in) with num_tokens <= context_length
        result: (b, num_tokens, d_out)

    Formula (Vaswani et al. 2017, eq. 1 with the masking of sec. 3.2.3):
        dropout(softmax(mask(Q K^T) / sqrt(d_k))) V,  d_k = features of a key,
        with Q, K, V = x W^T (+ b), as nn.Linear computes them (PyTorch docs)

    Attributes: W_query, W_key, W_value are nn.Linear layers with a bias only if qkv_bias (create
    them in this order, so that a seed gives the lesson's numbers); dropout is an nn.Dropout; mask
    is a buffer of shape (context_length, context_length).

    In the example all scores are 0 and the values are the inputs, so each token
    gets the mean of the tokens up to itself.

    >>> layer = CausalAttention(d_in=2, d_out=2, context_length=4, dropout=0.0)
    >>> _ = nn.init.zeros_(layer.W_query.weight), nn.init.eye_(layer.W_value.weight)
    >>> layer(torch.tensor([[[2.0, 0.0], [4.0, 6.0]]])).tolist()
    [[[2.0, 0.0], [3.0, 3.0]]]
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x (b, num_tokens, d_in) to context vectors (b, num_tokens, d_out)."""
        raise NotImplementedError


# %% [markdown]
# Put the sentence in twice, as a batch of two. With seed 123 the six rows are
#
# | token | output |
# |---|---|
# | Your | -0.4519, 0.2216 |
# | journey | -0.5874, 0.0058 |
# | starts | -0.6300, -0.0632 |
# | with | -0.5675, -0.0843 |
# | one | -0.5526, -0.0981 |
# | step | -0.5299, -0.1081 |
#
# and the second text gives the same ones: texts of a batch do not see each other.

# %% [markdown]
# The module keeps the mask in its `state_dict` but not among its trained
# `parameters`. The test that matters most for a causal layer is to change each token in turn and
# note which outputs move. In a table with a row for each output and a column for each changed
# token, all entries above the diagonal are exactly zero: no output depends on a later token. That
# makes it fair to train on all positions at once, and a model can continue to write without
# computing earlier outputs again.
#
# One such layer is a *head*: it has one set of weights, so it can look for one kind of thing at a
# time. In chapter 4 you let several look at once.

# %% [markdown]
# ## Find the bug, twice
#
# Masks and dropout are where wrong code is hardest to see: the shapes are right, most of the
# numbers are too, and training works either way. Each of the two functions below has one mistake.
# Run the checks, find it, and change as little as you can.
#
# The first one makes its mask from the positions of the tokens: `places[:, None]` counts queries,
# down the rows, and `places[None, :]` counts keys, across the columns.

# %%
def bug_mask_and_renormalize(attn_weights: torch.Tensor) -> torch.Tensor:
    """Zero the weights of future tokens; make every row sum to 1. This code has one mistake.

    Shapes:
        attn_weights: (n, n), every row sums to 1; row = query i, column = key j.
        result: same shape, a new tensor; `attn_weights` itself stays unchanged

    Formula: as in mask_and_renormalize
        result[i, j] = w[i, j] / (w[i, 0] + ... + w[i, i])  if j <= i,  else 0
    """
    places = torch.arange(len(attn_weights), device=attn_weights.device)
    future = places[None, :] >= places[:, None]
    present = attn_weights.masked_fill(future, 0.0)
    return present / present.sum(dim=1, keepdim=True)


# %% [markdown]
# The second one draws its pattern with `torch.bernoulli`, which makes each entry 1 with the given
# probability, and 0 otherwise.

# %%
def bug_inverted_dropout(
    attn_weights: torch.Tensor, p: float, training: bool = True
) -> torch.Tensor:
    """Drop each entry with probability p and scale the others. This code has one mistake.

    Shapes:
        attn_weights: any shape
        p: a float, 0 <= p < 1, the probability that an entry is dropped
        training: when False, the weights come back unchanged
        result: same shape as `attn_weights`

    Formula (Srivastava et al. 2014): as in inverted_dropout
        result = w / (1 - p)  with probability 1 - p,  else 0;  each entry on its own
    """
    if not training:
        return attn_weights
    chances = torch.full_like(attn_weights, 1 - p)
    pattern = torch.bernoulli(chances)
    return attn_weights * pattern


# %% [markdown]
# ## Three questions
#
# Answer them without running anything. The answers are below.
#
# 1. How many entries of the causal mask are `True` for 8 tokens?
# 2. All scores are equal. With the causal mask, which weight does token 4 of 6 give to token 1?
# 3. In training, dropout with p = 0.25 keeps a weight of 0.3. What does it become?
#
# **Answers.** (1) **28**: 8 · 7 / 2, all above the diagonal. (2) **0.25**: it sees four tokens, and
# gives the same to each. (3) **0.4**: it is divided by 1 - 0.25.

# %% [markdown]
# ## What you can do now
#
# You can keep a model from looking ahead. You have masked in two ways, can show that they agree,
# know both traps, and have written dropout. Your `CausalAttention` takes a batch of texts, carries
# its mask along as a buffer, and provably lets no output depend on a later token.
