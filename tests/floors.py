"""Print each floor with its value. No change may lower it.

    python -m tests.floors                  judge all answers, print the table; exit 1 below a floor
    python -m tests.floors --rows OUT.jsonl also write the verdicts, for `python -m tests.compare`
    python -m tests.floors --every 10       only every tenth answer: a quick look, no proof

`floors.json` has the bounds, the values of version 3, and the issue from which a floor binds.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from . import support
from .answers.reader import Answer, answers, changed_lines, solution, twins, version3

FLOORS = Path(__file__).with_name("floors.json")
ROUNDS = 5  # of measuring processor time
RIGHT = ("solution", "right_edits", "right_answers")
PEOPLE = ("learner", "open_world", "open_world4", "learner4")
JUDGE: support.Judge | None = None  # of a worker process


@dataclass(frozen=True)
class Judged:
    """An answer, its verdict, and its row of version 3 ({} if it has none)."""

    answer: Answer
    found: support.Verdict
    before: dict = field(repr=False)

    @property
    def is_full(self) -> bool:
        """True if it has all points."""
        return self.found.points >= self.found.max_points

    @property
    def named(self) -> set[str]:
        """The names that it was given."""
        return set(self.found.mistakes)

    @property
    def is_false(self) -> bool:
        """True if a name is not true of the answer."""
        return bool(self.named - true_names(self.answer))

    @property
    def is_near(self) -> bool:
        """True if its line is at most one line from a line at fault."""
        return self.found.line is not None and not self.answer.misses(self.found.line)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, help="write the verdicts to this file")
    parser.add_argument("--every", type=int, default=1, help="judge only every Nth answer")
    parser.add_argument("--jobs", type=int, help="worker processes")
    options = parser.parse_args()
    judged = judge_all(every_answer()[:: options.every], options.jobs)
    if options.rows:
        lines = (json.dumps(row_of(one), ensure_ascii=False) + "\n" for one in judged)
        options.rows.write_text("".join(lines), encoding="utf-8")
    values = values_of(judged) | ({} if options.every > 1 else machine_values())
    sys.exit(not print_table(values))


def every_answer() -> list[Answer]:
    """Return all answers, known mistakes and stored pairs of them included."""
    project = support.Project(support.ROOT)
    known = [made_answer("known", project, *one) for one in support.known_mistakes(project)]
    pairs = [
        made_answer("pairs", project, row["chapter"], row["exercise"], *row["name"].split("+"))
        for row in version3().values()
        if row["corpus"] == "pairs"
    ]
    return [*answers(), *known, *pairs]


def made_answer(corpus: str, project, chapter: str, exercise: str, *names: str) -> Answer:
    """Return the solution with known mistakes as an answer."""
    text = support.with_mistakes(project, chapter, exercise, *names)
    faults = changed_lines(solution(chapter), text)
    return Answer(corpus, chapter, exercise, "+".join(names), text, False, faults, frozenset(names))


def judge_all(asked: list[Answer], jobs: int | None = None) -> list[Judged]:
    """Return the verdicts on all answers, in their order."""
    with ProcessPoolExecutor(jobs or os.cpu_count(), initializer=start) as pool:
        found = [*pool.map(judge, asked, chunksize=8)]
    before = version3()
    return [
        Judged(one, verdict, before.get(key_of(one), {}))
        for one, verdict in zip(asked, found, strict=True)
    ]


def start() -> None:
    """Start a worker's judge."""
    global JUDGE
    JUDGE = support.Judge()


def judge(answer: Answer) -> support.Verdict:
    """Return the verdict on one answer, in a worker process."""
    assert JUDGE
    try:
        return JUDGE(answer.chapter, answer.exercise, answer.text)
    finally:
        JUDGE.forget()


def key_of(answer: Answer) -> tuple[str, ...]:
    """Return the key of an answer's stored row."""
    return (answer.corpus, answer.exercise, answer.name)


