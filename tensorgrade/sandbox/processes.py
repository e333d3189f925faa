"""The trusted side of the sandbox: start a fork server, and talk to the children that it forks."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, Self, TypeAlias

from ..course import CourseError, Limits
from ..runner.wire import LENGTH
from .lockdown import NONE, kind_here, let_go, serve_in_child

CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
# The real interpreter, with a virtual environment's links resolved.
INTERPRETER = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
PACKAGE = Path(__file__).resolve().parents[1]
LONGEST_START, SHORTEST_WAIT = 120, 0.001  # seconds; a socket takes 0 as "do not wait"
# The engine is a package that holds nothing but its path, so that a child imports nothing else of
# it. Without site (-S), neither a .pth file nor a sitecustomize.py runs.
START = """
import json, sys, types
folders, engine, told = json.loads(sys.argv[1])
sys.path[:0] = folders
package = sys.modules["tensorgrade"] = types.ModuleType("tensorgrade")
package.__path__ = [engine]
from tensorgrade.sandbox.lockdown import main
main(*told)
"""
# One thread, because a fork after an operation with several hangs. torch's compiler would search
# for a C++ compiler, and it asks for the user's name, but the sandbox has no list of users. Memory
# that is returned to the system costs a page fault each time it is allocated again.
SETTINGS = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    **{"USER": "learner", "TORCHDYNAMO_DISABLE": "1"},
    **{"MALLOC_TRIM_THRESHOLD_": str(1 << 24), "MALLOC_MMAP_THRESHOLD_": str(1 << 22)},
}
# With a GPU in view, the first backward starts threads for it, even on the CPU. Children that are
# forked afterwards do not have them, so torch refuses their own backward.
ON_CPU = SETTINGS | {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
NOWHERE: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
# What a use of a child's stream raises: no complete message in time; or no child any more, or a
# reply that is too large.
TimedOut: TypeAlias = TimeoutError
Ended: TypeAlias = OSError


class OutOfMemory(Ended):
    """The child says that it has no memory left."""


class NotStarted(CourseError):
    """No process for learner code could be started; the message states the reason."""


@contextmanager
def not_started() -> Iterator[None]:
    """Raise NotStarted instead of the system's errors, such as too many open files."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise NotStarted(f"the process that runs learner code did not start: {reason}") from None


@dataclass
class Budget:
    """The seconds and bytes that all children of one submission may use together.

    Seconds count while this side waits for a child or reads its replies. The bytes are those of all
    replies, which this side stores until the submission is judged. lost: True if a child ended or
    stopped answering, which may be a fault of this machine.
    """

    left: float = inf
    bytes_left: float = inf
    lost: bool = False

    @property
    def is_over(self) -> bool:
        """Return True if no time is left, or if the replies were too large together."""
        return self.left <= 0 or self.bytes_left <= 0

    def take(self, count: int) -> None:
        """Subtract the size of a reply. Raises Ended, now and from then on, if it is too large."""
        self.bytes_left -= count
        if self.bytes_left <= 0:
            raise Ended


