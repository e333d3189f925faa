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

# %% active="ipynb"
# print(ids)

# %% [markdown]
# ## Which pairs are there?
#
# Two neighbouring ids are a pair. A text of n ids has n − 1 pairs, so `[5, 6, 5, 6]` has three: (5,
# 6), then (6, 5), then (5, 6) again.

# %% exercise="count_pairs"
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Return how often each pair of neighbours occurs, in the order of the first occurrences.

    Pairs may overlap: `[7, 7, 7]` contains the pair (7, 7) twice. A list of one id, or of none,
    contains no pair.

    >>> count_pairs([5, 6, 5, 6])
    {(5, 6): 2, (6, 5): 1}
    """
    ### BEGIN SOLUTION
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts
    ### END SOLUTION


# %% [markdown] hints="count_pairs"
# 1. Each id except the last begins a pair. What is the other half of the pair that begins at index
#    i?
# 2. `zip(ids, ids[1:])` walks over a list and over the same list from its second entry on.
# 3. A dict's `get(pair, 0)` gives 0 for a pair that it does not have yet.

# %% [markdown]
# ## One pair becomes one id
#
# Suppose (5, 6) becomes 256. Walk from left to right: if 5 is followed by 6, write 256
# and skip both; otherwise copy one id. Skipping both matters: in `[7, 7, 7]` the pair
# (7, 7) is merged once, at the front, and the third 7 stays.

# %% exercise="merge_pair"
def merge_pair(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return a new list in which `new_id` replaces each `pair`, from left to right.

    The list that is passed in stays unchanged.

    >>> merge_pair([5, 6, 6, 5, 6], (5, 6), 256)
    [256, 6, 256]
    """
    ### BEGIN SOLUTION
    merged = []
    place = 0
    while place < len(ids):
        if tuple(ids[place : place + 2]) == pair:
            merged.append(new_id)
            place += 2
        else:
            merged.append(ids[place])
            place += 1
    return merged
    ### END SOLUTION


# %% [markdown] hints="merge_pair"
# 1. A `for` loop moves by one id each time. Here a step is one id long, or two; a `while` loop with
#    its own index can do both.
# 2. Build a new list. Removing from a list while you walk over it skips entries.
# 3. Mind the last id: `ids[place + 1]` is beyond the end there, while the slice
#    `ids[place : place + 2]` is only shorter.

# %% [markdown]
# ## Learning the merges
#
# Training alternates these two steps: count, then merge the most frequent pair. New ids begin at
# 256, since the bytes use 0 to 255. Two rules make sure that everyone learns the same merges.
# If several pairs are equally frequent, the one that *occurs first* in the ids wins, which is the
# order that `count_pairs` keeps. And if no pair occurs twice any more, another merge saves nothing:
# training stops early.

# %% exercise="train_bpe"
def train_bpe(text: str, num_merges: int) -> dict[tuple[int, int], int]:
    """Learn up to `num_merges` merges from a text, and return them in the order of learning.

    The text is first encoded as UTF-8 bytes. The first pair that is merged gets the id 256, the next
    one 257, and so on. Of equally frequent pairs, the one that occurs first is merged. A pair that
    occurs only once is never merged, so there may be fewer merges.

    >>> train_bpe("aaabdaaabac", 2)
    {(97, 97): 256, (256, 97): 257}
    """
    ### BEGIN SOLUTION
    ids = list(text.encode("utf-8"))
    merges = {}
    for number in range(num_merges):
        counts = count_pairs(ids)
        if not counts or max(counts.values()) < 2:
            break
        best = max(counts, key=counts.get)
        merges[best] = 256 + number
        ids = merge_pair(ids, best, 256 + number)
    return merges
    ### END SOLUTION


# %% [markdown] hints="train_bpe"
# 1. Say the loop in words first: count, choose, give the pair a number, rewrite the ids.
# 2. `max(counts, key=counts.get)` is the key with the largest count; of several it takes the
#    first one.
# 3. Count in the ids after the last merge, not in the bytes that you began with. That is
#    how pairs of pairs arise.

# %% [markdown]
# ## Encoding a text
#
# With these merges any text can be encoded, also one that training never saw. Start
# with its bytes and apply the merges *in the order in which they were learned*: the later ones are
# made of the earlier ones. If they were applied first, they would find nothing to merge.

# %% exercise="encode"
def encode(text: str, merges: dict[tuple[int, int], int]) -> list[int]:
    """Return the ids of a text: its UTF-8 bytes, with the merges applied in the order of learning.

    >>> encode("aab", {(97, 97): 256, (256, 98): 257})
    [257]
    """
    ### BEGIN SOLUTION
    ids = list(text.encode("utf-8"))
    for pair, new_id in merges.items():
        ids = merge_pair(ids, pair, new_id)
    return ids
    ### END SOLUTION


# %% [markdown] hints="encode"
# 1. A dict remembers the order in which its entries were added; that is the order of learning.
# 2. Each merge is one call of `merge_pair`, on the result of the previous one.

# %% [markdown]
# ## And back again
#
# To decode, an id has to become bytes again. An id below 256 *is* a byte. Any other one replaces two
# ids, which in turn replace bytes. Join the bytes of all ids first and decode them to text
# afterwards: one letter may consist of several bytes, and these may be in several ids. "ö", for
# example, is the two bytes 195 and 182, and neither of them is a letter.

# %% exercise="decode"
def decode(ids: list[int], merges: dict[tuple[int, int], int]) -> str:
    """Return the text of a list of ids; the inverse of `encode`.

    Bytes that are not valid UTF-8 become the replacement character, U+FFFD. An id that is neither a
    byte nor the result of a merge raises a ValueError.

    >>> decode([257, 33], {(97, 97): 256, (256, 98): 257})
    'aab!'
    """
    ### BEGIN SOLUTION
    pieces = {number: bytes([number]) for number in range(256)}
    for (left, right), new_id in merges.items():
        pieces[new_id] = pieces[left] + pieces[right]
    for number in ids:
        if number not in pieces:
            raise ValueError(f"no merge gives the id {number}")
    return b"".join(pieces[number] for number in ids).decode("utf-8", errors="replace")
    ### END SOLUTION


# %% [markdown] hints="decode"
# 1. Build a table from every id to its bytes. The first 256 entries are known; in which order must
#    you add the others, so that both halves of a pair are already in the table?
# 2. `bytes([97])` is one byte, `bytes(97)` is 97 zeros.
# 3. `b"".join(…)` first, `.decode("utf-8", errors="replace")` last, once for all bytes.
# 4. A missing key of a dict raises a KeyError, and `bytes([300])` raises a ValueError of its own.
#    Check an id before you use it, and say what is wrong with it.

# %% [markdown]
# You have written a whole tokenizer. Try it on another language than the one it was trained on: it
# needs more ids, but the text still comes back unchanged.

# %% active="ipynb"
# merges = train_bpe(text * 3, 20)
# print(encode("the mat", merges), decode(encode("the mat", merges), merges))
