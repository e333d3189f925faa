"""All that judges batches: its cases, tests and own mistakes."""

import torch

from tensorgrade import exercise
from tensorgrade.author import call, case, construct, mistake

from ..sizes import BATCH, FEATURES, LONG, Sizes


def cases(pick):
    """Texts whose ids say where they stand, so that a window tells where it was cut."""
    draw = Sizes(pick, "batches")
    b, n, context = draw(BATCH, LONG, FEATURES)
    sizes = pick(public=[(20, 4, 3)], hidden=[(n, context, b), (30, 5, 4), (9, 7, 1)])
    only = pick(public=[(5, 4, 2)], hidden=[(6, 5, 3)])
    # So many draws that each start that fits comes up, or the chance is below one in 10^12.
    longer, shorter = draw.chance.randint(90, 110), draw.chance.randint(4, 9)
    often = pick(
        public=[(9, 4, 2000)],
        hidden=[(longer, 1, 4000), (7, 3, 4000), (shorter + 40, shorter, 4000)],
    )
    return [
        *(case(f"windows/{size}", *cut(*size), signature="windows") for size in sizes),
        *(case(f"only place/{size}", *cut(*size), signature="windows") for size in only),
        *(case(f"everywhere/{size}", *cut(*size), signature="windows") for size in often),
        case("chance/three batches", *seeded(), signature="windows"),
    ]


START = 5003  # of ids beyond those of a small vocabulary


def cut(n, context, batch, seed=1, step=7):
    """A text of n ids, each of which occurs once."""
    source = construct("chance", given=True, number=seed)
    asked = {"context_length": context, "batch_size": batch}
    return source, call("batches", ids=torch.arange(n) * step + START, **asked, generator=source)


def seeded():
    """The same seed twice, another seed, and the first source once more."""
    sources = [construct("chance", given=True, number=number) for number in (5, 5, 6)]
    asked = {"ids": torch.arange(60) * 7 + START, "context_length": 4, "batch_size": 6}
    names = ("first", "again", "other")
    calls = [
        call("batches", **asked, generator=source, result=name)
        for source, name in zip(sources, names, strict=True)
    ]
    return *sources, *calls, call("batches", **asked, generator=sources[0], result="next")


def anything(chance):
    """One legal use, with sizes and options by chance: whoever is right agrees on it."""
    context = chance.randint(1, 9)
    n = context + chance.randint(1, 30)
    return case("anything", *cut(n, context, chance.randint(1, 9), chance.randrange(1000)))


@exercise("batches", points=2.5)
def test_batches_windows(attempt):
    """Windows of the text, and the same windows one token further on."""
    attempt.batches.cuts_windows("windows")


@exercise("batches", points=0.5)
def test_batches_inputs(attempt):
    """The text stays as it was, and what is cut out of it holds ids of the same kind."""
    attempt.batches.keeps_inputs("windows")
    attempt.batches.keeps_dtype("windows")


@exercise("batches", points=1)
def test_batches_everywhere(attempt):
    """Every place from which a window fits is as likely as any other, be it the only one."""
    attempt.batches.cuts_windows("only place")
    attempt.batches.cuts_everywhere("everywhere")


@exercise("batches", points=1)
def test_batches_chance(attempt):
    """All chance comes from the generator."""
    attempt.batches.draws_from_the_generator("chance")


STARTS = "torch.randint(0, last, (batch_size,), generator=generator)"
RETURN = "return ids[windows], ids[windows + 1]"

MISTAKES = [
    mistake(
        "targets_not_moved",
        "Inputs and targets are the same windows. The targets are one token further on.",
        (RETURN, "return ids[windows], ids[windows]"),
    ),
    mistake(
        "targets_moved_back",
        "The targets are one token earlier. What comes next is to be foreseen.",
        (RETURN, "return ids[windows + 1], ids[windows]"),
    ),
    mistake(
        "targets_two_on",
        "The targets are two tokens further on; one is asked for.",
        (RETURN, "return ids[windows], ids[(windows + 2).clamp(max=len(ids) - 1)]"),
    ),
    mistake(
        "last_token_as_target",
        "Each window has a single target. Every place in it has one: the token behind that place.",
        (RETURN, "return ids[windows], ids[windows[:, -1] + 1]"),
    ),
    mistake(
        "last_window_never_drawn",
        "The last window that fits is never drawn: `torch.randint` leaves out its upper end "
        "already.",
        ("last = len(ids) - context_length", "last = len(ids) - context_length - 1"),
    ),
    mistake(
        "first_window_never_drawn",
        "The first window is never drawn.",
        (STARTS, STARTS.replace("randint(0,", "randint(min(1, last - 1),")),
    ),
    mistake(
        "cut_in_order",
        "The windows are cut in order, from the front. They are drawn at random.",
        (STARTS, "torch.arange(batch_size) % last"),
    ),
    mistake(
        "one_start_for_all",
        "All windows of a batch start at the same place.",
        (STARTS, "torch.randint(0, last, (1,), generator=generator).expand(batch_size)"),
    ),
    mistake(
        "generator_ignored",
        "`generator` is not used: the random numbers come from torch's own generator. Pass it on "
        "to the function that draws.",
        (STARTS, "torch.randint(0, last, (batch_size,))"),
    ),
    mistake(
        "windows_in_columns",
        "Windows stand in columns; each window is a row.",
        (RETURN, "return ids[windows].T, ids[windows + 1].T"),
    ),
]
