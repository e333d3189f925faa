"""The trusted side of the sandbox: start a fork server, and talk to the children that it forks."""

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, Self

from ..course import CourseError, Limits
from ..runner.wire import LENGTH

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
# The only environment variables of children. There is one thread, because a fork after an operation
# with several hangs.
ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ENVIRONMENT |= {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
# torch's compiler asks for the user's name, and the sandbox has no list of users.
ENVIRONMENT |= {"USER": "learner"}
# `@torch.compile` would search for a compiler. Without one the function runs uncompiled.
ENVIRONMENT |= {"TORCHDYNAMO_DISABLE": "1"}
# Memory that is returned to the system costs a page fault each time it is allocated again.
ENVIRONMENT |= {"MALLOC_TRIM_THRESHOLD_": str(1 << 24), "MALLOC_MMAP_THRESHOLD_": str(1 << 22)}
# With a GPU in view, the first backward starts threads for it, even on the CPU. Children that are
# forked afterwards do not have them, so torch refuses their own backward.
HIDDEN_GPUS = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
ENVIRONMENT |= HIDDEN_GPUS
DRIVER_VARIABLES = ("LD_LIBRARY_PATH", "CUDA_HOME", *HIDDEN_GPUS)


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
    def used_up(self) -> bool:
        """Return True if no time is left."""
        return self.left <= 0

    @property
    def is_over(self) -> bool:
        """Return True if no time is left, or if the replies were too large together."""
        return self.used_up or self.bytes_left <= 0

    def take(self, count: int) -> None:
        """Subtract the size of a reply. Raises Ended, now and from then on, if it is too large."""
        self.bytes_left -= count
        if self.bytes_left <= 0:
            raise Ended

    @contextmanager
    def within(self, seconds: float) -> Iterator[float]:
        """Yield the deadline of a use of a child's stream, at most these seconds from now.

        Raises TimedOut or Ended instead of the stream's errors.
        """
        begun = time.monotonic()
        try:
            if self.used_up:
                raise TimedOut
            yield begun + min(seconds, self.left)
        except (TimedOut, Ended, OSError) as error:
            self.lost = True
            if isinstance(error, OSError):
                raise (TimedOut if isinstance(error, TimeoutError) else Ended) from None
            raise
        finally:
            self.left -= time.monotonic() - begun

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count the processor time of what is done with a reply."""
        begun = time.process_time()
        try:
            yield
        finally:
            self.left -= time.process_time() - begun


class Child:
    """A process that runs one learner's code. Its messages are untrusted bytes.

    handle: a descriptor that stands for the process, whatever becomes of its number. budget: shared
    with the children of the same submission before and after it.
    """

    def __init__(self, stream: socket.socket, pid: int, handle: int, budget: Budget):
        self.stream, self.pid, self.handle, self.budget = stream, pid, handle, budget

    def send(self, message: bytes, seconds: float) -> None:
        """Send one message. Raises TimedOut or Ended."""
        with self.budget.within(seconds) as deadline:
            self.wait_until(deadline)
            self.stream.sendall(LENGTH.pack(len(message)) + message)

    def receive(self, seconds: float, most_bytes: int) -> bytes:
        """Return the next message. Raises TimedOut, or Ended (also for one that is too large)."""
        with self.budget.within(seconds) as deadline:
            (length,) = LENGTH.unpack(self.exactly(LENGTH.size, deadline))
            if not length:
                raise OutOfMemory
            if length > most_bytes:  # which costs only this case
                raise Ended
            self.budget.take(length)
            return self.exactly(length, deadline)

    def exactly(self, count: int, deadline: float) -> bytes:
        """Return exactly this many bytes before the deadline, however slowly they arrive."""
        pieces, missing = [], count
        while missing:
            self.wait_until(deadline)
            piece = self.stream.recv(min(missing, 1 << 20))
            if not piece:
                raise Ended
            pieces.append(piece)
            missing -= len(piece)
            if missing and time.monotonic() > deadline:
                raise TimedOut
        return b"".join(pieces)

    def wait_until(self, deadline: float) -> None:
        """Let the next use of the stream take until then at most."""
        self.stream.settimeout(max(deadline - time.monotonic(), SHORTEST_WAIT))

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

    def __init__(
        self,
        limits: Limits,
        locked: bool = True,
        device: str = "cpu",
        readable: Sequence[str] = (),
        program: str = "runner.serve",
    ):
        if not hasattr(os, "pidfd_open"):
            raise NotStarted("only Linux runs learner code in processes of its own")
        self.limits, self.program = limits, program
        paths = [*readable_paths(), *readable]
        paths += [str(PACKAGE / name) for name in ("runner", "sandbox", program.split(".")[0])]
        self.told = (locked, program, bounds(limits, device), paths)
        self.environment = environment_for(device)
        self.start()

    @not_started()
    def start(self) -> None:
        """Start the process. Raises NotStarted with the last line that it prints."""
        self.isolation = ""
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
            with suppress(OSError):
                self.isolation = self.control.recv(100).decode()
            if not self.isolation:
                self.close()
                said.seek(0)
                lines = said.read().decode(errors="replace").strip().splitlines()
                last = lines[-1] if lines else "no reason was given"
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
            with suppress(OSError):
                with theirs:
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


def engine_command(module: str, *told: Any) -> list[str]:
    """Return the command that calls `main` of a module of the engine with values for JSON."""
    words = [site_folders(), [PACKAGE.name, str(PACKAGE)], module, told]
    return [interpreter(), *PYTHON, START, json.dumps(words)]


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


def environment_for(device: str) -> dict[str, str]:
    """Return the environment variables; on a GPU, with the location of its driver."""
    if device == "cpu":
        return ENVIRONMENT
    shown = {name: text for name, text in ENVIRONMENT.items() if name not in HIDDEN_GPUS}
    return shown | {name: os.environ[name] for name in DRIVER_VARIABLES if name in os.environ}


def interpreter() -> str:
    """Return the path of the real interpreter, with a virtual environment's links resolved."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def site_folders() -> list[str]:
    """Return the folders that contain torch, safetensors and numpy."""
    found = [find_spec(name) for name in ("torch", "safetensors", "numpy")]
    origins = [spec.origin for spec in found if spec and spec.origin]
    return list(dict.fromkeys(os.path.realpath(Path(one).parent.parent) for one in origins))


def readable_paths() -> list[str]:
    """Return the real paths that every child may read, to run Python and torch.

    Those of the system are Debian's folder for this architecture if it exists, otherwise /usr/lib.
    """
    version = f"python{sysconfig.get_python_version()}"
    shared = sysconfig.get_config_var("INSTSONAME") or ""
    libraries = f"/usr/lib/{sysconfig.get_config_var('MULTIARCH') or ''}"
    paths = [
        interpreter(),
        sysconfig.get_path("stdlib"),
        os.path.join(sys.base_prefix, sys.platlibdir, version),
        *([os.path.join(sysconfig.get_config_var("LIBDIR"), shared)] if ".so" in shared else []),
        libraries if os.path.isdir(libraries) else "/usr/lib",
        *("/etc/ld.so.cache", "/usr/lib64", "/lib64", "/usr/lib/ld-musl-x86_64.so.1"),
        *site_folders(),
        *("/dev/zero", "/dev/urandom", "/dev/random"),
    ]
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path)))
