"""From single checks to one verdict for each exercise: the rows of `results.jsonl`."""

import logging
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from ..course import CourseError, Exercise
from ..exchange.observation import CaughtError, Outcome
from ..exchange.text import LONGEST_MESSAGE, printable, short
from ..judging.diagnosis import LEAST_TELLING, Finding, sentence, telling
from ..judging.names import ASKS
from ..judging.unanswered import UNWRITTEN, ended
from ..runner.edits import Edit
from .attempt import Attempt, ExerciseAttempt
from .backend import OUT_OF_TIME
from .redaction import line_of_timeout, redacted


class Status(StrEnum):
    """How an exercise ended; where several fit, the first of this order holds."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    ERROR = "error"
    NOT_ATTEMPTED = "not_attempted"
    PASSED = "passed"
    PARTIAL = "partial"
    FAILED = "failed"


# Statuses of exercises that could not be graded as usual, whoever is to blame.
TROUBLE = (Status.ERROR, Status.TIMEOUT, Status.KILLED)
ASKS_LITTLE = "Little is changed: it is mended, not written anew."
# What an answer may lack that is right: it differs in names, or more was changed than need be.
RIGHT_OTHERWISE = (ASKS, ASKS_LITTLE)
# Statuses of wrong answers that are put into groups where no mistake is recognised.
UNNAMED = (Status.PARTIAL, Status.FAILED, Status.ERROR)


@dataclass
class CheckResult:
    """How one test of an exercise ended.

    asks: the test's own line. finding: all that is to be said where it failed; None for an error
    of the test itself. kept: what it earns, where that is neither all of its points nor nothing.
    given: tells whether code that was given to be mended passes it as it is; asked only where
    points hang on it, since that code must run for it.
    """

    exercise: str
    points: float
    passed: bool
    asks: str = ""
    finding: Finding | None = None
    kept: float | None = None
    given: Callable[[], bool] = bool

    @property
    def earned(self) -> float:
        """What it adds to the points of its exercise."""
        return (self.points if self.passed else 0.0) if self.kept is None else self.kept


class State(StrEnum):
    """How far a learner is with an exercise."""

    DONE = "done"
    WRONG = "wrong"
    TO_DO = "to do"


def state_of(results: list[CheckResult]) -> State:
    """`to do` where nothing is found but that it is not written yet."""
    failed = [result for result in results if not result.passed]
    if not failed:
        return State.DONE
    return State.TO_DO if all(map(is_to_do, failed)) else State.WRONG


def first_failure(results: list[CheckResult]) -> CheckResult | None:
    """The check to look at first: of those that found something wrong the first one that tells
    what. Where there is none, one that is to do.
    """
    failed = [result for result in results if not result.passed]
    wrong = [result for result in failed if not is_to_do(result)]
    return min(wrong, key=how_telling, default=next(iter(failed), None))


def how_telling(result: CheckResult) -> int:
    """By how much the finding of a failed check helps, the most telling first; names come last.

    A known mistake says what is wrong itself, whichever check it fails.
    """
    if result.asks == ASKS:
        return LEAST_TELLING
    little = telling(result.finding.diagnosis) if result.finding else 0
    named = result.finding is not None and bool(result.finding.mistakes)
    return 0 if named and little < LEAST_TELLING else little


def is_wrong(results: list[CheckResult]) -> bool:
    """Whether there is more to it than what is still to do, or what a right answer may lack."""
    failed = [result for result in results if not result.passed]
    right = failed and all(result.asks in RIGHT_OTHERWISE for result in failed)
    first = first_failure(results)
    return not right and not (first and is_to_do(first))


def is_to_do(result: CheckResult) -> bool:
    """Whether a check failed for nothing but an unwritten exercise."""
    return result.finding is not None and result.finding.is_to_do


class Sure(StrEnum):
    """How it is known what is wrong, the surest first."""

    NAMED = "named"  # a known mistake gives the same
    REPAIRED = "repaired"  # with a small edit there it is right
    PLACED = "placed"  # there it parts from right answers, or raises
    OBSERVED = "observed"  # only that it is wrong


MOST_MISTAKES = 20
SHORTEST = 90  # characters that are left of a sentence, however long the next one is


@dataclass
class Verdict:
    """One exercise of one learner: points, status, the mistakes recognised, one plain sentence.

    line: of the file that was handed in (of a notebook, in its cell), where it goes wrong. stage:
    the value on the way that is lost there, by its name. sure: how that is known.

    However much a learner's code claims, a verdict stays small: so do rows, reports and cards.

    group: of a wrong answer without a name, what all have in common that give the same. code: the
    text that it was found in, kept for one of each group and in no row.
    """

    student: str
    chapter: str
    exercise: str
    points: float
    max_points: float
    status: Status
    mistakes: list[str] = field(default_factory=list)
    message: str = ""
    isolation: str = "none"
    line: int | None = None
    stage: str | None = None
    sure: Sure | None = None
    group: str = ""
    code: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.message = short(printable(self.message, 2 * LONGEST_MESSAGE))
        self.code = printable(self.code, len(self.code))
        self.mistakes = self.mistakes[:MOST_MISTAKES]

    def row(self) -> dict:
        """The record as it is written to `results.jsonl`."""
        row = asdict(self)
        del row["code"]
        return row


def verdicts_on(student: str, attempt: Attempt, results: list[CheckResult]) -> list[Verdict]:
    """One verdict for each exercise of a chapter, from the results of all checks on an attempt."""
    return [
        verdict_at_least(
            student,
            exercise,
            attempt.exercises[exercise.name],
            [result for result in results if result.exercise == exercise.name],
        )
        for exercise in attempt.chapter.exercises
    ]


NOT_TOLD = "What is wrong here could not be told, and not by your fault; your instructor can look."


def verdict_at_least(
    student: str, exercise: Exercise, part: ExerciseAttempt, checks: list[CheckResult]
) -> Verdict:
    """The verdict on one exercise; where what is wrong cannot be told, the points alone.

    Then that is a fault of ours on this one answer. It costs neither its points nor the others'.
    """
    try:
        return verdict(student, exercise, part, checks)
    except CourseError:
        raise  # the course or this machine is at fault, for everybody
    except Exception:
        logging.exception("%s of %s: what is wrong could not be told", exercise.name, student)
        return points_alone(student, exercise, part, checks)


def verdict(
    student: str, exercise: Exercise, part: ExerciseAttempt, checks: list[CheckResult]
) -> Verdict:
    """The verdict on one exercise, from what was seen and from the checks on it."""
    bare = points_alone(student, exercise, part, checks)
    all_checks, checks = checks, for_learner(part, bare.status, checks)
    line, stage, sure = where(part, bare.status, checks)
    mistakes = [] if bare.status == Status.PASSED or part.excused_by else list(part.mistakes)
    group = "" if mistakes or bare.status not in UNNAMED else group_of(part, all_checks)
    return replace(
        bare,
        mistakes=mistakes,
        message=joined(message(part, bare.status, checks), which_counted(part)),
        line=line,
        stage=stage,
        sure=sure,
        group=group,
        code=part.attempt.handed_in.text if group else "",
    )


def which_counted(part: ExerciseAttempt) -> str:
    """Return which of several definitions in a notebook was graded; empty if there is just one."""
    return dict(part.attempt.backend.source.notes).get(part.name, "")


def for_learner(
    part: ExerciseAttempt, status: Status, checks: list[CheckResult]
) -> list[CheckResult]:
    """Return the checks as a learner may read of them: redacted if they are on hidden cases."""
    first = first_failure(checks)
    ended_early = status in (Status.PASSED, Status.TIMEOUT, Status.KILLED)
    if not part.attempt.references.hidden or not first or not first.finding or ended_early:
        return checks
    if part.excused_by or is_fixed(part, status, first):
        return checks
    public, worth = part.public_checks, [check.points for check in checks]
    if first.asks != ASKS:  # of names it is said only if all else is right on hidden cases, too
        public = [check for check in public if check.asks != ASKS]
    public_first = first_failure(public)
    finding = redacted(
        part,
        worth,
        first.finding,
        checks.index(first),
        [check.finding for check in public],
        public_first.finding if public_first else None,
    )
    told = replace(first, finding=finding)
    return [told, *(check for check in checks if is_missing_file(check))]


def is_fixed(part: ExerciseAttempt, status: Status, check: CheckResult) -> bool:
    """Return True if nothing that is said of a failed check depends on what the code does."""
    if part.attempt.loaded.status != Outcome.LOADED or check.asks == ASKS_LITTLE:
        return True
    return is_missing_file(check) or (status == Status.NOT_ATTEMPTED and is_plain_stub(part, check))


def is_missing_file(check: CheckResult) -> bool:
    """Return True if a check found that a companion file is not there."""
    found = check.finding
    return found is not None and is_to_do(check) and not (found.is_to_mend or found.diagnosis.error)


def is_plain_stub(part: ExerciseAttempt, check: CheckResult) -> bool:
    """Return True if an exercise is unwritten and no code is around the line that says so."""
    diagnosis, text = check.finding and check.finding.diagnosis, part.attempt.handed_in
    if not diagnosis or diagnosis.problem != UNWRITTEN:
        return False
    line = diagnosis.error.line if diagnosis.error else None
    return not line or not (text.goes_on_below(line) or text.comes_behind_code(line))


def points_alone(
    student: str, exercise: Exercise, part: ExerciseAttempt, checks: list[CheckResult]
) -> Verdict:
    """What checks earn, and how the exercise ended, without a word on what is wrong."""
    points = round(float(sum(check.earned for check in checks)), 6)
    return Verdict(
        student,
        part.attempt.chapter.name,
        exercise.name,
        points,
        float(exercise.points),
        status_of(part, points, exercise.points),
        message=NOT_TOLD,
        isolation=part.attempt.backend.isolation,
    )


def group_of(part: ExerciseAttempt, checks: list[CheckResult]) -> str:
    """What all have in common that give the same wrong answers; nothing where there are none."""
    loaded = part.attempt.loaded
    ran = loaded.status == Outcome.LOADED and not loaded.failure_of(part.name)
    return part.same_answers if ran and not part.excused_by and is_wrong(checks) else ""


def where(
    part: ExerciseAttempt, status: Status, checks: list[CheckResult]
) -> tuple[int | None, str | None, Sure | None]:
    """The line, the stage and how sure that is; nothing for what is right in itself."""
    if status == Status.PASSED or part.excused_by:
        return None, None, None
    line, stage = place_of(part, status, checks)
    if part.mistakes:
        return line, stage, Sure.NAMED
    if edit := repair_of(part, status):
        return part.attempt.backend.source.line_in_place(edit.line), stage, Sure.REPAIRED
    return line, stage, Sure.OBSERVED if line is None else Sure.PLACED


def repair_of(part: ExerciseAttempt, status: Status) -> Edit | None:
    """A small edit that makes it right, where there is no name for what is wrong."""
    ran = status in (Status.PARTIAL, Status.FAILED, Status.ERROR)
    return part.repair if ran and not part.mistakes and not part.excused_by else None


def place_of(
    part: ExerciseAttempt, status: Status, checks: list[CheckResult]
) -> tuple[int | None, str | None]:
    """Where it parts from right answers; else where the check that tells most saw an error."""
    if status in (Status.KILLED, Status.NOT_ATTEMPTED):
        return None, None
    if status == Status.TIMEOUT:
        errors = (seen.observed.error for seen in part.seen)
        worth = [check.points for check in checks]
        told = line_of_timeout(part, worth, next(filter(None, errors), None))
        at = told.line if told else None
        return at and part.attempt.backend.source.line_in_place(at), None
    first = first_failure(checks)
    if not first or not first.finding:
        return None, None
    in_place, diagnosis = part.attempt.backend.source.line_in_place, first.finding.diagnosis
    if found := first.finding.parting():
        return in_place(found.line), found.stage or None
    line = diagnosis.line or (part.line_of(diagnosis.error) if diagnosis.error else None)
    return line and in_place(line), None


def status_of(part: ExerciseAttempt, points: float, most: float) -> Status:
    """The status of an exercise; one that is excused may end in an earlier one's error."""
    if part.excused_by:
        return Status.PASSED if points >= most else Status.PARTIAL
    ends = {seen.observed.status for seen in part.seen}
    errors = [seen.observed.error for seen in part.seen]
    if Outcome.KILLED in ends or Outcome.TIMEOUT in ends:
        return Status.KILLED if Outcome.KILLED in ends else Status.TIMEOUT
    loaded = part.attempt.loaded
    if loaded.status != Outcome.LOADED or loaded.failure_of(part.name):
        return Status.ERROR
    if part.is_replaced:
        return Status.PARTIAL if points else Status.FAILED
    if part.is_as_given or all(error and not_there(error) for error in errors):
        return Status.NOT_ATTEMPTED
    if all(errors):
        return Status.ERROR
    if points >= most:
        return Status.PASSED
    return Status.PARTIAL if points else Status.FAILED


