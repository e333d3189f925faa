"""The learner's own GPT and attention, where they pass their checks."""

from pathlib import Path
from types import ModuleType

from tensorgrade.attempts.results import State
from tensorgrade.command import Learner
from tensorgrade import CourseError

EXERCISES = Path(__file__).resolve().parents[2]
ATTENTION, GPT = "ch4_multi_head_attention", "ch6_small_gpt"
NEEDED = ("LayerNorm", "FeedForward", "TransformerBlock", "SmallGPT", "batches", "train_step")
NO_ATTENTION = (
    "Your MultiHeadAttention (chapter 4) is not right yet. In its place stands a mean of all tokens "
    "so far, which cannot pick one out: what is trained with it will write less well, and is not what "
    "trained_loss asks for."
)


def own_gpt(folder: Path | None) -> tuple[ModuleType, bool]:
    """The learner's chapter 6, and whether the attention in it is the learner's own chapter 4.

    Raises CourseError with the first exercise that is not right.
    """
    learner = Learner(EXERCISES, folder)
    if lacking := learner.lacks((*NEEDED, "generate")):
        raise CourseError(not_yet(next(iter(lacking)), lacking))
    right = attention_is_right(learner)
    beside = {ATTENTION: learner.code(ATTENTION)} if right else {}
    return learner.code(GPT, beside), right


def not_yet(exercise: str, lacking: dict[str, State]) -> str:
    """Which exercise has to be right first."""
    more = f" ({len(lacking) - 1} more of the chapter with it)" if len(lacking) > 1 else ""
    how = "still to do" if lacking[exercise] == State.TO_DO else "not right yet"
    return f"your {exercise} is {how}{more}; `pytest exercises/ -k {exercise}` says more"


def attention_is_right(learner: Learner) -> bool:
    """Whether the learner's own MultiHeadAttention passes its checks; no if there is no file."""
    try:
        return not learner.lacks(["MultiHeadAttention"])
    except CourseError:
        return False
