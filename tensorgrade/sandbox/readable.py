"""The paths that a locked-in process must read to run Python and torch, and no others."""

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

PACKAGES = ("torch", "safetensors", "numpy")
DEVICES = ("/dev/zero", "/dev/urandom", "/dev/random")
SYSTEM_FILES = ("/etc/ld.so.cache", "/usr/lib64", "/lib64", "/usr/lib/ld-musl-x86_64.so.1")


def interpreter() -> str:
    """Return the path of the real interpreter, with a virtual environment's links resolved."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def site_folders() -> list[str]:
    """Return the folders that contain torch, safetensors and numpy."""
    found = [importlib.util.find_spec(name) for name in PACKAGES]
    origins = [spec.origin for spec in found if spec and spec.origin]
    return list(dict.fromkeys(os.path.realpath(Path(one).parent.parent) for one in origins))


def readable_paths() -> list[str]:
    """Return the real paths of Python, the system's libraries, torch and a few devices."""
    paths = [interpreter(), *standard_library(), *system_libraries(), *site_folders(), *DEVICES]
    there = (os.path.realpath(path) for path in paths if os.path.exists(path))
    return list(dict.fromkeys(there))


def standard_library() -> list[str]:
    """Return Python's standard library, and the interpreter's shared library if it has one."""
    base = os.path.join(sys.base_prefix, sys.platlibdir, f"python{sysconfig.get_python_version()}")
    shared = sysconfig.get_config_var("INSTSONAME") or ""
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "/", shared)
    return [sysconfig.get_path("stdlib"), base, *([library] if ".so" in shared else [])]


def system_libraries() -> list[str]:
    """Return the folders of the C library and its companions.

    The first is Debian's folder for this architecture if it exists, otherwise /usr/lib.
    """
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    folder = f"/usr/lib/{multiarch}"
    own = folder if multiarch and os.path.isdir(folder) else "/usr/lib"
    return [own, *SYSTEM_FILES]