def not_there(error: CaughtError) -> bool:
    """Whether the name is not in the file, or its stub says that it is to do."""
    return bool(error.missing) or error.is_unwritten


EXCUSED = "your own `{}` is called here, and it is wrong: mend that first"


def excuse(part: ExerciseAttempt) -> str:
    """Which earlier exercise is to be mended, where that is all that is wrong; else nothing."""
    return EXCUSED.format(part.excused_by) if part.excused_by else ""


OVER_TIME = (
    "The whole chapter's time of {:g} seconds was used up before this exercise was through; which "
    "call takes so long?"
)


def message(part: ExerciseAttempt, status: Status, checks: list[CheckResult]) -> str:
    """One plain sentence for the learner."""
    if status == Status.PASSED:
        return "; ".join(filter(None, ("Right", excuse(part)))) + "."
    if any(seen.observed is OUT_OF_TIME for seen in part.seen):
        return OVER_TIME.format(part.attempt.course.limits.handin_seconds)
    if status in (Status.KILLED, Status.TIMEOUT):
        end = next(seen.observed for seen in part.seen if seen.observed.status == Outcome(status))
        error = line_of_timeout(part, [check.points for check in checks], end.error)
        return sentence(ended(end.status, error, part.attempt.place))
    if part.attempt.loaded.status == Outcome.UNREADABLE:
        return part.attempt.loaded.reason
    first = first_failure(checks)
    if not first or not first.finding:
        return "It could not be checked."
    seen, names = first.finding.message, part.told_names.sentence
    if names and first.asks != ASKS:
        seen = f"{seen} {sentence(names)}"
    if edit := repair_of(part, status):
        look = f"Look at {part.attempt.place(edit.line)}: {edit.idea}."
        return joined(seen, f"{look} With one small change it would be right.")
    if part.mistakes or status == Status.NOT_ATTEMPTED:
        return joined(seen, lacking(part, checks))
    found = first.finding.parting()
    said = found.said if found else ""
    return joined(seen, " ".join(filter(None, (said, other_version(part, status)))))


