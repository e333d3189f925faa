"""What each layer is for: an attack that fails with it, and succeeds without it and its backups.

The snippets bind the name `ACHIEVED` when they reach what they are after.
"""

import os
import subprocess
from contextlib import suppress
from functools import cache

import pytest

from tensorgrade.attempts.in_child import InChild
from tensorgrade.course import Limits
from tensorgrade.isolation.levels import FULL, LANDLOCK, NAMESPACES, Level
from tensorgrade.isolation.warm_process import WarmProcess
from tensorgrade.sources.submission import Source, Submission

from ..support import needs
from .conftest import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machine,
    needs("isolation 'full'"),
]
# A reply to `load` names functions and classes.
TELL = "if 'ACHIEVED' in globals():\n    def tell(): pass\n"
LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
READ_ANSWERS = f"ACHIEVED = open({str(ROOT / 'course_config.py')!r}).read()\n"
NAME_PARENT = (
    "import os\npid = os.getppid()\nACHIEVED = pid > 1 and os.kill(pid, 0) is None or 1 / 0\n"
)
KILL_GROUP = "import os\nos.kill(0, 9)\n"
LEAVE_FILE = "open('/w/left', 'w').write('x')\n"
FIND_FILE = "ACHIEVED = open('/w/left').read()\n"
LEAVE_SEGMENT = LIBC + "segment = libc.shmget(77, 4096, 0o1666)\n"
FIND_SEGMENT = LIBC + "if libc.shmget(77, 4096, 0o666) >= 0: ACHIEVED = True\n"
CONNECT = "import socket\nACHIEVED = socket.create_connection(('127.0.0.1', {port}), 1)\n"
OPEN_FILES = "import os\nACHIEVED = [os.open('/dev/null', os.O_RDONLY) for _ in range(300)]\n"
TAKE_MEMORY = "import mmap\nACHIEVED = mmap.mmap(-1, 3 << 30)\n"
UNCOVER = LIBC + "if libc.umount2(b'/proc', 2) == 0: ACHIEVED = os.listdir('/proc/self')\n"
FORK = "import os\nACHIEVED = os.fork() or os._exit(0)\n"
HOARD = "import os\nACHIEVED = [os.memfd_create(str(n)) for n in range(20)]\n"
OPEN_PARENT = "import os\nACHIEVED = os.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY)\n"
SO_PEERPIDFD = 77
ASK_STREAM = LIBC + (
    "found, size = ctypes.c_int(), ctypes.c_uint(4)\n"
    f"asked = 3, 1, {SO_PEERPIDFD}, ctypes.byref(found), ctypes.byref(size)\n"
    "if libc.getsockopt(*asked) == 0: ACHIEVED = True\n"
)
# SIGIO to any process, with values that a filter sees and the kernel does not read.
SET_OWNER = LIBC + (
    "import os\nend = os.pipe()[0]\n"
    "asked = [(72, 8), (72, 8 | 1 << 40), (72, 10), (72, 15), (16, 0x8901), (16, 0x8902)]\n"
    "owner = ctypes.byref((ctypes.c_int * 2)(1, os.getpid()))\n"
    "calls = [(n, end, ctypes.c_ulong(r), 29 if r & 255 in (8, 10) else owner) for n, r in asked]\n"
    "if 0 in [libc.syscall(*call) for call in calls]: ACHIEVED = True\n"
)
OWN_NAMESPACE = LIBC + "if libc.unshare(0x10000000) == 0: ACHIEVED = True\n"


def without(*layers: str) -> Level:
    """The highest level with some layers off; without bubblewrap nothing that needs it stays on."""
    off = set(layers) | ({"pid", "mount", "ipc", "net"} if "bubblewrap" in layers else set())
    return Level("for a test", FULL.layers - off, "")


@pytest.fixture(scope="module")
def warm():
    """Warm processes by level, each started once."""
    started = []

    @cache
    def start(level: Level) -> WarmProcess:
        started.append(WarmProcess(Limits(load_seconds=5), level))
        return started[-1]

    yield start
    for process in started:
        process.close()


def achieved(warm: WarmProcess, *sources: str) -> bool:
    """Whether the last of these files, each loaded by a child of its own, reaches its aim.

    The children before it stay alive meanwhile.
    """
    submissions = [Submission("a", Source(source + TELL, "a.py")) for source in sources]
    attempts = [InChild(submission, warm, warm.limits) for submission in submissions]
    try:
        return "tell" in [attempt.try_to_load() for attempt in attempts][-1].names
    finally:
        for attempt in attempts:
            attempt.close()


