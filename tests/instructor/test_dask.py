"""A real dask scheduler and workers on this machine: the same rows as a local run."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ..support import ROOT, begin
from .runs import CH1, COURSE, WHEN, end_of, graded_in, wait_for
from .runs import begin as begin_grading

CHAPTERS = (CH1, COURSE.chapters[3].name)  # the second needs a substitute
LEARNERS, DISTURBED_AT = 5, 2


def write_class(folder: Path) -> Path:
    """Write right, wrong and unreadable files, in two chapters."""
    for number in range(LEARNERS):
        for chapter in CHAPTERS:
            text = (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
            if number % 3 == 0:
                for old, new in (("inputs @ query", "inputs @ query * 2"), ("** 0.5", "** 0.4")):
                    text = text.replace(old, new)
            path = folder / f"s{number:02}" / chapter / f"{chapter}.py"
            path.parent.mkdir(parents=True)
            path.write_bytes(b"\0" * 100 if number == 4 else f"{text}\n# {number}\n".encode())
            os.utime(path, (WHEN,) * 2)
    return folder


class Cluster:
    """A scheduler and its workers, each a process of its own, in a folder without the course."""

    def __init__(self, folder: Path):
        self.folder, self.processes = folder, []
        self.file = folder / "scheduler.json"
        here = ("--host", "127.0.0.1", "--no-dashboard")
        self.start("scheduler", *here, "--port", "0", "--scheduler-file", str(self.file))
        deadline = time.monotonic() + 300
        while not self.file.exists():
            assert time.monotonic() < deadline and self.processes[0].poll() is None
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]
        # Without a nanny, which would replace a killed worker.
        single = ("--nworkers", "1", "--nthreads", "1", "--no-nanny")
        for _ in range(2):
            scratch = ("--local-directory", str(folder / "scratch"))
            self.start("worker", self.address, *here, *single, *scratch)

    def start(self, kind: str, *options: str) -> None:
        log = self.folder / f"{kind}-{len(self.processes)}.log"
        told = {"cwd": self.folder, "written": log, "PYTHONPATH": str(ROOT)}
        self.processes.append(begin(kind, *options, program="dask", **told))

    def end(self) -> None:
        """End workers before their scheduler, which they would wait for in vain."""
        for process in self.processes[::-1]:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.mark.proof  # test_workers.py has workers that die, and what travels to them
@pytest.mark.timeout(1200)  # several runs, each of which may wait for a busy machine
def test_a_cluster_gives_the_same_rows_even_if_a_worker_is_killed(tmp_path):
    """And leaves nothing with the workers; without a scheduler there is one sentence."""
    submitted = write_class(tmp_path / "in")
    end_of(begin_grading(submitted, tmp_path / "local", "--jobs", "1"))
    local = (tmp_path / "local" / "results.jsonl").read_bytes()
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    try:
        said = end_of(begin_grading(submitted, tmp_path / "calm", "--scheduler", cluster.address))
        assert "isolation none" in said
        assert (tmp_path / "calm" / "results.jsonl").read_bytes() == local
        assert not list((cluster.folder / "scratch").rglob("*tensorgrade*"))
        process = begin_grading(submitted, tmp_path / "out", "--scheduler", cluster.address)
        wait_for(tmp_path / "out", DISTURBED_AT, process)
        os.kill(cluster.processes[1].pid, signal.SIGKILL)
        assert len(graded_in(tmp_path / "out")) < LEARNERS * len(CHAPTERS)
        end_of(process)
        assert (tmp_path / "out" / "results.jsonl").read_bytes() == local
    finally:
        cluster.end()
    process = begin_grading(submitted, tmp_path / "none", "--scheduler", "tcp://127.0.0.1:9")
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 2 and "no dask scheduler with workers at tcp://127.0.0.1:9" in said
    assert "Traceback" not in said
