"""Find the line of a known mistake in a learner's text, on public cases.

The mistake changes something first in the solution (first_effects.py): a value that no right answer
has, an error, or a part of a module. The learner's line that produces the same is the line of the
mistake. If no line does, there is none to report: the first wrong value
of an answer may well be on a later line.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

from ..exchange.references import References, Seen
from ..exchange.traces import Trace, read_trace
from ..judging.divergence import Divergence
from ..judging.trace_comparison import TURNS, Comparison
from ..judging.wrong_value import misnamed, stage_of
from .attempt import ExerciseAttempt, cached_for_file
from .details.in_text import plain_fact
from .divergence import (
    counted_lines,
    divergence,
    line_making_one_of,
    public_stages,
    without_weights,
)
from .first_effects import (
    CALL,
    FirstEffect,
    FirstEffects,
    Runnable,
    first_effects,
    is_same,
    read_effects,
    short,
)
from .recognized import mistakes

RETURNS_NAMES = re.compile(r"return [\w, ()]+$")


@cached_for_file
def place_of_mistakes(part: ExerciseAttempt) -> Divergence | None:
    """Return the line of the recognized mistakes and its stage; None if it is not certain."""
    pairs, public = part.attempt.pairs(), part.attempt.public()
    if pairs is None or public is None:
        return None
    known = pairs.sources[part.name].effects
    names = tuple(name for name in mistakes(part) if name in known)
    if not names:
        return None
    if len(names) == 1:
        found = read_effects(known[names[0]])
    else:  # too many to be stored
        right, wrong = pairs.made(part.name, ()), pairs.made(part.name, names)
        versions = (Runnable(one.text.text, partial(pairs.lab.run, one)) for one in (right, wrong))
        found = first_effects(part.name, public, *versions)
        pairs.lab.close()
    if found.by_case and (place := most_frequent(places(part, found, public))):
        return place
    if place := place_in_making(part, found.made) or same_line(part, found.texts):
        return place
    _, faulty_line = plain_fact(part) or (None, None)  # such as a result that is not stored
    if faulty_line:
        return Divergence(faulty_line)
    return first_wrong_line(part) if found.placed else only_call(part, found.calls)


def first_wrong_line(part: ExerciseAttempt) -> Divergence | None:
    """Return the line of the first wrong value if it is certain that the value was computed there.

    A range of lines counts if values before it are right, or if it has only two lines.

    On a line such as `return one, other`, the values were computed before. It counts only if the
    divergence names the value that is due there.
    """
    found = divergence(part, False)
    if found is None or (found.until > found.line + 1 and not found.reached):
        return None
    returns = RETURNS_NAMES.match(part.attempt.submitted.code(found.line).strip())
    return None if returns and not found.stage else found


def places(part: ExerciseAttempt, found: FirstEffects, public: References) -> Iterator[Divergence]:
    """Yield the place that each case shows, for cases that show one."""
    for seen in public_stages(part, public):
        effect = found.by_case.get(seen.case.id)
        if effect and (place := place_on(part, seen, effect, public.traces[seen.case.id])):
            yield place


def most_frequent(found: Iterable[Divergence]) -> Divergence | None:
    """Return the place that most cases show; simple cases, such as with size 1, may mislead."""
    known = [*found]
    lines = Counter(place.line for place in known)
    return max(known, key=lambda place: (lines[place.line], -place.line), default=None)


def place_on(
    part: ExerciseAttempt, seen: Seen, effect: FirstEffect, reference: Trace
) -> Divergence | None:
    """Return the learner's line that does what the mistakes do on a case; None if unknown."""
    if error := seen.observed.error:
        line = part.attempt.submitted.with_source_line(error).line
        same = error.type in effect.raises and line and part.is_own_line(line)
        return Divergence(line) if same and line else None
    if without_weights(seen.case, seen.observed):
        return line_making_one_of(part, seen, without_weights(seen.case, seen.observed))
    trace = read_trace(seen.observed).attributed_to(part.is_own_line)
    compared = Comparison(seen, trace, reference)
    at = first_same_value(trace, effect)
    if at is None and (named := first_named(trace, effect)) is not None:
        lost = compared.first_lost([named])
        at = named if lost is None else lost
    if at is None:
        return None
    # For example, a layer that should compute one result computes another one.
    other = misnamed(compared, at)
    if other and compared.stages[other].line:
        at = other
    else:
        at = moved_before(compared, scaled_before(compared, at))
    return Divergence(trace.stages[at].line, stage_of(compared, at))


