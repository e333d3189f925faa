"""Find plain faults in the text of a wrong answer, such as a dropped value or an unused name."""

from ...messages.details import NeverUsed, NoEffect, ReturnsInLoop
from ...messages.message import Message
from ..attempt import ExerciseAttempt, cached_for_file
from ..divergence import counted_lines


@cached_for_file
def plain_fact(part: ExerciseAttempt) -> tuple[Message, int | None] | None:
    """Return the only such fault in the exercise's own code, and its line if it has one.

    None if there is none, or if there are several.
    """
    text, place = part.attempt.submitted, part.attempt.place
    lines = counted_lines(part)
    if part.given_code:  # finding the place of the mistake is the exercise
        return None
    idle, early = text.idle(lines), text.returns_in_loops(lines)
    if len(idle) == 1:
        return NoEffect(place(idle[0]), text.code(idle[0]).strip()), idle[0]
    if early or idle:
        return (ReturnsInLoop(place(early[0])), early[0]) if len(early) == 1 and not idle else None
    names = part.attempt.facts.unused.get(part.name)
    return (NeverUsed(tuple(names)), None) if names else None
