"""The side of learner code: a fork server, and children that lock themselves in.

A child can read Python and torch, compute and answer, and nothing else. The kernel offers all that
to an ordinary process: Landlock lists the files that it may read, a filter lists its system calls
(found by tracing torch and Python), and limits bound its memory, time and files. All of it is
final. Only the standard library is imported here.
"""

import ctypes
import errno
import gc
import os
import platform
import signal
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import starmap
from pathlib import Path
from typing import Any, NoReturn

LIBC: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
# Options of prctl, in <linux/prctl.h>.
DIE_WITH_PARENT, DUMPABLE, SET_SECCOMP, NO_NEW_PRIVILEGES = 1, 4, 22, 38
FILTER_MODE, CAPABILITIES_VERSION_3 = 2, 0x20080522
# System calls and rights over files, in <linux/landlock.h>; all processors have these numbers.
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
WRITE_FILE, READ_FILE, READ_FOLDER, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
RIGHTS_OVER_FILES = {1: 13, 2: 14, 3: 15, 4: 15}  # how many, by version; 16 from version 5 on
NOBODY = 65534
SANDBOX, AS_NOBODY, NONE = "sandbox", "sandbox (nobody)", "none"
# Name, number on x86_64, number on aarch64 ("-": it has none). The most frequent come first.
ALLOWED = """
    read 0 63          write 1 64           setitimer 38 103    rt_sigaction 13 134  brk 12 214
    mmap 9 222         munmap 11 215        mprotect 10 226     mremap 25 216        lseek 8 62
    close 3 57         openat 257 56        open 2 -            newfstatat 262 79    fstat 5 80
    stat 4 -           lstat 6 -            statx 332 291       pread64 17 67        readv 19 65
    writev 20 66       getdents64 217 61    readlink 89 -       readlinkat 267 78    access 21 -
    faccessat 269 48   faccessat2 439 439   getcwd 79 17        dup 32 23
    rt_sigprocmask 14 135  rt_sigreturn 15 139  sigaltstack 131 132  restart_syscall 219 128
    getitimer 36 102   alarm 37 -           nanosleep 35 101    gettimeofday 96 169  time 201 -
    times 100 153      getrusage 98 165     getrandom 318 278   uname 63 160         sysinfo 99 179
    getcpu 309 168     sched_yield 24 124   poll 7 -            ppoll 271 73         select 23 -
    pselect6 270 72    getpid 39 172        getppid 110 173     gettid 186 178       getuid 102 174
    geteuid 107 175    getgid 104 176       getegid 108 177     getgroups 115 158    getpgrp 111 -
    umask 95 166       exit 60 93           exit_group 231 94
"""
# Allowed only if each of these 32-bit words of the arguments has one of these values. An argument
# has two words, the low one first; the kernel reads only that one, except of an address.
CLOCKS = {*range(8), 11}  # none of another process
SIMPLE = {0, 1, 3, 4, 5, 9, 10}  # wait, wake, requeue, wake_op, with bits: no priorities, no files
PRIVATE, REALTIME = 128, 256
CHECKED = {
    "clock_gettime 228 113": {0: CLOCKS},
    "clock_getres 229 114": {0: CLOCKS},
    "clock_nanosleep 230 115": {0: CLOCKS},
    "futex 202 98": {2: SIMPLE | {PRIVATE | n for n in SIMPLE} | {REALTIME | 9, REALTIME | 137}},
    "madvise 28 233": {4: {0, 4, 8, 14, 15, 16, 17}},  # free, huge pages, dumps; no files' pages
    "fcntl 72 25": {2: {0, 1, 2, 3, 1030}},  # duplicate, close on exec, read the flags
    "ioctl 16 29": {2: {0x5401, 0x5413, 0x5450, 0x5451}},  # is it a terminal; close on exec
    "prlimit64 302 261": {0: {0}, 4: {0}, 5: {0}},  # its own, and only to read them
    "sched_getaffinity 204 123": {0: {0}},
    "getpgid 121 155": {0: {0}},
    "getsid 124 156": {0: {0}},
}
# For a child that no list of files holds back: open files for reading only, with these flags.
READING = {a | b | c for a in (0, 0o4000) for b in (0, 0o40000, 0o200000) for c in (0, 0o2000000)}
OPENS = {"openat 257 56": {4: READING}, "open 2 -": {2: READING}}
# Missing, as in an older kernel, so that the C library falls back.
MISSING = "clone3 435 435  openat2 437 437  close_range 436 436"
NEWEST = 449  # numbers above it are missing too; a larger number here needs a look at each call
LARGEST = 0x3FFFFFFF  # above it: the x32 ABI, and negative numbers
MACHINES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}  # the ABI, the table's column
# What the kernel shows to a filter (<linux/seccomp.h>), and instructions (<linux/bpf_common.h>).
NUMBER, ABI, ARGUMENTS = 0, 4, 16
LOAD, EQUAL, ABOVE, RETURN = 0x20, 0x15, 0x25, 0x06
ALLOW, FAIL, END_PROCESS = 0x7FFF0000, 0x50000, 0x80000000


