"""The trusted side of the sandbox: start a fork server, and talk to the children that it forks.

A learner's own code on public cases needs no sandbox, but an end: see `own_server`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, Self

from ..course import CourseError, Limits
from ..runner.wire import LENGTH
from .lockdown import NONE, kind_here
from .server import fork_children, keep_only

CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
# The real interpreter, with a virtual environment's links resolved.
INTERPRETER = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
PACKAGE = Path(__file__).resolve().parents[1]
DID_NOT_START = "the process that runs learner code did not start"
LONGEST_START = 120
SHORTEST_WAIT = 0.001  # seconds; a socket takes 0 as "do not wait"
# The engine is a package that holds nothing but its path, so that a child imports nothing else of
# it. Without site, neither a .pth file nor a sitecustomize.py runs.
PYTHON = ("-I", "-S", "-c")
START = """
import json, sys, types
path, engine, run, told = json.loads(sys.argv[1])
sys.path[:0] = path
package = sys.modules[engine[0]] = types.ModuleType(engine[0])
package.__path__ = [engine[1]]
__import__("importlib").import_module(f"{engine[0]}.{run}").main(*told)
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
IN_SANDBOX = ON_CPU | {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}  # and no other variables


class TimedOut(Exception):
    """No complete reply arrived within the time allowed."""


class Ended(Exception):
    """The child is gone, or sent a reply that is too large."""


class OutOfMemory(Ended):
    """The child says that it has no memory left."""


class NotStarted(CourseError):
    """The fork server could not be started; the message states the reason."""


@contextmanager
def not_started() -> Iterator[None]:
    """Raise NotStarted instead of the system's errors, such as too many open files."""
    try:
        yield
    except OSError as error:
        raise NotStarted(f"{DID_NOT_START}: {error.strerror or error}") from None


class Budget:
    """The seconds and bytes that all children of one submission may use together.

    Seconds count while this side waits for a child or reads its replies. The bytes are those of all
    replies, which this side stores until the submission is judged. lost: True if a child ended or
    stopped answering, which may be a fault of this machine.
    """

    def __init__(self, seconds: float = inf, reply_bytes: float = inf):
        self.left, self.bytes_left, self.lost = seconds, reply_bytes, False

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

    handle: a descriptor that stands for the process, whatever becomes of its number. budget: shared
    with the children of the same submission before and after it.
    """

    def __init__(self, stream: socket.socket, pid: int, handle: int, budget: Budget):
        self.stream, self.pid, self.handle, self.budget = stream, pid, handle, budget

    @contextmanager
    def within(self, seconds: float) -> Iterator[float]:
        """Yield the deadline of a use of the stream, at most these seconds from now.

        Raises TimedOut or Ended instead of the stream's errors, and closes it after any error.
        """
        begun = time.monotonic()
        try:
            if self.budget.left <= 0:
                raise TimedOut
            yield begun + min(seconds, self.budget.left)
        except BaseException as error:
            self.budget.lost = True
            self.stream.close()
            if isinstance(error, OSError):
                raise (TimedOut if isinstance(error, TimeoutError) else Ended) from None
            raise
        finally:
            self.budget.left -= time.monotonic() - begun

    def send(self, message: bytes, seconds: float) -> None:
        """Send one message. Raises TimedOut or Ended."""
        with self.within(seconds) as deadline:
            self.stream.settimeout(max(deadline - time.monotonic(), SHORTEST_WAIT))
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
        """Return exactly this many bytes before the deadline, however slowly they arrive."""
        found = bytearray()
        while len(found) < count:
            if found and time.monotonic() > deadline:
                raise TimedOut
            self.stream.settimeout(max(deadline - time.monotonic(), SHORTEST_WAIT))
            piece = self.stream.recv(min(count - len(found), 1 << 20))
            if not piece:
                raise Ended
            found += piece
        return bytes(found)

    def close(self) -> None:
        """End the process. Whoever has forked it ends what it has started."""
        self.stream.close()
        if self.handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            os.close(self.handle)
            self.handle = -1


class ForkServer:
    """A process that has imported torch, and forks a child for each attempt in milliseconds.

    limits: those of a child. locked: True if children run in the sandbox; otherwise their resources
    are limited, and nothing else. device: `cuda` lets children see the GPU, which maps terabytes of
    addresses, so their memory is not limited. readable: paths that children may read in addition to
    Python, torch and the engine's folders beside learner code. program: the module of the engine
    that children run. Raises NotStarted.
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
            raise NotStarted("only Linux runs learner code in processes of its own")
        self.limits, self.program = limits, program
        paths = [*readable_paths(), *readable]
        paths += [str(PACKAGE / name) for name in ("runner", "sandbox", program.split(".")[0])]
        self.isolation = kind_here() if locked else NONE
        self.told = (program, self.isolation, bounds(limits, device), paths)
        self.environment = IN_SANDBOX if device == "cpu" else os.environ | SETTINGS
        self.start()

    @not_started()
    def start(self) -> None:
        """Start the process. Raises NotStarted with the last line that it prints."""
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, tempfile.TemporaryFile() as said:
            self.process = subprocess.Popen(
                engine_command("sandbox.server", theirs.fileno(), *self.told),
                pass_fds=[theirs.fileno()],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd="/",
            )
            theirs.close()
            self.control.settimeout(LONGEST_START)
            ready = b""
            with suppress(OSError):
                ready = self.control.recv(100)
            if not ready:
                self.close()
                said.seek(0)
                text = said.read().decode(errors="replace").strip() or "no reason was given"
                last = text.splitlines()[-1]
                why = (last.partition(": ")[2] or last)[:300]  # without the error's class
                raise NotStarted(f"{DID_NOT_START}: {why}")

    @not_started()
    def fork(self, budget: Budget | None = None, program: str = "") -> Child:
        """Return a new child. A server that has ended is started again. Raises NotStarted.

        program: the module that it runs, if not the server's own.
        """
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
            self.start()
        raise NotStarted("the process that runs learner code ends again and again")

    def close(self) -> None:
        """End the process and all its children."""
        self.control.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def own_server(limits: Limits, begin: Callable[[], object] = lambda: None) -> Any:
    """Return a server for a learner's own code on public cases. Raises NotStarted.

    begin: what its process does first, if this system can fork.
    """
    return OwnForks(limits, begin) if CAN_FORK else ReusedProcess()


