"""Scratch courses with an exchange, for nbgrader's own commands."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

from ..support import BIN, NEEDS, ROOT, Project, nbgrader

COURSE = Project(ROOT).course
CH1 = "ch1_simplified_attention"
MOST = {chapter.name: float(chapter.points) for chapter in COURSE.chapters}
EXERCISES = [exercise.name for exercise in COURSE.chapter(CH1).exercises]
WRONG = {"softmax_naive": "def softmax_naive(x):\n    return torch.exp(x)"}
SANDBOX = "auto" if NEEDS["the sandbox"][0]() else "none"
# nbgrader calls a bare `alembic`: the environment's scripts have to be on the path.
PATH = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
SERVER = """
from nbgrader.apps import NbGrader, NbGraderAPI
from nbgrader.coursedir import CourseDirectory

if __name__ == "__main__":
    app = NbGrader()
    app.config_file_paths.insert(0, {root!r})
    app.load_config_file()
    app.config.CourseDirectory.root = {root!r}
    api = NbGraderAPI(CourseDirectory(config=app.config), config=app.config)
    for name, *arguments in {calls!r}:
        result = getattr(api, name)(*arguments, force=True)
        assert result["success"], result
"""


class Scratch:
    """A course in a folder of its own, with an exchange and homes for learners."""

    def __init__(self, folder: Path, settings: str = "", lateness: str = "deadlines={}"):
        self.root, self.exchange, self.homes = (
            folder / name for name in ("course", "exchange", "homes")
        )
        self.typed: set[str] = set()
        for path in (self.root, self.exchange, self.homes):
            path.mkdir(parents=True)
        self.exchange.chmod(0o777)
        shutil.copytree(ROOT / "source", self.root / "source")
        shutil.copy(ROOT / "nbgrader_config.py", self.root)
        for name in ("graders", "exercises", "solutions"):
            (self.root / name).symlink_to(ROOT / name)
        text = (ROOT / "course_config.py").read_text(encoding="utf-8")
        assert text.count("deadlines={})") == 1
        text = text.replace("deadlines={})", f"{lateness})")
        settings = f'c.HiddenGraders.isolation = "{SANDBOX}"\n    {settings}'
        text += f'    c.Exchange.root = "{self.exchange}"\n    {settings.strip()}\n'
        (self.root / "course_config.py").write_text(text, encoding="utf-8")

    def run(
        self, *arguments: str, cwd: Path | None = None, succeed: bool = True, **more: str
    ) -> str:
        """Run an nbgrader command, and return everything that it wrote."""
        self.typed.add(" ".join(arguments))
        done = nbgrader(*arguments, cwd=cwd or self.root, timeout=1500, **PATH, **more)
        said = done.stdout + done.stderr
        assert (done.returncode == 0) == succeed, said
        return said

    def learner(self, name: str, command: str) -> Path:
        """Run a command as a learner, who has no course folder; return the chapter's folder."""
        home = self.homes / name
        home.mkdir(exist_ok=True)
        settings = [
            f"--Exchange.root={self.exchange}",
            f"--course={COURSE.name}",
            f"--CourseDirectory.student_id={name}",
        ]
        self.run(command, CH1, *settings, cwd=home, JUPYTER_DATA_DIR=str(home / ".jupyter"))
        return home / CH1

    def hand_in(self, name: str, content, chapter: str = CH1, when: str = "2026-01-15") -> Path:
        """Put a notebook into `submitted/` as if it had been collected on that day."""
        folder = self.root / "submitted" / name / chapter
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{chapter}.ipynb"
        text = content if isinstance(content, str) else nbformat.writes(content)
        path.write_text(text, encoding="utf-8")
        (folder / "timestamp.txt").write_text(f"{when} 10:00:00 UTC\n")
        (folder / "submission_secret.txt").write_text("0123", encoding="utf-8")
        return path

    def ask(self, *calls: tuple[str, ...]) -> None:
        """Have nbgrader's Python interface called by one process, as a server's buttons do."""
        script = self.root / "server.py"
        script.write_text(SERVER.format(root=str(self.root), calls=calls), encoding="utf-8")
        told = {"cwd": self.root, "env": os.environ | PATH}
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, **told)
        assert done.returncode == 0, done.stdout + done.stderr

    def grades(self) -> dict[tuple[str, str], dict]:
        """Return the gradebook's CSV by student and assignment."""
        self.run("export")
        with (self.root / "grades.csv").open(encoding="utf-8") as file:
            return {(row["student_id"], row["assignment"]): row for row in csv.DictReader(file)}

    def scores(self, chapter: str = CH1, kind: str = "raw_score") -> dict[str, float]:
        """Return a chapter's points by student. kind: `score` has late penalties taken off."""
        rows = self.grades().items()
        return {name: float(row[kind]) for (name, c), row in rows if c == chapter and row[kind]}

    def autograded(self, name: str):
        """Return the notebook of a learner that nbgrader has graded."""
        path = self.root / "autograded" / name / CH1 / f"{CH1}.ipynb"
        return nbformat.read(path, as_version=4)

    def page(self, name: str) -> str:
        """Return a learner's feedback page."""
        return (self.root / "feedback" / name / CH1 / f"{CH1}.html").read_text("utf-8")


def read(folder: str, chapter: str = CH1):
    """Return a committed notebook."""
    return nbformat.read(ROOT / folder / chapter / f"{chapter}.ipynb", as_version=4)


def changed(answers: dict[str, str], folder: str = "release"):
    """Return a committed notebook with these sources in its solution cells."""
    nb = read(folder)
    for cell in nb.cells:
        cell.source = answers.get(cell.id, cell.source)
    return nb
