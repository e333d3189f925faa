"""Find one small edit of the learner's code that makes an exercise right."""

from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..exchange.references import References
from ..runner.edits import Edit
from .attempt import ExerciseAttempt, cached_for_file
from .divergence import divergence, raises_on_a_line

MOST_TRIES, TRIES_AT_ONCE = 150, 50  # numbers of edits
FEW = 6  # cases that run before the rest, because they show most mistakes
MOST_VERIFIED = 2  # edits that are tried on all cases, out of those that make one case right


@cached_for_file
def repair(part: ExerciseAttempt) -> Edit | None:
    """Return a small edit of the learner's own definition that makes everything right, if any.

    The search uses a public case, in a process that has seen no hidden case. An edit counts only if
    the code is then right on every hidden case. Learners read its line and its idea; only
    instructors see the edit.
    """
    attempt, public = part.attempt, part.attempt.public()
    if part.given_code:  # finding the place of the mistake is the exercise
        return None
    if public is None or not attempt.references.hidden:
        return None
    if (wrong := wrong_in_public(part, public)) is None:
        return None
    left = divergence(part, raises_on_a_line(part))
    line = left.line if left else 0
    for first in range(0, MOST_TRIES, TRIES_AT_ONCE):
        program = attempt.apart(part.name)
        tries = attempt.lab.tries(program, part.name, line, wrong[0], first, TRIES_AT_ONCE)
        ours = [one for one in tries if one[0].quotes(attempt.submitted.text)]
        good = [edit for edit, seen in ours if part.is_right(*wrong, seen)]
        if found := next((edit for edit in good[:MOST_VERIFIED] if holds(part, edit)), None):
            return found
    return None


def wrong_in_public(part: ExerciseAttempt, public: References) -> tuple[Case, Observation] | None:
    """Return a public case on which the exercise is wrong; None if there is none."""
    entries = public.of(part.name)
    for some in (entries[:FEW], entries[FEW:]):
        observed = part.attempt.run_public([case for case, _ in some])
        for entry, seen in zip(some, observed, strict=True):
            if not part.is_right(*entry, seen):
                return entry
    return None


def holds(part: ExerciseAttempt, edit: Edit) -> bool:
    """Return True if the learner's text with an edit is right on every hidden case."""
    lab, repaired = part.attempt.lab, part.attempt.program.with_text(edit.text)
    entries = part.attempt.references.of(part.name)
    try:
        for some in (entries[:FEW], entries[FEW:]):
            observed = lab.run(repaired, [case for case, _ in some])
            pairs = zip(some, observed, strict=True)
            if not all(part.is_right(*entry, seen) for entry, seen in pairs):
                return False
        return True
    finally:
        lab.end(repaired)
