# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # Self-attention with trainable weights
#
# In chapter 1 a token's embedding did three jobs at once: it asked, it was found, and it was mixed
# in. So the scores were symmetric, long vectors won, and there was nothing to train. But what a
# word looks for is seldom what it is itself. A verb looks for its subject; a subject does not look
# like a verb.
#
# The way out is to give each job a vector of its own, made from the embedding by a weight matrix:
#
# | vector | its job | made by | shape for n tokens |
# |---|---|---|---|
# | **query** | what I look for | `x @ W_query` | (n, d_out) |
# | **key** | what I offer to be found by | `x @ W_key` | (n, d_out) |
# | **value** | what I pass on when found | `x @ W_value` | (n, d_out) |
#
# Picture a market. You come with a shopping list, the query. Over every stall hangs a sign, the
# key, and on the counter are the goods, the value. You compare your list with the signs, but you
# carry home goods. A sign is painted to be found and goods are made to be used: they need
# not look alike. (Unlike at a market, you take something from every stall, most from those whose
# signs fit best.)
#
# [Picture: One token on the left becomes three vectors through three matrices. Its query meets the
# keys of all tokens and gives scores; softmax makes weights of them; the weights mix the values
# into a context vector.]
#
# The three matrices are what is trained. They have shape (d_in, d_out), so they may also change the
# number of features: from d_in = 3 to d_out = 2 in our example. You will write
#
# 1. the projections, the scaled weights and the full attention, as three functions;
# 2. the same as a module, twice: with `nn.Parameter` and with `nn.Linear`;
# 3. a function that carries the weights of one module over to the other.

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
# ## Three projections
#
# A row of `x` is one token with d_in features. Times a matrix of shape (d_in, d_out), it gives a
# row with d_out features. All n rows at once are one product, (n, d_in) times (d_in, d_out). Each
# token is projected on its own, without looking at the others, but all with the *same* matrices.
#
# The three results have the same shape, and so nothing complains if a matrix is used twice or two
# are swapped. Check that each of the three matrices is used once, and in its place.

