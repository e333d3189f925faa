"""Build the filter on system calls for locked-in children.

A library may try some calls without harm, so these fail with an error that it can handle. Calls
that never happen by accident end the process, so that the result is `killed`. The stream to the
trusted side is read and written like a file. Socket calls on it are refused, because they would
reveal the process at its other end (SO_PEERCRED; SO_PEERPIDFD even gives a handle on it).
"""

import errno
import tempfile
from functools import cache
from typing import Any

REFUSED = """
    socket socketpair connect bind listen accept accept4 sendto sendmsg sendmmsg recvmsg recvmmsg
    recvfrom getsockopt setsockopt getsockname getpeername shutdown
    fork vfork execve execveat kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo
    memfd_create memfd_secret shmget shmat shmctl msgget semget mq_open inotify_init inotify_init1
    fanotify_init pidfd_open pidfd_getfd pidfd_send_signal setpriority sched_setscheduler
    sched_setattr sched_setparam sched_setaffinity ioprio_set mbind migrate_pages move_pages
    set_mempolicy vmsplice splice tee setuid setgid setresuid setresgid setreuid setregid setgroups
    setfsuid setfsgid capset personality syslog quotactl quotactl_fd setsid setpgid process_madvise
    process_mrelease kcmp get_robust_list lookup_dcookie set_mempolicy_home_node semop semtimedop
    msgsnd msgrcv shmdt mq_timedsend mq_timedreceive mq_notify inotify_add_watch fanotify_mark
    mknod mknodat sync syncfs io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy
    statmount listmount listns lsm_set_self_attr mlockall remap_file_pages uselib ustat sysfs
""".split()
DEADLY = """
    ptrace process_vm_readv process_vm_writev mount umount2 pivot_root move_mount open_tree fsopen
    fsconfig fsmount fspick mount_setattr chroot unshare setns keyctl add_key request_key bpf
    perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register kexec_load
    kexec_file_load init_module finit_module delete_module swapon swapoff reboot open_by_handle_at
    name_to_handle_at acct settimeofday clock_settime adjtimex clock_adjtime sethostname
    setdomainname iopl ioperm vhangup nfsservctl modify_ldt
""".split()
NEW_NAMESPACES = (0x80, 0x20000, *(1 << bit for bit in range(25, 31)))
THREAD = 0x10000
# Refused requests by call. They type into the terminal that started the grader (TIOCSTI, and
# TIOCLINUX's paste). Or they signal another process when a file can be read (F_SETOWN, F_SETSIG,
# F_SETOWN_EX, FIOSETOWN, SIOCSPGRP), which no rule about `kill` catches.
REQUESTS = {"ioctl": (0x5412, 0x541C, 0x8901, 0x8902), "fcntl": (8, 10, 15)}
AS_THE_KERNEL_READS = 0xFFFFFFFF  # the kernel reads only these bits; a filter sees the register


class NoFilter(Exception):
    """The filter cannot be built here; the message names the missing part."""


@cache
def call_filter() -> bytes:
    """Return the filter as BPF for this machine's processor. Raises NoFilter."""
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        raise NoFilter(f"pyseccomp or libseccomp is not installed ({error})") from None
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    add_all(rules, refuse, REFUSED)
    add_all(rules, pyseccomp.KILL_PROCESS, DEADLY)
    add_clone_rules(rules, refuse, pyseccomp)
    for call, requests in REQUESTS.items():
        for request in requests:
            same = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, AS_THE_KERNEL_READS, request)
            rules.add_rule(refuse, call, same)
    rules.add_rule(refuse, "prlimit64", pyseccomp.Arg(0, pyseccomp.NE, 0))  # of other processes
    return exported(rules)


def add_all(rules: Any, action: Any, names: list[str]) -> None:
    """Apply one action to many calls, and skip those that this libseccomp does not know."""
    import pyseccomp

    for name in names:
        try:
            number = pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)
        except ValueError:
            continue
        if number >= 0:  # other calls do not exist on this processor
            rules.add_rule(action, name)


def add_clone_rules(rules: Any, refuse: Any, pyseccomp: Any) -> None:
    """Allow new threads, but no new processes and namespaces.

    clone3 has its flags in memory, which no filter can read. It is reported as missing, so that
    glibc falls back to clone.
    """
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for flag in NEW_NAMESPACES:
        rules.add_rule(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    rules.add_rule(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, THREAD, 0))


def exported(rules: Any) -> bytes:
    """Return the rules as BPF instructions."""
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
