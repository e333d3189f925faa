"""The fork server: it has imported torch once, and forks a locked-in child for each request.

The trusted side sends the name of a program and one end of a stream over a socket, and gets back
the number of a child that serves this stream, with a handle on it. It ends the child with that
handle, and ends this server by closing the socket.
"""

import gc
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module

from .calls import filter_of_calls
from .lockdown import AS_NOBODY, NONE, kind_here, lock_in, own_bytes

ENGINE = __package__.partition(".")[0]
MOST_FILES = 1 << 20
NO_MESSAGE = bytes(8)  # a message without content: this child has no memory left for another one


def main(control: int, locked: bool, program: str, limits: dict, readable: list[str]) -> None:
    """Warm up, tell the kind of sandbox, and fork until the trusted side closes the socket.

    locked: False only sets the limits. program: a module of the engine with `warm_up` and
    `serve(reader, writer)`. limits, readable: as in `lock_in`. Raises Refused or NoFilter.
    """
    sock = socket.socket(fileno=control)
    kind = kind_here() if locked else NONE
    calls = filter_of_calls(read_only=kind == AS_NOBODY) if locked else b""
    import_module(f"{ENGINE}.{program}").warm_up()
    gc.collect()
    gc.freeze()  # children share these objects instead of copying their pages
    if "RLIMIT_AS" in limits:
        limits["RLIMIT_AS"] += own_bytes()
    sock.send(kind.encode())
    children: list[int] = []
    while message := request(sock):
        asked, streams = message
        children = [pid for pid in children if not has_ended(pid)]
        pid = os.fork()
        if pid == 0:
            serve_in_child(asked, streams[0], (kind, limits, readable, calls))
        children.append(pid)
        os.close(streams[0])
        handle = os.pidfd_open(pid)  # it is let go of at the next request, so it is there
        socket.send_fds(sock, [b"%d" % pid], [handle])
        os.close(handle)
    for pid in children:
        end_group(pid)


def request(sock: socket.socket) -> tuple[str, list[int]] | None:
    """Return the next program and its stream; None if the trusted side is gone."""
    with suppress(ConnectionResetError):
        message, streams, _, _ = socket.recv_fds(sock, 100, 1)
        if message:
            return message.decode(), streams
    return None


def has_ended(pid: int) -> bool:
    """Return True if a child has ended. Then end what it has started, and let go of it."""
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        return False
    end_group(pid)  # while its number cannot be another process's
    os.waitpid(pid, 0)
    return True


def end_group(pid: int) -> None:
    """End a child and the processes that it has started, which only `none` lets it do."""
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def serve_in_child(program: str, stream: int, sandbox: tuple) -> None:
    """Run a program in this child, which has only the stream open. Never returns."""
    try:
        only_stream(stream)
        serve = import_module(f"{ENGINE}.{program}").serve
        lock_in(*sandbox)
        serve(os.fdopen(3, "rb", closefd=False), os.fdopen(3, "wb", closefd=False))
    except MemoryError:
        os.write(3, NO_MESSAGE)
    finally:
        os._exit(0)


def only_stream(stream: int) -> None:
    """Move the stream to descriptor 3, discard standard input and outputs, and close the others."""
    os.dup2(stream, 100)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.dup2(100, 3)
    os.closerange(4, MOST_FILES)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False) for fd in (1, 2))
