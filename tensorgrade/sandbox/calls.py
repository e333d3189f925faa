"""The filter on system calls: what a locked-in child may ask of the kernel, and nothing else.

The list was found by tracing torch and Python. A call that is not on it fails as if it were
forbidden. Calls that the C library replaces by older ones, and all that are newer than this list,
fail as if the kernel did not have them. Another ABI ends the process.
"""

import errno
import platform
import struct
from itertools import starmap

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
# Flags that write or create, and the word of the arguments that holds them.
WRITES = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000 | 0o20000000
OPENS = {"openat 257 56": 4, "open 2 -": 2}
# Missing, as in an older kernel, so that the C library falls back.
MISSING = "clone3 435 435  openat2 437 437  close_range 436 436"
NEWEST = 449  # numbers above it are missing too; a larger number here needs a look at each call
LARGEST = 0x3FFFFFFF  # above it: the x32 ABI, and negative numbers
MACHINES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}  # the ABI, the table's column
# What the kernel shows to a filter (<linux/seccomp.h>), and instructions (<linux/bpf_common.h>).
NUMBER, ABI, ARGUMENTS = 0, 4, 16
LOAD, EQUAL, ABOVE, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
ALLOW, FAIL, END_PROCESS = 0x7FFF0000, 0x50000, 0x80000000


def filter_of_calls(machine: str = "", read_only: bool = False) -> bytes:
    """Return the filter as BPF. Raises OSError if the processor is not known.

    read_only: open no file for writing; for a child that no list of files holds back.
    """
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise OSError(f"there is no list of system calls for the processor {machine}")
    abi, column = MACHINES[machine]
    code = instruction(LOAD, ABI) + instruction(EQUAL, abi, 1, 0) + instruction(RETURN, END_PROCESS)
    code += instruction(LOAD, NUMBER)
    for call, word in OPENS.items() if read_only else ():
        refused = answer(ANY_BIT, WRITES, FAIL | errno.EACCES)
        code += allowed_after(instruction(LOAD, ARGUMENTS + 4 * word) + refused, call, column)
    for number in numbers(ALLOWED, column):
        code += answer(EQUAL, number, ALLOW)
    for call, words in CHECKED.items():
        code += allowed_after(b"".join(starmap(one_of, words.items())), call, column)
    for number in numbers(MISSING, column):
        code += answer(EQUAL, number, FAIL | errno.ENOSYS)
    code += answer(ABOVE, LARGEST, END_PROCESS)
    code += answer(ABOVE, NEWEST, FAIL | errno.ENOSYS)
    return code + instruction(RETURN, FAIL | errno.EPERM)


def numbers(table: str, column: int) -> list[int]:
    """Return the numbers in a column of a table, without calls that the processor lacks.

    >>> numbers("read 0 63  open 2 -", 2)
    [63]
    """
    return [int(word) for word in table.split()[column::3] if word != "-"]


def allowed_after(test: bytes, call: str, column: int) -> bytes:
    """Return instructions that allow a call unless a test refuses it; other calls skip them."""
    test += instruction(RETURN, ALLOW)
    return b"".join(
        instruction(EQUAL, number, 0, len(test) // 8) + test for number in numbers(call, column)
    )


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
