"""Take the README's pictures of a self-check: `python docs/pictures/selfcheck.py chromium`.

A chapter with two mistakes is checked in an 80-column terminal, and the screen is drawn with a
light and with a dark theme.
"""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, MONOKAI
from rich.text import Text

from tensorgrade.author.mistakes import known
from tensorgrade.project import find_project
from tensorgrade.recognition.edits import make

CHAPTER = "ch3_causal_attention"
MISTAKES = {"mask_and_renormalize": "masked_without_renormalizing", "CausalAttention": "no_scale"}
THEMES = {"light": DEFAULT_TERMINAL_THEME, "dark": MONOKAI}
COLUMNS = 80


def main(browser: str) -> None:
    """Both pictures, beside this file."""
    here = Path(__file__).parent
    screen = self_check(find_project(here))
    for name, theme in THEMES.items():
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
        console.print(Text.from_ansi(screen))
        svg = console.export_svg(title="pytest exercises/", theme=theme)
        take_picture(browser, svg, here / f"selfcheck-{name}.png")


def self_check(project) -> str:
    """What a terminal shows, with its colours."""
    source = project.solution(CHAPTER).read_text(encoding="utf-8")
    for exercise, name in MISTAKES.items():
        edits = next(one.edits for one in known(project, exercise) if one.name == name)
        source = make(source, exercise, edits)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{CHAPTER}.py").write_text(source, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--color=yes",
            f"exercises/{CHAPTER}.py",
            "--attempt",
            folder,
            "--hint",
            "1",
        ]
        colours = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(COLUMNS)}
        found = subprocess.run(
            command, cwd=project.root, env=os.environ | colours, capture_output=True, text=True
        )
    return found.stdout.rstrip().replace(folder, "exercises")  # as with a learner's own files


def take_picture(browser: str, svg: str, path: Path) -> None:
    """Have a browser draw an SVG, in its own size, twice as sharp."""
    width, height = (
        round(float(n)) for n in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups()
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(
            f'<meta charset="utf-8"><style>body {{ margin: 0 }}</style>{svg}', encoding="utf-8"
        )
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/browser",
                "--default-background-color=00000000",
                f"--window-size={width},{height}",
                f"--screenshot={path}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "chromium")
