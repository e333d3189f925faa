"""A course's own commands run and cannot break the built-in ones; Ctrl-C ends a command."""

import json
import subprocess
import sys

import pytest

from ..support import ROOT, cli

GREET = '''"""A command of this course."""
from .parts.words import hello


def greet(name: str, loud: bool = False) -> None:
    """Say hello.

    At length.
    """
    print(hello(name).upper() if loud else hello(name))
'''
FILES = {
    "greet.py": GREET,
    "parts/words.py": "def hello(name):\n    return f'hello {name}'\n",
    "stumble.py": "def stumble():\n    '''Fall over.'''\n    return [][1]\n",
    "halt.py": "import typer\ndef halt():\n    '''Stop with 3.'''\n    raise typer.Exit(3)\n",
    "left_out.py": "raise SystemError('imported')\ndef left_out():\n    '''Not now.'''\n",
    "no_python.py": "def no_python(:\n",
    "nameless.py": "def other():\n    pass\n",
    "_aside.py": "raise SystemError('imported')\n",
    "hint.py": "def hint():\n    '''In the place of the engine's.'''\n    print('not a hint')\n",
}
BROKEN = {
    "stumble": "stumble.py:3: IndexError: list index out of range",
    "left-out": "left_out.py:1: SystemError: imported",
    "no-python": "no_python.py:1: ",
    "nameless": "nameless.py defines no function nameless",
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A learner's folder with commands, most of them broken."""
    root = tmp_path_factory.mktemp("course")
    for name, text in FILES.items():
        path = root / "exercises" / "commands" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    public = json.loads((ROOT / "exercises" / "course.json").read_text(encoding="utf-8"))
    (root / "exercises" / "course.json").write_text(json.dumps(public), encoding="utf-8")
    return root


@pytest.mark.slow
def test_the_help_lists_them_and_imports_none(course):
    seen = cli("--help", cwd=course)
    assert seen.returncode == 0 and "imported" not in seen.stderr
    panel = " ".join(seen.stdout.split("This course")[1].replace("│", " ").split())
    for said in ("greet Say hello.", "left-out Not now.", "Broken: no_python.py:1: "):
        assert said in panel
    assert "no function nameless" in panel
    assert not any(said in panel for said in ("At length", "_aside", "In the place of"))


@pytest.mark.slow
def test_one_runs_with_its_arguments_its_neighbours_and_a_status_of_its_own(course, tmp_path):
    assert cli("greet", "Ada", "--loud", cwd=course / "exercises").stdout == "HELLO ADA\n"
    told = cli("greet", cwd=course)
    assert told.returncode == 2 and "Missing argument" in told.stderr
    assert "At length." in cli("greet", "--help", cwd=course).stdout
    seen = cli("halt", cwd=course)
    assert (seen.returncode, seen.stdout, seen.stderr) == (3, "", "")
    assert cli("greet", "Ada", cwd=tmp_path).returncode == 2, "elsewhere there is none"


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_is_one_sentence(course, name):
    seen = cli(name, cwd=course)
    assert seen.returncode == 2 and seen.stdout == ""
    assert BROKEN[name] in seen.stderr and seen.stderr.count("\n") == 1


def test_a_command_of_the_engine_stays_what_it_is_and_a_build_says_so(course):
    seen = cli("hint", "softmax", cwd=course)
    assert seen.returncode == 0 and "not a hint" not in seen.stdout
    (course / "course_config.py").write_text("COURSE = None\n", encoding="utf-8")
    seen = cli("build", cwd=course)
    assert seen.returncode == 1
    assert seen.stdout.startswith("✗ exercises/commands/hint.py: hint")


@pytest.mark.slow
def test_an_unknown_command_asks_for_the_courses_folder_or_suggests_a_name(tmp_path):
    ran = cli("train", cwd=tmp_path)
    assert ran.returncode == 2 and "go to the course's folder first" in ran.stderr
    ran = cli("graed", cwd=tmp_path)
    assert ran.returncode == 2 and "Did you mean 'grade'" in ran.stderr


@pytest.mark.slow
def test_this_courses_own_travel_in_the_kit(kit):
    for path in (ROOT / "exercises" / "commands").rglob("*.py"):
        assert (kit / path.relative_to(ROOT)).exists()


# Ctrl-C at a moment when Python loses the error that it raises.
INTERRUPTED = """
import os, signal, time
from tensorgrade.cli import shared

class Lost:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        list(range(10))

signal.signal(signal.SIGINT, signal.default_int_handler)
with shared.interruptible("Go on as before."):
    Lost()
    while True:
        time.sleep(0.1)
"""


def test_an_interrupt_that_python_loses_ends_a_command_too():
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 130 and ended.stderr.endswith("Interrupted. Go on as before.\n")
