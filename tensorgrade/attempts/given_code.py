"""Compare a learner's code with the given code of a find-the-bug exercise."""

from ..exchange.observation import Outcome
from .attempt import ExerciseAttempt, cached_for_results

MOST_CHANGED = 10  # parts of the given code's syntax tree that a repair may change


def is_as_given(part: ExerciseAttempt) -> bool:
    """Return True if the given code is unchanged and nothing replaces it."""
    unchanged = bool(part.given_code) and part.attempt.facts.changes.get(part.name) == 0
    return unchanged and not is_replaced(part)


@cached_for_results
def is_replaced(part: ExerciseAttempt) -> bool:
    """Return True if the learner's file is right although its definition alone is wrong.

    Then something else in the file runs under that name, or the definition needs more of the file.
    The file's process may lie about this. The result changes only the message, never the points.
    """
    if not part.given_code or part.attempt.loaded.status != Outcome.LOADED:
        return False
    wrong = next((seen for seen in part.claimed if not part.is_right(*seen)), None)
    if wrong is None or wrong.observed.status != Outcome.ANSWERED:
        return False
    if wrong.observed.error and wrong.observed.error.missing == part.name:
        return part.name in part.attempt.loaded.names
    (in_file,) = part.attempt.lab.run(part.attempt.program, [wrong.case])
    return part.is_right(wrong.case, wrong.expected, in_file)


def is_rewritten(part: ExerciseAttempt) -> bool:
    """Return True if more of the given code was changed than a repair needs.

    Return True, too, if the file no longer has a definition of that name.
    """
    changed = part.attempt.facts.changes.get(part.name, MOST_CHANGED + 1)
    return bool(part.given_code) and changed > MOST_CHANGED
