"""Take the picture of `tensorgrade see`: `python docs/pictures/heads.py chromium`.

Two heads of the shipped model, as the page shows them, looked through by chapter 4's solution.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "solutions")]

from ch4_multi_head_attention import MultiHeadAttention  # noqa: E402

from exercises.commands.parts.seen import look  # noqa: E402
from exercises.commands.parts.seen_page import page  # noqa: E402

TEXT = "the cat sat on the mat, and the cat ran"


def main(browser: str) -> None:
    """The picture, beside this file."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as drivers:
        written = Path(folder) / "heads.html"
        written.write_text(page(look(MultiHeadAttention, TEXT)), encoding="utf-8")
        opened = drivers.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        shown = opened.new_page(viewport={"width": 1000, "height": 640})
        shown.goto(written.as_uri())
        shown.locator(".heads").first.screenshot(path=Path(__file__).with_name("heads.png"))
        opened.close()


if __name__ == "__main__":
    main(sys.argv[1])
