"""Measure the cost of locating an unnamed mistake: the second look at a wrong answer.

    python benchmarks/where.py [--answers 60]

Wrong answers are small edits of the solutions. In addition to normal grading, the second look runs
the stages on public cases, searches for a repair, and proves it on all hidden cases. The script
prints seconds by the clock and processor seconds, which other load on the machine does not change.
"""

import argparse
import os
import random
import statistics
import time
from collections import Counter
from pathlib import Path

import torch
from throughput import PROJECT

from tensorgrade.attempts.pipeline import verdict
from tensorgrade.attempts.recognized import mistakes
from tensorgrade.attempts.setup import Setup
from tensorgrade.attempts.verdict import Status
from tensorgrade.instructor.grader import Grader
from tensorgrade.runner.edits import edits
from tensorgrade.sources.submission import Source


def wrong_texts(chance: random.Random):
    """Yield (chapter, exercise, text) in random order, each exercise as often as the others."""
    by_exercise = []
    for chapter in PROJECT.course.chapters:
        text = PROJECT.solution(chapter.name).read_text(encoding="utf-8")
        for exercise in chapter.exercises:
            made = [(chapter, exercise, edit.text) for edit in edits(text, exercise.name, 0)]
            by_exercise.append(chance.sample(made, len(made)))
    for turn in range(max(map(len, by_exercise))):
        yield from (made[turn] for made in by_exercise if turn < len(made))


def processor_seconds() -> float:
    """Return the processor time of this process, its descendants and their ended children."""
    stats = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        stats.append((int(path.parent.name), int(words[1]), sum(map(int, words[11:15]))))
    ours, more = {os.getpid()}, True
    while more:
        more = {pid for pid, parent, _ in stats if parent in ours} - ours
        ours |= more
    return sum(ticks for pid, _, ticks in stats if pid in ours) / os.sysconf("SC_CLK_TCK")


def told(what: str, took: list[float]) -> str:
    """Describe times by their median and their 95th percentile."""
    ninety_five = statistics.quantiles(took, n=20)[-1]
    return f"{what}: median {statistics.median(took):.2f} s, 95 % {ninety_five:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--answers", type=int, default=60)
    count = parser.parse_args().answers
    torch.set_num_threads(1)
    grader, took, worked, sure = Grader(Setup(PROJECT.graders)), [], [], Counter()
    print(f"isolation: {grader.start()}")
    for chapter, exercise, text in wrong_texts(random.Random(1)):
        if len(took) == count:
            break
        attempt = grader.maker.attempt_from_source(chapter.name, Source(text, "answer.py"))
        part = attempt.exercises[exercise.name]
        checks = grader.collected.results(attempt, exercise.name)
        if not all(check.passed for check in checks) and not mistakes(part):
            start, used = time.perf_counter(), processor_seconds()
            found = verdict("somebody", exercise, part, checks)
            if found.status != Status.PASSED:
                took.append(time.perf_counter() - start)
                worked.append(processor_seconds() - used)
                sure[found.sure] += 1
        attempt.backend.close()
    print(f"{len(took)} unnamed wrong answers: {dict(sure)}")
    print(told("the second look by the clock", took))
    print(told("the same in processor time", worked))
    grader.close()


if __name__ == "__main__":
    main()
