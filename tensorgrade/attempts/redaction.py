"""Redaction: messages to a learner about hidden cases carry at most 12 bits about them.

Learner code sees hidden inputs, and it controls everything that a message could repeat: the text
and the type of an error, names, keys, sizes, values, the line, and which check fails. Therefore a
message repeats such a thing from a hidden case only if it has few possible values. Otherwise a
learner sees one of the following:

- If the public cases are wrong too: their findings. The public cases run in a process that has seen
  no hidden case, so these findings may be shown in full, and learners can see the same with `pytest
  exercises/`.
- If only hidden cases are wrong: one of a few sentences, which are counted beforehand. It is the
  most detailed sentence whose number of variants fits. For example, it contains the line and the
  type of an error if the exercise has few lines of code.

Points and the names of known mistakes reveal something as well. The number of sentences is chosen
so that together they stay within 12 bits.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ..exchange.observation import CaughtError
from ..judging.diagnosis import Diagnosis, Finding, Kind
from ..judging.divergence import Divergence
from ..judging.errors import at_line
from ..judging.learner_names import POINTS, SHARE
from ..judging.passing_cases import traits
from ..judging.submitted_text import SubmittedText
from ..messages.hidden import KINDS, HiddenError, HiddenFailure, HiddenSqueeze, OnHiddenCase
from ..messages.message import Message
from .attempt import ExerciseAttempt, cached_for_file
from .details.in_text import plain_fact
from .divergence import divergence
from .mistake_lines import place_of_mistakes
from .pairs import MOST_SHOWN
from .public_side import on_public_cases
from .recognized import is_only_squeezed, mistakes
from .repair import repair
from .results import CheckResult, Topic, first_failure
from .scoring import run_and_score

BITS = 12
# Sentences without variants: killed, timed out, not written, other names, a lost dimension of size
# 1, and similar ones.
FIXED = 9
# Different points, besides sums of checks, that an exercise can earn if every case is an error.
ONLY_ERRORS = 4
TYPES = (
    *("TypeError", "ValueError", "IndexError", "KeyError", "AttributeError", "NameError"),
    *("RuntimeError", "AssertionError", "ZeroDivisionError", "NotImplementedError"),
)
OTHER_TYPE = "an exception"


def sentences(part: ExerciseAttempt, worth: list[float]) -> int:
    """Return how many different sentences fit into BITS for each possible number of points.

    worth: the points of each check.

    Rows with known mistakes are counted separately and subtracted, because their sentence is the
    mistake's own. There is one such row for each mistake and each shown pair. Their number doubles
    for each group of cases that does not serve to recognize mistakes, and for the check of names.
    """
    prints = part.attempt.fingerprints.by_exercise.get(part.name, [])
    mistakes = {one.mistakes for one in prints if len(one.mistakes) == 1}
    open_groups = {case.group for case, _, _ in part.seen if case.signature == "ignored"}
    named = (len(mistakes) + MOST_SHOWN) * 2 ** (len(open_groups) + 1)
    points = possible_points(worth)
    return max(0, 2**BITS - named) // (len(points) + ONLY_ERRORS)


def variants(part: ExerciseAttempt, worth: list[float]) -> int:
    """Return how many sentences fit in addition to the FIXED ones; worth: see `sentences`."""
    return max(0, sentences(part, worth) - FIXED)


def possible_points(worth: list[float]) -> set[float]:
    """Return all sums that checks with these points can earn, with the deduction for names or not.

    >>> sorted(possible_points([1.0, 2.0]))
    [0.0, 0.7, 1.0, 1.7, 2.0, 2.7, 3.0]
    """
    sums = {0.0}
    for points in worth:
        sums |= {round(earned + points, 6) for earned in sums}
    cost = min(POINTS, SHARE * sum(worth))
    return sums | {round(max(0.0, earned - cost), 6) for earned in sums}


@cached_for_file
def public_checks(part: ExerciseAttempt) -> list[CheckResult]:
    """Return the results of the checks on public cases; [] if these did not all give a result."""
    if (public := on_public_cases(part)) is None:
        return []
    other = public.attempt
    results = run_and_score(other, *other.called_before(part.name), part.name)
    return [one for one in results if one.exercise == part.name]


def redacted(part: ExerciseAttempt, checks: list[CheckResult], first: CheckResult) -> Finding:
    """Return the finding that a learner sees instead of the first failed check on hidden cases.

    checks: the results on hidden cases; `first` is one of them.
    """
    assert first.finding, "only a check with a finding is redacted"
    if mistake_says_all(part):
        return Finding("", Diagnosis(Kind.FACT, HiddenFailure()), told_mistakes(part))
    public = public_checks(part)
    if first.about != Topic.NAMES:  # reported only if the rest is right on hidden cases
        public = [check for check in public if check.about != Topic.NAMES]
    worth = [check.points for check in checks]
    public_first = first_failure(public)
    if public_first is None or public_first.finding is None:
        diagnosis = only_hidden(part, first.finding, len(checks), variants(part, worth) // 3)
        where = partial(divergence_in_public, part, diagnosis)
        return Finding("", diagnosis, told_mistakes(part), find_divergence=where)
    found = [check.finding for check in public]
    chosen, told = public_first.finding, told_mistakes(part)
    in_order = chosen.mistakes if chosen.mistakes.keys() == told.keys() else told
    if told:  # they have their own sentence, so only a line is left to show
        chosen = next(filter(has_line, (chosen, *found)), None) or chosen
    elif not repair(part) and len(public) <= variants(part, worth):
        chosen = counterpart(first.finding, checks.index(first), found) or chosen
    return replace(chosen, mistakes=in_order)


def mistake_says_all(part: ExerciseAttempt) -> bool:
    """Return True if a learner sees only one known mistake and its line, which is known.

    Then the public cases need not run. They are needed to find a line, to put several mistakes in
    order, or to report a fault in the text or a wrong earlier exercise.
    """
    if len(mistakes(part)) != 1 or part.noted:
        return False
    _, faulty_line = plain_fact(part) or (None, None)
    return faulty_line is None and place_of_mistakes(part) is not None


def has_line(found: Finding | None) -> bool:
    """Return True if a check itself has found a line."""
    return found is not None and found.line is not None


def counterpart(first: Finding, at: int, public: list[Finding | None]) -> Finding | None:
    """Return the public finding most similar to a hidden one, or None.

    first, at: the hidden finding, and the index of its check. Return the finding of the same check.
    If only the hidden one is an error, return the first public finding that is an error.
    """
    same = public[at] if at < len(public) else None
    errors = [found for found in public if found and found.diagnosis.error]
    if first.diagnosis.error and errors and not (same and same.diagnosis.error):
        return errors[0]
    return same


def told_mistakes(part: ExerciseAttempt) -> dict[str, str]:
    """Return the wording of the known mistakes, by name."""
    return {name: part.attempt.fingerprints.messages[name] for name in mistakes(part)}


def only_hidden(part: ExerciseAttempt, first: Finding, checks: int, most: int) -> Diagnosis:
    """Return a diagnosis for an exercise that is right on the public cases.

    most: the number of variants allowed for errors, and again for all other failures. checks: the
    number of checks.
    """
    found = first.diagnosis
    if mistakes(part):  # they have their own sentence; nothing else may depend on hidden cases
        return on_hidden_case(part, Kind.FACT, HiddenFailure())
    if found.error and found.kind == Kind.ERROR:
        return only_hidden_error(part, found.error, most)
    if is_only_squeezed(part):  # one of the fixed sentences
        return on_hidden_case(part, found.kind, HiddenSqueeze())
    kinds, patterns = len(KINDS) + 1, places(part)
    where = part.right_in(part.seen) if found.kind == Kind.VALUES else None
    if checks * (kinds + patterns) <= most:
        what = HiddenFailure(found.kind, where, first.asks)
    elif kinds + patterns <= most:
        what = HiddenFailure(found.kind, where)
    else:
        what = HiddenFailure(asks=first.asks if checks <= most else "")
    return on_hidden_case(part, found.kind, what)


def divergence_in_public(part: ExerciseAttempt, diagnosis: Diagnosis) -> Divergence | None:
    """Return where values diverge on public cases although results are right; None if unknown."""
    public = on_public_cases(part)
    return divergence(public, False) if public and not diagnosis.error else None


def on_hidden_case(
    part: ExerciseAttempt, kind: Kind, what: Message, error: CaughtError | None = None
) -> Diagnosis:
    """Return a diagnosis of a hidden case. Its message first says if the public cases ran."""
    problem = OnHiddenCase(bool(public_checks(part)), what)
    return Diagnosis(kind, problem, error=error)


def places(part: ExerciseAttempt) -> int:
    """Return the number of possible messages about which cases are right, including none."""
    return 2 * len({trait for case, _, _ in part.seen for trait in traits(case)}) + 1


def only_hidden_error(part: ExerciseAttempt, error: CaughtError, most: int) -> Diagnosis:
    """Return the diagnosis for an error, with its type and line if these have few variants."""
    line = line_if_few(part, part.line_of(error), most)
    lines = len(set(code_lines(part))) + 1 if line else 1
    kind = error.type if error.type in TYPES else ""
    kind = kind if lines * (len(TYPES) + 1) <= most else ""
    source = part.attempt.submitted.lines[line - 1].strip() if line else ""
    told = CaughtError(kind or OTHER_TYPE, line=line, source=source)
    what = HiddenError(kind, at_line(told, part.attempt.place))
    return on_hidden_case(part, Kind.ERROR, what, told)


def line_if_few(part: ExerciseAttempt, line: int | None, most: int) -> int | None:
    """Return a line of the exercise's own code if there are few enough such lines; else None."""
    lines = set(code_lines(part))
    return line if line in lines and len(lines) < most else None


def code_lines(part: ExerciseAttempt) -> Iterator[int]:
    """Yield the lines of the exercise's own definitions that hold code."""
    text: SubmittedText = part.attempt.submitted
    for first, last in part.own_lines:
        yield from (line for line in range(first, last + 1) if text.code(line).strip())


def line_of_timeout(
    part: ExerciseAttempt, worth: list[float], error: CaughtError | None
) -> CaughtError | None:
    """Return a timeout's error, without its line if the exercise has too many lines to show it."""
    if error is None or not part.attempt.references.hidden:
        return error
    line = line_if_few(part, error.line, variants(part, worth) // 3)
    return replace(error, line=line, called=None)
