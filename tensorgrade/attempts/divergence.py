"""Find where a submission's values first differ from those of right answers, on public cases."""

import re
from dataclasses import replace

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..exchange.references import References, Seen
from ..exchange.traces import Trace, read_trace
from ..judging.divergence import Divergence, divergence_sentence
from ..judging.find_divergence import find_divergence
from ..judging.passing_cases import only_where_passed, right_and_wrong
from ..messages.divergence import (
    ComesTooEarly,
    DefaultOnLine,
    HoldsOtherValue,
    MakesPart,
    MakesPartOfShape,
    SaysAll,
)
from ..messages.message import Sentences
from .attempt import ExerciseAttempt, cached_for_file

MOST_READ = 3  # values read by the diverging line for which the computing line is reported
MOST_OF_A_SIGNATURE = 20  # lines of a function's signature that are searched
DEFINES = ("class ", "def ", "async ", "@")
UnloadedWeights = list[tuple[str, list[int] | None]]  # names of parameters, with their shapes


@cached_for_file
def divergence(part: ExerciseAttempt, raised: bool) -> Divergence | None:
    """Return where values diverge on public cases; None if that is not known.

    raised: look only at cases that end in an error; otherwise at those whose error, if any, has no
    line. The cases run in a process that has seen no hidden case, so the result says nothing about
    hidden cases.
    """
    public = part.attempt.public()
    if public is None or part.attempt.loaded.status != Outcome.LOADED:
        return None
    for seen in in_order_of_interest(part, public, raised):
        if unloaded := without_weights(seen.case, seen.observed):
            if made := line_making_one_of(part, seen, unloaded) or wrong_default(part):
                return made
            continue  # it ran with other weights, so its values show nothing
        error = seen.observed.error
        # If `raised` is False, a case with an error counts only if the error has no line.
        if raised != bool(error and (raised or error.line is not None)):
            continue
        if found := divergence_on(part, seen, public.traces[seen.case.id]):
            return found
    return wrong_default(part)


def in_order_of_interest(part: ExerciseAttempt, public: References, raised: bool) -> list[Seen]:
    """Return the results of the cases whose values are traced.

    Cases whose weights could not be loaded come first, because that causes all other faults. If
    `raised`, they do so only if a weight has a wrong shape. Cases that pass the integer 1 come
    last, because a wrong reshape may change nothing there.
    """
    seen = sorted(public_stages(part, public), key=lambda one: has_size_one(one.case))
    if not raised or any(one.observed.fact("load", "misshapen", default={}) for one in seen):
        seen.sort(key=lambda one: not without_weights(one.case, one.observed))
    return seen


def has_size_one(case: Case) -> bool:
    """Return True if a step of a case passes the integer 1 for an argument."""
    passed = (step.arguments.values() for step in case.steps)
    return any(type(value) is int and value == 1 for values in passed for value in values)


def public_stages(part: ExerciseAttempt, public: References) -> list[Seen]:
    """Return the results of the public cases that request intermediate values."""
    entries = [one for one in public.traced_cases if one[0].exercise == part.name]
    observed = part.attempt.run_public([case for case, _ in entries])
    return [Seen(*entry, one) for entry, one in zip(entries, observed, strict=True)]


def divergence_on(part: ExerciseAttempt, seen: Seen, reference: Trace) -> Divergence | None:
    """Return where values diverge on one case; None if that is outside the exercise's own lines."""
    trace = read_trace(seen.observed).attributed_to(part.is_own_line)
    found = find_divergence(seen, trace, reference)
    if not found or not part.is_own_line(found.line):
        return None
    if isinstance(found.what, HoldsOtherValue) and not names(part, found.what.name):
        found = replace(found, what=None, stage="")
    if isinstance(found.what, ComesTooEarly):
        text = part.attempt.submitted
        body = "\n".join(map(text.code, text.body(found.line)))
        if not re.search(r"\b(for|while)\b", body):
            found = replace(found, what=None)
    found = with_sources(part, from_loop(part, found), seen.case, trace)
    return replace(found, said=divergence_sentence(found, part.attempt.place))


