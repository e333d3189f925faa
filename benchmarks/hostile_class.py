"""Write a generated class with some attacks on the grader, or judge the grading of that class.

    python benchmarks/hostile_class.py write FOLDER [--submissions 2000] [--hostile 0.1]
    tensorgrade grade FOLDER --out OUT
    python benchmarks/hostile_class.py judge FOLDER OUT

The attacks are those in tests/attacks/files. Every other one is in a notebook, next to a cell whose
text is an attack itself (tests/attempts/test_reader.py). `judge` requires:

- a row for every exercise of every submission
- no attack with more points than its wrong answers earn without it
- no effect on the generated learners: no `killed` and no `timeout` among them
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from tensorgrade.course_sources import load_course  # noqa: E402
from tensorgrade.instructor.store import Store  # noqa: E402
from tests.attacks.conftest import CHAPTER, WRONG, attack_file, attacks  # noqa: E402
from tests.attempts.test_reader import HOSTILE, notebook  # noqa: E402

PLACES = {"COURSE_FOLDER": str(ROOT), "LISTENER_PORT": "9", "TOKEN": "zq7attack"}
MOST_OF_WRONG = 4.5  # all points of the attackers' wrong answers, earned for not modifying inputs


def write(folder: Path, count: int, share: float) -> None:
    """Write the class: attacks at regular intervals, otherwise solutions with known mistakes."""
    import throughput

    throughput.CHAPTER = CHAPTER
    names, every = attacks(), round(1 / share)
    for number, source in enumerate(throughput.sources(count)):
        kind = names[number // every % len(names)] if number % every == 0 else "learner"
        place = folder / f"{number:05}_{kind}" / CHAPTER
        place.mkdir(parents=True)
        if kind != "learner":
            attack = filled(attack_file(kind).read_text(encoding="utf-8"), folder)
            source = f"{WRONG}{attack}\n# {number}\n"
        if kind != "learner" and number // every % 2:
            text = list(HOSTILE.values())[number // every // 2 % len(HOSTILE)]
            (place / f"{CHAPTER}.ipynb").write_bytes(notebook(text, WRONG, attack, f"# {number}"))
        else:
            (place / f"{CHAPTER}.py").write_text(source, encoding="utf-8")


def filled(text: str, folder: Path) -> str:
    """Return an attack's text with the paths and ports that it targets filled in."""
    for word, place in (PLACES | {"SUBMITTED_FOLDER": str(folder)}).items():
        text = text.replace(word, place)
    return text


def judge(folder: Path, out: Path) -> list[str]:
    """Return the errors in the rows of a run, as sentences."""
    rows = Store(out).rows()
    students = {path.name for path in folder.iterdir()}
    counts = Counter(row["student"] for row in rows)
    asked_for = len(load_course(ROOT / "graders").chapter(CHAPTER).exercises)
    wrong = [
        f"{s}: {counts[s]} rows"
        for s in students | counts.keys()
        if counts[s] != asked_for or s not in students
    ]
    earned = Counter()
    for row in rows:
        earned[row["student"]] += row["points"]
        if row["student"].endswith("_learner") and row["status"] in ("killed", "timeout"):
            wrong.append(f"{row['student']}: {row['status']}")
    attackers = {s: points for s, points in earned.items() if not s.endswith("_learner")}
    wrong += [f"{s}: {points} points" for s, points in attackers.items() if points > MOST_OF_WRONG]
    statuses = dict(Counter(row["status"] for row in rows))
    print(f"{len(students)} submissions, {len(attackers)} of them attacks; {statuses}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("write", "judge"))
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--submissions", type=int, default=2000)
    parser.add_argument("--hostile", type=float, default=0.1)
    options = parser.parse_args()
    if options.what == "write":
        return write(options.folders[0], options.submissions, options.hostile)
    wrong = judge(*options.folders)
    print("\n".join(wrong) or "all rows are right")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