class OwnForks(ForkServer):
    """A fork of this process as a fork server, which saves a second import of torch."""

    def __init__(self, limits: Limits, begin: Callable[[], object]):
        self.program, self.isolation, self.begin = "runner.serve", NONE, begin
        self.bounds = bounds(limits, "cpu")
        self.start()

    @not_started()
    def start(self) -> None:
        """Fork this process."""
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.begin()
                keep_only(theirs.fileno())
                fork_children(3, NONE, self.bounds, [])
            finally:  # an error must not go on in the caller's code
                os._exit(0)
        theirs.close()

    def close(self) -> None:
        """End the process and all its children."""
        with suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)  # other forks of this process hold it too
        self.control.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


class ReusedProcess(Child):
    """One process that is a fork server and its only child, on systems without fork.

    It connects to a port, and ends with the stream. After an error another process replaces it.
    """

    isolation = NONE

    def __init__(self) -> None:
        self.start()

    @not_started()
    def start(self) -> None:
        """Start the process, and wait until it is ready. Raises NotStarted."""
        with socket.create_server(("127.0.0.1", 0)) as door:
            self.process = subprocess.Popen(
                engine_command("runner.serve", door.getsockname()[1]),
                env=os.environ | ON_CPU,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            door.settimeout(LONGEST_START)
            self.stream, _ = door.accept()

    def fork(self, budget: Budget | None = None) -> Self:
        """Return this process for one more attempt. Raises NotStarted."""
        if self.stream.fileno() < 0 or self.process.poll() is not None:
            self.start()
        self.budget = budget or Budget()
        return self

    def close(self) -> None:
        """Kill the process after an error; otherwise leave it running."""
        if self.stream.fileno() < 0:
            self.process.kill()
            self.process.wait()


def engine_command(module: str, *told: Any) -> list[str]:
    """Return the command that calls `main` of a module of the engine with values for JSON."""
    words = [site_folders(), [PACKAGE.name, str(PACKAGE)], module, told]
    return [INTERPRETER, *PYTHON, START, json.dumps(words)]


def bounds(limits: Limits, device: str) -> dict[str, int]:
    """Return the kernel's limits by name, in bytes, seconds or numbers."""
    found = {
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_CPU": limits.processor_seconds,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
    }
    return found | ({"RLIMIT_AS": limits.memory_bytes} if device == "cpu" else {})


def site_folders() -> list[str]:
    """Return the folders that contain torch, safetensors and numpy."""
    found = [find_spec(name) for name in ("torch", "safetensors", "numpy")]
    origins = [spec.origin for spec in found if spec and spec.origin]
    return list(dict.fromkeys(os.path.realpath(Path(one).parent.parent) for one in origins))


def readable_paths() -> list[str]:
    """Return the real paths that every child may read, to run Python and torch."""
    paths = [
        INTERPRETER,
        sysconfig.get_path("stdlib"),
        os.path.join(sys.base_prefix, sys.platlibdir),
        *("/etc/ld.so.cache", "/usr/lib", "/usr/lib64", "/lib64"),
        *site_folders(),
        *("/dev/zero", "/dev/urandom", "/dev/random"),
    ]
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path)))
