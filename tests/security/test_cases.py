"""Attacks and faults that reviews found. All that they change is in a folder of the test."""

import os
import platform
import re
import runpy
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ..answers.reader import solution
from ..container import contained
from ..support import BIN, ROOT, cli, grade, needs, rows_of, submit

pytestmark = pytest.mark.slow
CH1 = "ch1_simplified_attention"
FILES = Path(__file__).parent / "files"
EXERCISES = ("attention_scores", "softmax_naive", "softmax", "context_vector")
EXERCISES += ("simplified_self_attention",)
# Attempts that learn something and change nothing, and that torch or Python need.
LOOKS = {"open O_PATH", "stat", "stat of a process", "uname", "sysinfo"}


def attack(name: str, **places: object) -> str:
    """Return an attack's text, with the test's own folder and the like put in."""
    text = (FILES / f"{name}.py").read_text(encoding="utf-8")
    for word, place in places.items():
        assert word in text
        text = text.replace(word, str(place))
    return text


def submitted(folder: Path, **texts: str) -> Path:
    """Write submissions of chapter 1, by learner, and return their folder."""
    for learner, text in texts.items():
        submit(folder / "submitted", learner, CH1, text)
    return folder / "submitted"


def planted(folder: Path) -> Path:
    """Return a folder that belongs to the user who grades, with files that attacks may try."""
    own = folder / "own"
    own.mkdir()
    for name in ("hidden.txt", "other"):
        (own / name).write_text("SECRET")
        (own / name).chmod(0o600)
        os.utime(own / name, (1, 1))
    with suppress(OSError):  # a file system may have none
        os.setxattr(own / "hidden.txt", "user.kept", b"x")
    return own


@needs("containers, made by root")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")
def test_no_system_call_does_more_than_look(tmp_path):
    """In a container, as root, and without namespaces."""
    own = planted(tmp_path)
    table = runpy.run_path(str(FILES / "system_calls.py"))
    together, alone = (table["attempts"](table[name]) for name in ("TOGETHER", "ALONE"))
    names = [name for name, _ in together + alone]
    groups = [list(range(len(together)))]
    groups += [[place] for place in range(len(together), len(names))]
    plans = [groups[at : at + len(EXERCISES)] for at in range(0, len(groups), len(EXERCISES))]
    calls = (f"def {name}(*_, **__):\n    tell({at})\n" for at, name in enumerate(EXERCISES))
    text = attack("system_calls", OWN_FOLDER=own) + "".join(calls)
    texts = {f"learner{at}": f"{text}PLAN = {plan}\n" for at, plan in enumerate(plans)}
    command = [str(BIN / "tensorgrade"), "grade", str(submitted(tmp_path, **texts))]
    command += ["--out", str(tmp_path / "out"), "--jobs", "1"]
    subprocess.run(contained(command, landlock=True), cwd=ROOT, check=True)
    rows, through = rows_of(tmp_path / "out"), set()
    for at, plan in enumerate(plans):
        for exercise, places in zip(EXERCISES, plan, strict=False):
            row = rows[f"learner{at}", CH1, exercise]
            told = re.search(r"GOT([0-9a-f]+)\b", row["message"])
            assert told or (row["status"] == "killed" and len(places) == 1), row
            bits = int(told[1], 16) if told else 0
            through |= {names[place] for bit, place in enumerate(places) if bits >> bit & 1}
    assert through <= LOOKS, f"{len(through)} of {len(names)} got through: {sorted(through)}"
    assert sorted(path.name for path in own.iterdir()) == ["hidden.txt", "other"]
    found = (own / "hidden.txt").stat()
    assert (stat.S_IMODE(found.st_mode), found.st_mtime, found.st_size) == (0o600, 1, 6)


# A process starts with the largest memory of the one that forks it, so this one is small.
LARGEST = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


@needs("the sandbox")
def test_a_small_reply_takes_little_memory(tmp_path):
    """Below twice what an ordinary submission needs."""
    place = submitted(tmp_path, eve=solution(CH1) + attack("many_lists"))
    command = [BIN / "tensorgrade", "grade", place, "--out", tmp_path / "out", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-c", LARGEST, *command], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kibibytes = int(done.stdout.splitlines()[-1])
    assert kibibytes < 520 * 1024, f"{kibibytes >> 10} MB"


def test_a_child_that_the_machine_killed_costs_nothing(tmp_path):
    """It is killed once, as when memory is short; the next one is right."""
    once = (
        "import os\ndef attention_scores(query, inputs):\n    try:\n"
        f"        os.close(os.open({str(tmp_path / 'once')!r}, os.O_CREAT | os.O_EXCL))\n"
        "    except FileExistsError:\n        return inputs @ query\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    asked = (submitted(tmp_path, ada=solution(CH1) + once), tmp_path / "out", "--isolation", "none")
    found = grade(*asked)
    assert found.status == 0 and (tmp_path / "once").exists(), found.said
    rows = grade(*asked).rows
    assert rows["ada", CH1, "attention_scores"]["status"] == "passed"


def test_audit_follows_no_links(tmp_path):
    """A folder that was cloned may hold a link to any file of the user."""
    (tmp_path / "secret.py").write_text("TOKEN = 'planted'\n")
    (tmp_path / "cloned").mkdir()
    (tmp_path / "cloned" / "linked.py").symlink_to(tmp_path / "secret.py")
    model = tmp_path / "cloned" / "model.py"
    model.write_text(
        "from torch import nn\nimport linked\n\n\nclass CausalAttention(nn.Module):\n"
        "    def __init__(self, d_in, d_out, context_length, dropout=0.0, qkv_bias=False):\n"
        "        super().__init__()\n        self.q = nn.Linear(d_in, d_out)\n\n"
        "    def forward(self, x):\n        raise RuntimeError(linked.TOKEN)\n"
    )
    done = cli("audit", model)
    assert "model.py" in done.stdout + done.stderr
    assert "planted" not in done.stdout + done.stderr


def test_audit_believes_no_answer_of_the_code(tmp_path):
    """A class that returns its input is not right."""
    (tmp_path / "model.py").write_text(attack("forged_audit"))
    done = cli("audit", tmp_path / "model.py")
    assert "no mistake found" not in done.stdout and done.returncode != 0, done.stdout
