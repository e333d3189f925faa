# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # Multi-head attention
#
# One softmax row is one decision: what a token spends on one word it cannot spend on another. But
# a word has several questions to ask at once. A verb looks for its subject, for its object, for a
# "not" nearby. A single head has to answer with one compromise.
#
# So let several heads look, each with queries, keys and values of its own, and put their answers
# side by side ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), sec. 3.2.2). You will build
# this twice:
#
# 1. as a **wrapper** around several copies of chapter 3's `CausalAttention`: easy to follow;
# 2. as **one** layer that splits wide projections into heads by reshaping: the form used in
#    practice.
#
# Both compute the same thing. At the end you turn one into the other and compare.
#
# Run on its own, the chapter uses `CausalAttention` from your own chapter 3. The checks use a simple
# class of that name instead, which does no attention: so the first class can pass even if your
# chapter 3 does not. Do not inherit from it or call it in the second class, `MultiHeadAttention`:
# build that on `nn.Module` alone, and import nothing else from chapter 3.

# %%
import torch
from torch import nn

from ch3_causal_attention import CausalAttention

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
# ## Several heads side by side
#
# Every head takes the whole input `x`, of shape (b, n, d_in), and returns (b, n, d_out). Join the
# results along the last dimension, so that each token keeps one row, now longer:
#
# | | shape |
# |---|---|
# | `x` | (b, n, d_in) |
# | each of the `num_heads` results | (b, n, d_out) |
# | joined | (b, n, num_heads * d_out) |
#
# *Joined*, not stacked: stacking would add a fourth dimension. Here `d_out` is the width of **one**
# head, and nothing is divided by `num_heads`. (In the second form below `d_out` is the width of
# all heads together. Keep the two apart.)
#
# The heads differ only in their weights. They begin with different random ones, and so they can
# learn to look for different things.
#
# Keep them in an `nn.ModuleList`. It behaves like a list, but the module knows what is in it. A
# plain Python list works just as well in `forward`, and that is the trap: `parameters()` does not
# find the heads in it, so an optimizer never trains them, `.to(device)` leaves them behind,
# `.eval()` does not reach their dropout, and `state_dict()` saves none of them. No error tells you.

# %%
class MultiHeadAttentionWrapper(nn.Module):
    """Several causal heads on the same input, their outputs joined.

    Shapes:
        d_in, d_out: ints, numbers per token into and out of each single head
        context_length: int, the largest number of tokens in a text
        dropout: float, the probability that an attention weight is dropped in training
        num_heads: int, the number of heads
        x: (b, num_tokens, d_in)
        result: (b, num_tokens, num_heads * d_out); head 0 fills the first d_out columns

    Formula (Vaswani et al. 2017, sec. 3.2.2, without the output projection W^O):
        Concat(head_1, ..., head_h)

    Attributes: heads, an nn.ModuleList of num_heads CausalAttention modules.

    In the example all scores are 0, so both heads return running means of their values;
    the second head's values are ten times the first one's.

    >>> wrapper = MultiHeadAttentionWrapper(1, 1, 4, 0.0, num_heads=2)
    >>> for head, factor in zip(wrapper.heads, (1.0, 10.0)):
    ...     _ = nn.init.zeros_(head.W_query.weight)
    ...     _ = nn.init.constant_(head.W_value.weight, factor)
    >>> wrapper(torch.tensor([[[2.0], [4.0]]])).tolist()
    [[[2.0, 20.0], [3.0, 30.0]]]
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x (b, num_tokens, d_in) to (b, num_tokens, num_heads * d_out)."""
        raise NotImplementedError