def names(part: ExerciseAttempt, name: str) -> bool:
    """Return True if the exercise's own code, without helpers, contains this name."""
    text, word = part.attempt.submitted, re.compile(rf"\b{re.escape(name)}\b")
    return any(word.search(text.code(line)) for line in counted_lines(part))


def from_loop(part: ExerciseAttempt, found: Divergence) -> Divergence:
    """Start the lines in question at the function, or at the loop if that stops too early."""
    if not found.since:
        return found
    text = part.attempt.submitted
    since = found.since if found.since > 1 else text.body(found.line).start or found.line
    early = isinstance(found.what, ComesTooEarly)
    loop = text.above(since, "for", "while") if early else 0
    return replace(found, since=loop or since)


def with_sources(part: ExerciseAttempt, found: Divergence, case: Case, trace: Trace) -> Divergence:
    """Add the lines that compute what the diverging line reads, except for right values.

    See `known_names` for the values that are taken to be right.
    """
    if found.raised or isinstance(found.what, SaysAll) or found.unused:
        return found
    text, known = part.attempt.submitted, known_names(case, trace)
    spans = [span for span in part.attempt.definitions if span[0] <= found.line <= span[1]]
    right = {operation for line, operation in found.correct if line == found.line}
    nothing_right = not right - {"changed"}  # "changed" marks a change in place, not an operation
    made = [
        (name, made)
        for first, last, _ in spans
        for line in dict.fromkeys((found.line, found.since))
        for name, made in text.sources(line, range(first, last + 1))
        if name not in known
        and not is_idle(part, made, case)
        and not is_innocent(text.statement(line), name, line, found.correct)
        and not (nothing_right and is_called_later(text.statement(line), name))
    ]
    return replace(found, reads=tuple(dict.fromkeys(made))[:MOST_READ])


# The names that torch gives to the operation of each sign.
OPERATIONS: dict[str, tuple[str, ...]] = {
    "/": ("div", "true_divide", "__truediv__"),
    "*": ("mul", "__mul__", "__rmul__"),
}
OPERATIONS |= {"+": ("add", "__add__", "__radd__"), "-": ("sub", "__sub__")}


def is_innocent(statement: str, name: str, line: int, correct: frozenset[tuple[int, str]]) -> bool:
    """Return True if a statement uses a name only in arithmetic whose values are all right.

    >>> is_innocent("torch.exp(x / d ** 0.5)", "d", 9, frozenset({(9, "__truediv__")}))
    True
    """
    uses = re.findall(rf"(.)\s*(?<![\w.]){re.escape(name)}\b", statement)
    signs = [OPERATIONS.get(sign, ()) for sign in uses]
    return bool(uses) and all(any((line, op) in correct for op in ops) for ops in signs)


# Learners' text is not parsed in this process: parsing may crash it.
CALLED_ON_A_CALL = re.compile(r"\([^()]*[\w\])]\(")


def is_called_later(statement: str, name: str) -> bool:
    """Return True if each call of a name takes the result of another call on its line.

    If the first value that the line computes is wrong, it comes from that other call. Then this
    name is not at fault.

    >>> is_called_later("y = self.outer(self.inner(x))", "self.outer")
    True
    >>> is_called_later("y = self.outer(self.inner(x))", "self.inner")
    False
    """
    uses = re.split(rf"(?<![\w.]){re.escape(name)}(?![\w.])", statement)[1:]
    return bool(uses) and all(CALLED_ON_A_CALL.match(use) for use in uses)


def known_names(case: Case, trace: Trace) -> set[str]:
    """Return the names whose values are not reported as sources of a wrong value.

    These are traced tensors, which the search has compared already, the case's arguments, and parts
    of the module that hold only the case's weights.
    """
    known = {name for stage in trace.stages for name in stage.names}
    # Parts with weights at a deeper level may compute something, so they are not known.
    deep = {name.partition(".")[0] for name in case.weights if name.count(".") > 1}
    made = {name.partition(".")[0] for name in case.weights} - deep
    known |= {f"self.{name}" for name in made}
    return known | {name for name, _ in case.passed}


def is_idle(part: ExerciseAttempt, line: int, case: Case) -> bool:
    """Return True if a line creates a dropout layer and the case runs in evaluation mode."""
    training = any(step.options["training"] for step in case.steps if step.verb == "mode")
    return "Dropout(" in part.attempt.submitted.code(line) and not training