class Child:
    """A process that runs one learner's code. Its messages are untrusted bytes.

    handle: a descriptor that stands for the process, whatever becomes of its number; -1: none.
    budget: shared with the children of the same submission before and after it.
    """

    def __init__(self, stream: socket.socket, pid: int, handle: int, budget: Budget):
        self.stream, self.pid, self.handle, self.budget = stream, pid, handle, budget

    @contextmanager
    def within(self, seconds: float) -> Iterator[float]:
        """Yield the deadline of a use of the stream, and close the stream after any error."""
        begun = time.monotonic()
        try:
            longest = max(min(seconds, self.budget.left), SHORTEST_WAIT)
            self.stream.settimeout(longest)
            yield begun + longest
        except BaseException:
            self.budget.lost = True
            self.stream.close()
            raise
        finally:
            self.budget.left -= time.monotonic() - begun

    def send(self, message: bytes, seconds: float) -> None:
        """Send one message. Raises TimedOut or Ended."""
        with self.within(seconds):
            self.stream.sendall(LENGTH.pack(len(message)) + message)

    def receive(self, seconds: float, most_bytes: int) -> bytes:
        """Return the next message. Raises TimedOut, or Ended (also for one that is too large)."""
        with self.within(seconds) as deadline:
            (length,) = LENGTH.unpack(self.exactly(LENGTH.size, deadline))
            if not length:
                raise OutOfMemory
            if length > most_bytes:  # which costs only this case
                raise Ended
            self.budget.take(length)
            return self.exactly(length, deadline)

    def exactly(self, count: int, deadline: float) -> bytes:
        """Return exactly this many bytes, or raise TimedOut after the deadline."""
        found = bytearray()
        while len(found) < count:
            piece = self.stream.recv(min(count - len(found), 1 << 20))
            if not piece:
                raise Ended
            found += piece
            if len(found) < count and time.monotonic() > deadline:  # however slowly they arrive
                raise TimedOut
            self.stream.settimeout(max(deadline - time.monotonic(), SHORTEST_WAIT))
        return bytes(found)

    def close(self) -> None:
        """End the process. If another process has forked it, that one ends what it has started."""
        self.stream.close()
        if self.handle >= 0:
            with suppress(ProcessLookupError, ChildProcessError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
                let_go(self.pid)
            os.close(self.handle)
            self.handle = -1


class ForkServer:
    """A process that has imported torch, and forks a child for each attempt in milliseconds.

    limits: those of a child. locked: True if children run in the sandbox; otherwise only their
    resources are limited. device: `cuda` lets children see the GPU, which maps terabytes of
    addresses, so their memory is not limited. readable: paths that children may read in addition to
    Python, torch and the program's folders. program: the module that children run. Raises
    NotStarted.
    """

    @not_started()
    def __init__(
        self,
        limits: Limits,
        locked: bool = True,
        device: str = "cpu",
        readable: Sequence[str] = (),
        program: str = "runner.serve",
    ) -> None:
        if not CAN_FORK:
            raise OSError("only Linux runs learner code in processes of its own")
        self.limits, self.program = limits, program
        self.isolation = kind_here() if locked else NONE
        folders = ("runner", "sandbox", program.partition(".")[0])
        paths = [*readable_paths(), *readable, *(str(PACKAGE / name) for name in folders)]
        self.environment = ON_CPU
        if device != "cpu":
            limits = replace(limits, memory_bytes=1 << 60)  # more than there are addresses
            self.environment = os.environ | SETTINGS
        told = (program, self.isolation, asdict(limits), paths)
        words = json.dumps([site_folders(), str(PACKAGE), told])
        self.command = [INTERPRETER, "-I", "-S", "-c", START, words]
        self.start()

    def start(self) -> None:
        """Start the process. Raises OSError; the process itself prints the reason."""
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(LONGEST_START)
        with theirs:
            self.process = subprocess.Popen(
                self.command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=self.environment,
                cwd="/",
                start_new_session=True,  # Ctrl-C ends the trusted side, which ends this process
            )
        ready = b""
        with suppress(OSError):
            ready = self.control.recv(100)
        if not ready:
            self.close()
            raise OSError("it ended; its output above may say why")

    @not_started()
    def fork(self, budget: Budget | None = None, program: str = "") -> Child:
        """Return a new child, by default of the own program. Raises NotStarted."""
        name = (program or self.program).encode()
        for _ in range(2):
            ours, theirs = socket.socketpair()
            with suppress(OSError), theirs:
                socket.send_fds(self.control, [name], [theirs.fileno()])
                number, handles, _, _ = socket.recv_fds(self.control, 100, 1)
                if handles:
                    return Child(ours, int(number), handles[0], budget or Budget())
            ours.close()
            self.close()
            self.start()  # it has ended
        raise OSError("it ends again and again")

    def close(self) -> None:
        """End the process and all its children."""
        self.control.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.process.kill()
        self.process.wait()


class OwnForks:
    """Forks of this process, which saves a second import of torch. begin: what they do first."""

    isolation = NONE

    def __init__(self, limits: Limits, begin: Callable[[], object] = lambda: None):
        self.rules, self.begin = (NONE, asdict(limits), ()), begin

    @not_started()
    def fork(self, budget: Budget | None = None) -> Child:
        """Return a new child. Raises NotStarted."""
        ours, theirs = socket.socketpair()
        with theirs:
            pid = os.fork()
            if pid == 0:
                serve_in_child("runner.serve", theirs.fileno(), self.begin, *self.rules)
        return Child(ours, pid, os.pidfd_open(pid), budget or Budget())

    def close(self) -> None:
        """Do nothing: a child ends when it is closed, or with this process."""


class ReusedProcess(Child):
    """One process that is a fork server and its only child, on systems without fork.

    It connects to a port, and ends with the stream. After an error another process replaces it.
    """

    isolation = NONE

    def __init__(self, *_: object) -> None:
        self.process: subprocess.Popen | None = None

    @not_started()
    def fork(self, budget: Budget | None = None) -> Self:
        """Return this process for one more attempt. Raises NotStarted."""
        if self.process is None or self.process.poll() is not None:
            with socket.create_server(("127.0.0.1", 0)) as door:
                serve = f"from tensorgrade.runner.serve import main; main({door.getsockname()[1]})"
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", serve], env=os.environ | ON_CPU, **NOWHERE
                )
                door.settimeout(LONGEST_START)
                self.stream, _ = door.accept()
                self.process = process
        self.budget = budget or Budget()
        return self

    def close(self) -> None:
        """Kill the process after an error; otherwise leave it running."""
        if self.process and self.stream.fileno() < 0:
            self.process.kill()
            self.process.wait()


# A learner's own code on public cases needs no sandbox, but an end.
own_server = OwnForks if CAN_FORK else ReusedProcess


def site_folders() -> list[str]:
    """Return the real folders that contain torch, safetensors and numpy."""
    found = filter(None, map(find_spec, ("torch", "safetensors", "numpy")))
    return sorted({os.path.realpath(Path(str(one.origin)).parents[1]) for one in found})


def readable_paths() -> list[str]:
    """Return the real paths that every child may read, to run Python and torch."""
    python = [INTERPRETER, os.path.join(sys.base_prefix, sys.platlibdir), *site_folders()]
    libraries = ("/etc/ld.so.cache", "/usr/lib", "/usr/lib64", "/lib64")
    paths = (*python, *libraries, "/dev/zero", "/dev/urandom", "/dev/random")
    return [os.path.realpath(path) for path in paths if os.path.exists(path)]
