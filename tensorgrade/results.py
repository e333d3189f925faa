"""From single checks to one verdict for each exercise: the rows of `results.jsonl`."""

from dataclasses import asdict, dataclass, field

from .attempt import ExerciseAttempt
from .course import Exercise
from .diagnosis import Diagnosis
from .judging.unanswered import ENDS, is_unwritten


# Statuses of exercises that could not be graded as usual, whoever is to blame.
TROUBLE = ("error", "timeout", "killed")


@dataclass
class CheckResult:
    """How one test of an exercise ended. `said` is the test's own line for the learner."""

    exercise: str
    points: float
    passed: bool
    said: str = ""
    diagnosis: Diagnosis | None = None


@dataclass
class Verdict:
    """One exercise of one learner: points, status, the mistakes recognised, one plain sentence."""

    student: str
    chapter: str
    exercise: str
    points: float
    max_points: float
    status: str
    mistakes: list[str] = field(default_factory=list)
    message: str = ""
    isolation: str = "none"

    def row(self) -> dict:
        """The record as it is written to `results.jsonl`."""
        return asdict(self)


def verdict(
    student: str, exercise: Exercise, part: ExerciseAttempt, checks: list[CheckResult]
) -> Verdict:
    """The verdict on one exercise, from what was seen and from the checks on it."""
    points = round(float(sum(check.points for check in checks if check.passed)), 6)
    status = status_of(part, points, exercise.points)
    return Verdict(
        student,
        part.attempt.chapter.name,
        exercise.name,
        points,
        float(exercise.points),
        status,
        [] if status == "passed" else list(part.mistakes),
        message(part, status, checks),
        part.attempt.backend.isolation,
    )


def status_of(part: ExerciseAttempt, points: float, most: float) -> str:
    """The status of an exercise; where several fit, the first of this order holds."""
    seen = [observed for _, _, observed in part.seen]
    ends = {observed.status for observed in seen}
    errors = [observed.error for observed in seen]
    if "killed" in ends or "timeout" in ends:
        return "killed" if "killed" in ends else "timeout"
    if part.attempt.loaded.status != "loaded" or could_not_load(part):
        return "error"
    if all(error and not_there(error) for error in errors):
        return "not_attempted"
    if all(error for error in errors):
        return "error"
    if points >= most:
        return "passed"
    return "partial" if points else "failed"


def could_not_load(part: ExerciseAttempt) -> bool:
    """Whether the exercise's own definition is in the file but failed to load."""
    return any(part.name in problem["names"] for problem in part.attempt.loaded.problems)


def not_there(error: dict) -> bool:
    """Whether the name is not in the file, or its stub says that it is to do."""
    return bool(error["missing"]) or is_unwritten(error)


def message(part: ExerciseAttempt, status: str, checks: list[CheckResult]) -> str:
    """One plain sentence for the learner."""
    if status == "passed":
        return "Right."
    if status in ("killed", "timeout"):
        return sentence(ENDS[status])
    loaded = part.attempt.loaded
    if loaded.status == "unreadable":
        return loaded.problems[0]["error"]["text"]
    if part.mistakes:
        known = part.attempt.fingerprints.messages
        return " ".join(known[name] for name in part.mistakes)
    failed = [check.diagnosis for check in checks if check.diagnosis]
    return sentence(": ".join([failed[0].said, *failed[0].remarks[:1]]) if failed else "it could not be checked")


def sentence(text: str) -> str:
    """A capital letter in front and a full stop behind.

    >>> sentence("it loops")
    'It loops.'
    """
    text = " ".join(text.split())
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!", "…")) else text + "."