def raises_on_a_line(part: ExerciseAttempt) -> bool:
    """Return True if a case that should give a result ends in an error on a line of the file."""
    errors = (seen.observed.error for seen in part.seen if not seen.expected.error)
    return any(error.line for error in errors if error)


def wrong_default(part: ExerciseAttempt) -> Divergence | None:
    """Return the line of a default if exactly the cases that pass that argument are right."""
    name = only_where_passed(*right_and_wrong(part.seen, part.attempt.tolerances))
    lines, text = counted_lines(part), part.attempt.submitted
    starts = (line for line in lines if text.code(line).lstrip().startswith("def "))
    made = (text.default(name, range(at, at + MOST_OF_A_SIGNATURE)) for at in starts)
    line = next(filter(None, made), 0) if name else 0
    if not line or not any(name in text.read_in(at) for at in lines if at != line):
        return None  # a default that nothing reads is not at fault
    return Divergence(line, said=Sentences((DefaultOnLine(part.attempt.place(line), name),)))


def without_weights(case: Case, seen: Observation) -> UnloadedWeights:
    """Return the parameters that could not receive a case's weights, with the learner's shapes.

    The shape is None if the parameter is missing, unexpected or shared with another one.
    """
    misshapen: dict = seen.fact("load", "misshapen", default={})
    missing: list = seen.fact("load", "missing", default=[])
    told: UnloadedWeights = [
        (name, shape)
        for name, shape in misshapen.items()
        if isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    ]
    told += [(name, None) for name in missing if isinstance(name, str)]
    unexpected: list = seen.fact("load", "unexpected", default=[])
    more = [(name, None) for name in unexpected if isinstance(name, str)]
    tied: dict = seen.fact("load", "tied", default={})
    told += [(name, None) for name in list(tied)[:1] if isinstance(name, str)]
    return [one for one in told if one[0] in case.weights] + more


def line_making_one_of(
    part: ExerciseAttempt, seen: Seen, unloaded: UnloadedWeights
) -> Divergence | None:
    """Return the line that creates a part with a weight of a wrong shape.

    If all shapes are right, return the line of the only part whose weights did not load; None if
    there are several such parts.
    """
    parts = {name.partition(".")[0] for name, _ in unloaded}
    misshapen = [one for one in unloaded if one[1] is not None]
    chosen = misshapen or (unloaded if len(parts) == 1 else [])
    return line_making(part, seen, *chosen[0]) if chosen else None


def line_making(
    part: ExerciseAttempt, seen: Seen, parameter: str, shape: list[int] | None
) -> Divergence | None:
    """Return the line that creates the part of the module that holds a parameter.

    shape: the learner's shape, if it is wrong; None if the parameter is missing or unexpected.
    """
    own = own_name(parameter, seen.observed)
    owner, _, inner = own.partition(".")
    line = part.attempt.submitted.making(f"self.{owner}", counted_lines(part))
    if not line:
        return None
    place = part.attempt.place(line)
    if shape is None:
        return Divergence(line, said=Sentences((MakesPart(place, owner),)))
    right = tuple(seen.case.tensors[seen.case.weights[parameter]].shape)
    # A name deeper inside belongs to a class that may not be the learner's.
    weight, deep = own if inner else "", sum(not word.isdigit() for word in inner.split(".")) > 1
    said = MakesPartOfShape(place, owner, tuple(shape), right, weight, deep)
    return Divergence(line, said=Sentences((said,)))


def own_name(parameter: str, observed: Observation) -> str:
    """Return the learner's name of a parameter."""
    told: dict = observed.fact("names", "understood", default={})
    for asked, own in told.items():
        if isinstance(own, str) and f"{parameter}.".startswith(f"{asked}."):
            return own + parameter.removeprefix(asked)
    return parameter


def counted_lines(part: ExerciseAttempt) -> list[int]:
    """Return the lines that define the exercise, without an older definition that is replaced."""
    text, spans = part.attempt.submitted, part.own_lines
    starts = [n for n, (first, _) in enumerate(spans) if text.code(first).startswith(DEFINES)]
    spans = spans[starts[-1] :] if starts else spans
    return [line for first, last in spans for line in range(first, last + 1)]
