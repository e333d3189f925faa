"""A warm process: it has imported torch once, and forks a new child for each attempt.

It runs as a separate program (`python -I -c "… from runner.warm import main; main(fd, config)"`),
contains no answer, and communicates with the trusted side over one socket:

    trusted → warm   {"fork": id} with the child's end of a stream;  {"kill": id};  {"compiler": id}
    warm → trusted   {"ready": …} once;  {"ended": id, "status": …} for every child and every import
"""

import array
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .bounds import with_own_memory
from .fork_memory import SMALL, fillers, use_huge_pages
from .lockdown import lock_down
from .namespaces import FOLDER, fork_as_first_process
from .own_user import OwnUser, Users
from .source import Source
from .system import prctl

DUMPABLE, MOST_FILES = 4, 1 << 20


def main(control_fd: int, config: dict) -> None:
    """Warm up, report that, and fork children until the trusted side closes the socket."""
    control = socket.socket(fileno=control_fd)
    if "bubblewrap" in config["layers"]:
        # torch's import creates a folder there; children mount a folder of their own over it.
        tempfile.tempdir = FOLDER
    import_everything()
    serve_forks(control, config)


def serve_forks(control: socket.socket, config: dict) -> None:
    """Report that all is imported, and fork children until the trusted side closes the socket."""
    if "parent" in config["layers"]:
        prctl(DUMPABLE, 0)  # children cannot inspect this process
    children = Children(control, config)
    control.send(json.dumps({"ready": True, "threads": thread_count()}).encode())
    children.run()


def import_everything() -> None:
    """Import and use once all code that is slow the first time, with one thread only.

    A child forked after a multi-threaded operation hangs forever in its own first one. Gradients
    are not computed here if GPUs are visible, because torch uses a thread for each GPU.
    Garbage collection is postponed until everything is imported (see `settle`).
    """
    gc.disable()
    import torch

    from . import serve  # noqa: F401
    from .instrumentation import OperationCounter
    from .tracing import StageRecorder
    from .wire import pack, unpack

    torch.set_num_threads(1)
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(1, 3, 8, requires_grad=True)
    y = layer(x, x, x)[0]
    if gpus_are_hidden():
        torch.autograd.grad(y.sum(), [x])
    torch.einsum("bij,bjk->bik", x, torch.ones(1, 8, 2))
    torch.nn.functional.scaled_dot_product_attention(x, x, x)
    torch.nn.functional.dropout(torch.softmax(x, -1), 0.5)
    with OperationCounter(), StageRecorder("no file"):
        x @ x.mT
    unpack(pack({}, {"x": x}))


def gpus_are_hidden() -> bool:
    """Return True if this process can use the CPU only, as on all isolation levels but `cuda`."""
    return os.environ.get("CUDA_VISIBLE_DEVICES") == ""


REHEARSED = """
import torch
from torch import nn

class Rehearsed(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.factor = nn.Parameter(torch.full((d,), 0.5))
        self.layers = nn.ModuleList(nn.Linear(d, d) for _ in range(2))
        self.dropout = nn.Dropout(p)
        self.register_buffer("upper", torch.triu(torch.ones(d, d), diagonal=1))

    def forward(self, x):
        n = x.shape[-2]
        for layer in self.layers:
            x = x + self.dropout(layer(self.factor * x))
        products = (x @ x.transpose(-2, -1)).masked_fill(self.upper.bool()[:n, :n], -torch.inf)
        return torch.softmax(products / n**0.5, dim=-1) @ x
"""
REHEARSALS = 10  # Python runs code faster after eight runs
LONGEST_REHEARSAL = 60  # seconds
SECONDS_TO_IDLE = 0.1


def rehearse() -> None:
    """Run an example module as a learner's module runs, so that each child starts faster.

    Afterwards Python has specialized the code for its types, and torch has looked up its
    operations. torch has also imported the modules that it needs for a second device.
    """
    import torch

    from . import serve
    from .case_runner import Step
    from .steps import Call, Construct, Describe, Duplicate, Load, Mode, Move, Restore
    from .wire import pack, unpack

    x = torch.ones(2, 3, 4, dtype=torch.float64)
    load: dict[str, Any] = {
        "name": "rehearsed",
        "exercises": ["Rehearsed"],
        "given": {},
        "rebind": [],
    }
    load |= {"definitions_only": False, "alone": None, "device": "cpu"}
    load |= {"parameters": {"Rehearsed": ["d", "p"], "Rehearsed.forward": ["x"]}, "assigned": {}}
    arguments, passed = {"d": x.shape[-1], "p": 0.5}, {"x": {"tensor": "x"}}
    gradient = ["x"] if gpus_are_hidden() else []
    steps: list[Step] = [
        Construct(name="Rehearsed", result="a", dtype="float64", arguments=arguments),
        Load(on="a", weights={"factor": "weight"}),
        Mode(on="a", training=False),
        Duplicate(on="a", result="b"),
        Restore(on="b", source="a"),
        Describe(on="a", state=True),
        Call(on="a", gradient=gradient, watch=True, stages=True, arguments=passed),
        Move(on="a", arguments=passed),
    ]
    for _ in range(REHEARSALS):
        runner, _ = serve.load(load, Source(REHEARSED, "rehearsed.py"))
        tensors = {"x": x, "weight": x.flatten()[: x.shape[-1]]}
        asked = pack({"id": "rehearsed", "steps": [one.encode() for one in steps]}, tensors)
        unpack(serve.run_in_time(runner, *unpack(asked), LONGEST_REHEARSAL))


