"""The small course with a find-the-bug exercise, `bug_scaled`, which is graded like `scaled`."""

from pathlib import Path

from .small_course import CHAPTER, LESSON, make_course

NAME = "bug_scaled"
FILE = f"graders/{CHAPTER}/{NAME}.py"
OLD, NEW = "torch.mul(", "torch.add("  # the mistake, as an edit of the right code
ANSWER = '''def bug_scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    """Return x times factor. It has one mistake."""
    ### BEGIN SOLUTION
    entries = x.reshape(-1)
    factors = torch.full_like(entries, factor)
    products = torch.mul(entries, factors)  # one by one
    return products.reshape(x.shape)
    ### END SOLUTION'''
SOURCE = f"""
# %% exercise="bug_scaled"
{ANSWER}


# %% [markdown] hints="bug_scaled"
# 1. Which checks fail?
# 2. Print every value on the way.
"""
BUG = f'''"""A find-the-bug exercise, graded like scaled."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "scaled",
    points=4,
    mistake="scaled_factor_added",
    edit=("{OLD}", "{NEW}"),
)
'''


def with_a_bug(root: Path) -> Path:
    """Write the course; it is not built."""
    make_course(root)
    with (root / LESSON).open("a", encoding="utf-8") as lesson:
        lesson.write(SOURCE)
    (root / FILE).write_text(BUG, encoding="utf-8")
    return root
