"""Real runs, really interrupted: the same command finishes them, and the rows are the same."""

import os
import signal
import time
from pathlib import Path

import pytest

from ..support import ROOT, rows_of
from .runs import begin, end_of, graded_in, wait_for

CHAPTER = "ch1_simplified_attention"
SOLUTION = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
LEARNERS, DISTURBED_AT = 16, 3
LONG = "import time\ntime.sleep(0.3)\n"  # the last ones take their time: it is not over too soon
JOBS = ("--jobs", "2")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # several runs on a busy machine


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """A class in which every third file is wrong, and no two are the same."""
    folder = tmp_path_factory.mktemp("submitted")
    for number in range(LEARNERS):
        wrong = (
            SOLUTION.replace("inputs @ query", "inputs @ query * 2")
            if number % 3 == 0
            else SOLUTION
        )
        path = folder / f"s{number:02}" / CHAPTER / f"{CHAPTER}.py"
        path.parent.mkdir(parents=True)
        late = LONG if number >= LEARNERS - 2 else ""
        path.write_text(f"{wrong}\n{late}# {number}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def expected(submitted, tmp_path_factory) -> bytes:
    """The rows of an undisturbed run; one worker gives the same as several, and starts sooner."""
    out = tmp_path_factory.mktemp("out")
    end_of(begin(submitted, out, "--jobs", "1"))
    assert len(rows_of(out)) == 6 * LEARNERS
    return (out / "results.jsonl").read_bytes()


def members(session: int) -> list[int]:
    """Processes of a session that still run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, owner = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(owner) == session and state != "Z":
            found.append(int(folder.name))
    return found


def nobody_is_left(session: int) -> None:
    """All processes of a run go within a while, whatever became of the one that started them."""
    deadline = time.monotonic() + 300
    while members(session):
        assert time.monotonic() < deadline, f"still there: {members(session)}"
        time.sleep(0.05)


def test_interrupted_it_leaves_nobody_and_the_same_command_finishes(submitted, expected, tmp_path):
    done = 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = begin(submitted, tmp_path, *JOBS)
        wait_for(tmp_path, done + DISTURBED_AT, process)
        # Ctrl-C reaches the whole group; the others, the run itself.
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        said, _ = process.communicate(timeout=300)
        killed = number == signal.SIGKILL
        assert process.returncode == (-signal.SIGKILL if killed else 130), said
        assert "Traceback" not in said
        assert not done or f"{done} of them graded before" in said
        nobody_is_left(process.pid)
        before, done = done, len(graded_in(tmp_path))
        assert before + DISTURBED_AT <= done < LEARNERS
    said = end_of(begin(submitted, tmp_path, *JOBS))
    assert f"{done} of them graded before" in said
    assert (tmp_path / "results.jsonl").read_bytes() == expected


def test_a_killed_worker_and_a_killed_fork_server_are_replaced_and_nothing_is_lost(
    submitted, expected, tmp_path
):
    """The two halves of a worker: who grades, and what learners' code is forked from."""
    process = begin(submitted, tmp_path, *JOBS)
    wait_for(tmp_path, DISTURBED_AT, process)
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    wait_for(tmp_path, 2 * DISTURBED_AT, process)
    warm = [pid for worker in workers_of(process.pid) for pid in children(worker)]
    os.kill(warm[0], signal.SIGKILL)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert (tmp_path / "results.jsonl").read_bytes() == expected
    nobody_is_left(process.pid)


def workers_of(run: int) -> list[int]:
    """The worker processes of a run: its children but multiprocessing's own helper."""
    helper = b"resource_tracker"
    return [pid for pid in children(run) if helper not in Path(f"/proc/{pid}/cmdline").read_bytes()]


def children(parent: int) -> list[int]:
    """Child processes of a process, of all its threads."""
    lists = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(pid) for file in lists for pid in file.read_text().split()]
