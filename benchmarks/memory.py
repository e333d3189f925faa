"""Compare the peak memory of a grading process for normal submissions and for largest results.

    python benchmarks/memory.py [--submissions 100] [--isolation none]

The second may take at most 1.5 times as much. Learners' own processes do not count here, because
their memory has its own limit.
"""

import argparse
import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CHAPTER = "ch1_simplified_attention"
MOST_RATIO = 1.5
# The results of every function: just below the limit of a reply, or many small ones.
LARGE = (
    "torch.rand(1000000, dtype=torch.float64)",
    "torch.rand(250000, dtype=torch.float64)",
    "[torch.rand(1000) for _ in range(1000)]",
    "list(range(100000))",
    "'x' * 4000000",
)


def text_of(kind: str, number: int) -> str:
    """Return one submission; every number gives a different text."""
    text = (ROOT / "solutions" / f"{CHAPTER}.py").read_text()
    if kind == "large":
        tree = ast.parse(text)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                node.body = ast.parse(f"return {LARGE[number % len(LARGE)]}").body
        text = ast.unparse(tree)
    return f"{text}\nk = {number}\n"


def grade_all(kind: str, count: int, isolation: str) -> None:
    """Grade submissions one after another in this process, and print its peak in megabytes."""
    import resource

    from tensorgrade.attempts.setup import Setup
    from tensorgrade.instructor import grader
    from tensorgrade.sources.submitted_files import SubmittedFiles

    grader.start(Setup(ROOT / "graders", isolation))
    for number in range(count):
        content = text_of(kind, number).encode()
        grader.grade(SubmittedFiles(f"learner{number}", CHAPTER, f"{CHAPTER}.py", content))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    grader.ready_grader().close()


def peak(kind: str, count: int, isolation: str) -> int:
    """Return the peak of a fresh process in megabytes."""
    command = [sys.executable, __file__, "--kind", kind, "--submissions", str(count)]
    done = subprocess.run(
        [*command, "--isolation", isolation], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return int(done.stdout.split()[-1])


def main() -> int:
    """Print both peaks. Return 1 if the second is too large."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=100)
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("--kind", choices=("normal", "large"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.kind:
        grade_all(asked.kind, asked.submissions, asked.isolation)
        return 0
    normal, large = (peak(k, asked.submissions, asked.isolation) for k in ("normal", "large"))
    ratio = large / normal
    print(f"normal {normal} MB, largest results {large} MB: {ratio:.2f} times as much")
    return int(ratio > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