# %%
def project_qkv(
    x: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the queries, keys and values of all tokens.

    Shapes:
        x: (n, d_in), one token per row
        W_query, W_key, W_value: (d_in, d_out) each
        result: (queries, keys, values), each (n, d_out)

    Formula (the projections of Vaswani et al. 2017, sec. 3.2.2):
        queries = x W_query,   keys = x W_key,   values = x W_value

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> W_query, W_key, W_value = torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]])
    >>> queries, keys, values = project_qkv(x, W_query, W_key, W_value)
    >>> torch.cat([queries, keys, values], dim=1)    # one column each
    tensor([[ 1.,  3.,  5.],
            [ 4.,  8., 12.]])
    """
    raise NotImplementedError


# %% [markdown]
# With seed 123 and three `torch.rand(3, 2)`, the query of "journey" is 0.4306, 1.4551. Its dot
# products with the six keys are
#
# | | Your | journey | starts | with | one | step |
# |---|---|---|---|---|---|---|
# | score | 1.2705 | 1.8524 | 1.8111 | 1.0795 | 0.5577 | 1.5440 |
#
# Chapter 1's dot products of the words with one another are symmetric; those of queries with keys are
# not. "Journey" gives "step" the score 1.5440, while "step" gives "journey" 1.3165. Asking and being
# asked have become different things.
#
# ## Why the scores are divided by √d_k
#
# The number of features of queries and keys is called d_k. In a real model it is not 2 but 64 or
# 128, and a dot product is a sum of that many terms. Let the entries of q and k be independent,
# with mean 0 and variance 1 ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), footnote 4).
# Each product q_i k_i then has mean 0 and variance 1 as well, and as variances of independent
# terms add up,
#
#     Var(q · k) = ∑_(i=1)^(d_k) Var(q_i k_i) = d_k .
#
# So typical scores are of size √d_k (the standard deviation, not the variance): about 8 for
# 64 features. You saw in chapter 1 that the size of the scores sets how sharp softmax is. Here is
# what that does to learning.
#
# Training works by slopes: how much does a weight change if a score is raised a little? Call the
# sum of all exponentials Z, so that w_i = e^(s_i) / Z. Raising s_j raises its own
# exponential and Z by the same amount. Its own weight therefore grows, by
# w_j − w_j² = w_j (1 − w_j) per unit of s_j, and every other weight, whose Z has grown,
# shrinks by w_i w_j. Both in one line:
#
#     (∂ w_i) / (∂ s_j) = w_i (δ_ij − w_j),    δ_ij = 1 if i = j, else 0 .
#
# Every slope is a product in which one factor goes to 0 when one weight takes everything. Two
# tokens with half the attention each have the steepest slope there is, 1/4; with 0.99 and 0.01 it
# is 0.0099.

# %% [markdown]
# | scores | largest weight | largest gradient entry |
# |---|---|---|
# | 1, 0, −1 | 0.6652 | 0.2227 |
# | times 4 | 0.9817 | 0.0180 |
# | times 16 | 1.0000 | 0.0000001 |
#
# At 16 times the size softmax has become a step: all attention on one token, and a gradient of one
# ten-millionth. Whatever mistake query and key made, training can no longer correct it. A model
# with a large d_k and unscaled scores would *start* in this state.
#
# Division by √d_k brings the standard deviation back to 1, for every d_k. Three things to
# hold on to:
#
# - the divisor is the root of d_k, the number of features of *one key*, not of n, of d_in or of
#   anything else that happens to have the same size;
# - divide *before* the softmax. Dividing afterwards leaves the sharpness unchanged and makes rows
#   sum to 1/√d_k;
# - softmax runs along the keys, so each query's weights sum to 1.
#
# ## Queries need not come from the same text
#
# So far nothing requires as many queries as keys. With n queries and m keys the scores have shape
# (n, m): still one row per query. If both come from one text (n = m), it is *self*-attention. If
# the queries come from a text being written and the keys and values from a text being translated,
# it is *cross*-attention, as in Bahdanau's translator. One function serves both.
#
# ## Why `transpose(-2, -1)` and not `.T`
#
# Texts come in batches, (b, n, d_k), and later there will be heads as well: (b, num_heads, n, d_k).
# The product `@` works on the last two axes and treats the ones in front, the *leading dimensions*,
# as a stack of separate matrices. So the last two axes of the keys must be swapped, however many
# come before them:
#
# | keys | `.T` | `.transpose(-2, -1)` |
# |---|---|---|
# | (m, d_k) | (d_k, m) | (d_k, m) |
# | (b, m, d_k) | (d_k, m, b): all axes reversed | (b, d_k, m) |
#
# On a single matrix both are right, and for that reason `.T` survives until the first batch.

# %%
def attention_weights(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return the scaled dot-product attention weights of every query.

    You may use torch.softmax.

    Shapes:
        queries: (..., n, d_k)
        keys: (..., m, d_k); m may differ from n
        result: (..., n, m), every row sums to 1
        The leading dimensions ... may be absent, a batch, or several; all are treated the same.

    Formula (Vaswani et al. 2017, eq. 1, without the values):
        softmax(queries keys^T / sqrt(d_k)), along the keys

    >>> queries = torch.ones(1, 4)    # d_k = 4
    >>> keys = torch.stack([torch.zeros(4), torch.full((4,), 0.5)]) * torch.tensor(3.0).log()
    >>> attention_weights(queries, keys)    # scores 0 and 2 log 3; over sqrt(4): 0 and log 3
    tensor([[0.2500, 0.7500]])
    """
    raise NotImplementedError


