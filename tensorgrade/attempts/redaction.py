"""Redaction: what a learner reads of hidden cases carries at most 12 bits about them.

Learner code sees hidden inputs, and it chooses everything that a message could repeat: the text and
the type of an error, names, keys, sizes, values, the line, and which check fails. So nothing that
it says on a hidden case is repeated. A learner is shown one of these instead:

- If the public cases are wrong too: what they show. They run in a process that has seen no hidden
  case, so all of it may be shown, and learners can see the same with `pytest exercises/`.
- If only hidden cases are wrong: one of a few sentences, which are counted beforehand. It is the
  most detailed of those whose number fits: the line and the type of an error, say, if the exercise
  has few lines of code.

The number of sentences is what 12 bits leave beside the points and the names of known mistakes,
which tell something as well.
"""

from collections.abc import Iterator
from dataclasses import replace

from ..exchange.observation import CaughtError
from ..judging.diagnosis import Diagnosis, Finding, Kind, sentence
from ..judging.handed_in import HandedIn
from ..judging.names import POINTS, SHARE
from ..judging.stages import Parting
from ..judging.unanswered import at_line
from ..judging.where_right import traits
from .attempt import ExerciseAttempt

BITS = 12
# Sentences without a choice in them: killed, out of time, not written, other names, a dimension of
# size 1 is gone, and the like.
FIXED = 9
# Exercises in which every case ends in an error earn one of a few numbers of points.
ONLY_ERRORS = 4
TYPES = (
    *("TypeError", "ValueError", "IndexError", "KeyError", "AttributeError", "NameError"),
    *("RuntimeError", "AssertionError", "ZeroDivisionError", "NotImplementedError"),
)
OTHER_TYPE = "an exception"
ONLY_HIDDEN, ON_HIDDEN = "the public cases are right, but on a hidden case", "on a hidden case"
WRONG = {
    Kind.ABSENT: "something other than what is asked for comes back",
    Kind.SHAPE: "the result has another shape than what is asked for",
    Kind.NAN: "the result contains NaN",
    Kind.VALUES: "values are wrong",
}
SQUEEZED = f"{WRONG[Kind.SHAPE]}; a dimension of size 1 is gone"
FAILS = "a check fails"


def sentences(part: ExerciseAttempt, worth: list[float]) -> int:
    """Return how many different sentences a row of this exercise may have, for each of its points.

    worth: the points of each check.

    Rows with a known mistake, or with the one pair that public cases show, are counted apart: their
    sentence is the mistake's own. Which checks fail on cases that do not tell mistakes apart is
    still open there, and so are other names.
    """
    prints = part.attempt.fingerprints.by_exercise.get(part.name, [])
    mistakes = {one.mistakes for one in prints if len(one.mistakes) == 1}
    open_groups = {case.group for case, _, _ in part.seen if case.signature == "ignored"}
    named = (len(mistakes) + 1) * 2 ** (len(open_groups) + 1)
    points = possible_points(worth)
    return max(0, 2**BITS - named) // (len(points) + ONLY_ERRORS)


def possible_points(worth: list[float]) -> set[float]:
    """Return what checks worth so much can earn together, with other names and without.

    >>> sorted(possible_points([1.0, 2.0]))
    [0.0, 0.7, 1.0, 1.7, 2.0, 2.7, 3.0]
    """
    sums = {0.0}
    for points in worth:
        sums |= {round(earned + points, 6) for earned in sums}
    cost = min(POINTS, SHARE * sum(worth))
    return sums | {round(max(0.0, earned - cost), 6) for earned in sums}


