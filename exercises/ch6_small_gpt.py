# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # A small GPT
#
# You have the famous part. A model that writes needs surprisingly little more, and most of it is
# plain: a normalisation, two linear layers, two tables of vectors, a loss, a loop. In this chapter
# you write all these parts, train the model, and let it write.
#
# ```
#  ids (b, n) ──▶ token vectors + position vectors ──▶ block ──▶ … ──▶ block ──▶ norm ──▶ logits (b, n, vocab)
#                                                       │
#                             x + attention(norm(x)),   then   x + feed_forward(norm(x))
# ```
#
# The blocks use `MultiHeadAttention` from your own chapter 4. The checks of this chapter replace it
# with a simple substitute that mixes tokens without attention, so a block can pass before chapter 4
# does. Later classes here use earlier ones.

# %%
import torch
from torch import nn

from ch4_multi_head_attention import MultiHeadAttention


# %% [markdown]
# ## Keeping numbers in bounds
#
# A deep network multiplies and adds many times over, and numbers drift: too large in one layer,
# nearly nothing in the next. *Layer normalisation* ([Ba et al.
# 2016](https://arxiv.org/abs/1607.06450)) brings each token's row back to mean 0 and variance 1,
# and then lets the model scale and shift each column as it has learned to:
#
#     LayerNorm(x) = scale · (x − mean(x)) / (√(var(x) + ε)) + shift
#
# Mean and variance are those of one row, over its d columns: no token and no text affects another.
# The variance is the plain mean of the squared distances, divided by d and not by d - 1 (torch's
# `var` divides by d - 1 unless you pass `unbiased=False`). ε keeps a row of equal
# numbers from being divided by 0.

# %%
class LayerNorm(nn.Module):
    """Each token's row brought to mean 0 and variance 1, then scaled and shifted by column.

    torch's own layer_norm may not be called: the exercise is to write it yourself.

    Shapes:
        d: an int, numbers per token
        eps: a small float, added to the variance
        x: (..., d)
        result: as x

    Formula (Ba et al. 2016, Layer Normalization, eq. 4):
        scale * (x - mean) / sqrt(variance + eps) + shift,
        mean and variance of each row; the variance divides by d

    Attributes: scale and shift are nn.Parameters of shape (d,), ones and zeros at the start.

    >>> LayerNorm(4)(torch.tensor([[1.0, 3.0, 1.0, 3.0]]))
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]], grad_fn=<AddBackward0>)
    """

    def __init__(self, d: int, eps: float = 1e-5) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise every row of x (..., d)."""
        raise NotImplementedError


# %% [markdown]
# ## One token at a time
#
# Attention moves information between tokens. The *feed-forward* part processes it: two linear
# layers, applied to each token separately. They go up to four times the width, through an
# *activation function*, and back down. Without the activation the two would be one linear layer.
# GPT uses GELU ([Hendrycks & Gimpel 2016](https://arxiv.org/abs/1606.08415)), max(0, x) with a
# soft corner.
#
# Two thirds of the weights of a block are here: 2 · 4 d² of them, compared with 4 d² in
# the four projections of attention.

# %%
class FeedForward(nn.Module):
    """Two linear layers with a GELU activation between them, for each token separately.

    Shapes:
        d: an int, numbers per token
        x: (..., d)
        result: as x

    Formula (Vaswani et al. 2017, sec. 3.3, with GELU for ReLU as in GPT):
        GELU(x W_1^T + b_1) W_2^T + b_2

    Attributes: layers, an nn.Sequential of nn.Linear from d to 4 d, nn.GELU and nn.Linear from 4 d
    to d, in this order.

    >>> layer = FeedForward(8)
    >>> layer.layers[0].weight.shape, layer(torch.ones(2, 3, 8)).shape
    (torch.Size([32, 8]), torch.Size([2, 3, 8]))
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map every token of x (..., d)."""
        raise NotImplementedError


# %% [markdown]
# ## A block
#
# A block is attention, then feed-forward, each in the same frame: normalise, compute, *add*.
#
#     x ← x + dropout(attention(norm_1(x)))
#     x ← x + dropout(feed forward(norm_2(x)))
#
# The sum is the point. It is called a *residual connection* ([He et al.
# 2016](https://arxiv.org/abs/1512.03385)). A part can learn to add next to nothing, so its input
# goes through unharmed; and the gradient reaches the first block through all the sums without a
# detour. The norm comes *before* each part, inside the frame (*pre-norm*, [Xiong et al.
# 2020](https://arxiv.org/abs/2002.04745)), so that the sums form a direct path. The second line
# normalises the new x, and adds to the new x.
#
# [Picture: The path of x through a block: norm, attention, then a sum with the block's input; norm,
# feed forward, then a sum with the first sum. Dropout comes before each sum.]

# %%
class TransformerBlock(nn.Module):
    """Attention and feed-forward, each on normalised tokens, each with a residual connection.

    Shapes:
        d: an int, numbers per token, in and out
        context_length: an int, the largest number of tokens
        dropout: float, the probability with which a number is dropped in training: in attention's
            weights, and in the result of each of the two parts
        num_heads: an int, divides d
        x: (b, num_tokens, d)
        result: as x

    Formula (Xiong et al. 2020, On Layer Normalization in the Transformer, pre-LN):
        x = x + dropout(attention(norm1(x)))
        x = x + dropout(feed_forward(norm2(x)))

    Attributes: norm1 and norm2 are LayerNorm(d), attention is
    MultiHeadAttention(d, d, context_length, dropout, num_heads), feed_forward is FeedForward(d),
    dropout is an nn.Dropout.

    >>> TransformerBlock(8, context_length=4, dropout=0.0, num_heads=2)(torch.ones(2, 3, 8)).shape
    torch.Size([2, 3, 8])
    """

    def __init__(self, d: int, context_length: int, dropout: float, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x (b, num_tokens, d) to the same shape."""
        raise NotImplementedError