# %% [markdown]
# | | Your | journey | starts | with | one | step |
# |---|---|---|---|---|---|---|
# | weights of "journey" | 0.1500 | 0.2264 | 0.2199 | 0.1311 | 0.0906 | 0.1820 |
# | without the division | 0.1401 | 0.2507 | 0.2406 | 0.1157 | 0.0687 | 0.1842 |
#
# At d_k = 2 the division does little. Random vectors show what it is for: among six keys, the
# largest weight is on average
#
# | d_k | 2 | 8 | 64 | 512 |
# |---|---|---|---|---|
# | unscaled | 0.45 | 0.68 | 0.89 | 0.96 |
# | scaled | 0.38 | 0.41 | 0.42 | 0.42 |
#
# Unscaled, attention hardens as the model grows wider; scaled, it hardly depends on the width.
#
# ## Scaled dot-product attention
#
# Only chapter 1's last step is left, with values in place of the inputs:
#
#     Attention(Q, K, V) = softmax((Q Kᵀ) / √d_k ) V,    (n, m) (m, d_v) → (n, d_v) .
#
# Read off which sizes have to agree. Queries and keys share d_k, or they could not be compared.
# Keys and values share m: each value has its key. The result has as many rows as there are queries
# and as many features as a value has; d_v may differ from d_k.

# %%
def scaled_dot_product_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Return the context vectors: for each query, the values mixed by its attention weights.

    You may use torch.softmax, but not torch's own attention (scaled_dot_product_attention of
    torch.nn.functional, nn.MultiheadAttention): the point is to write it. If your code calls it,
    half of the points are lost.

    Shapes:
        queries: (..., n, d_k)
        keys: (..., m, d_k); m may differ from n
        values: (..., m, d_v)
        result: (..., n, d_v)

    Formula (Vaswani et al. 2017, eq. 1):
        softmax(queries keys^T / sqrt(d_k)) values

    >>> queries = torch.ones(1, 4)    # as in attention_weights: the weights are 1/4 and 3/4
    >>> keys = torch.stack([torch.zeros(4), torch.full((4,), 0.5)]) * torch.tensor(3.0).log()
    >>> values = torch.tensor([[0.0, 1.0, 8.0], [1.0, 0.0, 4.0]])
    >>> scaled_dot_product_attention(queries, keys, values)
    tensor([[0.7500, 0.2500, 5.0000]])
    """
    raise NotImplementedError


# %% [markdown]
# The context vector of "journey" is **0.3061, 0.8210**. PyTorch has the same function ready-made,
# as `F.scaled_dot_product_attention`, and yours agrees with it. If two tokens of another text ask
# our six, n = 2 queries meet m = 6 keys: weights of shape (2, 6), context vectors of shape (2, 2).
# And if the values had three features and the keys still two (d_v = 3, d_k = 2), the weights
# would not change, and each context vector would have three features.
#
# ## A module with parameters
#
# To be trained, the three matrices have to live somewhere. In PyTorch that is an `nn.Module`:
# `__init__` creates what the module keeps, `forward` computes, and `layer(x)` calls `forward`.
#
# Wrap a tensor that should be trained in **`nn.Parameter`** and assign it to `self`. That makes
# it *known*: it is in `layer.parameters()`, which an optimizer gets, and in `layer.state_dict()`,
# which is saved, and it moves along when the layer moves to a GPU. A
# plain tensor assigned to `self` computes the same outputs, gets none of this, and never learns.
#
# In `forward`, take the matrices from `self` and the tokens from the argument `x`. In a notebook a
# bare `W_query` or `queries` would be found too, left over from a cell above, and the output would
# look right until the layer is used anywhere else.

# %%
class SelfAttention_v1(nn.Module):
    """Self-attention whose weights are three nn.Parameters.

    Arguments:
        d_in, d_out: ints, features per token going in and coming out

    Parameters:
        W_query, W_key, W_value: (d_in, d_out) each, from torch.rand(d_in, d_out), in this order

    Shapes of a call:
        x: (n, d_in)
        result: (n, d_out)

    Formula (Vaswani et al. 2017, eq. 1, with Q = x W_query, K = x W_key, V = x W_value):
        softmax(Q K^T / sqrt(d_k)) V, where d_k = d_out

    >>> layer = SelfAttention_v1(d_in=2, d_out=1)
    >>> _ = nn.init.zeros_(layer.W_query)    # all scores 0: equal weights
    >>> _ = nn.init.ones_(layer.W_value)    # a value is the sum of its token's features
    >>> layer(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).detach()    # the mean of 3 and 7
    tensor([[5.],
            [5.]])
    """

    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, d_in) -> (n, d_out)."""
        raise NotImplementedError


