"""A real dask scheduler and two workers on this machine: the same rows as a local run."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tensorgrade.instructor.store import read_lines

from ..commands import ROOT, Begun
from .runs import begin, end_of, graded_in, wait_for

CHAPTERS = ("ch1_simplified_attention", "ch4_multi_head_attention")
LEARNERS, DISTURBED_AT = 10, 4
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """Right, wrong, unreadable and endless files, in two chapters; ch4 needs a stand-in."""
    folder = tmp_path_factory.mktemp("submitted")
    for number in range(LEARNERS):
        for chapter in CHAPTERS:
            text = (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
            if number % 3 == 0:
                text = text.replace("inputs @ query", "inputs @ query * 2").replace(
                    "** 0.5", "** 0.4"
                )
            content = f"{text}\n# {number}\n".encode()
            path = folder / f"s{number:02}" / chapter / f"{chapter}.py"
            path.parent.mkdir(parents=True)
            path.write_bytes(b"\0" * 100 if number == 7 else content)
    return folder


@pytest.fixture(scope="module")
def local(submitted, tmp_path_factory) -> bytes:
    """The rows of a run on a process of this machine."""
    out = tmp_path_factory.mktemp("local")
    end_of(begin(submitted, out, "--jobs", "1"))
    rows = read_lines(out / "results.jsonl")
    assert {row["status"] for row in rows} >= {"passed", "partial", "not_attempted"}
    return (out / "results.jsonl").read_bytes()


class Cluster:
    """A scheduler and its workers, each a process of its own, in a folder without the course."""

    def __init__(self, folder: Path):
        self.folder, self.processes = folder, []
        self.file = folder / "scheduler.json"
        self.start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        self.until(self.file.exists)
        self.address = json.loads(self.file.read_text())["address"]

    def start(self, kind: str, *options: str) -> None:
        log = self.folder / f"{kind}-{len(self.processes)}.log"
        told = {"cwd": self.folder, "written": log, "PYTHONPATH": str(ROOT)}
        self.processes.append(Begun("dask", kind, *options, **told))

    def start_worker(self) -> None:
        """One worker without a nanny: who kills it, kills it for good."""
        self.start(
            "worker",
            self.address,
            "--nworkers",
            "1",
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
            "--local-directory",
            str(self.folder / "scratch"),
        )

    def until(self, true) -> None:
        deadline = time.monotonic() + 60
        while not true():
            assert time.monotonic() < deadline and all(p.poll() is None for p in self.processes)
            time.sleep(0.05)

    def end(self) -> None:
        """Workers before their scheduler: one that loses it on the way out waits for it in vain."""
        for process in self.processes[::-1]:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler with two workers, for one run after another: one leaves nothing to the next."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.start_worker()
    made.start_worker()
    yield made
    made.end()


def test_rows_are_the_same_bytes_and_nothing_is_left_with_the_workers(
    submitted, local, cluster, tmp_path
):
    said = end_of(begin(submitted, tmp_path / "out", "--scheduler", cluster.address))
    assert "isolation none" in said
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == local
    assert not list((cluster.folder / "scratch").rglob("*tensorgrade*"))


def test_a_worker_killed_in_the_middle_changes_nothing(submitted, local, cluster, tmp_path):
    process = begin(submitted, tmp_path / "out", "--scheduler", cluster.address)
    wait_for(tmp_path / "out", DISTURBED_AT, process)
    os.kill(cluster.processes[1].pid, signal.SIGKILL)
    assert len(graded_in(tmp_path / "out")) < LEARNERS * len(CHAPTERS)
    end_of(process)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == local
    cluster.processes.pop(1)


def test_a_worker_that_joins_later_gets_the_graders_too(submitted, local, tmp_path):
    cluster = Cluster(tmp_path)
    process = begin(submitted, tmp_path / "out", "--scheduler", cluster.address)
    try:
        cluster.start_worker()
        wait_for(tmp_path / "out", 3, process)
        cluster.start_worker()
        os.kill(
            cluster.processes[1].pid, signal.SIGKILL
        )  # the first is gone: the second does the rest
        cluster.processes.pop(1)
        end_of(process)
        assert (tmp_path / "out" / "results.jsonl").read_bytes() == local
    finally:
        cluster.end()


def test_without_a_scheduler_it_says_so(submitted, tmp_path):
    process = begin(submitted, tmp_path / "out", "--scheduler", "tcp://127.0.0.1:9")
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 2 and "no dask scheduler at tcp://127.0.0.1:9" in said
    assert "Traceback" not in said
