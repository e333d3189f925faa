# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # Byte pairs
#
# A language model never sees a letter. It sees whole numbers, *ids*, and something has to turn text
# into them and back. Take every word as one id, and the list of words never ends: each misspelling,
# each name, each new plural is a stranger. Take every byte as one id, and nothing is a stranger,
# since any text in any script is a row of bytes, but the rows get long: a page is thousands of ids.
#
# *Byte-pair encoding* starts with the bytes and then lets the text itself say what belongs
# together. It counts which two ids stand side by side most often, gives that pair an id of its own,
# writes the text anew with it, and counts again. Common words end up as one id, rare ones as a few,
# and no text is ever out of reach. The idea is Gage's (1994), for compressing files; Sennrich,
# Haddow and Birch (2016) brought it to translation.
#
# In this chapter an id is an `int`, a text that has been cut up is a `list` of them, and what has been
# learned is a `dict` from a pair of ids to the id that stands for both.

# %%
text = "the cat sat on the mat"
ids = list(text.encode("utf-8"))


# %% [markdown]
# ## Which pairs are there?
#
# Two ids are a pair where one follows the other. A text of n ids has n − 1 pairs, so
# `[5, 6, 5, 6]` has three: (5, 6), then (6, 5), then (5, 6) again.

# %%
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Return how often each pair of neighbours occurs, in the order in which pairs come up first.

    Pairs may overlap: `[7, 7, 7]` holds the pair (7, 7) twice. A list of one id, or of none, holds
    no pair at all.

    >>> count_pairs([5, 6, 5, 6])
    {(5, 6): 2, (6, 5): 1}
    """
    raise NotImplementedError


# %% [markdown]
# ## One pair becomes one id
#
# Suppose (5, 6) is to become 256. Walk from left to right: where 5 stands and 6 follows, write 256
# and step over both; anywhere else copy one id. Stepping over both matters: in `[7, 7, 7]` the pair
# (7, 7) is found once, at the front, and the third 7 is left alone.

# %%
def merge_pair(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return a new list in which `new_id` stands wherever `pair` stood, from left to right.

    The list that is passed in stays as it was.

    >>> merge_pair([5, 6, 6, 5, 6], (5, 6), 256)
    [256, 6, 256]
    """
    raise NotImplementedError


# %% [markdown]
# ## Learning the merges
#
# Training is these two steps in turn: count, merge the most frequent pair, and again. New ids begin at
# 256, since the bytes take 0 to 255. Two things have to be settled so that everybody learns the
# same. When several pairs are equally frequent, the one that *comes up first* in the ids wins, which is the
# order that `count_pairs` keeps. And when no pair occurs twice any more there is nothing left to
# gain: training stops early.

# %%
def train_bpe(text: str, num_merges: int) -> dict[tuple[int, int], int]:
    """Learn up to `num_merges` merges from a text, and return them in the order of learning.

    The text enters as its UTF-8 bytes. The first pair that is merged gets the id 256, the next one
    257, and so on. Of equally frequent pairs the one that comes up first is merged. A pair that
    occurs only once is never merged: then there are fewer merges.

    >>> train_bpe("aaabdaaabac", 2)
    {(97, 97): 256, (256, 97): 257}
    """
    raise NotImplementedError


# %% [markdown]
# ## Encoding a text
#
# With the merges learned, any text can be encoded, also one that training never saw. Start
# with its bytes and apply the merges *in the order in which they were learned*: the later ones are
# made of the earlier ones, so there would be nothing for them to find at first.

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
# To decode, an id has to become bytes again. An id below 256 *is* a byte. Any other one stands for two ids, and
# those for bytes in their turn. Join the bytes of all ids first and only then read them as text:
# one letter may be spread over several bytes, and these over several ids. "ö", for one, is the two
# bytes 195 and 182, and neither of them is a letter.

# %%
def decode(ids: list[int], merges: dict[tuple[int, int], int]) -> str:
    """Return the text that ids stand for; the inverse of `encode`.

    Bytes that are no valid UTF-8 become the replacement character, U+FFFD. An id that is neither a
    byte nor the result of a merge is refused with a ValueError.

    >>> decode([257, 33], {(97, 97): 256, (256, 98): 257})
    'aab!'
    """
    raise NotImplementedError

# %% [markdown]
# That is a whole tokenizer. Try it on another language than the one it was trained on: the text
# comes back unchanged, only in more ids.
