"""Measure the cost of isolation: attempts on every isolation level of this machine, in one run.

    python benchmarks/isolation.py [--attempts N] [--rounds N] [--json FILE]

An attempt is one child process. It is forked and locked in, loads one learner's file, runs all
cases of one exercise, and exits. The levels take turns, so that a busy machine slows all of them
equally. The script compares medians. It also measures a fresh `pytest` process for each submission,
as most graders use.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from tensorgrade.attempts.in_child import InChild
from tensorgrade.exchange.references import load_references
from tensorgrade.isolation.levels import LEVELS, best_level
from tensorgrade.isolation.probing import probe
from tensorgrade.isolation.warm_process import WarmProcess
from tensorgrade.project import find_project

CHAPTER, EXERCISE = "ch1_simplified_attention", "softmax"
MOST_MILLISECONDS = 10
FRESH = """
import torch
from {chapter} import {exercise}


def test_values():
    x = torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close({exercise}(x), torch.softmax(x, -1))
"""


def main() -> None:
    """Measure, print a table, and exit with 1 if isolation costs too much."""
    options = parsed()
    torch.set_num_threads(1)
    project = find_project(Path(__file__).parent)
    times = measure(project, options.attempts, options.rounds)
    times["a fresh pytest each"] = fresh_pytest(project, max(3, options.attempts // 20))
    report = summary(times)
    print_table(report)
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(0 if report["isolation_milliseconds"] <= MOST_MILLISECONDS else 1)


def parsed() -> argparse.Namespace:
    """Return the options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attempts", type=int, default=200, help="on each level, over all rounds")
    parser.add_argument("--rounds", type=int, default=10, help="how often the levels take turns")
    parser.add_argument("--json", metavar="FILE", help="write the numbers here too")
    return parser.parse_args()


def measure(project, attempts: int, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each attempt, by isolation level of this machine."""
    best = LEVELS.index(best_level(probe()))
    warm = {level.name: WarmProcess(project.course.limits, level) for level in LEVELS[best:]}
    submission, cases = material(project)
    times: dict[str, list[float]] = {name: [] for name in warm}
    for process in warm.values():
        attempt(process, submission, cases)  # the first attempt is always slower
    for _ in range(rounds):
        for name, process in warm.items():
            for _ in range(max(1, attempts // rounds)):
                times[name].append(attempt(process, submission, cases))
    for process in warm.values():
        process.close()
    return times


def material(project) -> tuple:
    """Return a right answer to one exercise, and its hidden cases."""
    source = project.solution(CHAPTER).read_text(encoding="utf-8")
    path = project.graders / "references" / f"{CHAPTER}.safetensors"
    cases = [case for case, _ in load_references(path).of(EXERCISE)]
    return project.submission(CHAPTER, source), cases


def attempt(warm: WarmProcess, submission, cases: list) -> float:
    """Return the milliseconds of one attempt from fork to exit; every case must be answered."""
    start = time.perf_counter()
    backend = InChild(submission, warm, warm.limits)
    backend.load()
    seen = backend.run(cases)
    backend.close()
    milliseconds = (time.perf_counter() - start) * 1e3
    assert [observed.status for observed in seen] == ["answered"] * len(cases)
    return milliseconds


def fresh_pytest(project, count: int) -> list[float]:
    """Return the milliseconds of `pytest` processes with one small test on one submission."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        source = project.solution(CHAPTER).read_text(encoding="utf-8")
        (place / f"{CHAPTER}.py").write_text(source, encoding="utf-8")
        (place / "test_it.py").write_text(FRESH.format(chapter=CHAPTER, exercise=EXERCISE))
        for _ in range(count):
            start = time.perf_counter()
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
            subprocess.run(command, cwd=place, check=True, capture_output=True)
            times.append((time.perf_counter() - start) * 1e3)
    return times


def summary(times: dict[str, list[float]]) -> dict:
    """Return medians in milliseconds, attempts per second, and the cost of the highest level."""
    rows = {
        name: {
            "milliseconds": round(statistics.median(values), 2),
            "slowest_tenth": round(statistics.quantiles(values, n=10)[-1], 2),
            "per_second": round(1e3 / statistics.median(values), 1),
        }
        for name, values in times.items()
    }
    names = list(rows)
    best, unlocked, fresh = rows[names[0]], rows["none"], rows[names[-1]]
    return {
        "levels": rows,
        "isolation_milliseconds": round(best["milliseconds"] - unlocked["milliseconds"], 2),
        "isolation_ratio": round(best["milliseconds"] / unlocked["milliseconds"], 2),
        "faster_than_fresh_pytest": round(fresh["milliseconds"] / best["milliseconds"], 1),
    }


def print_table(report: dict) -> None:
    """Print the numbers as a table."""
    print(f"{'':<22}{'median ms':>10}{'slowest tenth':>15}{'per second':>12}")
    for name, row in report["levels"].items():
        numbers = row["milliseconds"], row["slowest_tenth"], row["per_second"]
        print(f"{name:<22}{numbers[0]:>10}{numbers[1]:>15}{numbers[2]:>12}")
    print(
        f"\nisolation costs {report['isolation_milliseconds']} ms an attempt "
        f"({report['isolation_ratio']} times the time without; at most {MOST_MILLISECONDS} ms)"
    )
    times = report["faster_than_fresh_pytest"]
    print(f"a locked-in attempt is {times} times faster than a fresh pytest")


if __name__ == "__main__":
    main()
