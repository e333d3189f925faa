"""`tensorgrade read --live`: a save is checked, and the served page shows it."""

import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

from ..commands import ROOT

CHAPTER = "ch1_simplified_attention"


def heed_ctrl_c() -> None:
    """Undo that the tests themselves may have been started in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_the_command_follows_a_save_and_ends_quietly(project, tmp_path):
    shutil.copy(project.exercises / f"{CHAPTER}.py", tmp_path)
    command = [sys.executable, "-m", "tensorgrade.cli", "read", tmp_path, "--live", "--no-show"]
    served = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c
    )

    def got(path: str) -> str:
        with urllib.request.urlopen(address + path) as answer:
            return answer.read().decode()

    try:
        told = next(line for line in served.stdout if "http" in line)
        address = re.search(r"http://127\.0\.0\.1:\d+/", told)[0]
        assert got("version") == "1" and 'class="exercise done"' not in got("")
        # A save may come before the command watches the folder, and a check may meet a file that is
        # not yet complete. So save until the page shows it.
        while 'class="exercise done" id="softmax"' not in got(""):
            shutil.copyfile(project.solution(CHAPTER), tmp_path / f"{CHAPTER}.py")
            time.sleep(0.5)
        assert int(got("version")) > 1
        served.send_signal(signal.SIGINT)
        assert served.wait() == 0
    finally:
        served.kill()
        served.wait()
