"""The learner's own GPT and attention, if they pass their checks."""

from pathlib import Path
from types import ModuleType

from tensorgrade.attempts.results import State
from tensorgrade.command import Learner
from tensorgrade import CourseError

EXERCISES = Path(__file__).resolve().parents[2]
ATTENTION, GPT = "ch4_multi_head_attention", "ch6_small_gpt"
NEEDED = ("LayerNorm", "FeedForward", "TransformerBlock", "SmallGPT", "batches", "train_step")
NO_ATTENTION = (
    "Your MultiHeadAttention (chapter 4) is not right yet. A mean of all tokens so far is used "
    "instead, which cannot pick one out. A model trained with it writes less well."
)


def own_gpt(folder: Path | None) -> tuple[ModuleType, bool]:
    """Return the learner's chapter 6, and True if it uses the learner's own chapter 4.

    Raises CourseError with the first exercise that is not right.
    """
    learner = Learner(EXERCISES, folder)
    if lacking := learner.lacks((*NEEDED, "generate")):
        raise CourseError(not_yet(next(iter(lacking)), lacking))
    right = attention_is_right(learner)
    beside = {ATTENTION: learner.code(ATTENTION)} if right else {}
    return learner.code(GPT, beside), right


def not_yet(exercise: str, lacking: dict[str, State]) -> str:
    """Return a sentence on the exercise that has to be right first."""
    more = f" ({len(lacking) - 1} more of the chapter with it)" if len(lacking) > 1 else ""
    how = "still to do" if lacking[exercise] == State.TO_DO else "not right yet"
    return f"your {exercise} is {how}{more}; `pytest exercises/ -k {exercise}` shows details"


def attention_is_right(learner: Learner) -> bool:
    """Return True if the learner's MultiHeadAttention passes its checks; False without a file."""
    try:
        return not learner.lacks(["MultiHeadAttention"])
    except CourseError:
        return False
