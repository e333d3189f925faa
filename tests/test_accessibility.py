"""axe-core finds nothing serious on the pages that learners and instructors open.

The page of the lessons is in tests/views/test_lessons_in_a_browser.py.
"""

import subprocess
import sys

import pytest
from playwright.sync_api import sync_playwright

from .accessibility import QUIET, serious_violations
from .support import ROOT, browser, cli, grade, needs, submit

CHAPTER = "ch1_simplified_attention"
FRAME = '<!doctype html><html lang="en"><title>A card</title><main>{}</main></html>'
CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in (
    "import torch",
    "def causal_mask(n):\\n    return torch.ones(n, n).tril(-1).bool()",
    "from tensorgrade.notebook import check\\ncard = check('causal_mask')",
):
    shell.run_cell(cell, store_history=True).raise_error()
print("CARD", shell.user_ns["card"]._repr_html_())
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, str]:
    """A class report, a learner's page, and a card in a notebook, each about a wrong answer."""
    folder = tmp_path_factory.mktemp("pages")
    right = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    stub = (ROOT / "exercises" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    wrong = right.replace("return inputs @ query", "return inputs")
    for name, text in {"ada": right, "bao": wrong, "cy": stub}.items():
        submit(folder / "submitted", name, CHAPTER, text)
    done = grade(folder / "submitted", folder / "out", "--isolation", "none", "--jobs", 1)
    assert done.status == 0, done.said
    assert cli("export", done.out, "--format", "pages").returncode == 0
    (learner,) = (path for path in done.out.rglob("*.html") if "bao" in path.name)
    command = [sys.executable, "-c", CELLS]
    ran = subprocess.run(command, cwd=ROOT / "exercises", capture_output=True, text=True)
    found = {"report": (done.out / "report.html").read_text(encoding="utf-8")}
    found["learner"] = learner.read_text(encoding="utf-8")
    found["card"] = FRAME.format(ran.stdout.partition("CARD ")[2])
    assert "<" in ran.stdout, ran.stderr
    return found


@needs("Chromium")
@pytest.mark.slow
def test_no_page_has_a_serious_violation(tmp_path, pages):
    with sync_playwright() as engine:
        window = engine.chromium.launch(executable_path=browser(), args=QUIET)
        for name, text in pages.items():
            path = tmp_path / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            for scheme, width in (("light", 1280), ("dark", 390)):
                tab = window.new_page(color_scheme=scheme, viewport={"width": width, "height": 844})
                tab.goto(path.as_uri())
                assert serious_violations(tab) == [], (name, scheme, width)
        window.close()
