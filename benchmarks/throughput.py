"""Measure the cost of a submission with several graders, in one run on this machine.

    python benchmarks/throughput.py [--chapter NAME] [--submissions 60] [--growth 100 1000]
                                    [--only side-by-side|floor|growth]

- ours: the warm grader with the full isolation that this machine offers
- floor: the same hidden tests on the same attempts, in this process, without isolation
- fresh: `pytest graders/ --attempt DIR`, one process for each submission, as is usual
- lean: a minimal process for each submission (benchmarks/lean.py), without isolation
- growth: `tensorgrade grade` on classes of two sizes, measured when all workers are busy, with the
  peak memory of its processes

The graders take turns, submission by submission, so that other load on the machine affects all of
them equally. Numbers are medians over submissions, in milliseconds of wall-clock time.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tensorgrade.attempts.in_process import InProcess  # noqa: E402
from tensorgrade.attempts.setup import Setup  # noqa: E402
from tensorgrade.author.proofs.sample_class import assemble, choose  # noqa: E402
from tensorgrade.course import CourseError  # noqa: E402
from tensorgrade.instructor.grader import Grader  # noqa: E402
from tensorgrade.instructor.store import Store  # noqa: E402
from tensorgrade.project import Project  # noqa: E402
from tensorgrade.sources.submitted_files import SubmittedFiles  # noqa: E402

PROJECT = Project(ROOT)
CHAPTER = "ch4_multi_head_attention"  # the budget was set for this one; `--chapter` selects another


def sources(count: int) -> list[str]:
    """Return different submissions of the chapter: solutions, known mistakes and stubs, mixed."""
    import random

    chance, exercises = random.Random(1), PROJECT.course.chapter(CHAPTER).exercises
    skills = [chance.random() for _ in range(count)]
    made = [[choose(PROJECT, e.name, skill, chance) for e in exercises] for skill in skills]
    return [f"{assemble(PROJECT, CHAPTER, c)}\n# {n}\n" for n, c in enumerate(made)]


class Floor(Grader):
    """A grader that runs the same tests on the same attempts in this process."""

    def __init__(self, setup: Setup):
        super().__init__(setup)
        self.maker.backend = lambda submission: InProcess(submission)

    def grade(self, submitted_files: SubmittedFiles):
        return self.judge(submitted_files.student, self.attempt(submitted_files))


WARM = {"ours": Grader, "floor": Floor}


def submitted_files(source: str) -> SubmittedFiles:
    """Return a source as a submission."""
    return SubmittedFiles("somebody", CHAPTER, f"{CHAPTER}.py", source.encode())


KINDS = 20  # different submissions in the classes for `growth`
SETTLED = 40  # number of results after which all workers are busy


def timed(work: Callable, *arguments: object) -> float:
    """Return the wall-clock milliseconds that a call takes."""
    start = time.perf_counter()
    work(*arguments)
    return 1000 * (time.perf_counter() - start)


def fresh(source: str, folder: Path) -> None:
    """Grade one submission in a fresh pytest process, which finds it right or wrong."""
    (folder / f"{CHAPTER}.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tests = [f"graders/{CHAPTER}", "--attempt", str(folder)]
    done = subprocess.run([*command, *tests], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr


def lean(source: str, folder: Path) -> None:
    """Grade one submission in a minimal process."""
    path = folder / f"{CHAPTER}.py"
    path.write_text(source, encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / "lean.py"), CHAPTER, str(path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)


def processor_seconds(grader: Grader) -> float:
    """Return the processor time so far of this process and, with isolation, of its sandbox."""
    if isinstance(grader, Floor):
        return time.process_time()
    pids = family(grader.maker.warm_up().process.pid)
    return time.process_time() + sum(map(ticks_of, pids)) / os.sysconf("SC_CLK_TCK")


def ticks_of(pid: int) -> int:
    """Return the clock ticks of a process and its ended children; 0 if the process is gone."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return sum(map(int, told.rpartition(")")[2].split()[11:15]))


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found: list[int] = []
    with suppress(OSError):  # it may end during this
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, file.read_text().split())
    return [pid, *(member for child in found for member in family(child))]