# %% [markdown]
# Seed 123 draws the very matrices used above, so the second row is once more 0.3061, 0.8210:
#
# | token | output |
# |---|---|
# | Your | 0.2996, 0.8053 |
# | journey | 0.3061, 0.8210 |
# | starts | 0.3058, 0.8203 |
# | with | 0.2948, 0.7939 |
# | one | 0.2927, 0.7891 |
# | step | 0.2990, 0.8040 |
#
# Three parameters of shape (3, 2), and each gets a gradient. Training can begin.
#
# ## The same with `nn.Linear`
#
# "Multiply by a trainable matrix" is so common that PyTorch has a layer for it:
# `nn.Linear(d_in, d_out, bias=False)`. It is called like a function, `self.W_query(x)`, and brings
# two gifts. It can add a bias, and it starts from better numbers: `torch.rand` draws from 0 to 1,
# so that all weights are positive and everything resembles everything else, while a Linear draws
# symmetrically around zero, between ± 1/√d_in (here ±0.5774), so that outputs keep a
# sensible size however large d_in is.
#
# The switch `qkv_bias` decides if queries, keys and values have a bias. Some models have it, many
# do without, and here it is off by default. (The bias of the *keys* has no effect at all. It adds
# the same number q · b to all scores of a query, and softmax ignores that, as chapter 1
# showed.)

# %%
class SelfAttention_v2(nn.Module):
    """Self-attention whose weights are three nn.Linear layers.

    Arguments:
        d_in, d_out: ints, features per token going in and coming out
        qkv_bias: bool, whether the three layers have a bias

    Submodules:
        W_query, W_key, W_value: nn.Linear from d_in to d_out, with a bias if
            qkv_bias (create them in this order, and a seed gives the lesson's numbers)

    Shapes of a call:
        x: (n, d_in)
        result: (n, d_out)

    Formula (Vaswani et al. 2017, eq. 1; nn.Linear computes x W^T + b, PyTorch docs):
        softmax(Q K^T / sqrt(d_k)) V, where Q, K, V are the three layers' outputs, d_k = d_out

    >>> layer = SelfAttention_v2(d_in=2, d_out=1)
    >>> _ = nn.init.zeros_(layer.W_query.weight)    # all scores 0: equal weights
    >>> _ = nn.init.ones_(layer.W_value.weight)    # a value is the sum of its token's features
    >>> layer(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).detach()    # the mean of 3 and 7
    tensor([[5.],
            [5.]])
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, d_in) -> (n, d_out)."""
        raise NotImplementedError


# %% [markdown]
# With seed 789 the rows are
#
# | token | output |
# |---|---|
# | Your | -0.0739, 0.0713 |
# | journey | -0.0748, 0.0703 |
# | starts | -0.0749, 0.0702 |
# | with | -0.0760, 0.0685 |
# | one | -0.0763, 0.0679 |
# | step | -0.0754, 0.0693 |
#
# They are nearly equal: matrices of such small numbers make all scores small, and small scores
# make attention almost even. Training is what makes it choose.
#
# ## The same weights in both
#
# If the two versions compute the same thing, then with the same weights they must give the same
# output. That is worth checking, and there is one obstacle: the weight of `v2.W_query` has the
# shape (2, 3), not (3, 2). An `nn.Linear` keeps its weight as **(d_out, d_in)**, one row per
# *output*, and computes
#
#     x Wᵀ + b,    (n, d_in) (d_in, d_out) → (n, d_out) .
#
# `SelfAttention_v1` computes x W with W of shape (d_in, d_out). So what it needs is the Linear's
# weight transposed. When d_in = d_out, a forgotten transpose fits and raises no error; the result
# is just wrong.
#
# How to write into a parameter is a question too. `v1.W_query = some_tensor` is refused, because a
# plain tensor may not replace a parameter. A new `nn.Parameter` around the transposed view
# would be accepted, but a view shares its memory: train one layer and you would change the other.
# Instead, *copy the numbers into the existing parameter*. Autograd forbids such a change of a
# trainable tensor unless you switch it off with `with torch.no_grad():`.

