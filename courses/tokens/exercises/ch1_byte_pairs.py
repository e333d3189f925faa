# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # Byte pairs
#
# A language model never sees a letter. It sees integers, *ids*, and a *tokenizer* has to turn text
# into them and back. If every word is one id, the list of words never ends: each misspelling, each
# name, each new plural is unknown. If every byte is one id, nothing is unknown: any text in any
# script is a sequence of bytes. But the sequences get long: a page is thousands of ids.
#
# *Byte-pair encoding* starts with the bytes and lets the text itself decide what belongs
# together. It counts which two ids follow each other most often, gives that pair a new id,
# rewrites the text with it, and counts again. Common words end up as one id, rare ones as a few,
# and every text can be encoded. The idea is Gage's (1994), for compressing files;
# [Sennrich, Haddow and Birch (2016)](https://arxiv.org/abs/1508.07909) brought it to translation.
#
# In this chapter an id is an `int`, a text is a `list` of ids, and the result of training is a
# `dict` from a pair of ids to the id that replaces both.

# %%
text = "the cat sat on the mat"
ids = list(text.encode("utf-8"))


# %% [markdown]
# ## Which pairs are there?
#
# Two neighbouring ids are a pair. A text of n ids has n − 1 pairs, so `[5, 6, 5, 6]` has three: (5,
# 6), then (6, 5), then (5, 6) again.

# %%
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Return how often each pair of neighbours occurs, in the order of the first occurrences.

    Pairs may overlap: `[7, 7, 7]` contains the pair (7, 7) twice. A list of one id, or of none,
    contains no pair.

    >>> count_pairs([5, 6, 5, 6])
    {(5, 6): 2, (6, 5): 1}
    """
    raise NotImplementedError


# %% [markdown]
# ## One pair becomes one id
#
# Suppose (5, 6) becomes 256. Walk from left to right: if 5 is followed by 6, write 256
# and skip both; otherwise copy one id. Skipping both matters: in `[7, 7, 7]` the pair
# (7, 7) is merged once, at the front, and the third 7 stays.

# %%
def merge_pair(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return a new list in which `new_id` replaces each `pair`, from left to right.

    The list that is passed in stays unchanged.

    >>> merge_pair([5, 6, 6, 5, 6], (5, 6), 256)
    [256, 6, 256]
    """
    raise NotImplementedError


# %% [markdown]
# ## Learning the merges
#
# Training alternates these two steps: count, then merge the most frequent pair. New ids begin at
# 256, since the bytes use 0 to 255. Two rules make sure that everyone learns the same merges.
# If several pairs are equally frequent, the one that *occurs first* in the ids wins, which is the
# order that `count_pairs` keeps. And if no pair occurs twice any more, another merge saves nothing:
# training stops early.

# %%
def train_bpe(text: str, num_merges: int) -> dict[tuple[int, int], int]:
    """Learn up to `num_merges` merges from a text, and return them in the order of learning.

    The text is first encoded as UTF-8 bytes. The first pair that is merged gets the id 256, the next
    one 257, and so on. Of equally frequent pairs, the one that occurs first is merged. A pair that
    occurs only once is never merged, so there may be fewer merges.

    >>> train_bpe("aaabdaaabac", 2)
    {(97, 97): 256, (256, 97): 257}
    """
    raise NotImplementedError


# %% [markdown]
# ## Encoding a text
#
# With these merges any text can be encoded, also one that training never saw. Start
# with its bytes and apply the merges *in the order in which they were learned*: the later ones are
# made of the earlier ones. If they were applied first, they would find nothing to merge.

# %%
def encode(text: str, merges: dict[tuple[int, int], int]) -> list[int]:
    """Return the ids of a text: its UTF-8 bytes, with the merges applied in the order of learning.

    >>> encode("aab", {(97, 97): 256, (256, 98): 257})
    [257]
    """
    raise NotImplementedError


# %% [markdown]
# ## And back again
#
# To decode, an id has to become bytes again. An id below 256 *is* a byte. Any other one replaces two
# ids, which in turn replace bytes. Join the bytes of all ids first and decode them to text
# afterwards: one letter may consist of several bytes, and these may be in several ids. "ö", for
# example, is the two bytes 195 and 182, and neither of them is a letter.

# %%
def decode(ids: list[int], merges: dict[tuple[int, int], int]) -> str:
    """Return the text of a list of ids; the inverse of `encode`.

    Bytes that are not valid UTF-8 become the replacement character, U+FFFD. An id that is neither a
    byte nor the result of a merge raises a ValueError.

    >>> decode([257, 33], {(97, 97): 256, (256, 98): 257})
    'aab!'
    """
    raise NotImplementedError

# %% [markdown]
# You have written a whole tokenizer. Try it on another language than the one it was trained on: it
# needs more ids, but the text still comes back unchanged.
