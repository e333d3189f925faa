"""The small course with a find-the-bug exercise, `bug_scaled`, which is graded like `scaled`."""

from pathlib import Path

from .small_course import CHAPTER, GRADER, LESSON, edit, make_course

NAME = "bug_scaled"
FILE = f"graders/{CHAPTER}/{NAME}.py"
# The known mistakes among which the seed draws: an edit of the right code.
AMONG = {
    "scaled_factor_added": ("torch.mul(", "torch.add("),
    "scaled_factor_ignored": ("(entries, factor)", "(entries, 2.0)"),
    "scaled_twice": ("entries, factors)", "entries, factors * factors)"),
}
TWICE = '("x * factor", "x * factor * factor")'
MISTAKE = f'    mistake("scaled_twice", "It is multiplied twice.", {TWICE}),\n]'
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
EDITS = "".join(f'        "{name}": ("{old}", "{new}"),\n' for name, (old, new) in AMONG.items())
BUG = f'''"""A find-the-bug exercise, graded like scaled."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "scaled",
    points=4,
    among={{
{EDITS}    }},
)
'''


def with_a_bug(root: Path) -> Path:
    """Write the course; it is not built."""
    make_course(root)
    edit(root, GRADER, "\n]", f"\n{MISTAKE}")
    with (root / LESSON).open("a", encoding="utf-8") as lesson:
        lesson.write(SOURCE)
    (root / FILE).write_text(BUG, encoding="utf-8")
    return root
