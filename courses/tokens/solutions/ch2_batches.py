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
# # Batches
#
# Two more things are needed between a text and a model. A model also needs ids that no text
# contains, to say "here a document ends" or "I do not know this word": *special tokens*. And it
# learns from many short stretches of text at a time, each with its answer: *batches*.

# %%
import torch

# %% [markdown]
# ## A vocabulary with special tokens
#
# For this part a token is a whole word, which makes special tokens easy to see. A vocabulary
# gives each word an id, in alphabetical order. The special tokens come last, so that adding one
# changes no other id.

# %% exercise="Vocabulary"
class Vocabulary:
    """Words and special tokens, each with an id.

    ids: a dict from each token to its id. The different words of `text`, which is split at white
    space, come first, sorted, from 0 on; then the special tokens, in the order in which they
    are given. If a word of the text is also a special token, it counts only as a special token.

    encode(text) returns the list of ids of a text; an unknown word gets the id of `"<unk>"`, and
    raises a KeyError if there is no such token.
    decode(ids) returns the tokens with one space between them.

    >>> vocabulary = Vocabulary("the cat the dog", ["<unk>", "<end>"])
    >>> vocabulary.encode("the bird <end>")
    [2, 3, 4]
    """

    def __init__(self, text: str, special: list[str]):
        ### BEGIN SOLUTION
        words = sorted(set(text.split()) - set(special))
        self.ids = {token: number for number, token in enumerate([*words, *special])}
        ### END SOLUTION

    def encode(self, text: str) -> list[int]:
        ### BEGIN SOLUTION
        unknown = self.ids.get("<unk>")
        ids = [self.ids.get(token, unknown) for token in text.split()]
        if None in ids:
            raise KeyError("a word is unknown, and there is no <unk>")
        return ids
        ### END SOLUTION

    def decode(self, ids: list[int]) -> str:
        ### BEGIN SOLUTION
        tokens = {number: token for token, number in self.ids.items()}
        return " ".join(tokens[number] for number in ids)
        ### END SOLUTION


# %% [markdown] hints="Vocabulary"
# 1. `set` drops repetitions and forgets the order; `sorted` gives an order that is always the same.
# 2. `enumerate` numbers a list: the words, followed by the special tokens.
# 3. The way back needs the inverse dict: from ids to tokens.
# 4. A dict's `get` takes a second argument for keys that are missing.

# %% [markdown]
# ## Windows, and their targets
#
# A language model learns to predict, at each position of a text, which token comes next. So the
# answer to a stretch of text is the same stretch, one position later:
#
# | | | | | |
# |---|---|---|---|---|
# | ids | 40 | 41 | 42 | 43 |
# | inputs | 40 | 41 | 42 | |
# | targets | | 41 | 42 | 43 |
#
# A window of three ids therefore needs a fourth one after it, and a window without such an id is
# left out. The *stride* is the distance between the beginnings of two windows: with a stride of the
# window's own length each id is an input once, with a stride of 1 nearly every id is in many.

# %% exercise="shifted_windows"
def shifted_windows(ids: list[int], length: int, stride: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return `(inputs, targets)`: all windows of a text, and the windows one position later.

    Shapes:
        inputs, targets: (n, length), dtype int64; for no window at all, (0, length)

    Window i begins at position i * stride, and is included only if its last target exists.

    >>> inputs, targets = shifted_windows([40, 41, 42, 43, 44], 2, 2)
    >>> inputs.tolist(), targets.tolist()
    ([[40, 41], [42, 43]], [[41, 42], [43, 44]])
    """
    ### BEGIN SOLUTION
    starts = range(0, len(ids) - length, stride)
    inputs = [ids[start : start + length] for start in starts]
    targets = [ids[start + 1 : start + length + 1] for start in starts]
    shape = (len(starts), length)
    return tuple(torch.tensor(rows, dtype=torch.int64).reshape(shape) for rows in (inputs, targets))
    ### END SOLUTION


# %% [markdown] hints="shifted_windows"
# 1. Which is the last position where a window can begin? Take 5 ids and a length of 2, and count.
# 2. The targets are cut out of the same list, one position later.
# 3. `torch.tensor([])` has the shape (0,) and is float32. Pass the dtype, and `reshape` to the
#    requested shape.

# %% active="ipynb"
# inputs, targets = shifted_windows(list(range(40, 50)), 4, 2)
# print(inputs, targets)
