"""Run the commands on pages of the docs, and show their output there.

    python tools/page_output.py [PAGE ...]            rewrite the output that has changed
    python tools/page_output.py --check [PAGE ...]    change nothing; fail if output has changed

Each page runs in its own copy of a course's folder. The copy has downloads of several course
systems and a graded class, unless the page creates a class. These blocks of a page are used, in
order:

    ```bash                       commands to run (use `sh` for commands that are only shown)
    ```text                       right below them: their output, or its beginning and a line with …
    ```csv title="FILE"           a file to write
    ```python title="FILE"        settings for course_config.py, or a learner's function
    <!-- solve NAME -->           the correct function, which the page does not show
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.instructor import downloads  # noqa: E402

CHAPTER = "ch1_simplified_attention"
PAGES = [
    *sorted((ROOT / "docs/how-to").glob("*.md")),
    *sorted((ROOT / "docs/tutorial").glob("*.md")),
]
LINKED = ("solutions", "release", "kit", "pyproject.toml", "nbgrader_config.py")
COPIED = ("graders", "exercises")
BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<body>.*?)^```\n'
    r"|^<!-- solve (?P<solve>\w+) -->$",
    re.MULTILINE | re.DOTALL,
)
CLASS = "tensorgrade sample submitted --learners 8 && rm -r submitted/*/ch[2-6]*"
DAY = 1_790_000_000  # when the sample class submitted: 21 September 2026
CUT = "…"
# Parts that differ between two runs: speed, dates, the number of cores.
VARIES = re.compile(
    r"^.* graded, .*\n|\d+ workers?|[\d.]+ ?s\b|20\d\d-\d\d-\d\d[ T][\d:.]+",
    re.MULTILINE,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        start = make_course(Path(folder) / "course")
        for page in asked.pages:
            old = page.read_text(encoding="utf-8")
            new = refreshed(old, start)
            if new != old:
                stale.append(str(page))
                if asked.check:
                    print(
                        *unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0),
                        sep="\n",
                    )
                else:
                    page.write_text(new, encoding="utf-8")
    print("\n".join(stale) or "The output on all pages is current.")
    return int(asked.check and bool(stale))


def make_course(course: Path) -> Path:
    """Make a course's folder with downloads and a graded class."""
    course.mkdir()
    for name in LINKED:
        (course / name).symlink_to(ROOT / name)
    for name in COPIED:
        shutil.copytree(ROOT / name, course / name)
    shutil.copy(ROOT / "course_config.py", course)
    make_downloads(course)
    run(CLASS, course)
    run("tensorgrade grade submitted --out out", course)
    return course


def refreshed(page: str, start: Path) -> str:
    """Return a page with the current output of its commands, run in a copy of a course."""
    if not re.search(r"^```bash$", page, re.MULTILINE):
        return page
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder) / "course"
        shutil.copytree(start, course, symlinks=True)
        if re.search(r"^tensorgrade (collect|sample)\b", page, re.MULTILINE):
            shutil.rmtree(course / "submitted")
            shutil.rmtree(course / "out")
        return run_page(page, course)


def make_downloads(course: Path) -> None:
    """Write downloads as from Moodle, Canvas and Gradescope, and git clones."""
    solution = (ROOT / "solutions" / f"{CHAPTER}.py").read_bytes()
    mistaken = solution.replace(b"inputs @ query", b"inputs @ query / 2")
    files = {
        "ada": {f"{CHAPTER}.py": solution},
        "bao": {f"{CHAPTER} (1).py": mistaken},
        "carla": {"homework.py": solution},
    }
    when = {
        "ada": "Sunday, 20 September 2026, 6:12 PM",
        "bao": "Monday, 21 September 2026, 1:05 AM",
    }
    downloads.moodle(course / "moodle.zip", files, when)
    downloads.canvas(course / "canvas.zip", files, {"bao"})
    when = dict.fromkeys(files, "2026-09-20 18:12:00.000000000 +02:00")
    downloads.gradescope(course, files, when)
    (course / "clones").mkdir()
    downloads.git(course / "clones", files)