# %% [markdown]
# | token | head 0 | head 1 |
# |---|---|---|
# | Your | -0.4519, 0.2216 | 0.4772, 0.1063 |
# | journey | -0.5874, 0.0058 | 0.5891, 0.3257 |
# | starts | -0.6300, -0.0632 | 0.6202, 0.3860 |
# | with | -0.5675, -0.0843 | 0.5478, 0.3589 |
# | one | -0.5526, -0.0981 | 0.5321, 0.3428 |
# | step | -0.5299, -0.1081 | 0.5077, 0.3493 |
#
# Head 0 has chapter 3's numbers: with the same seed it is the same head. Head 1 scores the very
# same words differently.
#
# ## The same, by reshaping
#
# The wrapper runs its heads one after another: for each head three projections, one product for
# the scores, one for the context vectors. That is 5 · num_heads small products in
# a Python loop. A GPU is faster with a few large ones.
#
# Look at the projections first. Head 0 multiplies `x` by its own query weights, head 1 by
# others. Stack the two weight matrices and multiply once: the same numbers come out, side by side
# in one wider row. So **three wide projections replace three per head**. From here on `d_out` is
# the width of *all* heads together, and one head has
#
#     head_dim = d_out / num_heads
#
# columns: head 0 the first `head_dim`, head 1 the next, and so on.
#
# [Picture: A table with a row for each token and a column for each number. Head 0 is the left half
# of all rows, head 1 the right half.]
#
# The scores must not be shared, though: every head needs its own (n, n) table. `@`
# multiplies the last two dimensions and treats all those in front as a batch. So bring the heads to
# the front:
#
# | step | shape |
# |---|---|
# | wide queries | (b, n, d_out) |
# | cut each row into heads | (b, n, num_heads, head_dim) |
# | swap dimensions 1 and 2 | (b, num_heads, n, head_dim) |
#
# Why two steps? A reshape never reorders: it reads the numbers in their order and puts them back in
# that order, in rows of another length. Take two heads and three tokens, and let 23 be the number
# in column 3 of token 2:
#
# | | token 1 | token 2 | token 3 |
# |---|---|---|---|
# | wide rows | 11 12 13 14 | 21 22 23 24 | 31 32 33 34 |
#
# | | position 1 | position 2 | position 3 |
# |---|---|---|---|
# | head 0, in two steps | 11 12 | 21 22 | 31 32 |
# | head 1, in two steps | 13 14 | 23 24 | 33 34 |
# | head 0, only reshaped | 11 12 | 13 14 | 21 22 |
# | head 1, only reshaped | 23 24 | 31 32 | 33 34 |
#
# In the last two rows a position is no longer a token. The shape is right, no error appears,
# and the causal mask is worthless: position 1 of head 1 contains a piece of token 2.

# %%
def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Cut every token's row into heads and bring the heads in front of the tokens.

    Shapes:
        x: (b, num_tokens, d_out), d_out divisible by num_heads
        result: (b, num_heads, num_tokens, head_dim), head_dim = d_out / num_heads

    Formula (the h parallel heads of Vaswani et al. 2017, sec. 3.2.2):
        result[b, h, t, j] = x[b, t, h * head_dim + j]

    >>> x = torch.tensor([[[11, 12, 13, 14], [21, 22, 23, 24]]])
    >>> split_heads(x, num_heads=2).tolist()
    [[[[11, 12], [21, 22]], [[13, 14], [23, 24]]]]
    """
    raise NotImplementedError


# %% [markdown]
# ## And back
#
# After attention each head has its context vectors, (b, num_heads, n, head_dim), and we want one
# row per token again. Go the same way backwards: swap first, then join.
#
# | step | shape |
# |---|---|
# | context vectors of all heads | (b, num_heads, n, head_dim) |
# | swap dimensions 1 and 2 | (b, n, num_heads, head_dim) |
# | join the last two | (b, n, num_heads * head_dim) |
#
# Reshaping without the swap would fill a token's row with *other tokens* of the same head. In the
# example: token 1 would get 11 12 21 22 in place of 11 12 13 14.
#
# One word on memory. A transpose moves no number; it only changes the order in which they are read.
# `view` needs rows that are contiguous in memory and may fail after a transpose ("view size is not
# compatible …"). Then either make a copy in the new order with `.contiguous()` and `view` that, or
# call `reshape`, which copies if it must.

# %%
def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads' results side by side again: the inverse of split_heads.

    Shapes:
        x: (b, num_heads, num_tokens, head_dim)
        result: (b, num_tokens, num_heads * head_dim)

    Formula (the Concat of Vaswani et al. 2017, sec. 3.2.2):
        result[b, t, h * head_dim + j] = x[b, h, t, j]

    >>> merge_heads(torch.tensor([[[[11, 12], [21, 22]], [[13, 14], [23, 24]]]])).tolist()
    [[[11, 12, 13, 14], [21, 22, 23, 24]]]
    """
    raise NotImplementedError


