# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

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


# %% active="ipynb"
# from tensorgrade.notebook import bars, heatmap, heatmaps, lines

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
# $$ \mathrm{mask}[i, 0, j] = (j \ge \mathrm{lengths}[i]) $$
#
# The middle dimension of size 1 belongs to the queries: all of them share the row, which
# broadcasts over the scores (b, n, n).
#
# What about the queries that are padding themselves? They attend to the real tokens, but their
# results mean nothing and are never used. Hiding everything from them would leave a
# softmax without any entry, and that is NaN.

# %% exercise="padding_mask"
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
    ### BEGIN SOLUTION
    positions = torch.arange(num_tokens, device=lengths.device)
    return positions >= lengths[:, None, None]
    ### END SOLUTION


# %% [markdown] hints="padding_mask"
# 1. Write the positions 0, 1, 2, … next to a length. For which of them is the answer `True`?
# 2. `torch.arange` gives the positions. A comparison broadcasts: lengths of shape (b, 1, 1) against
#    positions of shape (num_tokens,) give (b, 1, num_tokens).

# %% active="ipynb"
# lengths = torch.tensor([6, 2, 4])
# heatmap(padding_mask(lengths, 6)[:, 0].float(), rows=["6 tokens", "2 tokens", "4 tokens"],
#         columns=[str(j) for j in range(6)], title="Dark hides: the padding of three texts")

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