# %%
def copy_v2_into_v1(v2: nn.Module, v1: nn.Module) -> None:
    """Copy the weights of a SelfAttention_v2 into a SelfAttention_v1, so that both agree.

    Shapes:
        v2.W_query.weight, v2.W_key.weight, v2.W_value.weight: (d_out, d_in); v2 has no biases
        v1.W_query, v1.W_key, v1.W_value: nn.Parameter (d_in, d_out), changed in place
        result: None; v2 stays unchanged, and the two share no memory

    Formula (nn.Linear computes x W^T, PyTorch docs; SelfAttention_v1 computes x W):
        W of v1 = W^T of v2, for query, key and value

    >>> v1, v2 = SelfAttention_v1(3, 2), SelfAttention_v2(3, 2)
    >>> v2.W_value.weight.data = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> copy_v2_into_v1(v2, v1)
    >>> v1.W_value.detach()
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    """
    raise NotImplementedError


# %% [markdown]
# Both modules now give the rows of seed 789. (The remark about biases can be tried out, too: raising
# the bias of the keys by 100 changes nothing, raising that of the queries does.) From here on we build
# on `nn.Linear`.
#
# You have now written self-attention as it is used in every transformer, except for two things.
# Each token still sees the whole text, also the part that a language model is supposed to predict:
# chapter 3 hides the future. And there is one set of queries, keys and values, so each token can
# look for one kind of thing only: chapter 4 lets several work side by side.

# %% [markdown]
# ## Find the bug
#
# As at the end of chapter 1, the function is complete except for one mistake. It is the function
# at the heart of every transformer, written with `torch.einsum`. The three dots stand for all
# leading dimensions. Run the checks, find the mistake, and change as little as you can.

# %%
def bug_scaled_dot_product_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Return the values mixed for each query by its attention weights. This code has one mistake.

    Shapes:
        queries: (..., n, d_k)
        keys: (..., m, d_k); m may differ from n
        values: (..., m, d_v)
        result: (..., n, d_v)

    Formula (Vaswani et al. 2017, eq. 1): as in scaled_dot_product_attention
        softmax(queries keys^T / sqrt(d_k)) values
    """
    width = keys.size(-1)
    likeness = torch.einsum("...id,...jd->...ij", queries, keys)
    shares = (likeness / width).softmax(dim=-1)
    return torch.einsum("...ij,...jv->...iv", shares, values)


# %% [markdown]
# ## Three questions
#
# Answer them without running anything. The answers are below.
#
# 1. The queries have shape (5, 8), the keys (7, 8) and the values (7, 3). What is the shape of the
#    result?
# 2. The 64 entries of a query and of a key are drawn with mean 0 and variance 1. What is the
#    standard deviation of their dot product, before it is scaled?
# 3. How many trained numbers does `SelfAttention_v2(3, 2)` have, without biases?
#
# **Answers.** (1) **(5, 3)**: a row for each query, as wide as a value. (2) **8**: the root of 64,
# and so the scores are divided by it. (3) **18**: three matrices with 3 · 2 numbers each.

# %% [markdown]
# ## What you can do now
#
# You can write attention as in the paper: project tokens to queries, keys and values, scale by the
# root of d_k and say why, mix the values, also for queries from another text. You have it as
# functions and as two modules whose weights you can carry from one to the other.
