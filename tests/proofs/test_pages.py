"""The documentation is true: commands print what the pages show, and the examples build."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ..instructor import downloads
from ..support import BIN, ROOT, cli, needs

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3600)]  # about 80 new interpreters
ALL_GUIDES = sorted((ROOT / "docs/how-to").glob("*.md"))
GUIDES = [path.read_text(encoding="utf-8") for path in ALL_GUIDES]
PAGES = [
    path
    for path in (*ALL_GUIDES, *sorted((ROOT / "docs/tutorial").glob("*.md")))
    if "```bash\n" in path.read_text(encoding="utf-8")
]
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
GRADER = re.compile(r'"""Cases, checks and known mistakes of (\w+)')
ATTENTION = "ch1_simplified_attention"
# What differs between two runs: speed, dates, the number of cores.
VARIES = re.compile(
    r"^.* graded, .*\n|\d+ workers?|[\d.]+ ?s\b|20\d\d-\d\d-\d\d[ T][\d:.]+", re.MULTILINE
)
CHAPTER = "ch1_first_steps"  # of a new course
HINTS = '\n# %% [markdown] hints="{}"\n# 1. Read the docstring.\n# 2. Read it again.\n\n'


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course's folder with downloads of several course systems and a graded class."""
    folder = tmp_path_factory.mktemp("pages") / "course"
    folder.mkdir()
    for name in ("solutions", "release", "kit", "pyproject.toml", "nbgrader_config.py"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("graders", "exercises"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "course_config.py", folder)
    solution = (ROOT / "solutions" / f"{ATTENTION}.py").read_bytes()
    mistaken = solution.replace(b"inputs @ query", b"inputs @ query / 2")
    files = {
        "ada": {f"{ATTENTION}.py": solution},
        "bao": {f"{ATTENTION} (1).py": mistaken},
        "carla": {"homework.py": solution},
    }
    when = {"ada": "Sunday, 20 September 2026, 6:12 PM"}
    when |= {"bao": "Monday, 21 September 2026, 1:05 AM"}
    downloads.moodle(folder / "moodle.zip", files, when)
    downloads.canvas(folder / "canvas.zip", files, {"bao"})
    when = dict.fromkeys(files, "2026-09-20 18:12:00.000000000 +02:00")
    downloads.gradescope(folder, files, when)
    downloads.git(folder / "clones", files)
    run("tensorgrade sample submitted --learners 8 && rm -r submitted/*/ch[2-6]*\n", folder)
    run("tensorgrade grade submitted --out out\n", folder)
    return folder


@needs("the sandbox")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_it_shows(page, course, tmp_path):
    folder, text, printed, end = tmp_path / "course", page.read_text("utf-8"), "", 0
    shutil.copytree(course, folder, symlinks=True)
    if re.search(r"^tensorgrade (collect|sample)\b", text, re.MULTILINE):  # a class of its own
        shutil.rmtree(folder / "submitted")
        shutil.rmtree(folder / "out")
    for block in BLOCK.finditer(text):
        kind, file, body = block.groups()
        between, end = text[end : block.start()], block.end()
        if solved := re.search("<!-- solve (.+) -->", between):  # the page does not show it
            solution = (folder / "solutions" / f"{ATTENTION}.py").read_text("utf-8")
            answer(folder / "exercises" / f"{ATTENTION}.py", function(solution, solved[1]))
        if kind == "text" and printed and not between.strip():
            assert missing(VARIES.sub("", body), VARIES.sub("", printed)) == [], printed
        printed = run(body, folder)[0] if kind == "bash" else ""
        if file == "course_config.py":
            settings = (folder / file).read_text("utf-8")
            for name in re.findall(r"^(\w+)=", body, re.MULTILINE):
                settings = re.sub(rf"^    {name}=.*\n", "", settings, flags=re.MULTILINE)
            settings = settings.replace("COURSE = Settings(\n", f"COURSE = Settings(\n{body}")
            (folder / file).write_text(settings, encoding="utf-8")
        elif file and kind == "python":
            answer(folder / file, body)
        elif file:
            (folder / file).write_text(body, encoding="utf-8")


def answer(path: Path, body: str) -> None:
    """Write a function into a learner's file, below the stub's docstring."""
    text, (head, *lines) = path.read_text("utf-8"), body.splitlines(keepends=True)
    stub = function(text, re.findall(r"def (\w+)", head)[0])
    docstring = re.search(r'    """.*?"""\n', stub, re.DOTALL)[0]
    code = "".join(lines).replace(docstring, "")
    path.write_text(text.replace(stub, head + docstring + code), encoding="utf-8")


def function(text: str, name: str) -> str:
    """Return the text of a function whose head is one line."""
    return re.search(rf"^def {name}\(.*\n(?:(?:    .*)?\n)*    .*\n", text, re.MULTILINE)[0]


def test_all_complete_examples_for_authors_build_together(tmp_path):
    """Write them into a new course: it builds, and its checks notice all mistakes."""
    lessons = {found[1]: text for text in EXAMPLES if (found := LESSON.match(text))}
    graders = {found[1]: text for text in EXAMPLES if (found := GRADER.match(text))}
    bugs = {name for name, text in lessons.items() if "### BUG: " in text}
    assert lessons.keys() - bugs == graders.keys() and bugs and len(lessons) > 5
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
    for command in ("build", "prove"):
        done = cli(command, cwd=course)
        assert done.returncode == 0, done.stdout + done.stderr


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
    elif re.match(r"\w+: ", body):
        text = text.removesuffix('"""\n') + body + '"""\n'
    elif body.startswith("        case("):
        start = re.escape(body.split(",")[0])
        text = re.sub(rf"^{start}.*\n", lambda _: body, text, count=1, flags=re.MULTILINE)
    elif body.startswith("    check("):
        text = text.replace("]\n\nMISTAKES = ", f"{body}]\n\nMISTAKES = ")
    else:
        text = "".join([*text.splitlines(keepends=True)[:-1], body])
    path.write_text(text, encoding="utf-8")


def missing(shown: str, printed: str) -> list[str]:
    """Return the lines of a page that a command did not print, in this order."""
    rest = iter([line.strip() for line in printed.splitlines()])
    wanted = [line.strip() for line in shown.splitlines() if line.strip() not in ("", "…")]
    return [line for line in wanted if line not in rest]
