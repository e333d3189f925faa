"""A small course, made by the scaffolds: four exercises of three kinds, in two chapters."""

from pathlib import Path

from ..support import cli

CHAPTER = "ch1_first_steps"
LESSON = f"solutions/{CHAPTER}.py"
GRADER = f"graders/{CHAPTER}/scaled.py"
COUNTS = f"graders/{CHAPTER}/word_counts.py"


def make_course(root: Path) -> Path:
    """Write the course and return its folder. It is not built yet."""
    for folder, *words in (
        (root.parent, "course", root, "--title", "Small steps"),
        (root, "exercise", CHAPTER, "Shift", "--class"),
        (root, "exercise", CHAPTER, "word_counts", "--values"),
        (root, "chapter", "ch2_more"),
    ):
        done = cli("new", *words, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    return root


def build(root: Path, *words: object) -> list[str]:
    """Build the course with `tensorgrade build`. Return the paths that it wrote."""
    done = cli("build", *words, cwd=root)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    return [line.removeprefix("wrote ") for line in lines if line.startswith("wrote ")]


def refused(root: Path, *words: object) -> str:
    """Return what `tensorgrade build` says is wrong; fail if it finds nothing."""
    done = cli("build", *words, cwd=root)
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "Traceback" not in said, said
    return said


def derived(root: Path) -> dict[str, bytes]:
    """Return the bytes of all derived files, by their paths; not what Python compiled of them."""
    places = ("exercises", "graders/references", "graders/pairs", "source")
    paths = [p for place in places for p in sorted((root / place).rglob("*")) if p.is_file()]
    made = [path for path in paths if path.parent.name != "__pycache__"]
    return {str(path.relative_to(root)): path.read_bytes() for path in made}


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Change a text that is there."""
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")


# --- the same with a find-the-bug exercise, which is graded like `scaled` -------------------------

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