def row_of(one: Judged) -> dict:
    """Return a verdict as a row, as `version3.jsonl.gz` has them."""
    answer, found = one.answer, one.found
    return {
        "corpus": answer.corpus,
        "chapter": answer.chapter,
        "exercise": answer.exercise,
        "name": answer.name,
        "points": found.points,
        "max": found.max_points,
        "status": found.status,
        "mistakes": list(found.mistakes),
        "line": found.line,
        "message": found.message,
    }


def true_names(answer: Answer) -> set[str]:
    """Return the names that are true of an answer, twins included.

    A pair has one if both together are another mistake: what is kept instead of hidden, and the
    other half of the mask, leave a mask that starts one place too late.
    """
    names = answer.mistakes | answer.also
    known = {*names, answer.name}
    return set(names) | {twin for name in known for twin in twins(answer.exercise, name)}


# --- the floors -------------------------------------------------------------------------------


def values_of(judged: Iterable[Judged]) -> dict[str, tuple[float, str]]:
    """Return each floor's value, with the counts behind it."""
    of: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        of[one.answer.corpus].append(one)
    people = [one for corpus in PEOPLE for one in of[corpus]]
    right = [one for corpus in RIGHT for one in of[corpus]]
    right += [one for one in people if one.answer.right and not one.answer.until]
    wrong = [one for one in people if not one.answer.right]
    placed = [one for one in wrong if one.found.line and one.answer.faults]
    renamed = [one for one in (*of["other_names"], *of["open_world4"]) if one.answer.right]
    # The points of a mistake beside a fact have a floor of their own, which version 3 misses.
    stored = [one for name, some in of.items() if name != "beside" for one in some if one.before]
    known, pairs, mutants = of["known"], of["pairs"], of["mutant"]
    return {
        "right answers": share(lambda one: one.is_full and not one.named, right),
        "wrong answers with full points": count(lambda one: one.is_full, of["wrong_edits"]),
        "known: caught": share(lambda one: not one.is_full, known),
        "known: named": share(lambda one: bool(one.named & true_names(one.answer)), known),
        "known: line": share(lambda one: one.is_near, known),
        "known: line elsewhere": share(lambda one: one.answer.misses(one.found.line), known),
        "pairs: named": share(lambda one: bool(one.named & true_names(one.answer)), pairs),
        "pairs: false names": count(lambda one: one.is_false, pairs),
        "unnamed: line": share(lambda one: one.is_near, mutants),
        "people: false names": count(lambda one: one.is_false, wrong),
        "people: line elsewhere": share(lambda one: one.answer.misses(one.found.line), placed),
        "points as in version 3": share(has_points_of_version3, stored),
        "other names": share(lambda one: one.is_full, renamed),
        **values_of_facts(of["fact"], of["beside"], known),
    }


def values_of_facts(
    facts: list[Judged], beside: list[Judged], known: list[Judged]
) -> dict[str, tuple[float, str]]:
    """Return the values of a known mistake beside a fact.

    Its points should be those of the mistake alone, less what the fact alone costs.
    """
    alone = {(one.answer.exercise, one.answer.name): one for one in (*facts, *known)}

    def fair(one: Judged) -> bool:
        mistake, fact = one.answer.name.split("+")
        cost = alone[one.answer.exercise, fact].found
        most = one.found.max_points
        target = alone[one.answer.exercise, mistake].found.points - (most - cost.points)
        return abs(one.found.points - max(target, 0)) <= 0.02 * most

    complete = [
        one
        for one in beside
        if all((one.answer.exercise, part) in alone for part in one.answer.name.split("+"))
    ]
    return {
        "facts: named": share(lambda one: bool(one.named & true_names(one.answer)), beside),
        "facts: false names": count(lambda one: one.is_false, beside),
        "facts: points": share(fair, complete),
    }


def has_points_of_version3(one: Judged) -> bool:
    """Return True if the shares of the exercise's points differ by at most a tenth."""
    now, before = one.found.points / one.found.max_points, one.before["points"] / one.before["max"]
    return abs(now - before) <= 0.1 + 1e-9


def share(holds: Callable[[Judged], bool], of: list[Judged]) -> tuple[float, str]:
    """Return the share of answers of which something holds, and both counts."""
    number = sum(map(holds, of))
    return (number / len(of) if of else 1.0), f"{number} of {len(of)}"