def scaled_before(compared: Comparison, at: int) -> int:
    """Return the index of the first value before a wrong one that is a right value times a factor.

    If there is none, return the index of the wrong value itself.

    A value may be scaled before or after it is masked. A factor on the path to a right value is no
    mistake.
    """
    before = [one for one in compared.ancestors(at) if compared.stages[one].line]
    right = [one for one in before if compared.matches[one]]
    fine = {one for made in right for one in compared.ancestors(made)}
    values = (
        (one, compared.stages[one].value)
        for one in before
        if not compared.matches[one] and one not in fine
    )
    scaled = (one for one, value in values if value is not None and compared.right.multiples(value))
    return next(scaled, at)


def moved_before(compared: Comparison, at: int) -> int:
    """Return the index of the value that a wrong one only copies with its dimensions moved.

    Repeating a tensor and moving its dimensions can be done in either order.
    """
    stage = compared.stages[at]
    while stage.operation in TURNS and len(stage.inputs) == 1:
        before = stage.inputs[0]
        if compared.matches[before] or not compared.stages[before].line:
            break
        at, stage = before, compared.stages[before]
    return at


def first_same_value(trace: Trace, effect: FirstEffect) -> int | None:
    """Return the index of the first of the effect's values that a line of the learner computes.

    None if there is none.

    If one edited line computes several values but the learner computes them on different lines,
    they are ignored, because some may belong to another correct method. So are the parts of a
    tensor that a loop iterates over, because every loop over it has them.
    """
    own = [
        at
        for at, stage in enumerate(trace.stages)
        if stage.line and not stage.inside and stage.operation != "unbind"
    ]
    found = []
    for values in effect.values:
        same = (
            islice((at for at in own if is_same(trace.stages[at].value, one)), 1) for one in values
        )
        places = {at for first in same for at in first}
        if len({trace.stages[at].line for at in places}) == 1:
            found.append(min(places))
    return min(found, default=None)


def first_named(trace: Trace, effect: FirstEffect) -> int | None:
    """Return the index of the first value that has a name as in `effect.named`, or None."""
    found = (
        at
        for at, stage in enumerate(trace.stages)
        for name, value in effect.named.items()
        if stage.line and not stage.inside and name in stage.names and is_same(stage.value, value)
    )
    return next(found, None)


def place_in_making(part: ExerciseAttempt, made: tuple[str, ...]) -> Divergence | None:
    """Return the line of `__init__` that assigns the first of these attributes found, or None."""
    text, lines = part.attempt.submitted, counted_lines(part)
    line = next(filter(None, (text.making(f"self.{name}", lines) for name in made)), 0)
    return Divergence(line) if line and text.is_making(line) else None


def same_line(part: ExerciseAttempt, texts: frozenset[str]) -> Divergence | None:
    """Return the only line of the learner's definition with the code of an edited line, if any."""
    text = part.attempt.submitted
    known = set(map(in_loop, texts))
    found = [line for line in counted_lines(part) if in_loop(text.code(line).strip()) in known]
    return Divergence(found[0]) if len(found) == 1 else None


def in_loop(code: str) -> str:
    """Return the code of a line without the name of a loop's variable.

    >>> in_loop("for j in range(0, n, size):")
    'for _ in range(0, n, size):'
    """
    return re.sub(r"^for \w+ in ", "for _ in ", code)


def only_call(part: ExerciseAttempt, names: frozenset[str]) -> Divergence | None:
    """Return the only line, outside `__init__`, that calls one of these functions, if any."""
    text = part.attempt.submitted
    found = [
        line
        for line in counted_lines(part)
        if not text.is_making(line)
        and not names.isdisjoint(map(short, CALL.findall(text.code(line))))
    ]
    return Divergence(found[0]) if len(found) == 1 else None
