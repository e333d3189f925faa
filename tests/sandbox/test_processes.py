"""The trusted side of the sandbox: what reaches a child, how children end, and what they send."""

import os
import resource
import signal
import socket
import struct
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorgrade.attempts.lab import Lab
from tensorgrade.course import Limits
from tensorgrade.exchange.observation import Loaded
from tensorgrade.sandbox import processes
from tensorgrade.sandbox.processes import (
    Budget,
    Child,
    Ended,
    ForkServer,
    NotStarted,
    TimedOut,
    bounds,
    environment_for,
    interpreter,
    readable_paths,
)
from tensorgrade.sources.program import Program, Source

from ..support import ROOT, needs

LENGTH = struct.Struct("<Q")
MOST = 1000
MEGABYTE = 1 << 20
LIMITS = Limits(file_bytes=6, processor_seconds=55, open_files=44)


@pytest.fixture(scope="module", params=[pytest.param(True, marks=needs("the sandbox")), False])
def server(request):
    """In the sandbox, and without it."""
    with ForkServer(LIMITS, request.param) as made:
        yield made


def loaded(server: ForkServer, text: str) -> Loaded:
    """Return what a child tells of a file that it loads once."""
    with closing(Lab(server, LIMITS)) as lab:
        return lab.try_to_load(Program("a", Source(text, "a.py")))


def is_running(pid: int) -> bool:
    """Return True if a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ends(pid: int) -> bool:
    """Return True if a process ends within a while."""
    deadline = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


# --- what reaches a child ------------------------------------------------------------------------


def test_readable_paths_hold_no_answer():
    """Python and torch are in; nothing of the course, nor a folder above it."""
    paths = [Path(path) for path in readable_paths()]
    assert Path(interpreter()) in paths
    for secret in ("graders", "solutions", "course_config.py"):
        assert not any((ROOT / secret).is_relative_to(path) for path in paths)
    assert not any(Path.home() == path or path == Path("/") for path in paths)


def test_a_gpu_is_seen_only_if_it_is_used_and_takes_the_bound_on_memory_away(monkeypatch):
    for set_to in ("1", None):
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if set_to:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", set_to)
        assert environment_for("cpu")["CUDA_VISIBLE_DEVICES"] == ""
        assert environment_for("cuda").get("CUDA_VISIBLE_DEVICES") == set_to
    assert bounds(LIMITS, "cpu").keys() - bounds(LIMITS, "cuda") == {"RLIMIT_AS"}


@pytest.mark.slow
def test_limits_reach_a_child(server):
    with closing(server.fork()) as child:
        deadline = time.monotonic() + 10
        while bound(child.pid, resource.RLIMIT_CPU) != 55 and time.monotonic() < deadline:
            time.sleep(0.01)  # it is forked before it is locked in
        names = ("FSIZE", "CPU", "NOFILE", "CORE", "MEMLOCK")
        found = [bound(child.pid, getattr(resource, f"RLIMIT_{name}")) for name in names]
        assert found == [6, 55, 44, 0, 0]
        pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[0])
        own = pages * resource.getpagesize()  # the server's addresses, which children share
        room = bound(child.pid, resource.RLIMIT_AS) - LIMITS.memory_bytes
        assert own <= room < own + 64 * MEGABYTE


def bound(pid: int, number: int) -> int:
    """Return a limit of a process."""
    return resource.prlimit(pid, number)[0]


@pytest.mark.slow
def test_environment_and_open_files_of_a_child_say_nothing(server):
    with closing(Lab(server, LIMITS)) as lab:
        lab.load(Program("a", Source("def f(): pass", "a.py")))
        (channel,) = lab.running.values()
        environment = Path(f"/proc/{server.process.pid}/environ").read_bytes().split(b"\0")
        names = {entry.split(b"=")[0].decode() for entry in environment if entry}
        assert names <= set(processes.ENVIRONMENT) | {"PWD", "LC_CTYPE", "HOME"}, names
        links = [link.readlink() for link in Path(f"/proc/{channel.child.pid}/fd").iterdir()]
        kinds = ("socket:", "/dev/null", "pipe:", "anon_inode:")
        assert all(str(link).startswith(kinds) for link in links), links


# --- how processes end ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_that_ends_its_process_costs_no_other(server):
    assert loaded(server, "import os\nos._exit(7)").status == "killed"
    assert loaded(server, "def f(): pass").names == ("f",)
    waiting = server.fork()
    waiting.close()
    assert ends(waiting.pid)


@pytest.mark.slow
def test_what_a_child_started_ends_with_it_even_if_the_child_ends_first(tmp_path):
    """Without a sandbox; in it, a child can start nothing."""
    told = tmp_path / "pid"
    text = f"""
