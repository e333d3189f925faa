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

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorgrade.course import Limits
from tensorgrade.sandbox import processes
from tensorgrade.sandbox.processes import (
    Budget,
    Child,
    Ended,
    ForkServer,
    NotStarted,
    TimedOut,
    readable_paths,
)

from ..support import ROOT, loaded, needs

LENGTH = struct.Struct("<Q")
MOST = 1000
MEGABYTE = 1 << 20
LIMITS = Limits()


@pytest.fixture(scope="module", params=[pytest.param(True, marks=needs("the sandbox")), False])
def server(request):
    """In the sandbox, and without it."""
    with closing(ForkServer(LIMITS, request.param)) as made:
        yield made


def ends(pid: int) -> bool:
    """Return True if a process ends within a while."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


# --- what reaches a child ------------------------------------------------------------------------


def test_readable_paths_hold_no_answer():
    """Python and torch are in; nothing of the course, nor a folder above it."""
    paths = [Path(path) for path in readable_paths()]
    for secret in ("graders", "solutions", "course_config.py"):
        assert not any((ROOT / secret).is_relative_to(path) for path in paths)
    assert not any(Path.home() == path or path == Path("/") for path in paths)


@pytest.mark.slow
def test_a_gpu_is_seen_only_if_it_is_used_and_takes_the_bound_on_memory_away(server, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    text = """
import os, resource
if os.environ["CUDA_VISIBLE_DEVICES"] == "1":
    def seen(): pass
if resource.getrlimit(resource.RLIMIT_AS)[0] >= 1 << 60:
    def unbounded(): pass
"""
    assert loaded(text, server).names == ()
    with closing(ForkServer(LIMITS, locked=False, device="cuda")) as on_gpu:
        assert set(loaded(text, on_gpu).names) == {"seen", "unbounded"}


# --- how processes end ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_that_ends_its_process_costs_no_other(server):
    assert loaded("import os\nos._exit(7)", server).status == "killed"
    assert loaded("def f(): pass", server).names == ("f",)
    waiting = server.fork()
    waiting.close()
    assert ends(waiting.pid)


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
    assert loaded("def f(): pass", server).names == ("f",)
    assert server.process.poll() is None and server.process.pid != before
    for child in children:
        child.close()


@pytest.mark.slow
def test_hundreds_of_children_leave_nothing_behind(server):
    """No process, no open file, and no memory, on neither side."""

    def used_after(count: int) -> list[int]:
        for _ in range(count):
            with closing(server.fork()) as child:
                pids.append(child.pid)
        assert all(map(ends, pids))
        with closing(server.fork()) as child:  # the server lets go of the others before it forks
            assert [one.pid for one in of_server.children()] == [child.pid]
        both = psutil.Process(), of_server
        return [used for one in both for used in (one.num_fds(), one.memory_info().rss)]

    of_server, pids = psutil.Process(server.process.pid), list[int]()
    before = used_after(50)
    files, memory, servers_files, servers_memory = used_after(200)
    assert files == before[0] and servers_files <= before[2] + 1  # it may just send a handle
    assert memory - before[1] < MEGABYTE and servers_memory - before[3] < MEGABYTE


def test_a_server_that_cannot_start_prints_the_reason(monkeypatch, capfd):
    start = "raise OSError('the disk is full')"
    monkeypatch.setattr(processes, "START", start)
    with pytest.raises(NotStarted, match="did not start"):
        ForkServer(LIMITS)
    assert "the disk is full" in capfd.readouterr().err


@pytest.mark.slow
def test_too_few_descriptors_are_reported_and_forgotten(server):
    """The next file is graded as before."""
    with few_files(), pytest.raises(NotStarted, match="Too many open files"):
        server.fork()
    assert loaded("def f(): pass", server).names == ("f",)


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


def test_a_budget_takes_no_reply_after_one_that_does_not_fit():
    budget = Budget(bytes_left=10)
    budget.take(6)
    assert not budget.is_over
    for size in (5, 1):
        with pytest.raises(Ended):
            budget.take(size)
        assert budget.is_over
