"""Show how a submission's milliseconds are spent, with one worker and full isolation.

    python benchmarks/milliseconds.py [--submissions 60]

It lists the trusted side's time by activity, including waiting. The numbers are means over
submissions, in milliseconds.
"""

import argparse
import time
from collections import Counter

import throughput
import torch

from tensorgrade.attempts import in_child
from tensorgrade.attempts.setup import Setup
from tensorgrade.instructor.grader import Grader
from tensorgrade.isolation.warm_process import Child, WarmProcess
from tensorgrade.recognition import fingerprints as recognition

# The measured parts: (owner, method) by the text to show. Nested parts are counted separately.
PARTS = {
    "a fresh child: fork, namespaces, limits, filters": (WarmProcess, "fork"),
    "waiting for the child: it loads the file, runs the cases, packs the replies": (
        Child,
        "receive",
    ),
    "sending the file and the cases": (Child, "send"),
    "reading and checking the replies": (in_child, "read_observation"),
    "ending the child": (Child, "close"),
    "recognizing mistakes": (recognition, "imprints_of"),
}


def measure(spent: Counter) -> None:
    """Replace every part by one that records its own time, without that of nested parts."""
    inside = []

    def timed(words, function):
        def measured(*arguments, **settings):
            inside.append(0.0)
            start = time.perf_counter()
            try:
                return function(*arguments, **settings)
            finally:
                took = time.perf_counter() - start
                spent[words] += took - inside.pop()
                if inside:
                    inside[-1] += took

        return measured

    for words, (owner, name) in PARTS.items():
        setattr(owner, name, timed(words, getattr(owner, name)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=60)
    count = parser.parse_args().submissions
    torch.set_num_threads(1)
    grader, spent, made = (
        Grader(Setup(throughput.PROJECT.graders)),
        Counter(),
        throughput.sources(count),
    )
    level = grader.start()
    for source in made[:3]:  # costs of the first submissions do not count
        grader.grade(throughput.submitted_files(source))
    measure(spent)
    start = time.perf_counter()
    for source in made:
        grader.grade(throughput.submitted_files(source))
    spent["everything else: the hidden tests and their comparisons"] = (
        time.perf_counter() - start - sum(spent.values())
    )
    grader.close()
    total = sum(spent.values())
    each = f"{1000 * total / count:.1f} ms each"
    print(f"{count} submissions of {throughput.CHAPTER}, isolation {level}: {each}")
    for words, seconds in spent.most_common():
        print(f"  {1000 * seconds / count:7.1f} ms {100 * seconds / total:4.0f} %  {words}")


if __name__ == "__main__":
    main()
