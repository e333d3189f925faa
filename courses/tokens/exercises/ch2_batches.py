# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

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

# %%
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
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        raise NotImplementedError

    def decode(self, ids: list[int]) -> str:
        raise NotImplementedError


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

# %%
def shifted_windows(ids: list[int], length: int, stride: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return `(inputs, targets)`: all windows of a text, and the windows one position later.

    Shapes:
        inputs, targets: (n, length), dtype int64; for no window at all, (0, length)

    Window i begins at position i * stride, and is included only if its last target exists.

    >>> inputs, targets = shifted_windows([40, 41, 42, 43, 44], 2, 2)
    >>> inputs.tolist(), targets.tolist()
    ([[40, 41], [42, 43]], [[41, 42], [43, 44]])
    """
    raise NotImplementedError
