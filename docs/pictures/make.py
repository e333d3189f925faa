"""Take the pictures of JupyterLab, the formgrader and the report in this folder.

    python docs/pictures/make.py [--browser /usr/bin/chromium]

It makes a scratch course with a small class, grades it with nbgrader, starts a Jupyter server on
this machine only, and opens it in a browser. The report shows a sample class.
"""

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import nbformat
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CHAPTER = "ch3_causal_attention"
LEARNERS = 12
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}
NOT_SCALED = (" / d_k**0.5", "")
NOT_MASKED = ("attn_scores = attn_scores.masked_fill(", "attn_scores.masked_fill(")
CLASS = {
    "amina": {},
    "bao": {"causal_attention_weights": NOT_SCALED},
    "carla": {"CausalAttention": NOT_MASKED},
    "dara": {"causal_attention_weights": NOT_SCALED, "CausalAttention": NOT_MASKED},
}


def answer(changes: dict[str, tuple[str, str]]):
    """The chapter's solved notebook with some lines changed, as learners see it."""
    nb = nbformat.read(ROOT / "source" / CHAPTER / f"{CHAPTER}.ipynb", as_version=4)
    released = nbformat.read(ROOT / "release" / CHAPTER / f"{CHAPTER}.ipynb", as_version=4)
    for cell, shown in zip(nb.cells, released.cells, strict=True):
        cell.metadata = shown.metadata
        cell.source = cell.source.replace(*changes.get(cell.id, ("", "")))
        kept = [
            line for line in cell.source.split("\n") if "### " not in line or "SOLUTION" not in line
        ]
        cell.source = "\n".join(kept)
    return nb


def make_course(root: Path) -> None:
    """A course with a graded class in it, and a learner's folder."""
    for name in ("source", "release"):
        shutil.copytree(ROOT / name / CHAPTER, root / name / CHAPTER)
    for name in ("graders", "exercises", "solutions"):
        (root / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    shutil.copy(ROOT / "course_config.py", root)
    for learner, changes in CLASS.items():
        folder = root / "submitted" / learner / CHAPTER
        folder.mkdir(parents=True)
        nbformat.write(answer(changes), folder / f"{CHAPTER}.ipynb")
    mine = root / "my_course" / CHAPTER
    shutil.copytree(ROOT / "release" / CHAPTER, mine)
    nbformat.write(answer(CLASS["bao"]), mine / f"{CHAPTER}.ipynb")
    for command in ("generate_assignment", "autograde"):
        subprocess.run(
            [sys.executable, "-m", "nbgrader", command, CHAPTER, "--force"],
            cwd=root,
            check=True,
            env=ENVIRONMENT,
            capture_output=True,
        )


def make_report(folder: Path) -> Path:
    """A made-up class, graded; returns its page."""
    submitted, out = folder / "sample", folder / "out"
    for words in (
        ["sample", submitted, "--learners", LEARNERS],
        ["grade", submitted, "--out", out],
    ):
        command = [sys.executable, "-m", "tensorgrade.cli", *map(str, words)]
        subprocess.run(command, cwd=ROOT, check=True, env=ENVIRONMENT, capture_output=True)
    return out / "report.html"


@contextlib.contextmanager
def jupyter(root: Path):
    """A Jupyter server for a folder; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ip=127.0.0.1",
            f"--port={port}",
            "--IdentityProvider.token=",
            "--LabApp.news_url=",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ],
        cwd=root,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=(root / "server.log").open("w"),
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{address}/api")
        yield address
    finally:
        server.terminate()
        server.wait(20)


def wait_for(address: str, seconds: float = 60) -> None:
    """Wait until a server answers."""
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def picture_of_a_card(page: Page, address: str) -> None:
    """JupyterLab runs a learner's notebook; the card of the wrong exercise is in the middle."""
    page.set_viewport_size({"width": 1280, "height": 1200})
    page.goto(f"{address}/lab/tree/my_course/{CHAPTER}/{CHAPTER}.ipynb?reset", timeout=120_000)
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
    page.wait_for_timeout(5000)
    page.locator(".lm-MenuBar-itemLabel", has_text="Run").click()
    page.locator(".lm-Menu-itemLabel", has_text="Run All Cells").first.click()
    page.locator(".jp-Notebook").first.hover()
    wrong = page.locator(".jp-OutputArea b", has_text="wrong").first
    for _ in range(90):  # cells that are not in view are not on the page
        if wrong.count():
            break
        page.mouse.wheel(0, 500)
        page.wait_for_timeout(1000)
    news = page.get_by_role("button", name="No", exact=True)
    if news.count():
        news.click()
    wrong.evaluate("element => element.closest('.jp-Cell').scrollIntoView({block: 'start'})")
    page.wait_for_timeout(2000)
    page.screenshot(path=HERE / "jupyterlab-check-card.png")


def picture_of_a_submission(page: Page, address: str) -> None:
    """A submission's page in the formgrader: code, card and points."""
    for number in range(1, len(CLASS) + 1):
        page.goto(f"{address}/formgrader/gradebook/{CHAPTER}/{CHAPTER}", timeout=60_000)
        page.get_by_text(f"Submission #{number}", exact=True).first.click()
        page.wait_for_selector("text=points-causal_mask", timeout=60_000)
        wrong = page.locator("b", has_text="partly right").first
        if wrong.count():
            break
    wrong.evaluate("element => element.scrollIntoView({block: 'center'})")
    page.wait_for_timeout(1000)
    page.screenshot(path=HERE / "formgrader-submission.png")


def picture_of_the_report(page: Page, report: Path) -> None:
    """The beginning of a class's page."""
    page.set_viewport_size({"width": 1100, "height": 1560})
    page.goto(report.as_uri())
    page.screenshot(path=HERE / "report.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--browser", default="/usr/bin/chromium")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        make_course(Path(folder))
        browser = playwright.chromium.launch(executable_path=asked.browser, args=QUIET)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        picture_of_the_report(page, make_report(Path(folder)))
        with jupyter(Path(folder)) as address:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            for take in (picture_of_a_submission, picture_of_a_card):
                take(page, address)
                print(take.__name__)
        browser.close()


if __name__ == "__main__":
    main()
