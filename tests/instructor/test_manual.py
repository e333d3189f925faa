"""The pages for instructors and learners are true: their commands run and print what they show."""

import re
import subprocess
import sys

import pytest

from ..commands import ROOT
from ..needs import needs

GUIDES = ROOT / "docs" / "how-to"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in GUIDES.glob("*.md")}
EVERYTHING = "\n".join(TEXTS.values())


@pytest.mark.slow
@pytest.mark.timeout(900)
@needs("isolation 'full'")
def test_every_command_prints_what_its_page_shows():
    tool = [sys.executable, ROOT / "tools" / "page_output.py", "--check"]
    done = subprocess.run(tool, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pages_run_every_kind_of_command():
    run = re.findall(r"^```bash\n(.*?)^```", EVERYTHING, re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"^tensorgrade (\w+)", "\n".join(run), re.MULTILINE))
    expected = "doctor bundle collect grade explain report export channel"
    assert names >= set(expected.split())


def test_there_is_a_command_for_every_layout_channel_and_format():
    from tensorgrade.instructor.channels import PARCELS
    from tensorgrade.instructor.exporting import WRITERS
    from tensorgrade.instructor.layouts import LAYOUTS

    assert all(f"--from {layout}" in EVERYTHING for layout in LAYOUTS)
    assert all(f"channel {system} " in EVERYTHING for system in PARCELS)
    assert all(f"--format {form}" in EVERYTHING for _, form in WRITERS if form != "plain")
