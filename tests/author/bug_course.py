"""The small course with a find-the-bug exercise, `bug_scaled`, which is graded like `scaled`."""

from pathlib import Path

from .small_course import LESSON, make_course

NAME = "bug_scaled"
OLD, NEW = "torch.mul(", "torch.add("  # the mistake, as an edit of the right code
LINE = f"    products = {OLD}entries, factors)"
MARK = f"  ### BUG: {LINE.strip().replace(OLD, NEW)}"
ANSWER = f'''def bug_scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    """Return x times factor. It has one mistake."""
    ### BEGIN SOLUTION
    entries = x.reshape(-1)
    factors = torch.full_like(entries, factor)
{LINE}
    return products.reshape(x.shape)
    ### END SOLUTION'''
SOURCE = f"""
# %% exercise="bug_scaled" like="scaled" points=4
{ANSWER.replace(LINE, LINE + MARK)}


# %% [markdown] hints="bug_scaled"
# 1. Which checks fail?
# 2. Print every value on the way.
"""


def with_a_bug(root: Path) -> Path:
    """Write the course; it is not built."""
    make_course(root)
    with (root / LESSON).open("a", encoding="utf-8") as lesson:
        lesson.write(SOURCE)
    return root
