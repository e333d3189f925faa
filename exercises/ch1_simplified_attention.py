# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # Attention without weights
#
# A model reads text as *tokens*, here simply words, and each token enters as a vector: its
# *embedding*, looked up in a table. The table has one row per word, and that is the trouble. In
# "she sat on the bank and watched the ducks" and in "she owed the bank a fortune", the same row is
# looked up for "bank". One fixed vector cannot mean both.
#
# The remedy is to let every token's vector take in something from its neighbours before it is used.
# "Bank" next to "ducks" moves one way, next to "fortune" another. The result is called a
# **context vector**: a vector for *this* token in *this* text. Computing context vectors is what
# attention does, and everything in this course builds on it.
#
# ## Where the idea came from
#
# Early neural translators read the source sentence with a recurrent network, one word after
# another, and kept a single running state. The translating half saw only the state after the last
# word, a vector of fixed size. Five words or fifty had to fit into it, and long sentences came out
# badly: the beginning was overwritten by the end.
#
# [Bahdanau, Cho and Bengio (2015)](https://arxiv.org/abs/1409.0473) took that bottleneck away. They
# kept the states of *all* words, and let the network mix them afresh for each word of the
# translation, mostly from the words that mattered just then. The mix is a weighted sum, and its
# weights were named *attention*. Self-attention turns the same mechanism on the text itself: each
# token mixes all tokens of its own text, with no recurrent network left ([Vaswani et al.
# 2017](https://arxiv.org/abs/1706.03762)).
#
#
# In this chapter nothing is trained. Three steps take you from vectors to context vectors:
#
# | step | gives | shape for one token | for all tokens |
# |---|---|---|---|
# | compare the token with every token | `attn_scores` | (n,) | (n, n) |
# | turn scores into shares that sum to 1 | `attn_weights` | (n,) | (n, n) |
# | mix the tokens by those shares | context vector | (d,) | (n, d) |
#
# Throughout, `n` is the number of tokens and `d` the number of features of each. The text is "Your
# journey starts with one step": n = 6 tokens, each with an invented embedding of d = 3 numbers.

# %%
import torch

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
# Each **row** is a token, each **column** a feature. Keep hold of that picture: most slips in
# attention come from working along the wrong one of the two. Note also that "journey" and "starts"
# have nearly the same row. We shall see it in every result.
#
# ## Step 1: compare
#
# We follow one token, the second, "journey". The token that does the looking is called the
# **query**. It has to be compared with every token, itself included, and the simplest comparison of
# two vectors is their dot product: multiply feature by feature, then add up. With "Your" that is
#
#     0.55 · 0.43 + 0.87 · 0.15 + 0.66 · 0.89 = 0.9544 .
#
# Why does it measure likeness? Because a · b = ‖ a ‖ ‖ b ‖ cos θ, where θ is the angle between the two. The product is large if both point the same
# way, zero at a right angle, negative if they point apart. Length counts as well: a long vector
# gets large scores from every vector of roughly the same direction.
#
# [Picture: Three pairs of arrows, each 2 long: 30 degrees apart their dot product is 3.46, at a
# right angle 0, 150 degrees apart -3.46.]
#
# A dot product uses up the features. The query has d numbers, each token has d numbers, and one
# number comes out; with n tokens, n numbers. So a matrix of shape (n, d) and a vector of shape (d,)
# give a vector of shape (n,): a matrix-vector product.