# %% [markdown]
# ## The model
#
# Its input is ids, integers that identify tokens. A table of vectors, `nn.Embedding`, has a row for
# each token of the vocabulary; looking up is indexing. A second table has a row for each *position*
# (learned positions, as in GPT-2; chapter 5 has other ways). Their sum goes through the blocks and
# a last norm, and a linear layer without bias turns each row into *logits*, one number for each
# token of the vocabulary. The larger a token's logit, the more likely the model considers it to
# come *next*.
#
# It answers at all positions at once. The row of position t has seen the tokens 0 … t and nothing
# later, so its logits are an honest guess at token t + 1. One text of n tokens gives n training
# examples.

# %%
class SmallGPT(nn.Module):
    """A language model: from the ids of tokens to logits for the token that follows each.

    Shapes:
        vocab_size: an int, how many different tokens there are
        context_length: an int, the largest number of tokens in a text
        d: an int, numbers per token inside
        num_heads: an int, divides d
        num_layers: an int, the number of blocks
        dropout: float, for the blocks and for the sum of token and position
        ids: (b, n) integers below vocab_size, n <= context_length
        result: (b, n, vocab_size)

    Formula (Radford et al. 2019, GPT-2, sec. 2.3; learned positions, pre-norm blocks):
        x = dropout(token_embedding[ids] + position_embedding[0 … n - 1]);  x = block(x), …
        logits = head(final_norm(x))

    Attributes: context_length, the int; token_embedding and position_embedding are nn.Embedding
    of width d; dropout is an nn.Dropout; blocks is an nn.ModuleList (or nn.Sequential) of num_layers
    TransformerBlocks; final_norm is LayerNorm(d); head is an nn.Linear from d to vocab_size without
    a bias.

    Create tensors on the device of ids, `device=ids.device`, so that the model also runs on a GPU.

    >>> model = SmallGPT(vocab_size=10, context_length=6, d=8, num_heads=2, num_layers=2)
    >>> model(torch.tensor([[3, 1, 4, 1]])).shape
    torch.Size([1, 4, 10])
    """

    def __init__(
        self,
        vocab_size: int,
        context_length: int,
        d: int,
        num_heads: int,
        num_layers: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Map ids (b, n) to logits (b, n, vocab_size)."""
        raise NotImplementedError


# %% [markdown]
# ## Weight initialization
#
# Where do the weights begin? If all were 0, every column of a layer would get the same
# gradient, and all would stay the same. So they are drawn at random. The size matters. With large
# weights the logits are large, and the model is certain of nonsense; with small ones the numbers
# fade from layer to layer ([Glorot & Bengio
# 2010](https://proceedings.mlr.press/v9/glorot10a.html)). `nn.Linear` draws within ± 1 / √d_in, which suits a model as small as this one. GPT-2 draws all weights with standard
# deviation 0.02, and makes those before each residual sum smaller still.
#
# There is a simple test. A new model knows nothing, so its loss should be near that of a uniform
# guess: for 65 characters, log 65 = 4.1744. If it is far above, the weights are too large.
#
# ## Tokenization
#
# A *tokenizer* turns the text into ids. Here it is the simplest one, an id for each character: a
# small table, but long texts. An id for each word would give short texts, but a huge table, and no id
# for a new word. GPT uses *byte-pair encoding* ([Sennrich et al.
# 2016](https://arxiv.org/abs/1508.07909)) in between: common words become one token, rare ones a
# few. The second course, *From text to tokens* (`courses/tokens/` in the repository), builds it.
#
# ## Training examples
#
# A training example needs no label: the text is its own. Cut out a window of `context_length`
# tokens; the targets are the same window, one token later:
#
# | | | | | |
# |---|---|---|---|---|
# | inputs | Your | journey | starts | with |
# | targets | journey | starts | with | one |
#
# A batch is several such windows from positions drawn at random. The last window that fits begins
# at `len(ids) - context_length - 1`, since its targets reach one token further.

# %%
def batches(
    ids: torch.Tensor, context_length: int, batch_size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cut windows out of a text at random, with the same windows one token later.

    Shapes:
        ids: (num_tokens,) the text as ids, num_tokens > context_length
        context_length, batch_size: ints
        generator: the only source of randomness; the same state gives the same batch
        result: a tuple (inputs, targets), each (batch_size, context_length);
            every position of the text from which a window fits is equally likely, and
            each is drawn independently

    >>> text, chance = torch.arange(100), torch.Generator().manual_seed(1)
    >>> inputs, targets = batches(text, context_length=3, batch_size=2, generator=chance)
    >>> inputs.shape, bool((targets == inputs + 1).all())
    (torch.Size([2, 3]), True)
    """
    raise NotImplementedError


# %% [markdown]
# ## The loss
#
# At each position the logits, through a softmax, give every token a probability. The loss is the
# *cross-entropy*: minus the logarithm of the probability of the right token, on average over all
# positions. Uniform guessing gives each of V tokens 1 / V, and its loss is log V: for 65
# characters 4.1744. A loss of 0 would be certainty. Papers often report the *perplexity*,
# e^loss: a model with perplexity 65 is as uncertain as a uniform guess among 65 tokens.
#
# There is a form of the logarithm of a softmax that never needs a huge exponential:
#
#     −log (e^(z_t) / ∑_v e^(z_v)) = log ∑_v e^(z_v) − z_t
#
# and `torch.logsumexp` computes the first term safely.

# %%
def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean of minus the log probability of the right token, over all rows.

    torch's own cross_entropy and nll_loss may not be called: the exercise is to write them
    yourself. log_softmax and logsumexp may.

    Shapes:
        logits: (..., vocab_size)
        targets: (...) integers below vocab_size, the right token for each row
        result: a single number, as a tensor without dimensions

    Formula:
        mean over all rows of  log(sum_v exp(logits_v)) - logits_target

    >>> cross_entropy(torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.long))
    tensor(1.3863)
    """
    raise NotImplementedError


# %% [markdown]
# ## One step
#
# Learning is one line of thought, repeated: predict, measure, ask each weight which way is down,
# take a small step. torch remembers gradients and *adds* to them, so they are cleared first, each
# time.
#
# ### Optimizer and learning rate
#
# The *gradient* points uphill, and the *optimizer* takes a step the other way. Its *learning rate*
# is how far it goes: too large, and the loss jumps about; too small, and nothing seems to happen.
# We use *AdamW* ([Loshchilov & Hutter 2019](https://arxiv.org/abs/1711.05101)), which adapts the
# step to each weight, as *Adam* does ([Kingma & Ba 2015](https://arxiv.org/abs/1412.6980)). A
# learning rate of 0.003 suits a model as small as this one. Large models need a smaller one, which
# rises during the first steps (*warm-up*) and falls towards the end.
#
# ### Overfit one batch first
#
# A good test of a new model: train it on the *same* batch again and again. Its loss must fall to
# almost nothing, because it can learn the batch by heart. If it does not, look for a bug before you
# train longer.

# %%
def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    inputs: torch.Tensor,
    targets: torch.Tensor,
) -> float:
    """Take one step of training and return the loss before the step.

    Shapes:
        model: maps ids (b, n) to logits (b, n, vocab_size)
        optimizer: holds the model's parameters
        inputs, targets: (b, n) ids
        result: a float, the cross-entropy of the model's logits and the targets

    Earlier gradients, from other steps or from elsewhere, have no effect: they are cleared before
    `backward`. Only the model's parameters and the optimizer's state change, and the model's mode
    if you call model.train(). torch.nn.functional.cross_entropy may be called here.
    """
    raise NotImplementedError


# %% [markdown]
# ## Writing
#
# To write, ask for the logits of the *last* position, choose a token, append it, ask again. How to
# choose is a matter of taste:
#
# - **temperature** T divides the logits before the softmax: below 1 likely tokens become likelier,
#   above 1 all become more equal. 0 means *greedy decoding*: always the most likely token;
# - **top k** keeps the k most likely tokens ([Fan et al. 2018](https://arxiv.org/abs/1805.04833))
#   and hides the others with −∞, like a mask.
#
# The model takes at most `model.context_length` tokens: of a longer text it sees the last ones.

# %%
def generate(
    model: nn.Module,
    ids: torch.Tensor,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Let a model write: append new tokens to a text, one after another.

    Shapes:
        model: maps ids (b, n) to logits (b, n, vocab_size); has context_length
        ids: (b, n), the text so far
        max_new_tokens: an int, how many tokens to write
        temperature: float; 0 is greedy decoding: the most likely token each time
        top_k: an int, only the k most likely tokens may be drawn; or None
        generator: the only source of randomness
        result: (b, n + max_new_tokens), the text followed by the new tokens

    Formula (top-k sampling, Fan et al. 2018, sec. 5.1):
        next ~ softmax(logits of the last position / temperature), all but the top k hidden

    The model sees its last context_length ids and is called inside torch.no_grad() or
    torch.inference_mode(): no gradients are kept. ids, the model and its mode stay unchanged.
    """
    raise NotImplementedError


