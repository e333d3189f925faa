"""What each mechanism of the sandbox is for: an attack that fails with it and succeeds without it.

Attacks with a mechanism switched off run in a mount namespace of their own, in which everything but
one folder of the test is read-only, and in which they see no other process. The snippets bind the
name `ACHIEVED` when they reach what they are after.
"""

import subprocess
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import pytest

from tensorgrade.course import Limits
from tensorgrade.sandbox import processes
from tensorgrade.sandbox.lockdown import landlock_version
from tensorgrade.sandbox.processes import ForkServer

from ..support import loaded, needs

pytestmark = [pytest.mark.slow, pytest.mark.machine, needs("containers, made by root")]
# The functions of sandbox/lockdown.py that put the mechanisms on.
MECHANISMS = {
    "files": "restrict_files",
    "calls": "filter_calls",
    "limits": "set_limits",
    "capabilities": "give_up_capabilities",
}
# Attacks that Landlock stops from this version on.
LATER = {"cut a file off": 3, "call a listener": 4, "signal the server": 6}
# A reply to `load` names functions and classes.
TELL = "if 'ACHIEVED' in globals():\n    def tell(): pass\n"
THREADS = """
import threading, time
threading.stack_size(1 << 16)
kept = [threading.Thread(target=time.sleep, args=(1,), daemon=True) for _ in range(300)]
ACHIEVED = [one.start() for one in kept]
"""
LOCK_MEMORY = """
import mmap
ACHIEVED = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x2000)
"""
# For each attack: a text, and the mechanisms of which any one stops it. FILE is one of the grader.
# tests/security/files/system_calls.py tries many more calls.
ATTACKS = {
    "read the answers": ("ACHIEVED = open(FILE).read()\n", {"files"}),
    "write a file": ("ACHIEVED = open(FILE, 'a')\n", {"files"}),
    "open the server's memory": (
        "import os\nACHIEVED = os.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY)\n",
        {"files", "capabilities"},
    ),
    "cut a file off": ("import os\nACHIEVED = [os.truncate(FILE, 0)]\n", {"files", "calls"}),
    "make a file writable": ("import os\nACHIEVED = [os.chmod(FILE, 0o666)]\n", {"calls"}),
    "signal the server": (
        "import os\nACHIEVED = [os.kill(os.getppid(), 0)]\n",
        {"calls", "files"},
    ),
    "start a process": ("import os\nACHIEVED = os.fork() or os._exit(0)\n", {"calls"}),
    "start hundreds of threads": (THREADS, {"calls"}),
    "call a listener": (
        "import socket\nACHIEVED = socket.create_connection(('127.0.0.1', PORT), 1)\n",
        {"files", "calls"},
    ),
    "take three gibibytes": ("import mmap\nACHIEVED = mmap.mmap(-1, 3 << 30)\n", {"limits"}),
    "open hundreds of files": (
        "import os\nACHIEVED = [os.open('/dev/null', os.O_RDONLY) for _ in range(300)]\n",
        {"limits"},
    ),
    "lock memory": (LOCK_MEMORY, {"capabilities"}),
}


def own_view(folder: Path) -> list[str]:
    """The words that run a command where only this folder can be written."""
    words = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "--"]
    script = """
        for at in $(cut --delimiter=" " --fields=2 /proc/self/mounts); do
            mount -o remount,bind,ro "$at" 2>/dev/null
        done
        mount --bind "$0" "$0" && mount -o remount,bind,rw "$0" && exec "$@"
    """
    return [*words, "sh", "-c", script, str(folder)]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Fork servers by the mechanisms that are off, each started once."""
    folder = tmp_path_factory.mktemp("own")
    started = []

    class Contained(ForkServer):
        def start(self) -> None:
            self.command = [*own_view(folder), *self.command]
            super().start()

    @cache
    def start(*off: str) -> ForkServer:
        lines = [f"lock.{MECHANISMS[one]} = lambda *_: None" for one in off]
        *setup, run = processes.START.splitlines()
        with pytest.MonkeyPatch.context() as patched:
            change = ["import tensorgrade.sandbox.lockdown as lock", *lines]
            patched.setattr(processes, "START", "\n".join([*setup, *change, run]))
            patched.setitem(processes.ON_CPU, "TMPDIR", str(folder))
            started.append(Contained(Limits(load_seconds=5)))
        return started[-1]

    start.folder = folder
    yield start
    for one in started:
        one.close()


def achieved(server: ForkServer, text: str) -> bool:
    """Return True if a file reaches its aim."""
    return "tell" in loaded(text + TELL, server).names


@pytest.mark.parametrize("attack", ATTACKS)
def test_one_mechanism_is_enough_and_without_it_the_attack_succeeds(server, listener, attack):
    text, stopped_by = ATTACKS[attack]
    if landlock_version() < LATER.get(attack, 1):
        stopped_by = stopped_by - {"files"}
    file = server.folder / attack.replace(" ", "_")
    file.write_text("x")
    text = f"FILE, PORT = {str(file)!r}, {listener.port}\n{text}"
    assert not achieved(server(), text)
    for only in stopped_by:
        assert not achieved(server(*sorted(stopped_by - {only})), text), only
    assert achieved(server(*sorted(stopped_by)), text), "the check can fail"


def test_a_signal_to_the_own_group_reaches_nobody_else():
    """Not even without a sandbox."""
    with closing(ForkServer(Limits(load_seconds=3), locked=False)) as server:
        achieved(server, "import os\nos.kill(0, 9)\n")
        with suppress(subprocess.TimeoutExpired):  # it still runs
            server.process.wait(3)
        assert server.process.poll() is None