import os, sys
started = os.posix_spawn(sys.executable, [sys.executable, "-c", "while 1: pass"], {{}})
open({str(told)!r}, "w").write(str(started))
os._exit(0)
"""
    with ForkServer(LIMITS, locked=False) as server:
        loaded(server, text)
        server.fork().close()  # the server looks for children that have ended
        assert ends(int(told.read_text()))


@pytest.mark.slow
def test_children_end_with_their_server_and_a_new_one_is_started(server):
    children, before = [server.fork() for _ in range(3)], server.process.pid
    os.kill(children[0].pid, signal.SIGSTOP)
    server.process.kill()
    server.process.wait()
    assert all(ends(child.pid) for child in children)
    with pytest.raises(Ended):
        children[1].receive(5, MOST)
    assert children[1].budget.lost and not children[2].budget.lost
    assert loaded(server, "def f(): pass").names == ("f",)
    assert is_running(server.process.pid) and server.process.pid != before
    for child in children:
        child.close()


@pytest.mark.slow
def test_hundreds_of_children_leave_nothing_behind(server):
    """No process, no open file, and no memory, on neither side."""

    def used_after(count: int) -> list[int]:
        pid, pids = server.process.pid, []
        for _ in range(count):
            with closing(server.fork()) as child:
                pids.append(child.pid)
        assert all(map(ends, pids))
        with closing(server.fork()) as child:  # the server lets go of the others before it forks
            left = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            assert left == [str(child.pid)]
        return [number for one in (os.getpid(), pid) for number in used_by(one)]

    before = used_after(50)
    files, memory, servers_files, servers_memory = used_after(300)
    assert files == before[0] and servers_files <= before[2] + 1  # it may just send a handle
    assert memory - before[1] < MEGABYTE and servers_memory - before[3] < MEGABYTE


def used_by(pid: int) -> tuple[int, int]:
    """Return the open files and the bytes in memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return len(os.listdir(f"/proc/{pid}/fd")), pages * resource.getpagesize()


def test_a_server_that_cannot_start_says_why_in_one_line(monkeypatch):
    start = "import sys; sys.stderr.write('much\\n'); raise OSError('the disk is full')"
    monkeypatch.setattr(processes, "START", start)
    with pytest.raises(NotStarted, match=r"did not start: the disk is full$"):
        ForkServer(LIMITS)
    monkeypatch.setattr(processes, "START", "")
    with pytest.raises(NotStarted, match="did not start: no reason was given"):
        ForkServer(LIMITS)


@pytest.mark.slow
def test_too_few_descriptors_are_reported_and_forgotten(server):
    """The next file is graded as ever."""
    with few_files(), pytest.raises(NotStarted, match="Too many open files"):
        server.fork()
    assert loaded(server, "def f(): pass").names == ("f",)


@contextmanager
def few_files():
    """Let this process open no more files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(map(int, os.listdir("/proc/self/fd")))
    free = [os.open("/dev/null", os.O_RDONLY) for _ in range(most)]  # so that no gap is left
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(free[-1], before[0]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for file in free:
            os.close(file)


# --- what children send --------------------------------------------------------------------------


def child_that_sends(pieces: list[bytes], closes: bool = True) -> tuple[Child, socket.socket]:
    """Return a child's trusted end, with these pieces written to the other one."""
    ours, theirs = socket.socketpair()
    for piece in pieces:
        theirs.sendall(piece)
    if closes:
        theirs.close()
    return Child(ours, 1, -1, Budget()), theirs


@given(st.lists(st.binary(max_size=50), max_size=8))
def test_any_pieces(pieces):
    """A complete message within the bound is read; anything else is Ended."""
    child, _ = child_that_sends(pieces)
    content = b"".join(pieces)
    try:
        message = child.receive(1, MOST)
        (length,) = LENGTH.unpack_from(content)
        assert length <= MOST and message == content[8 : 8 + length] and not child.budget.lost
    except Ended:
        length = LENGTH.unpack_from(content)[0] if len(content) >= 8 else 0
        complete = 0 < length <= len(content) - 8  # one without content says: out of memory
        assert not complete or length > MOST
        assert child.budget.lost
    finally:
        child.close()


@given(st.integers(MOST + 1, (1 << 64) - 1))
def test_too_long_is_refused_at_once(length):
    """A length over the bound ends the exchange before a byte of it is read or stored."""
    child, theirs = child_that_sends([LENGTH.pack(length)], closes=False)
    with pytest.raises(Ended):
        child.receive(60, MOST)
    assert not child.budget.is_over, "other cases may go on"
    theirs.close()
    child.close()


def trickle(theirs: socket.socket) -> None:
    """Send a byte now and then."""
    for _ in range(99):
        try:
            theirs.sendall(b"x")
        except OSError:
            return
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("does", ["nothing", "sends slowly", "reads nothing"])
def test_a_child_that_stops_is_given_up_in_time(does):
    child, theirs = child_that_sends([LENGTH.pack(100) + b"begun"], closes=False)
    thread = threading.Thread(target=trickle, args=(theirs,))
    if does == "sends slowly":
        thread.start()
    with pytest.raises(TimedOut):
        child.send(bytes(64 << 20), 0.2) if does == "reads nothing" else child.receive(0.3, MOST)
    assert child.budget.lost
    child.close()
    if does == "sends slowly":
        thread.join()
    theirs.close()


@pytest.mark.slow
def test_children_of_one_submission_share_its_seconds():
    """After that there is no more waiting. Time between uses of a child is free."""
    budget = Budget(0.3)
    child, _ = child_that_sends([LENGTH.pack(1) + b"x"])
    child.budget = budget
    time.sleep(0.4)
    assert child.receive(60, MOST) == b"x" and not budget.used_up
    child.close()
    begun = time.monotonic()
    for _ in range(3):
        child, theirs = child_that_sends([], closes=False)
        child.budget = budget
        with pytest.raises(TimedOut):
            child.receive(60, MOST)
        theirs.close()
        child.close()
    assert budget.used_up and time.monotonic() - begun < 60


def test_a_budget_takes_no_reply_after_one_that_does_not_fit():
    budget = Budget(reply_bytes=10)
    budget.take(6)
    assert not budget.is_over
    for size in (5, 1):
        with pytest.raises(Ended):
            budget.take(size)
        assert budget.is_over