# %%
def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Return the dot product of a query with every token.

    Shapes:
        query: (d,)
        inputs: (n, d), one token per row
        result: (n,)

    Formula (the dot-product score, Luong et al. 2015, sec. 3.1):
        result[j] = query[0] * inputs[j, 0] + ... + query[d-1] * inputs[j, d-1]

    >>> query = torch.tensor([1.0, 2.0])
    >>> attention_scores(query, torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]]))
    tensor([1., 2., 1.])
    """
    raise NotImplementedError


# %% [markdown]
# | | Your | journey | starts | with | one | step |
# |---|---|---|---|---|---|---|
# | score | 0.9544 | 1.4950 | 1.4754 | 0.8434 | 0.7070 | 1.0865 |
#
# "Journey" scores highest with itself, and "starts", its near twin, is close behind. "With" is
# closer in direction to "journey" than "step" is (the cosines are 0.9817 and 0.9141), yet it
# scores less, because it is shorter: 0.7026 against 0.9721. Do not read too much into who likes
# whom: the embeddings are invented. The mechanism is what matters.
#
# ## Step 2: from scores to shares
#
# To mix tokens we need a recipe: shares that are not negative and sum to 1. The first thing to try
# is to divide each score by the sum of all, which is 6.5617 here:
#
# | | Your | journey | starts | with | one | step |
# |---|---|---|---|---|---|---|
# | score / sum | 0.1455 | 0.2278 | 0.2249 | 0.1285 | 0.1077 | 0.1656 |
#
# That looks fine, but only because none of our numbers is negative. Real embeddings have plenty.
# Take the scores 2, 1, −4. Their sum is −1, and the "shares" become −2, −1, 4: the *worst* match
# gets the largest share and the best match the most negative one. Take 1, −2, 1, and you divide by
# zero.
#
# **Softmax** repairs this by making every score positive first, with the exponential function:
#
#     softmax(x)_j = e^(x_j) / ∑_k e^(x_k) .
#
# Every e^(x_j) is positive, so the sum is too, and a higher score always gets a higher share.
# For 2, 1, −4 the shares are 0.7297, 0.2685, 0.0018. There is a second gain. The ratio of two
# shares is e^(x_i) / e^(x_j) = e^(x_i − x_j): only the *difference* of the scores matters. And
# the function is smooth everywhere, so gradients pass through it.

# %%
def softmax_naive(x: torch.Tensor) -> torch.Tensor:
    """Return the softmax of a vector, computed just as the formula says.

    Must not call torch.softmax, torch.nn.functional.softmax, torch.nn.Softmax, any log_softmax
    or torch.logsumexp: the exercise is to write softmax yourself. A call of one of them costs half
    of the points. (A tenth if it is hidden, such as in a string that is run.)

    Shapes:
        x: (n,)
        result: (n,), positive, sums to 1

    Formula (Bahdanau et al. 2015, eq. 6):
        result[j] = exp(x[j]) / (exp(x[0]) + ... + exp(x[n-1]))

    >>> softmax_naive(torch.log(torch.tensor([1.0, 3.0, 4.0])))    # exponentials: 1, 3, 4
    tensor([0.1250, 0.3750, 0.5000])
    """
    raise NotImplementedError


# %% [markdown]
# | | Your | journey | starts | with | one | step |
# |---|---|---|---|---|---|---|
# | softmax | 0.1385 | 0.2379 | 0.2333 | 0.1240 | 0.1082 | 0.1581 |
# | softmax, scores + 10 | 0.1385 | 0.2379 | 0.2333 | 0.1240 | 0.1082 | 0.1581 |
# | softmax, scores · 4 | 0.0489 | 0.4253 | 0.3932 | 0.0314 | 0.0182 | 0.0830 |
# | score / sum, scores + 10 | 0.1646 | 0.1727 | 0.1724 | 0.1629 | 0.1609 | 0.1666 |
#
# The first row is the **attention weights** of "journey". It spends e^(1.4950 − 0.7070) = 2.1990
# times as much attention on itself as on "one". The two recipes are mirror images. Adding 10 to
# every score leaves softmax alone but nearly levels the plain shares; multiplying by 4 would leave
# the plain shares alone but makes softmax much sharper. Remember the second point: the *size* of
# the scores sets how sharp attention is. Chapter 2 has to deal with it.
#
# [Picture: The weights of "journey" as bars, for the scores and for four times the scores: at four
# times the size two bars stand out, 0.43 and 0.39, and the others nearly vanish.]
#
# ### When the formula breaks
#
# The mathematics of `softmax_naive` is right, yet a computer cannot always follow it. The largest
# number in float32 is about 3.4 · 10³⁸, and e^x passes it soon after x = 88.72. From
# there on the result is `inf`, and `inf / inf` is `nan`, not a number. Very negative scores fail
# too: all exponentials become 0, and 0 / 0 is `nan`. In half precision (float16) the limit is
# reached at 11.1. One such `nan` spreads through the whole network at the next step of training.

# %% [markdown]
# Take the scores 80, 81, 82, then 88, 89, 90, then -200, -201, -202. Neighbours differ by 1 in all
# three, so the first two should give the same shares. The third counts down, so it should give them
# in reverse. `softmax_naive` is right on the first: 0.0900, 0.2447, 0.6652. On the second it gives 0,
# `nan`, `nan`, and on the third only `nan`.
#
# The cure is in what you saw above: a constant added to all scores changes nothing. For any c,
#
#     e^(x_j − c) / ∑_k e^(x_k − c)
#     = (e^(−c) e^(x_j)) / (e^(−c) ∑_k e^(x_k))
#     = e^(x_j) / ∑_k e^(x_k) .
#
# Choose c = max_k x_k. Then the largest exponent is exactly 0 and its exponential is 1; all
# others are between 0 and 1. Nothing can overflow. The sum is between 1 and n, so it is never
# zero. An exponential may still underflow to 0, but only for a share too small to matter.
#
# ### Which axis?
#
# Soon we shall have a whole matrix of scores, one row per query, and each row must sum to 1 on its
# own. So softmax takes a `dim`: the axis *along which* the shares sum to 1. For a matrix `dim=-1`
# sums along each row, `dim=0` down each column. Both the maximum and the sum belong to that axis.
# One maximum for the whole tensor would do in theory, but not on a computer: a row that is 1000
# below it would underflow to 0 / 0.
#
# ### Broadcasting
#
# You will subtract one maximum per row from a whole matrix, and divide a matrix by one sum per row.
# The shapes differ, and PyTorch lets you do it by
# [broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html): it lines the two
# shapes up *from the right*, and repeats a tensor along each axis that is missing or has size 1.
# All other sizes must agree.
#
# | shape | combined with | lined up as | what happens |
# |---|---|---|---|
# | (2, 3) | (2, 1) | (2, 1) | each row meets its own number |
# | (2, 3) | (3,) | (1, 3) | each column meets its own number |
# | (2, 3) | (2,) | (1, 2) | an error: 3 and 2 differ |
# | (3, 3) | (3,) | (1, 3) | each *column* meets a number, without an error |
#
# For a tensor of shape (a, b), the sum over the last axis has shape (a,), or (a, 1) if the axis is
# kept with `keepdim=True`. Only the kept form gives each row its own number. The other one is
# matched against the columns, and if a = b, as in the last row of the table, this happens silently.
#
# One more case, for chapter 3: a score of −∞ means "never look here". Since
# e^(−∞) = 0, its share is exactly 0, and the others share as if it were not there.

# %%
def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return the softmax of a tensor along one dimension, safe for scores of any size.

    Must not call torch.softmax, torch.nn.functional.softmax, torch.nn.Softmax, any log_softmax
    or torch.logsumexp: the exercise is to write softmax yourself. A call of one of them costs half
    of the points. (A tenth if it is hidden, such as in a string that is run.)

    Shapes:
        x: any shape; entries may be as large as 1e4 or more, or -inf (but not all along `dim`)
        dim: an int, the dimension along which the result sums to 1
        result: the shape and dtype of x; an entry of -inf gets exactly 0

    Formula (Goodfellow, Bengio and Courville 2016, sec. 4.1), m = maximum of x along dim:
        result[..., j, ...] = exp(x[..., j, ...] - m) / sum over k of exp(x[..., k, ...] - m)

    >>> softmax(torch.tensor([[1000.0, 1000.0], [0.0, -torch.inf]]))
    tensor([[0.5000, 0.5000],
            [1.0000, 0.0000]])
    >>> softmax(torch.zeros(4, 2), dim=0)
    tensor([[0.2500, 0.2500],
            [0.2500, 0.2500],
            [0.2500, 0.2500],
            [0.2500, 0.2500]])
    """
    raise NotImplementedError


