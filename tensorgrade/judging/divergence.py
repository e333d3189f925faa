"""The line where a wrong answer diverges from right ones, and the message about it."""

from collections.abc import Callable
from dataclasses import dataclass

from ..messages.divergence import (
    AtLine,
    ComesTooEarly,
    IsDue,
    IsLast,
    LeftAsMade,
    LineIs,
    LookFrom,
    MadeAt,
    MakesSomethingElse,
    NothingIsDoneWith,
    ReadsFrom,
    RightUpTo,
    SaysAll,
    ShouldComeBack,
    StillAsMade,
    ValuesDiverge,
)
from ..messages.message import Clauses, Message, Sentences


@dataclass(frozen=True)
class Divergence:
    """The line where a wrong answer diverges from right ones; 0 if only its stage is known.

    stage: the name of the value that is missing there, if known. reached: the names of right values
    before it, in order. upto: the line of the last of them. what: a description of the wrong value.
    said: the message to learners. unused: the line of a right value that nothing uses; or 0.
    since, until: the first and the last line where the mistake may be, if it need not be the line
    itself; else 0. reads: (name, line) of the values that the line reads and another line assigns.
    raised: True if it is the line of an error, which is reported already. correct: the operations
    whose values are all right, as (line, operation).
    """

    line: int
    stage: str = ""
    reached: tuple[str, ...] = ()
    upto: int = 0
    what: Message | None = None
    said: Sentences | None = None
    unused: int = 0
    since: int = 0
    until: int = 0
    reads: tuple[tuple[str, int], ...] = ()
    raised: bool = False
    correct: frozenset[tuple[int, str]] = frozenset()

    @property
    def stretch(self) -> tuple[int, int]:
        """The first and the last line where the mistake may be."""
        return self.since or self.line, self.until or self.line


def divergence_sentence(diverging: Divergence, place: Callable[[int], str]) -> Sentences | None:
    """Return the message to learners; None if there is nothing to say.

    place: returns what the learner calls a line.

    >>> found = divergence_sentence(Divergence(9, "masked scores", ("keys",), 8), "line {}".format)
    >>> [type(part).__name__ for part in found.parts]
    ['RightUpTo', 'ValuesDiverge']
    """
    told = at_the_line(diverging, place)
    if diverging.reached:
        last, until = min(diverging.upto, diverging.line), diverging.upto < diverging.line
        told = (RightUpTo(place(last), diverging.reached, until), *told)
    if told and diverging.reads:
        first, last = diverging.stretch
        by_line: dict[int, list[str]] = {}
        for name, line in diverging.reads:
            by_line.setdefault(line, []).append(name)
        reads = tuple(MadeAt(tuple(names), place(line)) for line, names in by_line.items())
        told += (ReadsFrom(reads, between=first != last),)
    if diverging.unused:
        told += (NothingIsDoneWith(place(diverging.unused)),)
    return Sentences(told) if told else None


def at_the_line(diverging: Divergence, place: Callable[[int], str]) -> tuple[Message, ...]:
    """Return the sentences on the line of the mistake, and on the mistake itself."""
    here, what, since = place(diverging.line), diverging.what, diverging.since
    if isinstance(what, ShouldComeBack):
        return (MakesSomethingElse(what, here, place(since)),)
    if isinstance(what, IsLast | ComesTooEarly):
        look = (LookFrom(place(since)),) if since else ()
        return (LineIs(here, what), *look)
    if isinstance(what, LeftAsMade):
        return (StillAsMade(here, what),)
    if isinstance(what, SaysAll):
        return (AtLine(here, what),)
    return where_they_diverge(diverging, place)


def where_they_diverge(diverging: Divergence, place: Callable[[int], str]) -> tuple[Message, ...]:
    """Return the sentence on the lines where the mistake may be.

    Return () for the line of an error without anything to add, because that line is reported.
    """
    due = IsDue(diverging.stage) if diverging.stage else None
    told = Clauses((due, diverging.what)) if due or diverging.what else None
    if diverging.raised and not told and not diverging.reached:
        return ()
    first, last = diverging.stretch
    if first >= last:
        return (ValuesDiverge(place(diverging.line), "", bool(diverging.reached), told),)
    return (ValuesDiverge(place(first), place(last), bool(diverging.reached), told),)
