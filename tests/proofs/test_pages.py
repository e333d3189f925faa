"""The documentation is true: commands print what the pages show, and the examples build."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorgrade.author.recording.bugs import candidates
from tensorgrade.author.recording.references import known

from ..support import BIN, ROOT, Project, cli, needs

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3600)]  # about 80 new interpreters
GUIDES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/how-to").glob("*.md"))]
TUTORIAL = (ROOT / "docs/tutorial/author.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<file>.+?)")?\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL
)
EXAMPLES = [
    block["body"]
    for page in (*GUIDES, TUTORIAL)
    for block in BLOCK.finditer(page)
    if block["kind"] == "python"
]
LESSON = re.compile(r'# %% exercise="(\w+)"')
GRADER = re.compile(r'"""Cases, tests and known mistakes of (\w+)')
CHAPTER = "ch1_first_steps"  # of a new course
HINTS = '\n# %% [markdown] hints="{}"\n# 1. Read the docstring.\n# 2. Read it again.\n\n'


@needs("isolation 'full'")
def test_the_commands_of_guides_and_tutorials_print_what_the_pages_show():
    tool = [sys.executable, ROOT / "tools" / "page_output.py", "--check"]
    done = subprocess.run(tool, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_guides_show_every_command_system_and_format():
    text = "\n".join(GUIDES)
    shown = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    run = set(re.findall(r"^tensorgrade (\w+)", "\n".join(shown), re.MULTILINE))
    assert run >= set("doctor bundle collect grade explain report export channel".split())
    systems = ("moodle", "canvas", "gradescope", "git")
    assert [name for name in systems if f"--from {name}" not in text] == []
    systems = ("gradescope", "prairielearn")
    assert [name for name in systems if f"channel {name} " not in text] == []
    formats = ("moodle", "canvas")
    assert [name for name in formats if f"--format {name}" not in text] == []


def test_all_complete_examples_for_authors_build_together(tmp_path):
    """Write them into a new course; each has four mistakes or more, and all are noticed."""
    lessons = {found[1]: text for text in EXAMPLES if (found := LESSON.match(text))}
    graders = {found[1]: text for text in EXAMPLES if (found := GRADER.match(text))}
    assert lessons.keys() == graders.keys() and len(lessons) > 5
    (checks,) = (text for text in EXAMPLES if "@signature(" in text)
    course = tmp_path / "course"
    assert cli("new", "course", course).returncode == 0
    chapter = course / "solutions" / f"{CHAPTER}.py"
    head = chapter.read_text(encoding="utf-8").partition("# %% [markdown]\n# ## ")[0]
    cells = [text + HINTS.format(name) for name, text in lessons.items()]
    chapter.write_text(head + "\n".join(cells), encoding="utf-8")
    (course / "graders" / "checks.py").write_text(checks, encoding="utf-8")
    (course / "graders" / CHAPTER / "scaled.py").unlink()
    for name, text in graders.items():
        (course / "graders" / CHAPTER / f"{name}.py").write_text(text, encoding="utf-8")
    for command in ("build", "kill-matrix"):
        done = cli(command, cwd=course)
        assert done.returncode == 0, done.stdout + done.stderr
    project = Project(course)
    for name in lessons:
        assert len(known(project, name) + candidates(project, CHAPTER, name)) >= 4, name


def test_the_commands_of_the_authors_tutorial_print_what_it_shows(tmp_path):
    folder, printed, compared = tmp_path, "", 0
    blocks = [*BLOCK.finditer(TUTORIAL)][1:]  # the first one installs
    for block in blocks:
        kind, file, body = block.groups()
        if kind == "sh":
            printed, folder = run(body, folder)
        elif kind == "text":
            assert missing(body, printed) == [], printed
            compared += 1
        elif file:
            edit(folder / file, body)
    grader = folder / "graders" / CHAPTER / "center.py"
    assert compared == 8 and grader.read_text(encoding="utf-8") == blocks[-1]["body"]


def run(commands: str, folder: Path) -> tuple[str, Path]:
    """Run shell commands in a folder; return what they print, and the folder they end in."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    more = {"PATH": path, "COLUMNS": "80", "PYTEST_ADDOPTS": "--no-plain"}
    done = subprocess.run(
        ["bash", "-c", f"{commands}pwd"],
        cwd=folder,
        env=os.environ | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
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
