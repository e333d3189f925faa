"""From single checks to one verdict for each exercise: the rows of `results.jsonl`."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from ..course import Exercise
from ..exchange.observation import CaughtError, Outcome
from ..exchange.text import short
from ..judging.diagnosis import LEAST_TELLING, Finding, sentence, telling
from ..judging.names import ASKS
from ..judging.unanswered import ended
from .attempt import Attempt, ExerciseAttempt
from .backend import OUT_OF_TIME


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
# Statuses of wrong answers that are put into groups where no mistake is recognised.
UNNAMED = (Status.PARTIAL, Status.FAILED, Status.ERROR)


@dataclass
class CheckResult:
    """How one test of an exercise ended.

    asks: the test's own line. finding: all that is to be said where it failed; None for an error
    of the test itself. kept: what it earns, where that is neither all of its points nor nothing.
    """

    exercise: str
    points: float
    passed: bool
    asks: str = ""
    finding: Finding | None = None
    kept: float | None = None

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
    """The check to look at first: the one that tells most of those that found something wrong.

    Where there is none, one that is to do.
    """
    failed = [result for result in results if not result.passed]
    wrong = [result for result in failed if not is_to_do(result)]
    return min(wrong, key=how_telling, default=next(iter(failed), None))


def how_telling(result: CheckResult) -> int:
    """By how much the finding of a failed check helps, the most telling first; names come last."""
    if result.asks == ASKS:
        return LEAST_TELLING
    return telling(result.finding.diagnosis) if result.finding else 0


def is_to_do(result: CheckResult) -> bool:
    """Whether a check failed for nothing but an unwritten exercise."""
    return result.finding is not None and result.finding.is_to_do


MOST_MISTAKES = 20


@dataclass
class Verdict:
    """One exercise of one learner: points, status, the mistakes recognised, one plain sentence.

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
    group: str = ""
    code: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.message = short(self.message)
        self.mistakes = self.mistakes[:MOST_MISTAKES]

    def row(self) -> dict:
        """The record as it is written to `results.jsonl`."""
        row = asdict(self)
        del row["code"]
        return row


def verdicts_on(student: str, attempt: Attempt, results: list[CheckResult]) -> list[Verdict]:
    """One verdict for each exercise of a chapter, from the results of all checks on an attempt."""
    return [
        verdict(
            student,
            exercise,
            attempt.exercises[exercise.name],
            [result for result in results if result.exercise == exercise.name],
        )
        for exercise in attempt.chapter.exercises
    ]


def verdict(
    student: str, exercise: Exercise, part: ExerciseAttempt, checks: list[CheckResult]
) -> Verdict:
    """The verdict on one exercise, from what was seen and from the checks on it."""
    points = round(float(sum(check.earned for check in checks)), 6)
    status = status_of(part, points, exercise.points)
    mistakes = [] if status == Status.PASSED or part.excused_by else list(part.mistakes)
    judged = part.attempt.loaded.status == Outcome.LOADED and not part.excused_by
    unnamed = status in UNNAMED and not mistakes and judged
    return Verdict(
        student,
        part.attempt.chapter.name,
        exercise.name,
        points,
        float(exercise.points),
        status,
        mistakes,
        message(part, status, checks),
        part.attempt.backend.isolation,
        part.same_answers if unnamed else "",
        part.attempt.handed_in.text if unnamed else "",
    )


def status_of(part: ExerciseAttempt, points: float, most: float) -> Status:
    """The status of an exercise."""
    ends = {seen.observed.status for seen in part.seen}
    errors = [seen.observed.error for seen in part.seen]
    if Outcome.KILLED in ends or Outcome.TIMEOUT in ends:
        return Status.KILLED if Outcome.KILLED in ends else Status.TIMEOUT
    loaded = part.attempt.loaded
    if loaded.status != Outcome.LOADED or loaded.failure_of(part.name):
        return Status.ERROR
    if all(error and not_there(error) for error in errors):
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
        return "; ".join(filter(None, ("Right", excuse(part), part.names.sentence))) + "."
    if any(seen.observed is OUT_OF_TIME for seen in part.seen):
        return OVER_TIME.format(part.attempt.course.limits.handin_seconds)
    if status in (Status.KILLED, Status.TIMEOUT):
        end = next(seen.observed for seen in part.seen if seen.observed.status == Outcome(status))
        return sentence(ended(end.status, end.error))
    if part.attempt.loaded.status == Outcome.UNREADABLE:
        return part.attempt.loaded.reason
    first = first_failure(checks)
    if not first or not first.finding:
        return "It could not be checked."
    said, names = first.finding.message, part.names.sentence
    alone = names in ("", first.finding.diagnosis.problem)
    return said if alone else f"{said} {sentence(names)}"