# %% [markdown]
# Now 88, 89, 90 give 0.0900, 0.2447, 0.6652 too, and so do 10,000, 10,001 and 10,002. If one score
# is -inf and the others are 1 and 2, these two share 0.2689 and 0.7311 between them. What two
# tokens get depends on the gap between their scores: half each at a tie, and at a gap of 4 the
# winner takes practically all, 0.9820. A larger gap changes almost nothing. Keep that in mind for
# chapter 2, where it means *hard to train*.
#
# You have written a softmax that you may trust. From here on you are free to use `torch.softmax`,
# which does the same.
#
# ## Step 3: mix
#
# The context vector of a query is the sum of all tokens, each multiplied by its weight:
#
#     z = ∑_(j=1)^n w_j x_j ,    w = softmax(scores) .
#
# Watch what is being summed. w_j is one number, x_j a whole row of d numbers. Each row is
# shrunk by its weight, and then the n shrunken rows are laid upon one another and added, feature by
# feature. **The tokens are summed away, the features stay.** The result has shape (d,), like the
# query. In step 1 it was the other way round: there the features were summed away.
#
# An easy mistake with loops is to run over the *query's entries* instead of the sentence's rows:
# weight 1 times the query's first feature, plus weight 2 times its second, plus weight 3 times its
# third. For "journey" that gives the single number 0.4371. It involves three weights out of six
# and no other token at all. Added to a vector of zeros, it makes every entry 0.4371. A context
# vector whose entries are all equal is a sure sign of it.
#
# As the weights are shares, each feature of z is an average, and so lies between the smallest and
# the largest value in its column.

