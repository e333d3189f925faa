"""Compare a learner's code with the given code of a find-the-bug exercise."""

from .attempt import ExerciseAttempt

MOST_CHANGED = 10  # parts of the given code's syntax tree that a repair may change


def is_as_given(part: ExerciseAttempt) -> bool:
    """Return True if the given code is unchanged."""
    return bool(part.given_code) and part.attempt.facts.changes.get(part.name) == 0


def is_rewritten(part: ExerciseAttempt) -> bool:
    """Return True if more of the given code was changed than a repair needs.

    Return True, too, if the file no longer has a definition of that name.
    """
    changed = part.attempt.facts.changes.get(part.name, MOST_CHANGED + 1)
    return bool(part.given_code) and changed > MOST_CHANGED