def redacted(
    part: ExerciseAttempt,
    worth: list[float],
    first: Finding,
    at: int,
    public: list[Finding | None],
    public_first: Finding | None,
) -> Finding:
    """Return what a learner is shown in place of the first failed check on hidden cases.

    worth: the points of each check. at: which check it is. public: what each check found on the
    public cases. public_first: which of these learners are told of first.
    """
    fits = max(0, sentences(part, worth) - FIXED)
    if public_first is None:
        diagnosis = only_hidden(part, first, len(worth), fits // 3)
        mistakes, parting = told_mistakes(part), lambda: parting_in_public(part, diagnosis)
        return Finding("", diagnosis, mistakes, parting=parting)
    chosen = public_first
    if part.mistakes:  # their sentence is their own: what is left to show is a line
        chosen = next(filter(has_line, (public_first, *public)), None) or public_first
    elif not part.repair and len(public) <= fits:
        chosen = counterpart(first, at, public) or public_first
    return replace(chosen, mistakes=told_mistakes(part))


def has_line(found: Finding | None) -> bool:
    """Return True if a finding leads to a line."""
    if found is None:
        return False
    error = found.diagnosis.error
    return bool(found.diagnosis.line or (error and error.line) or found.parting())


def counterpart(first: Finding, at: int, public: list[Finding | None]) -> Finding | None:
    """Return the public finding most like a hidden one: that of its check, or another error."""
    same = public[at] if at < len(public) else None
    errors = [found for found in public if found and found.diagnosis.error]
    if first.diagnosis.error and errors and not (same and same.diagnosis.error):
        return errors[0]
    return same


def told_mistakes(part: ExerciseAttempt) -> dict[str, str]:
    """Return the messages of the known mistakes, with a word on a wrong earlier exercise."""
    messages = {name: part.attempt.fingerprints.messages[name] for name in part.mistakes}
    if messages and (noted := part.noted_in_public):
        messages[min(messages)] += f" {sentence(noted)}"
    return messages


def only_hidden(part: ExerciseAttempt, first: Finding, checks: int, most: int) -> Diagnosis:
    """Return a diagnosis for an exercise that is right on the public cases, out of at most so many.

    Errors and everything else may have so many each. checks: how many there are.
    """
    found = first.diagnosis
    if part.mistakes:  # their sentence is their own, and nothing else may depend on hidden cases
        return Diagnosis(Kind.FACT, f"{on_a_hidden_case(part)} {FAILS}")
    if found.error and found.kind == Kind.ERROR:
        return only_hidden_error(part, found.error, most)
    if part.is_only_squeezed:  # one of the fixed sentences
        return Diagnosis(found.kind, f"{on_a_hidden_case(part)} {SQUEEZED}")
    what, kinds = WRONG.get(found.kind, FAILS), len(WRONG) + 1
    patterns = places(part)
    where = f", {part.right_in}" if found.kind == Kind.VALUES and part.right_in else ""
    asked = f" ({first.asks.rstrip('.')})" if first.asks else ""
    if checks * (kinds + patterns) <= most:
        problem = what + where + asked
    elif kinds + patterns <= most:
        problem = what + where
    elif checks <= most:
        problem = FAILS + asked
    else:
        problem = FAILS
    return Diagnosis(found.kind, f"{on_a_hidden_case(part)} {problem}")


def parting_in_public(part: ExerciseAttempt, diagnosis: Diagnosis) -> Parting | None:
    """Return where values part on the way on public cases, whose results are right all the same."""
    public = part.on_public_cases
    return public.parting(raised=False) if public and not diagnosis.error else None


def on_a_hidden_case(part: ExerciseAttempt) -> str:
    """Return how a sentence begins, by whether the public cases could be run."""
    return ONLY_HIDDEN if part.public_checks else ON_HIDDEN


def places(part: ExerciseAttempt) -> int:
    """Return in how many ways it can be said on which cases an exercise is right, or not at all."""
    return 2 * len({trait for case, _, _ in part.seen for trait in traits(case)}) + 1


def only_hidden_error(part: ExerciseAttempt, error: CaughtError, most: int) -> Diagnosis:
    """Return the same for an error: its type and line as far as there are few of them."""
    line = line_if_few(part, part.line_of(error), most)
    lines = len(set(code_lines(part))) + 1 if line else 1
    kind = error.type if error.type in TYPES else OTHER_TYPE
    kind = kind if lines * (len(TYPES) + 1) <= most else OTHER_TYPE
    source = part.attempt.handed_in.lines[line - 1].strip() if line else ""
    told = CaughtError(kind, line=line, source=source)
    at = at_line(told, part.attempt.place)
    problem = f"{on_a_hidden_case(part)} it raises {kind}{at}"
    return Diagnosis(Kind.ERROR, problem, error=told)


def line_if_few(part: ExerciseAttempt, line: int | None, most: int) -> int | None:
    """Return a line of the exercise's own code, if that has at most so many; else None."""
    lines = set(code_lines(part))
    return line if line in lines and len(lines) < most else None


def code_lines(part: ExerciseAttempt) -> Iterator[int]:
    """Yield the lines of the exercise's own definitions that hold code."""
    text: HandedIn = part.attempt.handed_in
    for first, last in part.own_lines:
        yield from (line for line in range(first, last + 1) if text.code(line).strip())


def line_of_timeout(
    part: ExerciseAttempt, worth: list[float], error: CaughtError | None
) -> CaughtError | None:
    """Return a timeout's error, without its line if a hidden case chose it out of too many."""
    if error is None or not part.attempt.references.hidden:
        return error
    most = max(0, sentences(part, worth) - FIXED) // 3
    line = line_if_few(part, error.line, most)
    return replace(error, line=line, called=None)
