"""Real runs, really disturbed: the same command finishes them, and the rows are the same."""

import os
import signal
import time
from pathlib import Path

import pytest

from ..support import ROOT, rows_of
from .faults import end_processes_of_canaries
from .runs import CH1 as CHAPTER
from .runs import NAMES, begin, end_of, graded_in, notes_in, wait_for

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


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A real dask scheduler and two workers, in a folder without the course."""
    from distributed import LocalCluster

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    scratch = {"dashboard_address": None, "local_directory": str(tmp_path / "scratch")}
    with LocalCluster(2, threads_per_worker=1, **scratch) as made:
        yield made


@pytest.mark.proof  # test_workers.py has workers that die
def test_a_cluster_gives_the_same_rows_even_if_a_worker_is_killed(
    submitted, expected, tmp_path, cluster
):
    """And leaves nothing with the workers; without a scheduler there is one sentence."""
    there = ("--scheduler", cluster.scheduler_address)
    assert "isolation none" in end_of(begin(submitted, tmp_path / "calm", *there))
    assert (tmp_path / "calm" / "results.jsonl").read_bytes() == expected
    assert not list((tmp_path / "scratch").rglob("*tensorgrade*"))
    process = begin(submitted, tmp_path / "out", *there)
    wait_for(tmp_path / "out", DISTURBED_AT, process)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    assert len(graded_in(tmp_path / "out")) < LEARNERS
    end_of(process)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == expected
    process = begin(submitted, tmp_path / "none", "--scheduler", "tcp://127.0.0.1:9")
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 2 and "no dask scheduler with workers at tcp://127.0.0.1:9" in said
    assert "Traceback" not in said


LAST = NAMES[-1]
# One function ends its process each time that it is called.
ENDS_LATE = f"{SOLUTION}\n\ndef {LAST}(*_, **__):\n    import os\n    os._exit(1)\n"


def test_on_a_machine_that_ends_processes_nothing_that_ends_is_graded(tmp_path):
    """Until a right answer passes; nobody gets points, or loses them, for that."""
    folder, out = tmp_path / "in", tmp_path / "out"
    for student, text in {"ada": SOLUTION, "bao": ENDS_LATE, "chi": f"{SOLUTION}#"}.items():
        path = folder / student / CHAPTER / f"{CHAPTER}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")

    def ended(**environment: str) -> tuple[int, str]:
        process = begin(folder, out, "--jobs", "1", **environment)
        said, _ = process.communicate(timeout=400)
        assert "Traceback" not in said, said
        return process.returncode, said

    status, said = ended(**end_processes_of_canaries(tmp_path / "site", 0))
    assert status == 2 and not rows_of(out), said
    (why,) = [line for line in said.splitlines() if "tensorgrade: " in line]
    assert "even the course's own solution cannot be graded" in why
    status, said = ended(**end_processes_of_canaries(tmp_path / "site", 1))
    assert status == 1 and notes_in(said, f"not graded yet: bao/{CHAPTER}, because even"), said
    assert {student for student, *_ in rows_of(out)} == {"ada", "chi"}
    status, said = ended()
    assert status == 0 and "2 of them graded before" in said and "not graded yet" not in said
    found = {name: rows_of(out)["bao", CHAPTER, name]["status"] for name in NAMES}
    assert found == dict.fromkeys(NAMES, "passed") | {LAST: "killed"}, "a right answer passes now"


def workers_of(run: int) -> list[int]:
    """The worker processes of a run: its children but multiprocessing's own helper."""
    helper = b"resource_tracker"
    return [pid for pid in children(run) if helper not in Path(f"/proc/{pid}/cmdline").read_bytes()]


def children(parent: int) -> list[int]:
    """Child processes of a process, of all its threads."""
    lists = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(pid) for file in lists for pid in file.read_text().split()]
