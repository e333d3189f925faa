# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # Beyond one sentence
#
# Chapter 4 ends with the attention layer of a GPT. It reads texts of equal length, is told no
# positions, and computes everything again for each word that it writes. This chapter takes these
# limits away one after another, each in a small step:
#
# | the limit | what helps | where |
# |---|---|---|
# | texts of different lengths in one batch | a padding mask | `padding_mask` |
# | queries and keys from two different texts | cross-attention | `CrossAttention` |
# | attention does not know the order of its tokens | positions, as vectors to add or as rotations | `sinusoidal_positions`, `rotate` |
# | keys and values fill the memory | fewer heads for them than for queries | `GroupedQueryAttention` |
# | each new token computes all the old ones again | a cache | `CachedAttention` |
# | a cache that grows without end | a window | `sliding_window_mask`, `append_to_window` |
# | the table of scores, n × n | softmax in blocks | `online_softmax_attention` |
# | even the cache is too large | one small vector for each token | `LatentAttention` |
#
# Nothing here depends on your chapters 1 to 4: every exercise is independent. Chapter 4's `split_heads`
# and `merge_heads` are given below. Use them, so that you need not write them again.

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


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """(b, num_tokens, d_out) -> (b, num_heads, num_tokens, head_dim)."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """(b, num_heads, num_tokens, head_dim) -> (b, num_tokens, d_out)."""
    return x.transpose(1, 2).flatten(2)


# %% [markdown]
# ## Texts of different lengths
#
# A batch is one tensor, so all its rows have the same number of tokens. "one step" and "Your
# journey starts with one step" fit into one batch only if four tokens without meaning are added to
# the shorter one: *padding*. Attention would look at these as at any other token. If all
# scores are equal, each of the 2 tokens of "one step" should get the weight 0.5; with four tokens
# of padding it would get only 0.1667.
#
# So hide the padding, by the rule of chapter 3: `True` hides. Only the key decides if an entry is
# hidden, and so the mask has one row for each text:
#
#     mask[i, 0, j] = (j ≥ lengths[i])
#
# The middle dimension of size 1 belongs to the queries: all of them share the row, which
# broadcasts over the scores (b, n, n).
#
# What about the queries that are padding themselves? They attend to the real tokens, but their
# results mean nothing and are never used. Hiding everything from them would leave a
# softmax without any entry, and that is NaN.

# %%
def padding_mask(lengths: torch.Tensor, num_tokens: int) -> torch.Tensor:
    """Return the mask that hides the padding after each text of a batch.

    Shapes:
        lengths: (b,) integers from 1 to num_tokens, how many tokens of each text are real
        num_tokens: an int, the length of each row of the batch, padding included
        result: (b, 1, num_tokens), dtype torch.bool, True if a key is padding

    Formula (a key padding mask, as in torch.nn.MultiheadAttention):
        mask[i, 0, j] = True   if j >= lengths[i]   (padding: hide it)
                        False  otherwise

    >>> padding_mask(torch.tensor([2, 3]), num_tokens=3)
    tensor([[[False, False,  True]],
    <BLANKLINE>
            [[False, False, False]]])
    """
    raise NotImplementedError


# %% [markdown]
# ## Two texts
#
# So far a text attended to itself. A translator writes "Deine Reise beginnt" while it reads "Your
# journey starts": the queries come from the text that it writes, the keys and values from the text
# that it reads. That is *cross-attention*. Two things change:
#
# | | self-attention | cross-attention |
# |---|---|---|
# | queries from | `x` (b, n, d_in) | `x` (b, n, d_in) |
# | keys and values from | `x` | `context` (b, m, d_context) |
# | scores | (b, heads, n, n) | (b, heads, n, m) |
# | hidden | the future | what the mask says, often padding |
#
# No causal mask: the whole text that is read is there from the start. Each row of the scores
# belongs to a token of `x` and has m entries, one for each token of `context`.
#
# The order of `context` does not matter. Every output is a sum over its tokens, and a sum does not
# depend on their order. Swap two tokens of `context`, and their two entries of the mask
# with them, and the result is the same.

# %%
class CrossAttention(nn.Module):
    """Multi-head attention from one text to another.

    Shapes:
        d_in, d_context, d_out: ints, numbers per token of x, of the context, and of the result
        num_heads: int, divides d_out; head_dim = d_out / num_heads
        x: (b, n, d_in)
        context: (b, m, d_context)
        mask: None (nothing is hidden), or boolean, broadcastable to (b, n, m), such as (m,);
            True hides
        result: (b, n, d_out)

    Formula (Vaswani et al. 2017, sec. 3.2.3, "encoder-decoder attention"):
        Concat(head_1, ..., head_h) W_O^T + b_O,
        head_i = softmax(mask(Q_i K_i^T) / sqrt(head_dim)) V_i,
        with Q from x, K and V from context

    Attributes: W_query is an nn.Linear from d_in to d_out, W_key and W_value are nn.Linear from
    d_context to d_out, with a bias only if qkv_bias; out_proj is an nn.Linear from d_out to
    d_out with a bias (create them in this order, and a seed gives the lesson's numbers).

    In the example all scores are 0, so the one token of x gets the mean of the visible tokens.

    >>> layer = CrossAttention(d_in=1, d_context=1, d_out=1, num_heads=1)
    >>> _ = nn.init.zeros_(layer.W_query.weight), nn.init.eye_(layer.W_value.weight)
    >>> _ = nn.init.eye_(layer.out_proj.weight), nn.init.zeros_(layer.out_proj.bias)
    >>> context = torch.tensor([[[1.0], [3.0], [8.0]]])
    >>> layer(torch.zeros(1, 1, 1), context).tolist()
    [[[4.0]]]
    >>> layer(torch.zeros(1, 1, 1), context, torch.tensor([[[False, False, True]]])).tolist()
    [[[2.0]]]
    """

    def __init__(
        self, d_in: int, d_context: int, d_out: int, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: torch.Tensor, context: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Map x (b, n, d_in) and context (b, m, d_context) to (b, n, d_out)."""
        raise NotImplementedError


# %% [markdown]
# With its padding hidden, a text gives the same results in a batch as alone. For the first
# token of "one step", with seed 123:
#
# | | | | | |
# |---|---|---|---|---|
# | padded, no mask | -0.0878 | 0.3496 | -0.0715 | -0.2823 |
# | padded, with the mask | -0.0174 | 0.2715 | -0.0653 | -0.3222 |
# | alone | -0.0174 | 0.2715 | -0.0653 | -0.3222 |
#
# ## The position of a token
#
# Attention without a mask is blind to order: swap two tokens, and their results are swapped but
# otherwise the same. "The dog bites the man" and "The man bites the dog" give each word the very
# same vector. So the order has to be written into the tokens.
#
# The first way ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), sec. 3.5) adds to each
# token a vector that encodes its position:
#
#     p_(t, 2i) = sin(t / 10000^(2i/d)),    p_(t, 2i+1) = cos(t / 10000^(2i/d))
#
# Read it as a row of clocks. Each pair of columns, a sine and a cosine, gives the height and the
# sideways reach of one clock's hand. The first clock turns by 1 radian per token; the later ones
# turn ever more slowly, for large d the last by little more than 1/10000 of that. Together they
# show the position as second, minute and hour hands show the time.
#
# Why not simply the number t? It grows without bound and would drown the token; sines stay
# between -1 and 1. And the clocks have one more property: the vector of position t + k comes from
# that of position t by turning each clock by an angle that depends on k alone.

# %%
def sinusoidal_positions(num_tokens: int, d: int) -> torch.Tensor:
    """Return a vector for each position in a text: sines and cosines of ever slower clocks.

    Shapes:
        num_tokens: an int, the number of positions; the first one is 0
        d: an even int, numbers per token
        result: (num_tokens, d), floating point; sines in columns 0, 2, 4, …, cosines in 1, 3, 5, …

    Formula (Vaswani et al. 2017, sec. 3.5):
        result[t, 2i]     = sin(t / 10000^(2i / d))
        result[t, 2i + 1] = cos(t / 10000^(2i / d))

    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    raise NotImplementedError


# %% [markdown]
# ## Turned by its position
#
# Adding has a price: the token and its position share the same numbers, and the scores mix the
# two. The second way, *rotary* positions ([Su et al. 2021](https://arxiv.org/abs/2104.09864),
# RoFormer, sec. 3.4), adds nothing. It turns queries and keys, each by its own position, right
# before their dot products are taken.
#
# Take two entries of a query as a point in the plane and turn it by the angle s θ, where
# s is its position and θ is fixed; call this turn R_s. Turn the same two entries of a
# key by t θ. A dot product depends on lengths and on the angle *between*, so it depends on
# the positions only through their distance:
#
#     ⟨ R_s q, R_t k ⟩ = ⟨ q, R_(t−s) k ⟩
#
# A head of `head_dim` numbers has head_dim / 2 such pairs, and each turns at its own rate, the
# rates of the clocks above. Which entries make a pair is a convention. Here
#
# > entry i is paired with entry i + head_dim/2: the first half of a row with its second
# > half.
#
# (The paper and Meta's Llama pair neighbours; Hugging Face's Llama and most others pair halves.
# Either works if queries and keys follow the same one; mixed, neither does.)
#
# Turning keeps lengths: rotary positions change no norm, and position 0 changes nothing at all.
#
# Models often compute in bfloat16, which keeps only two or three digits. That is enough for x, but
# not for an angle of 1,000: its cosine depends on the digits that are lost. So the angles are
# computed in float32, and only their cosines and sines are converted to the type of x.
#
# [Picture: A query and a key as arrows in a circle, at positions 0 and 2 and again at 3 and 5: both
# have turned, and the angle between them is the same.]

# %%
def rotate(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Turn the pairs of each token's row by angles that grow with its position.

    Shapes:
        x: (..., n, head_dim), head_dim even; queries or keys
        positions: (n,) integers, the positions of the n tokens; they may start anywhere
        base: float; pair i turns base ** (2 i / head_dim) times slower than pair 0
        result: as x

    Formula (Su et al. 2021, RoFormer, sec. 3.4.2, entry i paired with i + head_dim / 2):
        angle[t, i] = positions[t] / base^(i / (head_dim / 2)),  i = 0 … head_dim / 2 - 1
        result[..., t, i]                = x_i cos(angle) - x_{i + head_dim/2} sin(angle)
        result[..., t, i + head_dim / 2] = x_{i + head_dim/2} cos(angle) + x_i sin(angle)

    Compute the angles in float32, also if x is in bfloat16, which has no number between 1,024 and
    1,032: at such positions all angles would be wrong.

    In the example the second token is turned by 1 radian; (1, 0) becomes (cos 1, sin 1).

    >>> rotate(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    raise NotImplementedError


# %% [markdown]
# ## Fewer key heads than query heads
#
# When a model writes, the keys and values of all earlier tokens have to be kept (the next section
# says why), for each head of each layer. They soon need more memory than the weights. But do 32
# heads need 32 different sets of keys? *Multi-query attention* ([Shazeer
# 2019](https://arxiv.org/abs/1911.02150)) gives all heads the same one, which costs some quality.
# *Grouped-query attention* ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)) is in between:
# the query heads form groups, and each group shares one head of keys and values.
#
# | | query heads | key and value heads | kept for each token |
# |---|---|---|---|
# | multi-head | 32 | 32 | 2 · 32 · head_dim |
# | grouped | 32 | 8 | 2 · 8 · head_dim |
# | multi-query | 32 | 1 | 2 · head_dim |
#
# [Picture: Four query heads, drawn three times: with four heads of keys and values, one for each;
# with two, each shared by two neighbouring query heads; with one, shared by all four.]
#
# A group consists of neighbours. With 4 query heads and 2 key heads, query heads 0 and 1 use key
# head 0, and 2 and 3 use key head 1:
#
#     key head of query head h = ⌊ h / (num_heads / num_kv_heads) ⌋
#
# With as many key heads as query heads this is chapter 4's layer, number for number.

# %%
class GroupedQueryAttention(nn.Module):
    """Causal multi-head attention in which groups of query heads share keys and values.

    Shapes:
        d_in, d_out: ints, numbers per token in and out; d_out counts all query heads together
        context_length: int, the largest number of tokens in a text
        dropout: float, the probability that an attention weight is dropped in training
        num_heads: int, the query heads; divides d_out; head_dim = d_out / num_heads
        num_kv_heads: int, the heads of keys and values; divides num_heads
        x: (b, num_tokens, d_in) with num_tokens <= context_length
        result: (b, num_tokens, d_out)

    Formula (Ainslie et al. 2023, GQA, sec. 2.2):
        head_h = dropout(softmax(mask(Q_h K_g^T) / sqrt(head_dim))) V_g,
        with g = h // (num_heads / num_kv_heads), integers only

    Attributes: W_query is an nn.Linear from d_in to d_out; W_key and W_value are nn.Linear from
    d_in to num_kv_heads * head_dim, all with a bias only if qkv_bias; out_proj is an nn.Linear
    from d_out to d_out with a bias (create them in this order, and a seed gives the lesson's
    numbers); dropout is an nn.Dropout; mask is a buffer, (context_length, context_length).

    Raises:
        ValueError: if num_heads does not divide d_out, or num_kv_heads does not divide num_heads

    >>> layer = GroupedQueryAttention(4, 8, 6, 0.0, num_heads=4, num_kv_heads=2)
    >>> layer.W_query.weight.shape, layer.W_key.weight.shape
    (torch.Size([8, 4]), torch.Size([4, 4]))
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        num_kv_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x (b, num_tokens, d_in) to context vectors (b, num_tokens, d_out)."""
        raise NotImplementedError


# %% [markdown]
# With d_in = d_out = 64 and 8 query heads, by the number of key and value heads:
#
# | key and value heads | kept for a token | parameters |
# |---|---|---|
# | 8 | 128 | 16448 |
# | 4 | 64 | 12352 |
# | 2 | 32 | 10304 |
# | 1 | 16 | 9280 |
#
# ## A cache for keys and values
#
# A model writes one token at a time. For each it processes the whole text so far, although only the
# last row is new: an earlier token never sees a later one, so its keys and values stay the same.
# Keep them, and a new token needs three projections of *one* row and one row of scores.
#
# The *key-value cache* contains the keys and values of all tokens so far, by head. Call
# the layer with the new tokens and the cache, and it returns their outputs and the longer cache:
#
# | call | x | cache before | cache after |
# |---|---|---|---|
# | the prompt | (b, 5, d_in) | `None` | 2 × (b, heads, 5, head_dim) |
# | one more token | (b, 1, d_in) | 2 × (b, heads, 5, head_dim) | 2 × (b, heads, 6, head_dim) |
#
# Take care of two things. With t tokens in the cache and n new ones, only the new ones are queries,
# so the scores are not square: (n, t + n). And new token number i is at position t + i, so its row
# of the mask is row t + i. With one new token nothing is hidden at all; with several at once, the
# mask matters again. However you cut the text into chunks, the results must be those of the whole.

# %%
class CachedAttention(nn.Module):
    """Causal multi-head attention that continues from a cache.

    Shapes:
        d_in, d_out: ints, numbers per token in and out; d_out counts all heads together
        context_length: int, the largest number of tokens, old and new together
        num_heads: int, divides d_out; head_dim = d_out / num_heads
        x: (b, n, d_in), the new tokens
        cache: None, or a tuple (keys, values) of the t tokens before,
            each (b, num_heads, t, head_dim)
        result: a tuple (output, cache): output (b, n, d_out) for the new tokens, and keys and
            values of all t + n tokens, each (b, num_heads, t + n, head_dim)

    Formula (Vaswani et al. 2017, sec. 3.2, for tokens t … t + n - 1 of a text):
        output as in chapter 4, without dropout; token t + i sees the tokens 0 … t + i

    The layer itself keeps nothing between calls: a call knows earlier tokens only from the
    cache that is passed in, so several texts can take turns.

    Attributes: W_query, W_key, W_value are nn.Linear layers from d_in to d_out with a bias
    only if qkv_bias; out_proj is an nn.Linear from d_out to d_out with a bias (create them
    in this order, and a seed gives the lesson's numbers); mask is a buffer,
    (context_length, context_length).

    >>> layer = CachedAttention(3, 4, 8, num_heads=2)
    >>> text = torch.ones(1, 5, 3)
    >>> output, cache = layer(text)
    >>> output.shape, cache[0].shape
    (torch.Size([1, 5, 4]), torch.Size([1, 2, 5, 2]))
    >>> output, cache = layer(text[:, :1], cache)
    >>> output.shape, cache[0].shape
    (torch.Size([1, 1, 4]), torch.Size([1, 2, 6, 2]))
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: torch.Tensor, cache: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Map new tokens x (b, n, d_in) and a cache to (output, longer cache)."""
        raise NotImplementedError


# %% [markdown]
# For a text of 100 tokens, written one by one, 5050 rows are projected without a cache and 100 with
# one.
#
# ## A window
#
# The cache grows by one row for each token, without end. Many models look back only a fixed number
# of tokens: *sliding-window attention* (Longformer, [Beltagy et al.
# 2020](https://arxiv.org/abs/2004.05150), sec. 3.1; [Mistral
# 7B](https://arxiv.org/abs/2310.06825)). With a window of 3 a token sees itself and the two before
# it:
#
# | | 0 | 1 | 2 | 3 | 4 |
# |---|---|---|---|---|---|
# | token 2 | sees | sees | sees | | |
# | token 3 | | sees | sees | sees | |
# | token 4 | | | sees | sees | sees |
#
# Older tokens are not lost: token 4 sees 2, and 2 has seen 0. Each layer looks back two tokens
# further.

# %%
def sliding_window_mask(num_tokens: int, window: int) -> torch.Tensor:
    """Return the mask that shows every token itself and the window - 1 tokens before it.

    Shapes:
        num_tokens: an int, written n below
        window: an int, 1 or more; if window >= n, this is chapter 3's causal mask
        result: (n, n), dtype torch.bool, True hides; row = query i, column = key j

    Formula (Beltagy et al. 2020, Longformer, sec. 3.1, looking back only):
        mask[i, j] = False  if i - window + 1 <= j <= i
                     True   otherwise

    >>> sliding_window_mask(4, window=2)
    tensor([[False,  True,  True,  True],
            [False, False,  True,  True],
            [ True, False, False,  True],
            [ True,  True, False, False]])
    """
    raise NotImplementedError


# %% [markdown]
# With such a window, a cache needs only the last `window` rows. The old keys and values are joined
# with the new ones, and rows that no longer fit into the window are dropped at the front.

# %%
def append_to_window(
    keys: torch.Tensor,
    values: torch.Tensor,
    new_keys: torch.Tensor,
    new_values: torch.Tensor,
    window: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Append new keys and values to the old ones and keep the last `window` tokens.

    Shapes:
        keys, values: (..., t, d), the tokens kept so far; t may be 0
        new_keys, new_values: (..., n, d)
        window: an int, 1 or more
        result: a tuple (keys, values), each (..., min(t + n, window), d)

    >>> old, new = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0]])
    >>> append_to_window(old, 10 * old, new, 10 * new, window=2)
    (tensor([[2.],
            [3.]]), tensor([[20.],
            [30.]]))
    """
    raise NotImplementedError


# %% [markdown]
# ## Softmax in blocks
#
# The table of scores has n × m entries. For a text of 100,000 tokens that is ten billion
# numbers for one head, although the result has only n rows. Can we compute the result without ever
# having the table?
#
# The sum of values is no problem: it can be taken block by block over the keys. The problem is the
# softmax: its denominator needs all scores of a row, and so does the maximum that keeps it from
# overflowing. The solution ([Milakov & Gimelshein 2018](https://arxiv.org/abs/1805.02867); [Dao et
# al. 2022](https://arxiv.org/abs/2205.14135), FlashAttention, sec. 3.1) is to carry three things
# along for each query:
#
# | | what it is | at the start |
# |---|---|---|
# | `largest` | the largest score so far | −∞ |
# | `total` | the sum of e^(s − largest) so far | 0 |
# | `context` | the sum of e^(s − largest) v so far | 0 |
#
# When a block brings a larger score, `largest` changes from old to new, but both sums so far were
# divided by e^old instead of e^new. One factor puts them right:
#
#     e^(s − new) = e^(s − old) · e^(old − new)
#
# Take one query with the scores 1, 3, 2 in blocks of one and the values 10, 20, 30:
#
# | after score | largest | factor | total | context |
# |---|---|---|---|---|
# | 1 | 1 | 0 | 1 | 10 |
# | 3 | 3 | 0.1353 | 1.1353 | 21.3534 |
# | 2 | 3 | 1 | 1.5032 | 32.3897 |
#
# and 32.3897 / 1.5032 = 21.5470, which is what softmax gives.

# %%
def online_softmax_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, block_size: int
) -> torch.Tensor:
    """Return the context vectors of scaled dot-product attention, block by block over the keys.

    Make no tensor larger than n × block_size, apart from tensors as large as an argument or the
    result. `torch.softmax` over all keys makes the whole table, and so does
    `F.scaled_dot_product_attention` with two-dimensional arguments such as these.

    Shapes:
        queries: (n, d)
        keys: (m, d)
        values: (m, d_v)
        block_size: an int, 1 or more; the last block may be smaller
        result: (n, d_v)

    Formula (Dao et al. 2022, FlashAttention, sec. 3.1; Milakov & Gimelshein 2018):
        softmax(queries keys^T / sqrt(d)) values

    >>> queries, keys = torch.ones(1, 1), torch.tensor([[1.0], [3.0], [2.0]])
    >>> online_softmax_attention(queries, keys, torch.tensor([[10.0], [20.0], [30.0]]), block_size=1)
    tensor([[21.5470]])
    """
    raise NotImplementedError


# %% [markdown]
# ## One small vector for each token
#
# A last, harder idea for those who want to go on. Grouped queries shrink the cache by sharing
# heads. *Multi-head latent attention* ([DeepSeek-V2](https://arxiv.org/abs/2405.04434), 2024, sec.
# 2.1.2) compresses it: each token is first projected *down* to a short vector, its latent, and all
# keys and values are projected *up* from that.
#
#     c = x W_downᵀ,    K = c W_(key up)ᵀ,    V = c W_(value up)ᵀ
#
# Only c has to be cached: d_latent numbers for each token, whatever the number of heads. If
# d_latent is large enough, this can do everything that a single projection of keys can: it is
# plain attention with the product W_(key up) W_down as its key matrix.

# %%
class LatentAttention(nn.Module):
    """Causal multi-head attention whose keys and values come from one short vector per token.

    Shapes:
        d_in, d_out: ints, numbers per token in and out; d_out counts all heads together
        d_latent: int, numbers per token that a cache would have to keep
        context_length: int, the largest number of tokens in a text
        num_heads: int, divides d_out; head_dim = d_out / num_heads
        x: (b, num_tokens, d_in) with num_tokens <= context_length
        result: (b, num_tokens, d_out)

    Formula (DeepSeek-V2, 2024, sec. 2.1.2, without its rotary part):
        chapter 4's, with K = (x W_down^T) W_key_up^T and V = (x W_down^T) W_value_up^T

    Attributes: W_query is an nn.Linear from d_in to d_out, W_down from d_in to d_latent, W_key_up
    and W_value_up from d_latent to d_out, all without a bias; out_proj is an nn.Linear from d_out
    to d_out with a bias (create them in this order, and a seed gives the lesson's numbers); mask
    is a buffer, (context_length, context_length).

    >>> layer = LatentAttention(16, 16, d_latent=4, context_length=6, num_heads=2)
    >>> layer.W_down.weight.shape, layer(torch.ones(1, 3, 16)).shape
    (torch.Size([4, 16]), torch.Size([1, 3, 16]))
    """

    def __init__(
        self, d_in: int, d_out: int, d_latent: int, context_length: int, num_heads: int
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x (b, num_tokens, d_in) to context vectors (b, num_tokens, d_out)."""
        raise NotImplementedError


# %% [markdown]
# For 32 heads of 64 numbers, a cache keeps 4096 numbers per token; with 8 key heads 1024, with one
# key head 128, and with a latent of 512 just those 512.
#
# All of these are the same attention: queries, keys, values, a softmax, a sum. They differ in who
# may look at whom, in how the order is encoded, and in what is cached. In chapter 6 you put
# attention into a model that learns to write.

# %% [markdown]
# ## Find the bug, twice
#
# Two ways to encode the order of a text, each with one mistake. The first fills its table column by
# column, as slowly as possible, so that every line can be compared with the formula.

# %%
def bug_sinusoidal_positions(num_tokens: int, d: int) -> torch.Tensor:
    """Return a vector of sines and cosines for each position in a text. This code has one mistake.

    Shapes:
        num_tokens: an int, the number of positions; the first one is 0
        d: an even int, numbers per token
        result: (num_tokens, d), floating point; sines in columns 0, 2, 4, …, cosines in 1, 3, 5, …

    Formula (Vaswani et al. 2017, sec. 3.5): as in sinusoidal_positions
        result[t, 2i]     = sin(t / 10000^(2i / d))
        result[t, 2i + 1] = cos(t / 10000^(2i / d))
    """
    table = torch.zeros(num_tokens, d)
    places = torch.arange(num_tokens)
    for column in range(0, d, 2):
        angles = places / 10000.0 ** (column / 2 / d)
        table[:, column] = angles.sin()
        table[:, column + 1] = angles.cos()
    return table


# %% [markdown]
# The second should do what `rotate` does. It writes the two lines of the formula as one:
# the row times the cosine, plus the sine times the row with its halves swapped. One of the swapped
# halves has its sign changed.

# %%
def bug_rotate(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Turn the pairs of each row by angles that grow with its position. This code has one mistake.

    Shapes:
        x: (..., n, head_dim), head_dim even; queries or keys
        positions: (n,) integers, the positions of the n tokens; they may start anywhere
        base: float; pair i turns base ** (2 i / head_dim) times slower than pair 0
        result: as x

    Formula (Su et al. 2021, RoFormer, sec. 3.4.2): as in rotate
        angle[t, i] = positions[t] / base^(i / (head_dim / 2)),  i = 0 … head_dim / 2 - 1
        result[..., t, i]                = x_i cos(angle) - x_{i + head_dim/2} sin(angle)
        result[..., t, i + head_dim / 2] = x_{i + head_dim/2} cos(angle) + x_i sin(angle)
    """
    pairs = x.shape[-1] // 2
    slower = torch.arange(pairs, device=x.device) / pairs
    angles = torch.outer(torch.arange(len(positions)).float(), base**-slower).repeat(1, 2)
    left, right = x.split(pairs, dim=-1)
    exchanged = torch.cat((-right, left), dim=-1)
    return x * angles.cos().to(x.dtype) + exchanged * angles.sin().to(x.dtype)


# %% [markdown]
# ## Three questions
#
# Answer them without running anything. The answers are below.
#
# 1. A batch has texts of 2 and of 5 tokens, in rows of 5. How many entries of its padding mask are
#    `True`?
# 2. A layer with `d_out` = 8 and 2 heads has read one text: a prompt of 5 tokens, then 3 more.
#    What is the shape of the keys that it returns as its cache?
# 3. A query is at position 3 and a key at 7. Both move 100 positions further. By how much does
#    their dot product change with rotary positions?
#
# **Answers.** (1) **3**: the last three of the first row. (2) **(1, 2, 8, 4)**: the cache keeps all
# 8 tokens, by head. (3) **0**: it depends only on the distance, which is still 4.

# %% [markdown]
# ## What you can do now
#
# You can read the attention layer of a modern model and know every part of it: what hides the
# padding, what encodes the order, which heads share their keys, what a cache keeps and drops, and
# why the complete table of scores is never needed.