def side_by_side(count: int, others: bool) -> None:
    """Print the cost of a submission with each grader. others: include fresh and lean."""
    graders = {name: kind(Setup(PROJECT.graders)) for name, kind in WARM.items()}
    level = graders["ours"].start()
    times: dict[str, list[float]] = {name: [] for name in (*graders, "fresh", "lean")}
    spent = dict.fromkeys(graders, 0.0)
    made = sources(count)
    for grader in graders.values():  # costs of the first submissions do not count
        for source in made[:3]:
            grader.grade(submitted_files(source))
    with tempfile.TemporaryDirectory() as folder:
        for source in made:
            for name, grader in graders.items():
                before = processor_seconds(grader)
                times[name].append(timed(grader.grade, submitted_files(source)))
                spent[name] += processor_seconds(grader) - before
            if others:
                times["fresh"].append(timed(fresh, source, Path(folder)))
                times["lean"].append(timed(lean, source, Path(folder)))
    for grader in graders.values():
        grader.close()
    print(f"{count} submissions of {CHAPTER}, isolation {level}, one worker")
    middle = {name: statistics.median(values) for name, values in times.items() if values}
    for name, value in middle.items():
        spread = f"{min(times[name]):.0f} to {max(times[name]):.0f}, {len(times[name])} measured"
        print(f"  {name:<7}{value:8.1f} ms  ({spread})")
    each = {name: 1000 * seconds / count for name, seconds in spent.items()}
    if others:
        print(f"  fresh / ours {middle['fresh'] / middle['ours']:.1f}, asked for: at least 15")
        print(f"  lean / ours {middle['lean'] / middle['ours']:.1f}")
    print(f"  ours / floor {middle['ours'] / middle['floor']:.2f}, asked for: at most 1.4")
    told = ", ".join(f"{name} {value:.0f} ms" for name, value in each.items())
    print(f"  processor time: {told}")


def growth(small: int, large: int) -> None:
    """Print how the time of whole runs grows with the class, and their processes' peak memory.

    The small class runs before and after the large one, so that changes in the machine's other load
    affect both.
    """
    print("whole runs: `tensorgrade grade`, a process for each core")
    cost = {small: [], large: []}
    for size in (small, large, small):
        with tempfile.TemporaryDirectory() as folder:
            hand_in(Path(folder) / "in", size)
            seconds, settled, peaks = whole_run(Path(folder))
        each = settled / (size - SETTLED)
        cost[size].append(each)
        print(
            f"  {size:>5} submissions: {seconds:6.1f} s; {1000 * each:5.1f} ms each once all "
            f"workers are at work; peak memory {peaks}"
        )
    ratio = cost[large][0] / statistics.mean(cost[small])
    print(f"  {large} against {small}, for each submission: {ratio:.2f}, asked for: 0.9 to 1.1")


def hand_in(folder: Path, count: int) -> None:
    """Write a class of different files, in which every KINDS files together cost the same."""
    made = sources(KINDS)
    for number in range(count):
        path = folder / f"s{number:05}" / CHAPTER / f"{CHAPTER}.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"{made[number % KINDS]}# learner {number}\n", encoding="utf-8")


def whole_run(folder: Path) -> tuple[float, float, str]:
    """Return (total seconds, seconds from result SETTLED to the last, peak memory) of one run."""
    command = [
        sys.executable,
        "-m",
        "tensorgrade.cli",
        "grade",
        str(folder / "in"),
        "--out",
        str(folder / "out"),
    ]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    watcher = Watcher(process, folder / "out")
    assert process.wait() == 0
    seconds = time.perf_counter() - start
    return seconds, watcher.last - watcher.first, watcher.said()


class Watcher(threading.Thread):
    """A thread that observes a run: when results arrive, and the memory of its processes."""

    def __init__(self, process: subprocess.Popen, out: Path):
        super().__init__(daemon=True)
        self.process, self.out, self.peaks = process, out, {}
        self.first, self.last, self.lines = 0.0, 0.0, 0
        self.start()

    def run(self) -> None:
        while self.process.poll() is None:
            lines = 0
            with suppress(CourseError):  # before the run has made the file
                lines = Store(self.out).count()
            if lines > self.lines:
                self.lines, self.last = lines, time.perf_counter()
                if lines >= SETTLED and not self.first:
                    self.first = self.last
            self.look(self.process.pid, "run")
            time.sleep(0.02)

    def look(self, pid: int, name: str) -> None:
        """Record the peak memory of a process and of its children, by kind of process."""
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            lists = [
                file.read_text().split() for file in Path(f"/proc/{pid}/task").glob("*/children")
            ]
            kind = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return
        name = "worker" if b"spawn_main" in kind else "sandbox" if name == "worker" else name
        peak = [
            int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM")
        ]
        self.peaks[name] = max(self.peaks.get(name, 0), *peak, 0)
        for child in (int(pid) for children in lists for pid in children):
            self.look(child, name)

    def said(self) -> str:
        return ", ".join(f"{name} {megabytes} MB" for name, megabytes in sorted(self.peaks.items()))


def main() -> None:
    global CHAPTER
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=60)
    parser.add_argument(
        "--growth", type=int, nargs=2, default=[100, 1000], metavar=("SMALL", "LARGE")
    )
    parser.add_argument("--only", choices=("side-by-side", "floor", "growth"))
    parser.add_argument("--chapter", default=CHAPTER)
    options = parser.parse_args()
    CHAPTER = options.chapter
    torch.set_num_threads(1)
    if options.only != "growth":
        side_by_side(options.submissions, others=options.only != "floor")
    if options.only in (None, "growth"):
        growth(*options.growth)


if __name__ == "__main__":
    main()
