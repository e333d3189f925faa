# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

# %% [markdown]
# # Batches
#
# Between a text and a model stand two more things. A model also needs ids that no text contains, to
# say "here a document ends" or "I do not know this word": *special tokens*. And it learns from many
# short stretches of text at a time, each with the answer right beside it: *batches*.

# %%
import torch


# %% [markdown]
# ## A vocabulary with special tokens
#
# For this part a token is a whole word again, which makes special tokens easy to see. A vocabulary gives
# each word an id, in the order of the alphabet, and the special tokens come behind them, so that
# they move no other id when one more is added.

# %%
class Vocabulary:
    """Words and special tokens, each with an id.

    ids: a dict from each token to its id. The different words of `text`, which is split at white
    space, come first, sorted, from 0 on; then the special tokens, in the order in which they
    are given. A special token that is also a word of the text has the id of the special one only.

    encode(text) gives the list of ids of a text; a word that is not known gets the id of
    `"<unk>"`, and is refused with a KeyError where there is no such token.
    decode(ids) gives the tokens with one space between them.

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
# ## Windows, and the same one step on
#
# A language model learns to say, at each place of a text, which token comes next. So the answer to
# a stretch of text is that same stretch, moved one place on:
#
# | | | | | |
# |---|---|---|---|---|
# | ids | 40 | 41 | 42 | 43 |
# | inputs | 40 | 41 | 42 | |
# | targets | | 41 | 42 | 43 |
#
# A window of three ids therefore needs a fourth one behind it, and a window that has no such id is
# left out. The *stride* says how far apart the beginnings of two windows are: with a stride of the
# window's own length each id is an input once, with a stride of 1 nearly every id is in many.

# %%
def shifted_windows(ids: list[int], length: int, stride: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return `(inputs, targets)`: all windows of a text, and the same ones moved one place on.

    Shapes:
        inputs, targets: (n, length), dtype int64; for no window at all, (0, length)

    Window i begins at place i * stride, and it is there only if its last target is.

    >>> inputs, targets = shifted_windows([40, 41, 42, 43, 44], 2, 2)
    >>> inputs.tolist(), targets.tolist()
    ([[40, 41], [42, 43]], [[41, 42], [43, 44]])
    """
    raise NotImplementedError