def count(holds: Callable[[Judged], bool], of: list[Judged]) -> tuple[float, str]:
    """Return the number of answers of which something holds, and which."""
    found = [one for one in of if holds(one)]
    return len(found), f"of {len(of)}" + "".join(f"; {one.answer}" for one in found[:4])


def machine_values() -> dict[str, tuple[float, str]]:
    """Return the floors that commands measure: attacks, and processor time.

    Times are compared with `import torch`, measured in between, because machines are noisy.
    """
    with tempfile.TemporaryDirectory() as folder:
        submitted = Path(folder) / "submitted"
        put_class(submitted)
        options = f"--isolation none --jobs 1 --out {folder}/$RANDOM$RANDOM"
        grade = ["bash", "-c", f"{support.BIN}/tensorgrade grade {submitted} {options}"]
        selfcheck = [support.BIN / "pytest", "-q", "-p", "no:cacheprovider", "exercises"]
        return {
            "attacks": harm("tests/attacks/test_attacks.py"),
            "notebook cheats": harm("tests/nbgrader_plugin", "-k", "cheat"),
            "processor time of a class": against_torch(grade),
            "self-check": against_torch([*selfcheck, "--attempt", "solutions"]),
        }


def against_torch(command: list) -> tuple[float, str]:
    """Return the median ratio of a command's processor time to that of `import torch`."""
    torch = [sys.executable, "-c", "import torch"]
    pairs = [(seconds(command), seconds(torch)) for _ in range(ROUNDS)]
    ratios = [took / least for took, least in pairs]
    return statistics.median(ratios), ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))


def put_class(submitted: Path) -> None:
    """Write a class of 24: known mistakes of chapter 4, one each."""
    project = support.Project(support.ROOT)
    chapter = "ch4_multi_head_attention"
    made = [one for one in support.known_mistakes(project) if one[0] == chapter]
    for number, one in enumerate(made[:: len(made) // 24][:24]):
        text = support.with_mistakes(project, *one)
        support.submit(submitted, f"learner{number:02}", chapter, text)


def seconds(command: list) -> float:
    """Return the processor seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*map(str, command)], cwd=support.ROOT, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def harm(*tests: str) -> tuple[float, str]:
    """Return the number of tests of attacks that fail."""
    command = [support.BIN / "pytest", *tests, "-m", "", "-q", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run([*map(str, command)], cwd=support.ROOT, capture_output=True, text=True)
    last = done.stdout.splitlines()[-1] if done.stdout else done.stderr[-200:]
    counts = {
        word: int(number) for number, word in re.findall(r"(\d+) (failed|error|passed)", last)
    }
    if not counts.get("passed"):
        return 1.0, f"could not run: {last}"
    return counts.get("failed", 0) + counts.get("error", 0), last


# --- the table --------------------------------------------------------------------------------


def print_table(values: dict[str, tuple[float, str]]) -> bool:
    """Print the values beside the bounds; return False if one that binds is missed."""
    holds_all = True
    print(f"{'floor':<34}{'bound':>9}{'version 3':>11}{'now':>9}  ")
    for name, floor in json.loads(FLOORS.read_text(encoding="utf-8")).items():
        if name not in values:
            continue
        value, counts = values[name]
        bound = floor.get("at least", floor.get("at most"))
        holds = value >= bound if "at least" in floor else value <= bound
        later = floor.get("binds from", "")
        holds_all &= holds or bool(later)
        sign = "≥" if "at least" in floor else "≤"
        verdict = "" if holds else f"  MISSED{f' (binds from: {later})' if later else ''}"
        print(
            f"{name:<34}{sign + shown(bound):>9}{shown(floor['version 3']):>11}"
            f"{shown(value):>9}  {counts}{verdict}"
        )
    return holds_all


def shown(number: float | None) -> str:
    """Return a share or a count as a short text."""
    return "" if number is None else f"{number:.4g}"


if __name__ == "__main__":
    main()