def other_version(part: ExerciseAttempt, status: Status) -> str:
    """That another definition goes by the name of an exercise and a number, where that fails."""
    names = (name for _, _, names in part.attempt.definitions for name in names)
    is_version = re.compile(rf"{re.escape(part.name)}_?v?\d+").fullmatch
    others = [name for name in names if is_version(name) and name not in part.attempt.exercises]
    if status not in (Status.FAILED, Status.ERROR) or not others:
        return ""
    return f"There is `{others[-1]}` too; only `{part.name}` is looked at."


def lacking(part: ExerciseAttempt, checks: list[CheckResult]) -> str:
    """What is not there, a file say, where beside it known mistakes are told of what is."""
    named = part.mistakes and not part.excused_by
    left = [c.finding.diagnosis for c in checks if named and c.finding and c.finding.is_to_do]
    said = [one.problem for one in left if one.error is None]
    return sentence(said[0]) if said else ""


def is_explained(part: ExerciseAttempt, check: CheckResult) -> bool:
    """Whether a check passed, or failed on a case by which mistakes are told apart."""
    if check.passed or check.finding is None:
        return check.passed
    failed = check.finding.diagnosis.case
    return all(s.case.signature != "ignored" for s in part.seen if s.case.name == failed)


def joined(seen: str, where: str) -> str:
    """What was seen, shortened where it leaves too little room for where to look."""
    if not where:
        return seen
    return f"{short(seen, max(SHORTEST, LONGEST_MESSAGE - len(where) - 1))} {where}"