# %% [markdown]
# With three tokens the careless merge gives 11 12 21 22, then 31 32 13 14, then 23 24 33 34: each
# row contains pieces of two tokens.
#
# ## Every shape on the way
#
# Before you write the layer, write down its shapes: many mistakes show up as a wrong shape. With b
# = 2, n = 6, d_in = 3, d_out = 4 and num_heads = 2 (so head_dim = 2) they are
#
# | name | what it is | here |
# |---|---|---|
# | `x` | the input | (2, 6, 3) |
# | `queries` | the wide projection (the same for keys and values) | (2, 6, 4) |
# | `queries_heads` | split into heads | (2, 2, 6, 2) |
# | `attn_scores` | for each head, one number per pair of tokens | (2, 2, 6, 6) |
# | `context_heads` | attention weights times values, for each head | (2, 2, 6, 2) |
# | `context_merged` | the heads side by side | (2, 6, 4) |
# | `output` | after the output projection | (2, 6, 4) |
#
# For the scores, swap the last two dimensions of the keys: queries (b, num_heads, n, head_dim)
# times keys (b, num_heads, head_dim, n). `head_dim` is summed away.
#
# These sizes are badly chosen, on purpose: b, num_heads and head_dim are all 2. Your
# function has to know which is which. When you test a layer of your own, give every
# size a different number; then a mix-up cannot hide.

# %%
def trace_shapes(
    b: int, num_tokens: int, d_in: int, d_out: int, num_heads: int
) -> dict[str, tuple[int, ...]]:
    """Write down the shape at each step of split-head attention. No tensor is needed.

    Shapes:
        b, num_tokens, d_in, d_out, num_heads: ints, d_out divisible by num_heads
        result: a dict of tuples of ints, with the keys x, queries, queries_heads,
            attn_scores, context_heads, context_merged, output, in this order

    Formula (Vaswani et al. 2017, sec. 3.2.2):
        head_dim = d_out / num_heads

    >>> shapes = trace_shapes(b=1, num_tokens=5, d_in=3, d_out=8, num_heads=2)
    >>> shapes["x"], shapes["queries_heads"], shapes["output"]
    ((1, 5, 3), (1, 2, 5, 4), (1, 5, 8))
    """
    raise NotImplementedError


# %% [markdown]
# ## One layer for all heads
#
# Now put everything together. Three points still need an explanation.
#
# [Picture: The tensors as boxes from x to the output, each with its shape; the split moves
# num_heads in front of the tokens, and the merge moves it back.]
#
# **The scale is √head_dim.** The d_k under the root is the number of features
# of the vectors whose dot product is taken, and that is now `head_dim`. (If their entries are
# independent with variance 1, the dot product has variance `head_dim`.) With `d_out` in its place
# every score is too small by a factor of √num_heads, and the weights come out
# too even. With one head you would not notice.
#
# **The output projection.** After merging, each head's answer has its own columns.
# `out_proj` lets the heads talk: it mixes the columns, separately for each token. It takes the
# merged heads and keeps their width, so it is `nn.Linear(d_out, d_out)`, whatever `d_in` is.
# It always has a bias: `qkv_bias` is, as its name says, about queries, keys and values only.
#
# **A width that `num_heads` does not divide** raises an error immediately, when the layer is
# created: a `ValueError` that gives both numbers helps whoever made the mistake most.
#
# Mask and dropout are those of chapter 3. The mask's (n, n) broadcasts over texts *and* heads,
# because these are leading dimensions.
#
# Count the products: three projections, one for the scores, one for the context vectors, one output
# projection. Six, for 2 heads as for 96. The arithmetic in them does not grow either, because more
# heads are narrower heads. Only the table of scores grows: num_heads * n * n numbers per text.

# %%
class MultiHeadAttention(nn.Module):
    """Causal multi-head attention, computed for all heads at once.

    Shapes:
        d_in, d_out: ints, numbers per token in and out; d_out counts all heads together
        context_length: int, the largest number of tokens in a text
        dropout: float, the probability that an attention weight is dropped in training
        num_heads: int, must divide d_out; head_dim = d_out / num_heads
        x: (b, num_tokens, d_in) with num_tokens <= context_length
        result: (b, num_tokens, d_out)

    Formula (Vaswani et al. 2017, sec. 3.2.2, with the masking of sec. 3.2.3):
        Concat(head_1, ..., head_h) W_O^T + b_O,
        head_i = dropout(softmax(mask(Q_i K_i^T) / sqrt(head_dim))) V_i,
        where Q_i, K_i, V_i are the i-th slices of head_dim columns of x W^T (+ b)

    Attributes: W_query, W_key, W_value are nn.Linear layers from d_in to d_out with a bias
    only if qkv_bias; out_proj is an nn.Linear from d_out to d_out with a bias (create them
    in this order, and a seed gives the lesson's numbers); dropout is an nn.Dropout; mask is a
    buffer, (context_length, context_length).

    Raises:
        ValueError: if num_heads does not divide d_out (another error, or an `assert`, is fine too)

    In the example all scores are 0, and the projections of values and output change nothing. So
    each token gets the mean of the tokens up to itself; each head computes one of its columns.

    >>> layer = MultiHeadAttention(2, 2, 4, 0.0, num_heads=2)
    >>> _ = nn.init.zeros_(layer.W_query.weight), nn.init.eye_(layer.W_value.weight)
    >>> _ = nn.init.eye_(layer.out_proj.weight), nn.init.zeros_(layer.out_proj.bias)
    >>> layer(torch.tensor([[[2.0, 0.0], [4.0, 6.0]]])).tolist()
    [[[2.0, 0.0], [3.0, 3.0]]]
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x (b, num_tokens, d_in) to context vectors (b, num_tokens, d_out)."""
        raise NotImplementedError