# %%
def context_vector(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Return the context vector of one query: all tokens, mixed by their attention weights.

    You may use torch.softmax.

    Shapes:
        query: (d,)
        inputs: (n, d), one token per row
        result: (d,)

    Formula (Bahdanau et al. 2015, sec. 3.1, eq. 5, with dot-product scores):
        w = softmax of the n scores inputs[j] . query
        result = w[0] * inputs[0] + ... + w[n-1] * inputs[n-1]

    >>> inputs = torch.tensor([[2.0, 1.0], [4.0, 1.0], [6.0, 1.0], [8.0, 1.0]])
    >>> context_vector(torch.tensor([0.0, 1.0]), inputs)    # four equal scores: the mean row
    tensor([5., 1.])
    """
    raise NotImplementedError


# %% [markdown]
# The context vector of "journey" is **0.4419, 0.6515, 0.5683**. It lies between the token itself
# (0.55, 0.87, 0.66) and the plain average of all six (0.4317, 0.5833, 0.5283). That is no accident:
# equal weights would give the plain average, all weight on itself would give back the token, and
# our weights are somewhere in between, rather nearer to equal.
#
# ## All tokens at once
#
# Every token deserves its context vector, so every token in turn becomes the query. A loop would
# do; but all scores together are simply the table of the dot products of each row with each row:
#
#     S = X Xᵀ,    (n, d) (d, n) → (n, n),    S_ij = x_i · x_j .
#
# Row i holds the scores of query i. Softmax along each row gives W, and since mixing is again
# "weights times rows", once per query, all context vectors are
#
#     Z = W X,    (n, n) (n, d) → (n, d) .
#
# Two matrix products with a softmax in between: this is self-attention. Unlike in a recurrent
# network, no token waits for the one before it, and the first word is as near to the last as to the
# second.
#
# Here the choice of `dim` matters. Weights of *one query* have to sum to 1, and a query is a row.
# Since S is symmetric, softmax down the columns gives the transpose of W, which looks plausible
# and has the right shape; only the numbers are wrong.

# %%
def simplified_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the context vectors of all tokens and the attention weights, without a Python loop.

    You may use torch.softmax.

    Shapes:
        inputs: (n, d), one token per row
        result: (context_vecs, attn_weights) of shapes (n, d) and (n, n);
            row i of attn_weights belongs to query i and sums to 1

    Formula (Vaswani et al. 2017, eq. 1, with Q = K = V = inputs and without the scale):
        attn_weights = softmax(inputs inputs^T), row by row
        context_vecs = attn_weights inputs

    >>> a = torch.tensor(3.0).log().sqrt()    # so a * a = log 3, and exp(a * a) = 3
    >>> context_vecs, attn_weights = simplified_self_attention(a * torch.tensor([[0.0], [1.0]]))
    >>> attn_weights    # scores: 0, 0 and 0, log 3
    tensor([[0.5000, 0.5000],
            [0.2500, 0.7500]])
    >>> context_vecs / a
    tensor([[0.5000],
            [0.7500]])
    """
    raise NotImplementedError


# %% [markdown]
# | query | weights: Your | journey | starts | with | one | step | context vector |
# |---|---|---|---|---|---|---|---|
# | Your | 0.2098 | 0.2006 | 0.1981 | 0.1242 | 0.1220 | 0.1452 | 0.4421, 0.5931, 0.5790 |
# | journey | 0.1385 | 0.2379 | 0.2333 | 0.1240 | 0.1082 | 0.1581 | 0.4419, 0.6515, 0.5683 |
# | starts | 0.1390 | 0.2369 | 0.2326 | 0.1242 | 0.1108 | 0.1565 | 0.4431, 0.6496, 0.5671 |
# | with | 0.1435 | 0.2074 | 0.2046 | 0.1462 | 0.1263 | 0.1720 | 0.4304, 0.6298, 0.5510 |
# | one | 0.1526 | 0.1958 | 0.1975 | 0.1367 | 0.1879 | 0.1295 | 0.4671, 0.5910, 0.5266 |
# | step | 0.1385 | 0.2184 | 0.2128 | 0.1420 | 0.0988 | 0.1896 | 0.4177, 0.6503, 0.5645 |
#
# Row 2 is the one you already know. **Rows sum to 1; columns need not**: they sum to 0.9220,
# 1.2970, 1.2788, 0.7974, 0.7540, 0.9508. A row says how a token spends its attention, a column how
# much a token receives, and "journey" is the most looked at. So the weights are not symmetric,
# although the scores are: each row has been divided by a sum of its own.
#
# ## Its blind spot and its cost
#
# "The dog bit the man" and "the man bit the dog" hold the same words. Does attention notice?
# Shuffle the rows of the sentence into the order "one step Your journey starts with" and compute
# again: the context vectors are the same six rows, shuffled in the same way. "Journey" gets 0.4419,
# 0.6515, 0.5683 in any position, because a sum does not depend on the order of its terms.
# **Attention is blind to order.** For a model to know who bit whom, a token's position has to be
# put into its vector first; chapter 5 shows how.
#
# The second thing to know is the price. Every token is compared with every other one, and so the
# table has n² entries: 36 for our six tokens, a million for a text of 1,000 tokens, ten billion for
# 100,000. A text twice as long takes four times the work. In return, any two tokens are one step
# apart.

# %% [markdown]
# One more thing should bother you. "With" looks more at "journey" (0.2074) than at itself (0.1462),
# just because "journey" is the longer vector, and nothing in this chapter could ever change that.
# The same three numbers are used to ask, to be found and to be passed on, and there is nothing to
# learn. Chapter 2 gives each of these roles its own trained weights.

# %% [markdown]
# ## Find the bug
#
# Most of the time spent on a model goes into code that is there already, runs, and is wrong. Each
# chapter ends with one or two exercises of this kind. Each gives you a complete function with one
# mistake. Everything has the right shape, nothing crashes, and the checks are your main clue. Run
# them, find the mistake and fix it. Do not rewrite the function: a small fix is worth more points
# than a correct rewrite.
#
# This one should compute what `simplified_self_attention` does, with `torch.einsum`. It names the
# axes of a product with letters. In `"id,jd->ij"` the first table has axes i and d, the second j
# and d; d is in both and not in the result, so it is summed away. A dot product for every i and j
# remains.

# %%
def bug_simplified_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return all context vectors and the attention weights. This code has one mistake.

    Shapes:
        inputs: (n, d), one token per row
        result: (context_vecs, attn_weights) of shapes (n, d) and (n, n);
            row i of attn_weights belongs to query i and sums to 1

    Formula: as in simplified_self_attention
        attn_weights = softmax(inputs inputs^T), row by row
        context_vecs = attn_weights inputs
    """
    likeness = torch.einsum("id,jd->ij", inputs, inputs)
    shares = likeness.softmax(dim=1)
    mixed = torch.einsum("ij,jd->id", shares, inputs)
    return mixed, likeness


# %% [markdown]
# ## Three questions
#
# Answer them without running anything. The answers are below.
#
# 1. All scores of a query with six tokens are multiplied by 0. What is each weight?
# 2. A query is compared with two tokens, and its two scores differ by ln 3. What is the larger
#    weight?
# 3. A text grows from 100 to 200 tokens. By what factor does the table of weights grow?
#
# **Answers.** (1) **0.1667**: equal scores give equal shares, here 1/6. (2) **0.75**: the ratio of
# two weights is e^(ln 3) = 3, and they sum to 1. (3) **4**: the table has n² entries.

# %% [markdown]
# ## What you can do now
#
# You can turn any table of token vectors into context vectors: scores, a softmax that never
# overflows, and a weighted sum, for one token or for all of them in two matrix products. Without
# looking it up you can say which axis is summed away at each step, and what n² means for a long
# text.