ATTACKS = {
    "read the answers": (READ_ANSWERS,),
    "signal the warm process": (NAME_PARENT,),
    "read a sibling's file": (LEAVE_FILE, FIND_FILE),
    "read a sibling's shared memory": (LEAVE_SEGMENT, FIND_SEGMENT),
    "call a listener": (CONNECT,),
    "take three gibibytes": (TAKE_MEMORY,),
    "open hundreds of files": (OPEN_FILES,),
    "uncover /proc": (UNCOVER,),
    "start a process": (FORK,),
    "hoard anonymous files": (HOARD,),
    "open the warm process's memory": (OPEN_PARENT,),
    "be root of a namespace": (OWN_NAMESPACE,),
    "get hold of who asks": (ASK_STREAM,),
    "have a signal sent": (SET_OWNER,),
}
OFF = {
    "read the answers": ("bubblewrap", "landlock"),
    "signal the warm process": ("pid", "seccomp", "landlock"),
    "read a sibling's file": ("mount", "landlock"),
    "read a sibling's shared memory": ("ipc", "seccomp"),
    "call a listener": ("net", "seccomp", "landlock"),
    "take three gibibytes": ("memory",),
    "open hundreds of files": ("bounds",),
    "uncover /proc": ("privileges", "seccomp", "landlock"),
    "start a process": ("seccomp",),
    "hoard anonymous files": ("seccomp",),
    "open the warm process's memory": ("parent", "pid", "mount", "privileges", "landlock"),
    "be root of a namespace": ("seccomp",),
    "get hold of who asks": ("seccomp",),
    "have a signal sent": ("seccomp",),
}


def sources_of(attack: str, listener) -> list[str]:
    """An attack's files, with the listener's port put in."""
    return [source.replace("{port}", str(listener.port)) for source in ATTACKS[attack]]


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_level_stops_an_attack_that_succeeds_without_its_layers(warm, listener, attack):
    """With only one of these layers off, the others still stop it."""
    sources = sources_of(attack, listener)
    for level in (FULL, NAMESPACES, LANDLOCK):
        assert not achieved(warm(level), *sources), level.name
    assert achieved(warm(without(*OFF[attack])), *sources), "the check can fail"
    for layer in OFF[attack] if len(OFF[attack]) > 1 else ():
        assert not achieved(warm(without(layer)), *sources), layer


def test_every_layer_has_an_attack():
    """Removing any layer lets an attack succeed."""
    covered = {layer for layers in OFF.values() for layer in layers} | {"session"}
    assert covered == FULL.layers


def test_a_session_of_its_own_stops_the_group_signal():
    """kill(0, 9) ends the warm process only where the child shares its session."""
    for level, survives in ((FULL, True), (without("session", "seccomp", "landlock"), False)):
        with WarmProcess(Limits(load_seconds=3), level) as process:
            achieved(process, KILL_GROUP)
            with suppress(subprocess.TimeoutExpired):  # it still runs
                process.process.wait(3)
            assert process.alive() is survives


def test_a_dead_warm_process_is_replaced():
    """A grader whose warm process was killed goes on with a fresh one."""
    with WarmProcess(Limits(), NAMESPACES) as process:
        process.process.kill()
        process.process.wait()
        assert achieved(process, "ACHIEVED = 1\n")


LOOK_AROUND = """
import os
ours = ("dev", "engine", "lib", "lib64", "proc", "usr", "w")
names = [name for name in sorted(os.listdir("/")) if name not in ours]
files = []
for top in names:
    for folder, below, here in os.walk("/" + top):
        below[:] = [b for b in below if "python" not in b and b != "site-packages"]
        files += [os.path.join(folder, name) for name in here]
files = [f for f in files if "python" not in f]
strange = [f for f in files if f != "/etc/ld.so.cache"]
left = [k for k in os.environ if "SECRET" in os.environ[k] or k.startswith(("SSH", "AWS"))]
if not strange and not left and not os.listdir("/proc") and not os.listdir("/w"): ACHIEVED = 1
"""


def test_nothing_but_python_and_torch_is_to_be_seen(warm):
    """From inside, without Landlock in the way: the top folders, the environment, descriptors."""
    os.environ["A_SECRET"] = "SECRET"
    try:
        assert achieved(warm(NAMESPACES), LOOK_AROUND)
    finally:
        del os.environ["A_SECRET"]
