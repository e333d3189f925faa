"""A real dask scheduler and workers on this machine: the same rows as a local run."""

import os
import signal
from pathlib import Path

import pytest

from ..support import ROOT
from .runs import CH1, COURSE, WHEN, begin, end_of, graded_in, wait_for

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


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A scheduler and two workers, in a folder without the course."""
    from distributed import LocalCluster

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    scratch = str(tmp_path / "scratch")
    with LocalCluster(
        2, threads_per_worker=1, dashboard_address=None, local_directory=scratch
    ) as c:
        yield c


@pytest.mark.proof  # test_workers.py has workers that die, and what travels to them
@pytest.mark.timeout(1200)  # several runs, each of which may wait for a busy machine
def test_a_cluster_gives_the_same_rows_even_if_a_worker_is_killed(tmp_path, cluster):
    """And leaves nothing with the workers; without a scheduler there is one sentence."""
    submitted, there = write_class(tmp_path / "in"), ("--scheduler", cluster.scheduler_address)
    end_of(begin(submitted, tmp_path / "local", "--jobs", "1"))
    local = (tmp_path / "local" / "results.jsonl").read_bytes()
    assert "isolation none" in end_of(begin(submitted, tmp_path / "calm", *there))
    assert (tmp_path / "calm" / "results.jsonl").read_bytes() == local
    assert not list((tmp_path / "scratch").rglob("*tensorgrade*"))
    process = begin(submitted, tmp_path / "out", *there)
    wait_for(tmp_path / "out", DISTURBED_AT, process)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    assert len(graded_in(tmp_path / "out")) < LEARNERS * len(CHAPTERS)
    end_of(process)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == local
    process = begin(submitted, tmp_path / "none", "--scheduler", "tcp://127.0.0.1:9")
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 2 and "no dask scheduler with workers at tcp://127.0.0.1:9" in said
    assert "Traceback" not in said