# %% [markdown]
# The promise was that both forms compute the same thing. Take the wrapper from above, two heads of
# width 2, and stack its weights into a layer with d_out = 4. With the identity as output
# projection nothing is mixed, and the outputs have to agree.

# %% [markdown]
# They agree to within rounding. One more look at the scale: random queries and keys, 512 numbers
# wide, cut into 8 heads of 64. How much does a query give to its favourite among 10 keys, on
# average?

# %% [markdown]
# | scale | weight of the favourite |
# |---|---|
# | none | 0.8672 |
# | √64, from `head_dim` | 0.3199 |
# | √512, from `d_out` | 0.1650 |
#
# An even share would be 0.1. Without a scale nearly everything goes to one key, and the others get
# hardly any gradient; with the scale of the whole width the head barely chooses at all. A learned
# layer could grow its weights to make up for either, but it should not have to begin by doing so.
#
# You have come all the way from a dot product to the attention layer of a GPT. This layer
# is the real thing: with d_in = d_out = 768, context_length = 1024, num_heads = 12 and
# qkv_bias = True it has the sizes of an attention layer in the smallest GPT-2.

# %% [markdown]
# ## Where the heads look
#
# One thing is left: to see your own layer at work. We trained a small model, two layers of four
# heads, to predict the next character of a text; it uses `MultiHeadAttention` just as you wrote it.
# In a terminal
#
# ```
# tensorgrade see "the cat sat on the mat, and the cat ran"
# ```
#
# puts that model's weights into *your* class and shows where each head looks, in a text that you
# choose. The heads were never given these tasks, and yet:
#
# - head 1 of the first layer looks at the previous character, with all but a hundredth of its
#   weight;
# - head 4 of the second finds an earlier occurrence of the same text, and looks at what came
#   *after* it. At the second "the c" of the text, this head looks at the "a" after the first
#   "the c". That is a good way to predict what comes next.
#
# The second one needs the first ([Olsson et al. 2022](https://arxiv.org/abs/2209.11895),
# *In-context learning and induction heads*). A later head can ask "which token comes after one
# like me?" only because an earlier head has added to each token the one before it. Try a text in
# which nothing comes twice, and one that only repeats itself.

# %% [markdown]
# ## Find the bug
#
# The function below puts heads side by side again without a `reshape`, and has one mistake. Such
# mistakes are hard to find: a model whose heads are put together wrongly, but always in the same
# way, still learns something. Run the checks, find the mistake, and change as little as you can.

# %%
def bug_merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads' results side by side, in their order. This code has one mistake.

    Shapes:
        x: (b, num_heads, num_tokens, head_dim)
        result: (b, num_tokens, num_heads * head_dim)

    Formula (the Concat of Vaswani et al. 2017, sec. 3.2.2): as in merge_heads
        result[b, t, h * head_dim + j] = x[b, h, t, j]
    """
    num_heads = x.shape[1]
    side_by_side = [x[:, head] for head in reversed(range(num_heads))]
    return torch.cat(side_by_side, dim=-1)


# %% [markdown]
# ## Three questions
#
# Answer them without running anything. The answers are below.
#
# 1. A layer has `d_out` = 768 and 12 heads. How many numbers does one head have for each token?
# 2. `x` has shape (2, 5, 12), and there are 3 heads. What is the shape of the scores?
# 3. A layer with `d_out` = 8 gets 4 heads instead of 2. How many more trained numbers does it
#    have?
#
# **Answers.** (1) **64**: 768 / 12. (2) **(2, 3, 5, 5)**: a table of tokens by tokens for each head
# of each text. (3) **0**: the heads share the same wide projections, only cut differently.

# %% [markdown]
# ## What you can do now
#
# You can write the attention layer of a GPT from an empty file: split, attend, merge and project,
# all heads at once. You can name the shape at every step, and prove that the layer computes the
# same as separate heads do. `tensorgrade see "a text of yours"` shows where your heads look.