def main(program: str, *rules: Any) -> None:
    """Warm up, say so, and fork a child for each request, until the trusted side closes the socket.

    A request is the name of a program with one end of a stream. The reply is the number of a child
    that serves this stream, with a handle on it. program: a module of the engine with `warm_up` and
    `serve(reader, writer)`. rules: the arguments of `lock_in`.
    """
    control = socket.socket(fileno=0)  # standard input
    import_module(f"..{program}", __package__).warm_up()
    gc.collect()
    gc.freeze()  # children share these objects instead of copying their pages
    children: list[int] = []
    with suppress(ConnectionError):  # the trusted side may be gone at any time, as after a signal
        control.send(b"ready")
        while (request := socket.recv_fds(control, 100, 1))[0]:
            name, (stream,), _, _ = request
            children = [pid for pid in children if not let_go(pid, os.WNOHANG)]
            pid = os.fork()
            if pid == 0:
                serve_in_child(name.decode(), stream, lambda: None, *rules)
            children.append(pid)
            os.close(stream)
            handle = os.pidfd_open(pid)  # it is let go of at the next request, so it is there
            socket.send_fds(control, [b"%d" % pid], [handle])
            os.close(handle)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        let_go(pid)


def let_go(pid: int, options: int = 0) -> bool:
    """Wait for a child, and end what it has started, which only `none` lets it do.

    options: os.WNOHANG to return False if it still runs. Raises ChildProcessError for no child.
    """
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | options) is None:
        return False
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)  # while its number cannot be another process's
    os.waitpid(pid, 0)
    return True


def serve_in_child(program: str, stream: int, begin: Callable, *rules: Any) -> NoReturn:
    """Run a program in this child, which has only the stream open. begin: what it does first."""
    try:
        keep_only(stream)
        begin()
        serve = import_module(f"..{program}", __package__).serve
        lock_in(*rules)
        serve(os.fdopen(3, "rb", closefd=False), os.fdopen(3, "wb", closefd=False))
    except MemoryError:
        os.write(3, bytes(8))  # a message without content: no memory is left for another one
    finally:  # an error must not go on in the code that forked
        os._exit(0)


def keep_only(stream: int) -> None:
    """Move a stream to descriptor 3, discard standard input and outputs, and close the others."""
    os.dup2(stream, 3)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(4, 1 << 20)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False) for fd in (1, 2))


def kind_here() -> str:
    """Return the sandbox on this machine; without Landlock, root can become a user: `nobody`."""
    filter_of_calls()  # raises OSError for a processor without a list
    with suppress(OSError):
        landlock_version()
        return SANDBOX
    if os.geteuid() != 0:
        raise OSError("this kernel does not offer Landlock, and only root can do without")
    return AS_NOBODY


def lock_in(kind: str, limits: dict[str, int], readable: Sequence[str]) -> None:
    """Lock this process in for good.

    kind: one of `kind_here`, or NONE, which sets the limits only. limits: `Limits` as a dictionary.
    readable: paths of files and folders.
    """
    os.setsid()  # a signal to the own group reaches nobody else
    if kind == AS_NOBODY:  # a user without files, whose other processes cannot read this memory
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        call("prctl", DUMPABLE, 0, 0, 0, 0)
    call("prctl", DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)  # a change of the user would undo it
    set_limits(limits)
    if kind == NONE:
        return
    call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if kind == SANDBOX:
        give_up_capabilities()
        restrict_files(readable)
    filter_calls(filter_of_calls(read_only=kind == AS_NOBODY))


