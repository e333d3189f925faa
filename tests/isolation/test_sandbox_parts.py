"""The sandbox's small parts: what is readable, the command line, the filter, the warm process."""

import sys
import time
from pathlib import Path

import pytest

from tensorgrade.attempts.in_child import InChild
from tensorgrade.course import Limits
from tensorgrade.isolation import warm_process
from tensorgrade.isolation.child_configuration import configuration
from tensorgrade.isolation.command import View, bubblewrapped
from tensorgrade.isolation.levels import CUDA, FULL, NONE
from tensorgrade.isolation.probing import tried
from tensorgrade.isolation.readable import interpreter, readable_paths
from tensorgrade.isolation.warm_process import NotStarted, WarmProcess
from tensorgrade.sources.submission import Source, Submission

from ..support import needs

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")


def test_readable_paths_hold_no_answer():
    """Python and torch are in; nothing of the course, nor a folder above it."""
    paths = [Path(path) for path in readable_paths()]
    assert Path(interpreter()) in paths
    for secret in ("graders", "solutions", "course_config.py"):
        assert not any((ROOT / secret).is_relative_to(path) for path in paths)
    assert not any(Path.home() == path or path == Path("/") for path in paths)


def test_command_shows_only_what_is_listed():
    """Every bind is read-only and of a listed path, or of one of the four harmless devices."""
    words = bubblewrapped(["python"], View((("/a", "/b"),)))
    assert [w for w in words if str(w).endswith("bind")] == ["--ro-bind"] + ["--dev-bind"] * 4
    assert words[words.index("--ro-bind") + 1 :][:2] == [0, "/b"]
    assert "--unshare-all" in words and "--clearenv" in words and "--share-net" not in words
    assert "--share-net" in bubblewrapped(["python"], View((), network=True))


def test_limits_reach_the_child():
    """A child's configuration has every limit of the course; CUDA has no bound on addresses."""
    limits = Limits(memory_bytes=7, file_bytes=6, processor_seconds=5, open_files=4, processes=3)
    bounds = configuration(limits, FULL.layers)["bounds"]
    names = ("AS", "FSIZE", "CPU", "NOFILE", "NPROC")
    assert [bounds[f"RLIMIT_{name}"] for name in names] == [7, 6, 5, 4, 3]
    assert "RLIMIT_AS" not in configuration(limits, CUDA.layers)["bounds"]


@pytest.mark.parametrize("level", [NONE, FULL, CUDA], ids=lambda level: level.name)
def test_gpus_are_in_view_on_the_level_cuda_only(monkeypatch, level):
    monkeypatch.setattr(WarmProcess, "start", lambda self: None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    found = WarmProcess(Limits(), level).environment()
    assert found["CUDA_VISIBLE_DEVICES"] == ("1" if level is CUDA else "")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    found = WarmProcess(Limits(), level).environment()
    assert found.get("CUDA_VISIBLE_DEVICES") == (None if level is CUDA else "")


def test_a_probe_that_fails_speaks_for_its_layers():
    """The last words of a program explain the failure of each layer that it had to try."""
    command = [sys.executable, "-c", "import sys; sys.exit('first\\nno such layer\\n')"]
    layers = frozenset({"pid", "net"})
    assert tried(command, layers) == dict.fromkeys(layers, "no such layer")
    assert "No such file" in tried(["/no/such/program"], frozenset({"pid"}))["pid"]


def test_warm_process_that_cannot_start_says_why(monkeypatch):
    """The last line of its standard error, not a hang."""
    command = [sys.executable, "-c", "raise OSError('the disk is full')"]
    monkeypatch.setattr(warm_process, "runner_command", lambda *a: command)
    with pytest.raises(NotStarted, match="the disk is full"):
        WarmProcess(Limits())


@pytest.mark.slow
@pytest.mark.parametrize(
    "level",
    [CUDA, pytest.param(FULL, marks=needs("isolation 'full'"))],
    ids=lambda level: level.name,
)
def test_a_child_ends_and_its_end_is_known(level):
    """A file that ends its process; the next child of the same warm process is well."""
    with WarmProcess(Limits(), level) as warm:
        broken = InChild(
            Submission("a", Source("import os\nos._exit(7)", "a.py")), warm, warm.limits
        )
        assert broken.try_to_load().status == "killed"
        child = warm.fork()
        assert warm.kill(child.number) == -9, "a child that waits is ended"
        child.stream.close()
        sound = InChild(Submission("a", Source("def f(): pass", "a.py")), warm, warm.limits)
        assert sound.load().names == ("f",)
        sound.close()
        assert warm.isolation == level.name


@pytest.mark.slow
def test_what_a_child_started_ends_with_it_even_if_the_child_ends_first(tmp_path):
    """Without a process namespace, the kernel does not see to that."""
    told = tmp_path / "pid"
    text = f"""
import os, sys
started = os.posix_spawn(sys.executable, [sys.executable, "-c", "while 1: pass"], {{}})
open({str(told)!r}, "w").write(str(started))
os._exit(0)
"""
    with WarmProcess(Limits()) as warm:
        InChild(Submission("a", Source(text, "a.py")), warm, warm.limits).try_to_load()
        started, deadline = Path("/proc") / told.read_text(), time.monotonic() + 10
        while is_running(started) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_running(started)


def is_running(process: Path) -> bool:
    """Return True if a process exists and has not ended. process: its folder in /proc."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_warm_process_that_was_killed_is_replaced_whoever_was_leaving_it():
    """After the warm process is gone, the end of an abandoned child is not reported."""
    with WarmProcess(Limits()) as warm:
        child = warm.fork()
        warm.process.kill()
        warm.process.wait()
        child.close()
        assert warm.leaving == {child.number}
        sound = InChild(Submission("a", Source("def f(): pass", "a.py")), warm, warm.limits)
        assert sound.load().names == ("f",)
        sound.close()
        assert warm.starts == 2 and warm.leaving.isdisjoint({child.number})