@contextmanager
def same_random_state() -> Iterator[None]:
    """Run the code inside; then restore the state of torch's random numbers."""
    import torch

    before = torch.get_rng_state()
    yield
    torch.set_rng_state(before)


class Children:
    """The living children, and the socket to the trusted side."""

    def __init__(self, control: socket.socket, config: dict):
        self.control, self.config, self.bounds = control, config, config["bounds"]
        self.fillers: list[object] = []  # objects that fill gaps in memory; see fork_memory.py
        self.settle()
        self.forks = forks_of(config)
        self.ids: dict[int, tuple[int, int]] = {}  # pidfd → (id, pid)
        self.free, self.users = Users(), dict[int, OwnUser]()  # pidfd → the child's own user

    def run(self) -> None:
        """Serve requests and report ends until the trusted side is gone.

        In the first idle moment, rehearse the work of children once and reorganise memory.
        """
        patience: float | None = SECONDS_TO_IDLE
        while True:
            ready, _, _ = select.select([self.control.fileno(), *self.ids], [], [], patience)
            if not ready:
                with same_random_state():
                    rehearse()
                self.settle()
                use_huge_pages()  # takes half a second
                patience = None
            for fd in ready:
                if fd != self.control.fileno():
                    self.report_end(fd)
                elif not self.serve_request():
                    return self.kill_all()

    def settle(self) -> None:
        """Let children share all memory pages used so far, and add these to their memory limit."""
        gc.collect()
        self.fillers += map(fillers, SMALL)
        gc.freeze()
        gc.enable()
        self.config["bounds"] = with_own_memory(self.bounds)

    def serve_request(self) -> bool:
        """Serve one request; return False if the trusted side has closed the socket."""
        try:
            message, ancillary, _, _ = self.control.recvmsg(4096, socket.CMSG_LEN(4))
        except ConnectionResetError:  # it was closed before all reported ends were read
            return False
        if not message:
            return False
        request = json.loads(message)
        if "fork" in request:
            fds = array.array("i")
            fds.frombytes(ancillary[0][2][:4])
            self.fork(request["fork"], fds[0])
        elif "compiler" in request:
            self.import_compiler(request["compiler"])
        else:
            self.kill(request["kill"])
        return True

    def import_compiler(self, number: int) -> None:
        """Import the compiler for all later children, each of which would need seconds for it."""
        with same_random_state():
            import torch._dynamo  # noqa: F401
        self.settle()
        self.tell_end(number, 0)

    def fork(self, child_id: int, stream_fd: int) -> None:
        """Fork a child that serves the stream, and record it."""
        user = self.free.take() if "uid" in self.config["layers"] else None
        told = {"user": user.number} if user else {}
        pid = self.forks()
        if pid == 0:
            run_child(stream_fd, self.config | told)  # never returns
        os.close(stream_fd)
        pidfd = os.pidfd_open(pid)
        self.ids[pidfd] = (child_id, pid)
        if user:
            self.users[pidfd] = user

    def kill(self, child_id: int) -> None:
        """End a child and the process group that it leads; its end is reported like any other."""
        for pidfd, (known, pid) in self.ids.items():
            if known == child_id:
                with suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def report_end(self, pidfd: int) -> None:
        """Report that a child has ended, and end the processes that remain in its group."""
        child_id, pid = self.ids.pop(pidfd)
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)  # before waitpid, which frees the number for others
        _, status = os.waitpid(pid, 0)
        os.close(pidfd)
        if pidfd in self.users:
            self.users.pop(pidfd).end()
        self.tell_end(child_id, os.waitstatus_to_exitcode(status))

    def tell_end(self, number: int, status: int) -> None:
        """Report the end of a child or an import, unless the trusted side is closing."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.control.send(json.dumps({"ended": number, "status": status}).encode())

    def kill_all(self) -> None:
        for child_id, _ in list(self.ids.values()):
            self.kill(child_id)
        for user in self.users.values():
            user.end()


def forks_of(config: dict) -> Callable[[], int]:
    """Return the function to fork with: plain, or into a PID namespace of the child's own."""
    if "pid" not in config["layers"]:
        return os.fork
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    return lambda: fork_as_first_process(own)


def run_child(stream_fd: int, config: dict) -> None:
    """Serve requests in the locked-down child, which has only the stream open; then exit."""
    status = 1
    try:
        only_stream(stream_fd)
        lock_down(config)
        from .serve import serve

        stream = os.fdopen(3, "rb", closefd=False), os.fdopen(3, "wb", closefd=False)
        serve(*stream)
        status = 0
    except MemoryError:
        status = 3
    finally:
        os._exit(status)


def only_stream(stream_fd: int) -> None:
    """Move the stream to descriptor 3, discard standard input and outputs, and close the others."""
    os.dup2(stream_fd, 100)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.dup2(100, 3)
    os.closerange(4, MOST_FILES)
    sys.stdin = os.fdopen(0, closefd=False)


def thread_count() -> int:
    """Return the number of threads of this process; 1 if the system does not report it."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
