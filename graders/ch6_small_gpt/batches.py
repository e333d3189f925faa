"""Cases, checks and known mistakes of the exercise batches."""

import torch

from tensorgrade.author import call, case, check, construct, it

from ..steps import BATCH, FEATURES


def cases(draw):
    """Return cases with texts whose ids show their positions, so that a window shows its start."""
    context, more, b = draw(FEATURES, (230, 300), BATCH)
    length, window = draw((90, 110), (13, 19))
    sizes = {
        "windows/example": (100, 3, 2),
        "windows/of one": (20, 4, 1),
        "windows/drawn": (context + more, context, b),
        "only place/drawn": (context + 1, context, b),
        # Enough draws to see every possible start, except with a probability below 10^-12.
        "everywhere/one token": (length + 3, 1, 4000),
        "everywhere/windows": (window + 40, window, 4000),
        "everywhere/of 7": (7, 3, 4000),
    }
    return [
        *(case(name, *cut(*size), signature="windows") for name, size in sizes.items()),
        case("chance/three batches", *seeded(), signature="windows"),
    ]


START = 5003  # so that ids exceed a small vocabulary


def cut(n, context, batch, seed=1, step=7):
    """Return a call on a text of n ids, each of which occurs once."""
    source = construct("chance", given=True, number=seed)
    asked = {"context_length": context, "batch_size": batch}
    return source, call("batches", ids=torch.arange(n) * step + START, **asked, generator=source)


def seeded():
    """Return calls with one seed twice, another seed, and the first generator again."""
    sources = [construct("chance", given=True, number=number) for number in (5, 5, 6)]
    asked = {"ids": torch.arange(60) * 7 + START, "context_length": 4, "batch_size": 6}
    names = ("first", "again", "other")
    calls = [
        call("batches", **asked, generator=source, result=name)
        for source, name in zip(sources, names, strict=True)
    ]
    return *sources, *calls, call("batches", **asked, generator=sources[0], result="next")


CHECKS = [
    check(2.5, "Windows of the text, and the windows one token later.", it.cuts_windows("windows")),
    check(
        0.5,
        "The text stays unchanged, and the windows have the dtype of its ids.",
        it.keeps_inputs("windows"),
        it.keeps_dtype("windows"),
    ),
    check(
        1,
        "All possible starts are equally likely, even if there is only one.",
        it.cuts_windows("only place"),
        it.cuts_everywhere("everywhere"),
    ),
    check(1, "All randomness comes from the generator.", it.draws_from_the_generator("chance")),
]


MISTAKES = """
targets_not_moved: Inputs and targets are the same windows. The targets should be one token later.
    return ids[windows], ids[windows + 1] -> return ids[windows], ids[windows]
targets_moved_back: The targets are one token earlier. The model should predict the next token.
    return ids[windows], ids[windows + 1] -> return ids[windows + 1], ids[windows]
targets_two_on: The targets are two tokens later instead of one.
    windows + 1 -> (windows + 2).clamp(max=len(ids) - 1)
targets_one_short: The targets have one token less than the inputs. The slice of a target ends one
  token after that of its input.
    return ids[windows], ids[windows + 1] -> return ids[windows], ids[windows[:, 1:]]
last_token_as_target: Each window has only one target. Each position should have its own: the next
  token.
    return ids[windows], ids[windows + 1] -> return ids[windows], ids[windows[:, -1] + 1]
last_window_never_drawn: The last window that fits is never drawn: `torch.randint` already excludes
  its upper end.
    last = len(ids) - context_length -> last = len(ids) - context_length - 1
first_window_never_drawn: The first window is never drawn.
    torch.randint(0, -> torch.randint(min(1, last - 1),
cut_in_order: The windows are taken in order from the start. Draw them at random.
    torch.randint(0, last, (batch_size,), generator=generator) -> torch.arange(batch_size) % last
one_start_for_all: All windows of a batch start at the same place.
    (batch_size,), generator=generator) -> (1,), generator=generator).expand(batch_size)
generator_ignored: `generator` is not used: the random numbers come from torch's own generator. Pass
  it on to the function that draws.
    (batch_size,), generator=generator) -> (batch_size,))
windows_in_columns: The windows are columns; each window should be a row.
    return ids[windows], ids[windows + 1] -> return ids[windows].T, ids[windows + 1].T
"""