# %% exercise="CrossAttention"
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
        ### BEGIN SOLUTION
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        ### END SOLUTION

    def forward(
        self, x: torch.Tensor, context: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Map x (b, n, d_in) and context (b, m, d_context) to (b, n, d_out)."""
        ### BEGIN SOLUTION
        b, n, d_in = x.shape
        m = context.shape[1]
        queries = self.W_query(x)
        keys = self.W_key(context)
        values = self.W_value(context)
        queries = queries.reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        keys = keys.reshape(b, m, self.num_heads, self.head_dim).transpose(1, 2)
        values = values.reshape(b, m, self.num_heads, self.head_dim).transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        if mask is not None:
            hidden = mask.expand(b, n, m).unsqueeze(1)
            attn_scores = attn_scores.masked_fill(hidden, -torch.inf)
        d_k = keys.shape[-1]
        attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)
        context_heads = attn_weights @ values
        return self.out_proj(context_heads.transpose(1, 2).reshape(b, n, -1))
        ### END SOLUTION


# %% [markdown] hints="CrossAttention"
# 1. Begin with chapter 4's `MultiHeadAttention` and ask of each line: does it use `x` or
#    `context`? Queries have n tokens, keys and values have m.
# 2. The scores have four dimensions, (b, heads, n, m), and the mask up to three. In a mask of
#    shape (b, 1, m), b would meet the heads. `mask.expand(b, n, m)`, with one more dimension right
#    after the batch, always fits.
# 3. `if mask is not None:` — and there is neither a causal mask nor dropout here.

# %% active="ipynb"
# torch.manual_seed(123)
# reader = CrossAttention(d_in=3, d_context=3, d_out=4, num_heads=2)
# with torch.no_grad():
#     two = torch.stack([sentence, torch.cat([sentence[4:], torch.ones(4, 3)])])
#     hidden = padding_mask(torch.tensor([6, 2]), 6)
#     padded = reader(two, two, hidden)[1, :2]
#     alone = reader(two[1:, :2], two[1:, :2])[0]
#     print("padded, without a mask:", reader(two, two)[1, 0])
#     print("padded, with a mask:   ", padded[0])
#     print("alone:                 ", alone[0])

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
# $$ p_{t,\,2i} = \sin\left(t / 10000^{2i/d}\right), \qquad
#    p_{t,\,2i+1} = \cos\left(t / 10000^{2i/d}\right) $$
#
# Read it as a row of clocks. Each pair of columns, a sine and a cosine, gives the height and the
# sideways reach of one clock's hand. The first clock turns by 1 radian per token; the later ones
# turn ever more slowly, for large d the last by little more than 1/10000 of that. Together they
# show the position as second, minute and hour hands show the time.
#
# Why not simply the number $t$? It grows without bound and would drown the token; sines stay
# between -1 and 1. And the clocks have one more property: the vector of position $t + k$ comes from
# that of position $t$ by turning each clock by an angle that depends on $k$ alone.

# %% exercise="sinusoidal_positions"
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
    ### BEGIN SOLUTION
    positions = torch.arange(num_tokens)[:, None]
    rates = 10000.0 ** (-torch.arange(0, d, 2) / d)
    angles = positions * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(num_tokens, d)
    ### END SOLUTION


# %% [markdown] hints="sinusoidal_positions"
# 1. First the angles, as a table (num_tokens, d / 2): the position times the rate of each clock. How
#    fast is clock 0, and how fast clock i?
# 2. `torch.arange(0, d, 2)` gives the exponents' 2i. A column of positions times a row of rates
#    broadcasts to the table.
# 3. Sine and cosine of the same angle are next to each other. Either write into `result[:, 0::2]`
#    and `result[:, 1::2]`, or stack the two along a new last dimension and reshape.

# %% active="ipynb"
# places = sinusoidal_positions(16, 16)
# heatmap(places.T, rows=[str(i) for i in range(16)], columns=[str(t) for t in range(16)],
#         title="Each row is a column of the result: clocks, from fast to slow")
# torch.manual_seed(123)
# blind = CrossAttention(3, 3, 4, 2)
# with torch.no_grad():
#     turned = sentence.flip(0)[None]
#     same = torch.allclose(blind(turned, turned)[0].flip(0), blind(sentence[None], sentence[None])[0])
# print("turning the sentence round only turns the results round:", same)

# %% [markdown]
# ## Turned by its position
#
# Adding has a price: the token and its position share the same numbers, and the scores mix the
# two. The second way, *rotary* positions ([Su et al. 2021](https://arxiv.org/abs/2104.09864),
# RoFormer, sec. 3.4), adds nothing. It turns queries and keys, each by its own position, right
# before their dot products are taken.
#
# Take two entries of a query as a point in the plane and turn it by the angle $s \theta$, where
# $s$ is its position and $\theta$ is fixed; call this turn $R_s$. Turn the same two entries of a
# key by $t \theta$. A dot product depends on lengths and on the angle *between*, so it depends on
# the positions only through their distance:
#
# $$ \langle R_{s}\, q,\; R_{t}\, k \rangle = \langle q,\; R_{t-s}\, k \rangle $$
#
# A head of `head_dim` numbers has head_dim / 2 such pairs, and each turns at its own rate, the
# rates of the clocks above. Which entries make a pair is a convention. Here
#
# > entry $i$ is paired with entry $i + \mathrm{head\_dim}/2$: the first half of a row with its second
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
# ![A query and a key as arrows in a circle, at positions 0 and 2 and again at 3 and 5: both have turned, and the angle between them is the same.](pictures/rotary.png)

# %% exercise="rotate"
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
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    rates = base ** (-torch.arange(half, device=x.device) / half)
    angles = positions[:, None] * rates
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    ### END SOLUTION


# %% [markdown] hints="rotate"
# 1. Cut the rows into two halves, `x[..., :half]` and `x[..., half:]`: entry i of the one and entry
#    i of the other are the two coordinates of pair i.
# 2. The angles are a table (n, half), as in `sinusoidal_positions`, with `base` in place of 10000.
#    It broadcasts over all leading dimensions of `x`.
# 3. Turning (a, b) by an angle gives (a cos - b sin, b cos + a sin). Join the halves with `torch.cat`.

# %% active="ipynb"
# torch.manual_seed(123)
# query, key = torch.randn(16), torch.randn(16)
# far = torch.arange(40)
# at_distance = [
#     (rotate(query.expand(40, 16), far + start) * rotate(key[None], torch.tensor([start]))).sum(dim=-1)
#     for start in (0, 500)
# ]
# print("the same scores, wherever one starts:", torch.allclose(*at_distance, atol=1e-3))
# lines({"score": (far, at_distance[0])}, x="distance", y="score",
#       title="One query and one key, ever further apart")

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
# ![Four query heads, drawn three times: with four heads of keys and values, one for each; with two, each shared by two neighbouring query heads; with one, shared by all four.](pictures/groups.png)
#
# A group consists of neighbours. With 4 query heads and 2 key heads, query heads 0 and 1 use key
# head 0, and 2 and 3 use key head 1:
#
# $$ \mathrm{key\ head\ of\ query\ head\ } h = \left\lfloor h \,/\,
#    (\mathrm{num\_heads} / \mathrm{num\_kv\_heads}) \right\rfloor $$
#
# With as many key heads as query heads this is chapter 4's layer, number for number.

# %% exercise="GroupedQueryAttention"
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
        ### BEGIN SOLUTION
        if d_out % num_heads != 0:
            raise ValueError(f"d_out ({d_out}) must be divisible by num_heads ({num_heads})")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads ({num_heads}) must be divisible by {num_kv_heads}")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_out // num_heads
        kv_width = num_kv_heads * self.head_dim
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, kv_width, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, kv_width, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer("mask", future.bool())
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x (b, num_tokens, d_in) to context vectors (b, num_tokens, d_out)."""
        ### BEGIN SOLUTION
        b, num_tokens, d_in = x.shape
        group = self.num_heads // self.num_kv_heads
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        queries = queries.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        keys = keys.reshape(b, num_tokens, self.num_kv_heads, self.head_dim).transpose(1, 2)
        values = values.reshape(b, num_tokens, self.num_kv_heads, self.head_dim).transpose(1, 2)
        keys = keys.repeat_interleave(group, dim=1)
        values = values.repeat_interleave(group, dim=1)
        attn_scores = queries @ keys.transpose(2, 3)
        future = self.mask[:num_tokens, :num_tokens]
        attn_scores = attn_scores.masked_fill(future, -torch.inf)
        d_k = keys.shape[-1]
        attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_heads = attn_weights @ values
        context_vec = context_heads.transpose(1, 2).reshape(b, num_tokens, -1)
        return self.out_proj(context_vec)
        ### END SOLUTION


# %% [markdown] hints="GroupedQueryAttention"
# 1. It is chapter 4's layer with narrower keys and values. How wide is one head? How many heads of
#    keys are there? So how wide is their projection?
# 2. After splitting, keys are (b, num_kv_heads, n, head_dim). Repeat each of their heads as many
#    times as a group has query heads, so that head h meets the right one.
# 3. `repeat_interleave(group, dim=1)` gives 0 0 1 1; `repeat` would give 0 1 0 1. Which of the
#    two puts query heads 0 and 1 on the same keys?

# %% active="ipynb"
# layers = {kv: GroupedQueryAttention(64, 64, 8, 0.0, num_heads=8, num_kv_heads=kv) for kv in (8, 4, 2, 1)}
# kept = {kv: sum(m.weight.shape[0] for m in (a.W_key, a.W_value)) for kv, a in layers.items()}
# weights_of = {kv: sum(p.numel() for p in a.parameters()) for kv, a in layers.items()}
# print("numbers kept for a token:", kept)
# print("parameters:", weights_of)

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

# %% exercise="CachedAttention"
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
        ### BEGIN SOLUTION
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer("mask", future.bool())
        ### END SOLUTION

    def forward(
        self, x: torch.Tensor, cache: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Map new tokens x (b, n, d_in) and a cache to (output, longer cache)."""
        ### BEGIN SOLUTION
        b, n, d_in = x.shape
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        queries = queries.reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        keys = keys.reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        values = values.reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        if cache is not None:
            keys = torch.cat((cache[0], keys), dim=2)
            values = torch.cat((cache[1], values), dim=2)
        num_tokens = keys.shape[2]
        attn_scores = queries @ keys.transpose(2, 3)
        future = self.mask[num_tokens - n : num_tokens, :num_tokens]
        attn_scores = attn_scores.masked_fill(future, -torch.inf)
        d_k = keys.shape[-1]
        attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)
        context_heads = attn_weights @ values
        output = self.out_proj(context_heads.transpose(1, 2).reshape(b, n, -1))
        return output, (keys, values)
        ### END SOLUTION


# %% [markdown] hints="CachedAttention"
# 1. Project and split only the new tokens. The old keys and values come from the cache, already in
#    heads; join old and new along the tokens. Which dimension is that in (b, heads, tokens, head_dim)?
# 2. Return the joined keys and values, before they meet the queries, as the new cache.
# 3. If the cache has t tokens, the new queries are rows t, t + 1, … of the mask, and all t + n
#    columns count: `self.mask[t : t + n, : t + n]`.

# %% active="ipynb"
# torch.manual_seed(123)
# layer = CachedAttention(3, 4, 6, num_heads=2)
# with torch.no_grad():
#     at_once, _ = layer(sentence[None])
#     one_by_one, kept = [], None
#     for token in sentence:
#         output, kept = layer(token[None, None], kept)
#         one_by_one.append(output)
# print(f"largest difference: {(torch.cat(one_by_one, dim=1) - at_once).abs().max():.1e}")
# tokens = torch.arange(1, 101.0)
# lines({"without a cache": (tokens, tokens.cumsum(0)), "with a cache": (tokens, tokens)},
#       x="tokens written", y="rows projected", title="What a cache saves")

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

# %% exercise="sliding_window_mask"
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
    ### BEGIN SOLUTION
    positions = torch.arange(num_tokens)
    distance = positions[:, None] - positions
    return (distance < 0) | (distance >= window)
    ### END SOLUTION


# %% [markdown] hints="sliding_window_mask"
# 1. How far back does entry (i, j) look? For which distances is it hidden: the negative ones
#    (the future), and which others?
# 2. `positions[:, None] - positions` is the table of distances. Join two conditions on it with `|`;
#    or put two triangles together, `torch.triu(…, diagonal=1)` and a lower one.

# %% active="ipynb"
# heatmaps({f"window {w}": sliding_window_mask(8, w).float() for w in (1, 3, 8)})

# %% [markdown]
# With such a window, a cache needs only the last `window` rows. The old keys and values are joined
# with the new ones, and rows that no longer fit into the window are dropped at the front.

# %% exercise="append_to_window"
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
    ### BEGIN SOLUTION
    all_keys = torch.cat((keys, new_keys), dim=-2)
    all_values = torch.cat((values, new_values), dim=-2)
    return all_keys[..., -window:, :], all_values[..., -window:, :]
    ### END SOLUTION


# %% [markdown] hints="append_to_window"
# 1. Join along the tokens. They are the last dimension but one, whatever comes before them.
# 2. Then keep the end of that dimension. A slice from `-window` on takes everything if there are
#    fewer tokens than that.

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
# | `largest` | the largest score so far | $-\infty$ |
# | `total` | the sum of $e^{s - \mathrm{largest}}$ so far | 0 |
# | `context` | the sum of $e^{s - \mathrm{largest}} v$ so far | 0 |
#
# When a block brings a larger score, `largest` changes from old to new, but both sums so far were
# divided by $e^{\mathrm{old}}$ instead of $e^{\mathrm{new}}$. One factor puts them right:
#
# $$ e^{s - \mathrm{new}} = e^{s - \mathrm{old}} \cdot e^{\mathrm{old} - \mathrm{new}} $$
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

# %% exercise="online_softmax_attention"
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
    ### BEGIN SOLUTION
    n, d_k = queries.shape
    largest = queries.new_full((n, 1), -torch.inf)
    total = queries.new_zeros(n, 1)
    context = queries.new_zeros(n, values.shape[-1])
    for start in range(0, len(keys), block_size):
        block = slice(start, start + block_size)
        attn_scores = queries @ keys[block].T / d_k**0.5
        new_largest = torch.maximum(largest, attn_scores.amax(dim=-1, keepdim=True))
        factor = torch.exp(largest - new_largest)
        exponentials = torch.exp(attn_scores - new_largest)
        total = total * factor + exponentials.sum(dim=-1, keepdim=True)
        context = context * factor + exponentials @ values[block]
        largest = new_largest
    return context / total
    ### END SOLUTION


# %% [markdown] hints="online_softmax_attention"
# 1. Follow the table of the lesson by hand first. Before the loop: what are `largest`, `total` and
#    `context`, and which shapes do they have, for n queries?
# 2. In each step: scores of this block; the new largest; the factor for both old sums;
#    the exponentials of this block; then both sums, and only then the new largest replaces
#    the old.
# 3. Keep `largest` and `total` as (n, 1), so that they broadcast over a block's columns and over
#    `context`. Divide once, at the end.

# %% active="ipynb"
# torch.manual_seed(123)
# q, k, v = torch.randn(4, 8), torch.randn(1000, 8), torch.randn(1000, 8)
# plain = torch.softmax(q @ k.T / 8**0.5, dim=-1) @ v
# for size in (1, 64, 1000):
#     print(size, f"{(online_softmax_attention(q, k, v, size) - plain).abs().max():.1e}")

# %% [markdown]
# ## One small vector for each token
#
# A last, harder idea for those who want to go on. Grouped queries shrink the cache by sharing
# heads. *Multi-head latent attention* ([DeepSeek-V2](https://arxiv.org/abs/2405.04434), 2024, sec.
# 2.1.2) compresses it: each token is first projected *down* to a short vector, its latent, and all
# keys and values are projected *up* from that.
#
# $$ c = x\, W_{\mathrm{down}}^T, \qquad K = c\, W_{\mathrm{key\ up}}^T, \qquad
#    V = c\, W_{\mathrm{value\ up}}^T $$
#
# Only $c$ has to be cached: d_latent numbers for each token, whatever the number of heads. If
# d_latent is large enough, this can do everything that a single projection of keys can: it is
# plain attention with the product $W_{\mathrm{key\ up}} W_{\mathrm{down}}$ as its key matrix.

# %% exercise="LatentAttention"
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
        ### BEGIN SOLUTION
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_down = nn.Linear(d_in, d_latent, bias=False)
        self.W_key_up = nn.Linear(d_latent, d_out, bias=False)
        self.W_value_up = nn.Linear(d_latent, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer("mask", future.bool())
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x (b, num_tokens, d_in) to context vectors (b, num_tokens, d_out)."""
        ### BEGIN SOLUTION
        b, num_tokens, d_in = x.shape
        latent = self.W_down(x)
        queries = self.W_query(x)
        keys = self.W_key_up(latent)
        values = self.W_value_up(latent)
        queries = queries.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        keys = keys.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        values = values.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        future = self.mask[:num_tokens, :num_tokens]
        attn_scores = attn_scores.masked_fill(future, -torch.inf)
        d_k = keys.shape[-1]
        attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)
        context_heads = attn_weights @ values
        context_vec = context_heads.transpose(1, 2).reshape(b, num_tokens, -1)
        return self.out_proj(context_vec)
        ### END SOLUTION


# %% [markdown] hints="LatentAttention"
# 1. Four projections instead of three: queries from `x`, the latent from `x`, keys and values from
#    the latent. The rest is chapter 4 without dropout.
# 2. The scale is still the root of `head_dim`, the number of features of the vectors whose dot
#    product is taken.

# %% active="ipynb"
# sizes = {"multi-head": 2 * 32 * 64, "8 key heads": 2 * 8 * 64, "one key head": 2 * 64, "latent": 512}
# bars({"numbers kept for a token": torch.tensor(list(sizes.values())).float()}, names=list(sizes))

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

# %% exercise="bug_sinusoidal_positions" like="sinusoidal_positions" points=4
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
    ### BEGIN SOLUTION
    table = torch.zeros(num_tokens, d)
    places = torch.arange(num_tokens)
    for column in range(0, d, 2):
        angles = places / 10000.0 ** (column / d)  ### BUG: angles = places / 10000.0 ** (column / 2 / d)
        table[:, column] = angles.sin()
        table[:, column + 1] = angles.cos()
    return table
    ### END SOLUTION

# %% [markdown] hints="bug_sinusoidal_positions"
# 1. You know the first row, of position 0, without a computer: every sine is 0 and every cosine 1.
#    The first two columns are the sine and the cosine of 0, 1, 2 and so on.
# 2. If these are right, look at the next pair of columns. Divide the angle that you find there by
#    the position: by how much slower does it turn, and by how much should it?
# 3. In the formula i counts pairs, in the code `column` counts columns, two for each pair. So what is
#    2i here?

# %% [markdown]
# The second should do what `rotate` does. It writes the two lines of the formula as one:
# the row times the cosine, plus the sine times the row with its halves swapped. One of the swapped
# halves has its sign changed.

# %% exercise="bug_rotate" like="rotate" points=4
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
    ### BEGIN SOLUTION
    pairs = x.shape[-1] // 2
    slower = torch.arange(pairs, device=x.device) / pairs
    angles = torch.outer(positions.float(), base**-slower).repeat(1, 2)  ### BUG: angles = torch.outer(torch.arange(len(positions)).float(), base**-slower).repeat(1, 2)
    left, right = x.split(pairs, dim=-1)
    exchanged = torch.cat((-right, left), dim=-1)
    return x * angles.cos().to(x.dtype) + exchanged * angles.sin().to(x.dtype)
    ### END SOLUTION

# %% [markdown] hints="bug_rotate"
# 1. Turn a single pair first: `x = [[1.0, 0.0]]` at position 1 should become (cos 1, sin 1), and at
#    position 0 it should not change. Does it?
# 2. If one pair is turned correctly, take several. Which ones are wrong: all but the first? Then
#    check how fast they turn. None at positions 0, 1, 2, but all at 5, 6, 7? Then check the
#    positions.
# 3. Compare the two lines of the formula with the last line of the code. Which half gets which sign,
#    and where are `positions` and `base` used?

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

# %% [markdown] ending=true
# ## What you can do now
#
# You can read the attention layer of a modern model and know every part of it: what hides the
# padding, what encodes the order, which heads share their keys, what a cache keeps and drops, and
# why the complete table of scores is never needed.