def set_limits(limits: dict[str, int]) -> None:
    """Lower the kernel's limits on this process; a limit that is lower already stays."""
    import resource  # Windows has none

    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    bounds = {
        resource.RLIMIT_AS: own + limits["memory_bytes"],  # in addition to its addresses now
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_CPU: limits["processor_seconds"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    for kind, most in bounds.items():
        _, hard = resource.getrlimit(kind)
        lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (lowest, lowest))


def give_up_capabilities() -> None:
    """Drop what root could still do, such as lock memory beyond the limit."""
    call("capset", struct.pack("Ii", CAPABILITIES_VERSION_3, 0), bytes(24))


def restrict_files(readable: Sequence[str]) -> None:
    """Allow reading these paths and what is below them; refuse all other use of files."""
    version = landlock_version()
    files = (1 << RIGHTS_OVER_FILES.get(version, 16)) - 1
    # From version 4 on there are rights over TCP, from version 6 on over signals and sockets.
    governed = [files] + [3] * (version >= 4) + [3] * (version >= 6)
    told = struct.pack(f"{len(governed)}Q", *governed)
    rules = call("syscall", LANDLOCK_CREATE, told, len(told), 0)
    allowed = [(path, READ_FILE | READ_FOLDER) for path in readable]
    for path, rights in [*allowed, ("/dev/null", (READ_FILE | WRITE_FILE | TRUNCATE) & files)]:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not os.path.isdir(path):
            rights &= ~READ_FOLDER  # the kernel refuses rights over folders on a file
        call("syscall", LANDLOCK_ADD, rules, 1, struct.pack("=Qi", rights, opened), 0)
        os.close(opened)
    call("syscall", LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)


def landlock_version() -> int:
    """Return the kernel's version of Landlock."""
    return call("syscall", LANDLOCK_CREATE, None, 0, 1)


def filter_calls(code: bytes) -> None:
    """Install a filter on system calls; the kernel applies it at once."""
    instructions = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(code) // 8, ctypes.addressof(instructions))  # sock_fprog
    call("prctl", SET_SECCOMP, FILTER_MODE, program, 0, 0)


def call(name: str, *arguments: int | bytes | None) -> int:
    """Return the result of a function of the C library. Raises OSError if it is negative."""
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result: int = getattr(LIBC, name)(*words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def filter_of_calls(machine: str = "", read_only: bool = False) -> bytes:
    """Return the filter as BPF. Raises OSError if the processor is not known."""
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise OSError(f"there is no list of system calls for the processor {machine}")
    abi, column = MACHINES[machine]
    code = instruction(LOAD, ABI) + instruction(EQUAL, abi, 1, 0) + instruction(RETURN, END_PROCESS)
    code += instruction(LOAD, NUMBER)
    # The first rule for a number counts.
    for table, words in [*(OPENS.items() if read_only else ()), (ALLOWED, {}), *CHECKED.items()]:
        tests = b"".join(starmap(one_of, words.items())) + instruction(RETURN, ALLOW)
        for number in numbers(table, column):
            code += instruction(EQUAL, number, 0, len(tests) // 8) + tests
    for number in numbers(MISSING, column):
        code += answer(EQUAL, number, FAIL | errno.ENOSYS)
    code += answer(ABOVE, LARGEST, END_PROCESS)
    code += answer(ABOVE, NEWEST, FAIL | errno.ENOSYS)
    return code + instruction(RETURN, FAIL | errno.EPERM)


def numbers(table: str, column: int) -> list[int]:
    """Return the numbers in a column of a table, without calls that the processor lacks."""
    return [int(word) for word in table.split()[column::3] if word != "-"]


def one_of(word: int, values: set[int]) -> bytes:
    """Return a test that refuses a call unless a word of its arguments has one of the values."""
    test = instruction(LOAD, ARGUMENTS + 4 * word)
    for left, value in reversed([*enumerate(values)]):
        test += instruction(EQUAL, value, left + 1, 0)
    return test + instruction(RETURN, FAIL | errno.EPERM)


def answer(code: int, value: int, action: int) -> bytes:
    """Return an action for numbers that compare so with a value; others go on."""
    return instruction(code, value, 0, 1) + instruction(RETURN, action)


def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one instruction; `if_true` and `if_false` are numbers of instructions to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