# %% [markdown]
# ## Faster with a KV cache
#
# For each new token `generate` computes the whole text again, although only its last row is new.
# Chapter 5's `CachedAttention` avoids that: it keeps the keys and values of the earlier tokens in a
# *KV cache*. Your model can use it without more training, because its four linear layers are those
# of `MultiHeadAttention`. The code below is given; there is nothing to write here.
#
# - `with_cache` copies a model and replaces the attention in each block. The new attention has the
#   same weights, and it keeps its cache from one call to the next.
# - `generate_with_cache` first passes in the whole prompt, then only the newest token. That token's
#   position is not 0 but the number of tokens before it.
#
# Norms and feed-forward parts need no cache, because they process each token separately.

# %%
class WithCache(nn.Module):
    """A CachedAttention that is called like MultiHeadAttention and keeps its cache itself."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention
        self.cache = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output, self.cache = self.attention(x, self.cache)
        return output


def with_cache(model: nn.Module, num_heads: int) -> nn.Module:
    """Copy a SmallGPT, with chapter 5's CachedAttention in each block and an empty cache."""
    from copy import deepcopy

    from ch5_beyond_one_sentence import CachedAttention

    model = deepcopy(model).eval()
    d = model.head.in_features
    for block in model.blocks:
        layer = CachedAttention(d, d, model.context_length, num_heads)
        for name in ("W_query", "W_key", "W_value", "out_proj"):
            setattr(layer, name, getattr(block.attention, name))
        block.attention = WithCache(layer)
    return model