def run_page(page: str, course: Path) -> str:
    """Run a page's blocks in a folder, and return the page with the current output."""
    pieces, at, output = [], 0, None
    for block in BLOCK.finditer(page):
        kind, file, body, solve = block.groups()
        between = page[at : block.start()]
        if kind == "text" and output is not None and not between.strip():
            new = beginning(output, body)
            body = body if same(body, new) else new
            pieces.append(f"{between}```text\n{body}```\n")
        else:
            pieces.append(page[at : block.end()])
        output = run(body, course) if kind == "bash" else None
        if file:
            write(course / file, kind, body)
        if solve:
            stub = course / "exercises" / f"{CHAPTER}.py"
            write(stub, "python", function(course / "solutions" / stub.name, solve))
        at = block.end()
    return "".join([*pieces, page[at:]])


def beginning(output: str, old: str) -> str:
    """Shorten an output to the number of lines on the page, if the page cuts it short."""
    lines = old.splitlines()
    if lines[-1:] != [CUT]:
        return output
    return "\n".join([*output.splitlines()[: len(lines) - 1], CUT]) + "\n"


def same(old: str, new: str) -> bool:
    """Return True if two outputs differ only in speed, dates and the number of cores."""
    return VARIES.sub("", old) == VARIES.sub("", new)


def run(commands: str, course: Path) -> str:
    """Run shell commands in a folder, and return their output. Raise an error if they fail."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "80", "PYTHONPATH": str(ROOT)}
    environment["PYTEST_ADDOPTS"] = "--no-plain"  # as on a terminal
    done = subprocess.run(
        ["bash", "-c", f"set -e\n{commands}"],
        cwd=course,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode and "pytest" not in commands:  # pytest fails if an exercise is not done
        raise SystemExit(f"{commands}{done.stdout}")
    for file in course.glob("submitted/*/*/*.py"):
        os.utime(file, (DAY, DAY))
    lines = [line.rstrip() for line in done.stdout.replace(str(course), "…").splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def write(path: Path, kind: str, body: str) -> None:
    """Write the content of a titled block: a whole file, settings, or a function."""
    if kind != "python":
        path.write_text(body, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    changed = with_settings if path.name == "course_config.py" else with_function
    path.write_text(changed(text, body), encoding="utf-8")


def with_settings(text: str, body: str) -> str:
    """Return the text of course_config.py with other settings."""
    for name in re.findall(r"^(\w+)=", body, re.MULTILINE):
        text = re.sub(rf"^    {name}=.*\n", "", text, flags=re.MULTILINE)
    head = "COURSE = Settings(\n"
    return text.replace(head, head + textwrap.indent(body, "    "))


def with_function(text: str, body: str) -> str:
    """Replace the body of one function in a learner's file, below its docstring."""
    name = re.search(r"^def (\w+)", body, re.MULTILINE).group(1)
    node = definition(text, name)
    lines = text.splitlines(keepends=True)
    signature, rest = body.split("\n", 1)
    docstring = lines[node.lineno : node.body[0].end_lineno]
    new = [f"{signature}\n", *docstring, rest]
    return "".join([*lines[: node.lineno - 1], *new, *lines[node.end_lineno :]])


def function(path: Path, name: str) -> str:
    """Return a function of a file without its docstring."""
    text = path.read_text(encoding="utf-8")
    node = definition(text, name)
    node.body = node.body[1:]
    return ast.unparse(node) + "\n"


def definition(text: str, name: str) -> ast.FunctionDef:
    """Return the syntax tree of a function."""
    (node,) = (one for one in ast.parse(text).body if getattr(one, "name", None) == name)
    return node


if __name__ == "__main__":
    sys.exit(main())
