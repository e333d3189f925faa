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
from typing import Any

from .lockdown import lock_in

ENGINE = __package__.partition(".")[0]
MOST_FILES = 1 << 20
NO_MESSAGE = bytes(8)  # a message without content: this child has no memory left for another one


def main(control: int, program: str, *rules: Any) -> None:
    """Warm up, say so, and fork until the trusted side closes the socket.

    program: a module of the engine with `warm_up` and `serve(reader, writer)`. rules: the arguments
    of `lock_in`.
    """
    import_module(f"{ENGINE}.{program}").warm_up()
    gc.collect()
    os.write(control, b"ready")
    fork_children(control, *rules)


def fork_children(control: int, *rules: Any) -> None:
    """Fork a child for each request, until the trusted side closes the socket."""
    gc.freeze()  # children share these objects instead of copying their pages
    sock = socket.socket(fileno=control)
    children: list[int] = []
    with suppress(ConnectionError):
        while (request := socket.recv_fds(sock, 100, 1))[0]:
            program, (stream,), _, _ = request
            children = [pid for pid in children if not has_ended(pid)]
            pid = os.fork()
            if pid == 0:
                serve_in_child(program.decode(), stream, *rules)
            children.append(pid)
            os.close(stream)
            handle = os.pidfd_open(pid)  # it is let go of at the next request, so it is there
            socket.send_fds(sock, [b"%d" % pid], [handle])
            os.close(handle)
    for pid in children:
        end_group(pid)
        os.waitpid(pid, 0)


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


def serve_in_child(program: str, stream: int, *rules: Any) -> None:
    """Run a program in this child, which has only the stream open. Never returns."""
    try:
        keep_only(stream)
        serve = import_module(f"{ENGINE}.{program}").serve
        lock_in(*rules)
        serve(os.fdopen(3, "rb", closefd=False), os.fdopen(3, "wb", closefd=False))
    except MemoryError:
        os.write(3, NO_MESSAGE)
    finally:
        os._exit(0)


def keep_only(stream: int) -> None:
    """Move a stream to descriptor 3, discard standard input and outputs, and close the others."""
    os.dup2(stream, 100)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.dup2(100, 3)
    os.closerange(4, MOST_FILES)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False) for fd in (1, 2))