def generate_with_cache(
    model: nn.Module, ids: torch.Tensor, max_new_tokens: int, num_heads: int
) -> torch.Tensor:
    """Write what generate writes at temperature 0, for texts of at most context_length tokens."""
    model = with_cache(model, num_heads)
    new, start = ids, 0
    for _token in range(max_new_tokens):
        positions = torch.arange(start, start + new.shape[1])
        with torch.no_grad():
            x = model.token_embedding(new) + model.position_embedding(positions)
            for block in model.blocks:
                x = block(x)
            logits = model.head(model.final_norm(x[:, -1:]))
        start += new.shape[1]
        new = logits[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat((ids, new), dim=1)
    return ids


# %% [markdown]
# A prompt of 6 tokens and 58 new ones fill a context of 64 tokens. The text is the same, token by
# token, but this is how many tokens each block computes:
#
# | | tokens computed |
# |---|---|
# | `generate` | 6 + 7 + … + 63 = 2001 |
# | `generate_with_cache` | 6 + 1 + … + 1 = 63 |
#
# It works only while the text fits into the context. Beyond that `generate` drops the first token,
# and all others move to another position. Then every key and value changes, and the cache is
# worthless. Rotary positions do not have this problem: there only the distance between two tokens
# counts, so a model can keep a window of the last ones, as in chapter 5.

# %% [markdown]
# ## Does it learn to look back?
#
# A task that cannot be solved without attention: five letters, a bar, and the same letters
# backwards, `dbaec|ceabd`. To write the last letter the model has to look at the first, ten
# positions back. About three hundred steps are enough, a few seconds on a laptop; a cell of the
# chapter's notebook runs them.

# %% [markdown]
# The loss cannot fall to 0: the first five letters are random, and no model can
# predict them. The first of them is only an input, so four of the ten targets cost log 5 = 1.6094 each, however good the model is; that makes 0.6438 on average, and the rest can be
# learned.
#
# That is a GPT. The famous ones differ from yours in size: more layers, wider rows, a
# longer context, and far more text.
#
# ## Let it talk
#
# Now the real thing. In a terminal, in the folder of the course,
#
# ```
# tensorgrade train
# ```
#
# trains *your* `SmallGPT`, with your `batches` and your `train_step`, on a megabyte of Shakespeare:
# two layers, four heads, 64 numbers for each token, and every character is a token. You see its
# loss fall and samples of its writing: letters at random at first, then words that might be words,
# then names in capitals, each with a colon. After 2,000 steps, a minute or two, the loss on text
# that it has not seen is about 1.9; it began at log 65 = 4.1744. Stop it whenever you like:
# Ctrl-C keeps the weights. Then
#
# ```
# tensorgrade talk "To be"
# ```
#
# lets it continue your words, with your `generate`. It has 100,000 numbers and was trained for a
# minute; do not ask it for sense.

# %% [markdown]
# ## How good is it?
#
# The loss on text that it was trained on says little, and the loss over all positions can be
# fooled: a model whose tokens see what comes next predicts it perfectly, and has learned nothing.
# At the *last* position of a window there is nothing left to see, just as when the model writes. So
# measure a model there: use windows of `context_length + 1` tokens from text that was not used for
# training, hide the last token of each, and take the mean loss of predicting it.
#
# Write that measurement. Counting which character follows which in the whole text gives a loss of
# 2.50; after 2,000 steps on Shakespeare a model is at 1.9. The trained model is your own reward:
# you do not submit it.

# %%
def trained_loss(model: nn.Module, windows: torch.Tensor) -> float:
    """Return how well a model predicts the last token of each window: its mean loss there.

    Shapes:
        model: maps ids (b, n) to logits (b, n, vocab_size)
        windows: (b, n + 1) ids; the model sees the first n of each and predicts the last
        result: a float, the cross-entropy at the last position, on average over the windows

    The model runs in evaluation mode; afterwards its mode is the same as before. No gradients
    are kept. torch.nn.functional.cross_entropy may be called here.
    """
    raise NotImplementedError


# %% [markdown]
# Once you have `my_model.safetensors`, let your model write, in a terminal, with
# `tensorgrade talk "ROMEO:"`. `tensorgrade see "ROMEO: To be or not to be" --weights
# my_model.safetensors` shows where each of its heads looks. Two of ours learned to look at the
# previous character; the table at the end of `tensorgrade train` shows if and when yours did.

# %% [markdown]
# ## Find the bug, twice
#
# The last two. Both run, and a model built with them makes progress; each has one mistake. Run the
# checks, find it, and change as little as you can.

# %%
class BugLayerNorm(nn.Module):
    """Each token's row with mean 0 and variance 1, scaled and shifted. This code has one mistake.

    Shapes:
        d: an int, numbers per token
        eps: a small float, added to the variance
        x: (..., d)
        result: as x

    Formula (Ba et al. 2016, Layer Normalization, eq. 4): as in LayerNorm
        scale * (x - mean) / sqrt(variance + eps) + shift,
        mean and variance of each row; the variance divides by d

    Attributes: scale and shift are nn.Parameters of shape (d,), ones and zeros at the start.
    """

    def __init__(self, d: int, eps: float = 1e-5) -> None:
        super().__init__()
        ones, zeros = torch.ones(d), torch.zeros(d)
        self.scale, self.shift = nn.Parameter(ones), nn.Parameter(zeros)
        self.least = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise every row of x (..., d)."""
        away = x - x.mean(dim=-1, keepdim=True)
        squares = x.var(dim=-1, keepdim=True)
        return self.scale * (away * (squares + self.least) ** -0.5) + self.shift


# %% [markdown]
# The other one first cuts all windows, each one token longer than needed, and then draws some of
# them: `unfold` gives every window as a row, without copying the text.

# %%
def bug_batches(
    ids: torch.Tensor, context_length: int, batch_size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cut random windows out of a text, with the same windows one later. This code has one mistake.

    Shapes:
        ids: (num_tokens,) the text as ids, num_tokens > context_length
        context_length, batch_size: ints
        generator: the only source of randomness; the same state gives the same batch
        result: a tuple (inputs, targets), each (batch_size, context_length);
            every position of the text from which a window fits is equally likely
    """
    longer = ids.unfold(0, context_length + 1, 1)
    chosen = torch.randint(max(len(longer) - 1, 1), (batch_size,), generator=generator)
    rows = longer[chosen]
    return rows[:, :-1], rows[:, 1:]


# %% [markdown]
# ## Three questions
#
# Answer them without running anything. The answers are below.
#
# 1. A model considers all of 100 tokens equally likely. What is its perplexity?
# 2. How many trained numbers does `FeedForward(16)` have, biases included?
# 3. A text has 10 ids, and windows have 4. At how many places can a window of `batches` begin?
#
# **Answers.** (1) **100**: e^(log 100). (2) **2128**: 16 · 64 + 64 on the way up, 64 · 16 + 16
# on the way down. (3) **6**: each window needs 5 ids, because its targets are one token later.

# %% [markdown]
# ## What you can do now
#
# You can build a language model from plain tensors and train it: norms, blocks, two tables of
# vectors, a loss, a step, and a way to let it write. You know its training examples, and how to see
# that it looks back. Now let it learn: `tensorgrade train`.
