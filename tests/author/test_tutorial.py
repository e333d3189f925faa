"""The authors' tutorial: its commands run in order, and they print what the page shows."""

import os
import re
import sys
from pathlib import Path

import pytest

from ..commands import ROOT, Shell

PAGE = ROOT / "docs" / "tutorial" / "author.md"
BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<file>.+?)")?\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL
)


def run(shell: Shell, commands: str, folder: Path) -> tuple[str, Path]:
    """Run shell commands in a folder; return what they print, and the folder they end in."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "80", "PYTEST_ADDOPTS": "--no-plain"}
    done = shell.run(f"{commands}pwd", folder, environment)
    printed, _, last = done.stdout.rstrip("\n").rpartition("\n")
    return printed.replace(last, "…"), Path(last)


def edit(path: Path, body: str) -> None:
    """Write a block of code to its place in a file, as the text above the block asks."""
    text = path.read_text(encoding="utf-8")
    if body.startswith('"""'):
        text = body
    elif body.startswith("# ## "):
        text = text[: text.index(body.splitlines()[0])] + body
    elif body.startswith("# %%"):
        text += f"\n{body}"
    elif body.startswith("    mistake("):
        text = text.removesuffix("]\n") + body + "]\n"
    elif body.startswith("        case("):
        start = re.escape(body.split(",")[0])
        text = re.sub(rf"^{start}.*\n", lambda _: body, text, count=1, flags=re.MULTILINE)
    elif body.startswith("@exercise"):
        text = text.replace("MISTAKES = [", f"{body}\n\nMISTAKES = [")
    else:
        text = "".join([*text.splitlines(keepends=True)[:-1], body])
    path.write_text(text, encoding="utf-8")


def missing(shown: str, printed: str) -> list[str]:
    """Return the lines of a page that a command did not print, in this order."""
    rest = iter([line.strip() for line in printed.splitlines()])
    wanted = [line.strip() for line in shown.splitlines() if line.strip() not in ("", "…")]
    return [line for line in wanted if line not in rest]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_commands_print_what_the_tutorial_shows(tmp_path):
    shell, folder, printed, compared = Shell(tmp_path), tmp_path, "", 0
    blocks = [*BLOCK.finditer(PAGE.read_text(encoding="utf-8"))][1:]  # the first one installs
    for block in blocks:
        kind, file, body = block.groups()
        if kind == "sh":
            printed, folder = run(shell, body, folder)
        elif kind == "text":
            assert missing(body, printed) == [], printed
            compared += 1
        elif file:
            edit(folder / file, body)
    grader = folder / "graders" / "ch1_first_steps" / "center.py"
    assert compared == 8 and grader.read_text(encoding="utf-8") == blocks[-1]["body"]
