"""The whole nbgrader cycle with nbgrader's own commands, in a scratch course and exchange."""

import atexit
import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from itertools import cycle
from pathlib import Path

import nbformat
import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.course_sources import load_config
from tensorgrade.instructor.grader import Grader
from tensorgrade.isolation.levels import NotIsolated, choose_level
from tensorgrade.messages.message import sentence
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..commands import ROOT, run
from ..needs import postgresql, require

COURSE = load_config(ROOT / "course_config.py")
CH1 = "ch1_simplified_attention"
LINKED = ("graders", "exercises", "solutions")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


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
    """A course in a folder of its own, with an exchange and homes for learners beside it."""

    def __init__(self, folder: Path, settings: str = ""):
        self.root, self.exchange, self.homes = (
            folder / "course",
            folder / "exchange",
            folder / "homes",
        )
        self.typed: set[str] = set()
        for path in (self.root, self.exchange, self.homes):
            path.mkdir(parents=True)
        self.exchange.chmod(0o777)
        shutil.copytree(ROOT / "source", self.root / "source")
        shutil.copy(ROOT / "nbgrader_config.py", self.root)
        for name in LINKED:
            (self.root / name).symlink_to(ROOT / name)
        self.configure(settings)

    def configure(self, settings: str) -> None:
        """The course's own settings, and below them the scratch ones."""
        text = (ROOT / "course_config.py").read_text(encoding="utf-8")
        if isolation() == "none":
            settings = f'{settings}\n    c.HiddenGraders.isolation = "none"'
        text += f'    c.Exchange.root = "{self.exchange}"\n    {settings.strip()}\n'
        (self.root / "course_config.py").write_text(text, encoding="utf-8")

    def run(
        self, *arguments: str, cwd: Path | None = None, succeed: bool = True, **more: str
    ) -> str:
        """An nbgrader command; returns everything that it wrote."""
        # nbgrader calls a bare `alembic`: the environment's scripts have to be on the path.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.typed.add(" ".join(arguments))
        done = run("nbgrader", *arguments, cwd=cwd or self.root, PATH=path, **more)
        said = done.stdout + done.stderr
        assert (done.returncode == 0) == succeed, said
        return said

    def release(self) -> None:
        """Copy what `nbgrader generate_assignment` makes of chapter 1: files, and the gradebook."""
        made = released_first_chapter()
        shutil.copytree(made / "release", self.root / "release")
        shutil.copy(made / "gradebook.db", self.root)

    def learner(self, name: str, command: str, chapter: str) -> Path:
        """`fetch_assignment` or `submit` as a learner, who has no course folder."""
        home = self.homes / name
        home.mkdir(exist_ok=True)
        settings = [
            f"--Exchange.root={self.exchange}",
            "--course",
            "attention",
            f"--CourseDirectory.student_id={name}",
        ]
        self.run(command, chapter, *settings, cwd=home, JUPYTER_DATA_DIR=str(home / ".jupyter"))
        return home / chapter

    def hand_in(self, name: str, chapter: str, content) -> Path:
        """Put a notebook into `submitted/` as if it had been collected."""
        folder = self.root / "submitted" / name / chapter
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{chapter}.ipynb"
        text = content if isinstance(content, str) else nbformat.writes(content)
        path.write_text(text, encoding="utf-8")
        return path

    def grade(self, chapter: str, *more: str, succeed: bool = True) -> str:
        return self.run("autograde", chapter, *more, succeed=succeed)

    def ask(self, *calls: tuple[str, ...]) -> None:
        """Have nbgrader's Python interface called by one process, as a server's buttons do."""
        script = self.root / "server.py"
        script.write_text(SERVER.format(root=str(self.root), calls=calls), encoding="utf-8")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        told = {"cwd": self.root, "env": os.environ | {"PATH": path}}
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, **told)
        assert done.returncode == 0, done.stdout + done.stderr

    def export(self) -> dict[tuple[str, str], dict]:
        """The gradebook's CSV by student and assignment."""
        self.run("export")
        with (self.root / "grades.csv").open(encoding="utf-8") as file:
            return {(row["student_id"], row["assignment"]): row for row in csv.DictReader(file)}

    def scores(self, chapter: str) -> dict[str, float]:
        """Raw points by student."""
        return {
            s: float(r["raw_score"])
            for (s, c), r in self.export().items()
            if c == chapter and r["raw_score"]
        }


@cache
def released_first_chapter() -> Path:
    """A course in which chapter 1 is released, for all tests that only need it to be."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    made = Scratch(folder)
    made.run("generate_assignment", CH1)
    return made.root


def isolation() -> str:
    """The isolation level for these tests: a sandbox if the machine supports one."""
    try:
        choose_level(COURSE.isolation, "auto", "cpu")
        return "auto"
    except NotIsolated:
        return "none"


def read(folder: str, chapter: str):
    """A committed notebook."""
    return nbformat.read(ROOT / folder / chapter / f"{chapter}.ipynb", as_version=4)


def changed(chapter: str, answers: dict[str, str], folder: str = "release"):
    """A committed notebook with these sources in its solution cells."""
    nb = read(folder, chapter)
    for cell in nb.cells:
        cell.source = answers.get(cell.id, cell.source)
    return nb


WRONG = {"softmax_naive": "def softmax_naive(x):\n    return torch.exp(x)"}
MOST = {chapter.name: float(chapter.points) for chapter in COURSE.chapters}
TRAINED = 7.0  # points for the weights that chapter 6 carries


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return Scratch(tmp_path_factory.mktemp("nbgrader"))


def test_the_whole_cycle(scratch):
    """Release, fetch, submit, collect, autograde, feedback and export, for three learners."""
    scratch.run("generate_assignment", CH1, "--force")
    released = scratch.root / "release" / CH1 / f"{CH1}.ipynb"
    assert released.read_text() == (ROOT / "release" / CH1 / f"{CH1}.ipynb").read_text()
    scratch.run("release_assignment", CH1)
    for name in ("ada", "ben", "script"):
        folder = scratch.learner(name, "fetch_assignment", CH1)
        assert (folder / "checks.zip").is_file()
        if name == "ada":
            nbformat.write(read("source", CH1), folder / f"{CH1}.ipynb")
        if name == "script":  # the untouched notebook stays beside it
            shutil.copy(ROOT / "solutions" / f"{CH1}.py", folder)
        scratch.learner(name, "submit", CH1)
    scratch.run("collect", CH1)
    scratch.learner("ben", "submit", CH1)
    assert "Updating submission" in scratch.run("collect", CH1, "--update")
    assert "does not exist in the database" not in scratch.grade(CH1)
    scratch.run("generate_feedback", CH1)
    scratch.run("release_feedback", CH1)
    assert scratch.scores(CH1) == {"ada": MOST[CH1], "ben": 0.0, "script": MOST[CH1]}
    scratch.learner("ben", "fetch_feedback", CH1)
    pages = list((scratch.homes / "ben" / CH1 / "feedback").rglob("*.html"))
    assert len(pages) == 1 and "not written yet" in pages[0].read_text()
    page = (ROOT / "docs" / "how-to" / "nbgrader.md").read_text(encoding="utf-8")
    told = re.findall(r"^nbgrader (\w+(?: ch\w+)?(?: --\w+)?)(?:  |$)", page, re.MULTILINE)
    assert len(told) == 8 and set(told) <= scratch.typed, "as the page says it, every command"


def test_solutions_get_everything_and_releases_nothing_in_every_chapter(tmp_path):
    scratch = Scratch(tmp_path)
    expected: dict[tuple[str, str], float] = {}
    for chapter in COURSE.chapters:
        name, whole = chapter.name, MOST[chapter.name]
        scratch.hand_in("ada", name, read("source", name))
        scratch.hand_in("ben", name, read("release", name))
        expected |= {("ada", name): whole, ("ben", name): 0.0}
        for file in chapter.beside:
            shutil.copy(ROOT / "solutions" / file, scratch.root / "submitted" / "ada" / name)
            scratch.hand_in("cleo", name, read("source", name))
            expected["cleo", name] = whole - TRAINED
    calls = [("generate_assignment", chapter.name) for chapter in COURSE.chapters]
    calls += [("autograde", chapter, student) for student, chapter in expected]
    scratch.ask(*calls)
    rows = scratch.export()
    assert {one: float(rows[one]["raw_score"]) for one in expected} == expected


def test_grading_twice_changes_nothing(scratch):
    before = scratch.export()
    said = scratch.grade(CH1, "--force")
    assert "Removing existing assignment" in said
    assert scratch.export() == before


def test_manual_points_and_comments_stay(scratch):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{scratch.root}/gradebook.db") as gradebook:
        grade = gradebook.find_grade("points-softmax", CH1, CH1, "ben")
        grade.manual_score = 3.0
        gradebook.find_comment("softmax", CH1, CH1, "ben").manual_comment = "Nice try."
        gradebook.db.commit()
    scratch.grade(CH1, "--force", "--student", "ben")
    assert scratch.scores(CH1)["ben"] == 3.0
    scratch.run("generate_feedback", CH1, "--force", "--student", "ben")
    assert "Nice try." in (scratch.root / "feedback" / "ben" / CH1 / f"{CH1}.html").read_text()


def test_late_penalties_go_on_working(tmp_path):
    scratch = Scratch(
        tmp_path,
        f"""c.HiddenGraders.deadlines = {{"{CH1}": "2026-01-15 23:59 UTC"}}
    c.LateSubmissionPlugin.penalty_method = "zero\"""",
    )
    scratch.release()
    for name, when in (("early", "2026-01-15 10:00:00 UTC"), ("late", "2026-01-16 10:00:00 UTC")):
        path = scratch.hand_in(name, CH1, read("source", CH1))
        (path.parent / "timestamp.txt").write_text(when)
    scratch.grade(CH1)
    scores = {
        student: (float(row["raw_score"]), float(row["score"]))
        for (student, _), row in scratch.export().items()
    }
    assert scores == {"early": (MOST[CH1], MOST[CH1]), "late": (MOST[CH1], 0.0)}


def test_late_work_loses_the_same_by_both_commands(tmp_path):
    """`nbgrader autograde` and `tensorgrade grade` on one folder: the deadline said once."""
    scratch = Scratch(tmp_path)
    config = scratch.root / "course_config.py"
    rule = f'deadlines={{"{CH1}": "2025-01-15 23:59 UTC"}}, share_a_day=0.2, grace_seconds=600'
    text = config.read_text(encoding="utf-8")
    assert text.count("deadlines={})") == 1
    config.write_text(text.replace("deadlines={})", f"{rule})"), encoding="utf-8")
    scratch.release()
    for name, day in (("early", 15), ("late", 16), ("later", 17)):
        path = scratch.hand_in(name, CH1, changed(CH1, WRONG, "source"))
        (path.parent / "timestamp.txt").write_text(f"2025-01-{day} 10:00:00 UTC\n")
    scratch.grade(CH1)
    autograded = {name: float(row["score"]) for (name, _), row in scratch.export().items()}
    command = ("tensorgrade.cli", "grade", "submitted", "--out", "out", "--jobs", "1")
    done = run(*command, "--isolation", isolation(), cwd=scratch.root)
    assert done.returncode == 0, done.stdout + done.stderr
    graded: dict[str, float] = {}
    for line in (scratch.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        graded[row["student"]] = graded.get(row["student"], 0.0) + row["points"]
    assert graded == pytest.approx(autograded, abs=1e-4)
    whole = graded["early"]
    assert 0 < whole < MOST[CH1], "not everything is right"
    assert (graded["late"], graded["later"]) == pytest.approx((0.8 * whole, 0.6 * whole))


def test_a_chapter_that_was_released_again_keeps_old_submissions_gradable(tmp_path):
    """Lessons and points may change; where cells come or go, nbgrader refuses and says why."""
    scratch = Scratch(tmp_path)
    scratch.release()
    scratch.hand_in("ada", CH1, read("source", CH1))
    scratch.grade(CH1)
    source = scratch.root / "source" / CH1 / f"{CH1}.ipynb"
    nb = nbformat.read(source, as_version=4)
    cells = {cell.id: cell for cell in nb.cells}
    cells["points-softmax"].metadata.nbgrader.points = 20
    cells["step-1-compare"].source += "\n\nA new sentence."
    nbformat.write(nb, source)
    scratch.run("generate_assignment", CH1, "--force")
    scratch.grade(CH1, "--force")
    assert scratch.scores(CH1) == {"ada": MOST[CH1] + 10}
    graded = (scratch.root / "autograded" / "ada" / CH1 / f"{CH1}.ipynb").read_text()
    assert "A new sentence." in graded
    nb.cells.remove(cells["points-softmax"])
    nbformat.write(nb, source)
    said = scratch.run("generate_assignment", CH1, "--force", succeed=False)
    assert "because there are submissions associated with it" in " ".join(said.split())


# Cheats that earn full marks where hidden tests run in the learner's own kernel.

PATCH = """class Patch:
    torch.allclose = torch.equal = torch.testing.assert_close = lambda *a, **k: True"""
READ = f"""
import pathlib
class Reader:
    for path in pathlib.Path("../../../").rglob("source/*/*.ipynb"):
        exec(path.read_text())
def softmax_naive(x):
    import glob, json
    for path in glob.glob("../../../source/*/*.ipynb") + glob.glob("{ROOT}/solutions/*.py"):
        text = open(path).read()
        return torch.softmax(x, -1)
    return torch.exp(x)
"""
GRADEBOOK = """
import sqlite3
class Writer:
    for place in ("../../../gradebook.db", "{course}/gradebook.db"):
        try:
            base = sqlite3.connect(place)
            base.execute("update grade set auto_score = 100")
            base.commit()
        except Exception:
            pass
"""
TRANSFORM = """
def drop_asserts(lines):
    return [line for line in lines if "assert" not in line and "points" not in line]
get_ipython().input_transformers_cleanup.append(drop_asserts)
"""


def cheats(scratch: Scratch) -> dict[str, object]:
    """Notebooks by learner; apart from the cheat, each holds the same one wrong answer."""
    found = {
        name: changed(CH1, WRONG)
        for name in (
            "plain",
            "tag",
            "run_code",
            "transformer",
            "allclose",
            "reader",
            "gradebook",
            "outputs",
            "metadata",
            "graded",
            "tools",
            "deleted",
        )
    }

    def add(name: str, source: str) -> None:
        found[name].cells.insert(3, nbformat.v4.new_code_cell(source))

    graded = {
        name: [c for c in nb.cells if c.id.startswith("points-")] for name, nb in found.items()
    }
    for cell in graded["tag"]:
        cell.metadata["tags"] = ["skip-execution"]
    add(
        "run_code",
        "import types\n"
        "get_ipython().run_code = types.MethodType(lambda *a, **k: False, get_ipython())",
    )
    add("transformer", TRANSFORM)
    add("allclose", PATCH)
    changed_answer = next(cell for cell in found["reader"].cells if cell.id == "softmax_naive")
    changed_answer.source = READ
    add("gradebook", GRADEBOOK.format(course=scratch.root))
    for cell in graded["outputs"]:
        most = cell.metadata.nbgrader.points
        cell.outputs = [
            nbformat.v4.new_output("execute_result", {"text/plain": str(most)}, execution_count=1)
        ]
    for cell in graded["metadata"]:
        cell.metadata.nbgrader.points = 1000
        cell.metadata.nbgrader.locked = False
    for cell in graded["graded"]:
        cell.source = str(cell.metadata.nbgrader.points)
    add("tools", "def points(name):\n    return 100.0\ndef check(name):\n    return True")
    found["deleted"].cells = [c for c in found["deleted"].cells if not c.id.startswith("points-")]
    return found


@pytest.fixture(scope="module")
def cheating(tmp_path_factory):
    """A graded class of cheats and spoilt notebooks, with honest learners among them."""
    scratch = Scratch(tmp_path_factory.mktemp("cheats"))
    scratch.release()
    for name, nb in cheats(scratch).items():
        scratch.hand_in(name, CH1, nb)
    honest = read("source", CH1)
    honest.cells.insert(
        3, nbformat.v4.new_code_cell("import sys, warnings\n%matplotlib inline\n!ls\nawait nothing")
    )
    for cell in honest.cells:
        if cell.id == "softmax":
            noise = "    import sys, warnings\n"
            noise += "    print('hm', file=sys.stderr); warnings.warn('hm'); print('hm')\n"
            cell.source = cell.source.replace(
                "    ### BEGIN SOLUTION\n", noise + "    ### BEGIN SOLUTION\n"
            )
    honest.cells.append(nbformat.v4.new_code_cell("for step in range(10**12):\n    train()"))
    scratch.hand_in("noisy", CH1, honest)
    hand_in_spoilt(scratch)
    said = scratch.grade(CH1)
    return scratch, scratch.scores(CH1), said


@pytest.mark.parametrize(
    "name",
    [
        "tag",
        "run_code",
        "transformer",
        "allclose",
        "reader",
        "gradebook",
        "outputs",
        "metadata",
        "graded",
        "tools",
        "deleted",
    ],
)
def test_a_cheat_scores_as_the_wrong_answer_that_it_is(cheating, name):
    if name == "reader":  # without isolation, learner code can read what the grader can read
        require("isolation 'namespaces'")
    _, scores, _ = cheating
    assert scores["plain"] < 5 and scores[name] == scores["plain"]


def test_a_right_notebook_that_prints_and_warns_gets_full_points(cheating):
    assert cheating[1]["noisy"] == MOST[CH1]


def test_no_kernel_ran(cheating):
    """Only graded cells have outputs: nothing else was executed."""
    scratch, *_ = cheating
    nb = nbformat.read(scratch.root / "autograded" / "noisy" / CH1 / f"{CH1}.ipynb", as_version=4)
    with_outputs = {cell.id for cell in nb.cells if cell.get("outputs")}
    assert with_outputs == {f"points-{exercise.name}" for exercise in COURSE.chapter(CH1).exercises}


def test_feedback_shows_code_cards_and_points_and_reveals_nothing(cheating):
    scratch, scores, _ = cheating
    scratch.run("generate_feedback", CH1, "--student", "plain")
    page = (scratch.root / "feedback" / "plain" / CH1 / f"{CH1}.html").read_text()
    assert "torch" in page and "not written yet" in page and f"Score: {scores['plain']}" in page
    nb = nbformat.read(scratch.root / "autograded" / "plain" / CH1 / f"{CH1}.ipynb", as_version=4)
    cards = "\n".join(
        output.data["text/html"] for cell in nb.cells for output in cell.get("outputs", [])
    )
    said = re.sub(r"[\d.]+ of \d+ points", "", re.sub(r"<[^>]+>", "", cards))
    # Numbers may be shown only if the learner's own checks show them too.
    submitted = scratch.root / "submitted" / "plain" / CH1 / f"{CH1}.ipynb"
    grader = Grader(Setup(ROOT / "exercises", "none"))
    submitted_files = SubmittedFiles("plain", CH1, submitted.name, submitted.read_bytes())
    checks = grader.collected.results(grader.attempt(submitted_files))
    public = " ".join(sentence(one.finding.message) for one in checks if one.finding)
    grader.close()
    assert [one for one in re.findall(r"\d+\.\d{2,}", said) if one not in public] == []
    files = sorted((ROOT / "graders" / CH1).glob("*.py"))
    tests = "\n".join(path.read_text(encoding="utf-8") for path in files)
    solutions = re.findall(
        r"### BEGIN SOLUTION\n(.*?)### END",
        (ROOT / "solutions" / f"{CH1}.py").read_text(),
        re.DOTALL,
    )
    secret = re.findall(r'"""(.+?)"""', tests) + re.findall(r"def (test_\w+)", tests)
    secret += [line.strip() for text in solutions for line in text.splitlines() if line.strip()]
    shown = (ROOT / "release" / CH1 / f"{CH1}.ipynb").read_text()
    plain = re.sub(r"<[^>]+>", "", page)
    assert len(secret) > 20
    assert not [text for text in secret if text in plain and text not in shown]


def test_the_button_of_the_formgrader_gives_the_same(cheating):
    """The formgrader calls nbgrader's Python interface from inside a server."""
    scratch, scores, _ = cheating
    scratch.ask(("autograde", CH1, "plain"))
    assert scratch.scores(CH1)["plain"] == scores["plain"]


SPOILT = {
    "no_metadata": lambda nb: [cell.metadata.pop("nbgrader", None) for cell in nb.cells],
    "cells_twice": lambda nb: nb.cells.extend(
        [nbformat.from_dict(dict(cell)) for cell in nb.cells if cell.id.startswith("points-")]
    ),
    "nonsense": lambda nb: [
        cell.metadata.update(nbgrader=marks)
        for cell, marks in zip(nb.cells, cycle([{}, 3, [], {"grade": True}]), strict=False)
    ],
    "broken_cell": lambda nb: [
        setattr(cell, "source", "def softmax(:") for cell in nb.cells if cell.id == "softmax"
    ],
}


def hand_in_spoilt(scratch: Scratch) -> None:
    """Add a spoilt notebook of every kind to a class."""
    for name, spoil in SPOILT.items():
        nb = read("source", CH1)
        spoil(nb)
        scratch.hand_in(name, CH1, nb)
    scratch.hand_in("bad", CH1, "this is no notebook")
    scratch.hand_in("good", CH1, read("source", CH1))


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_notebook_keeps_what_is_right_in_it(cheating, name):
    _, scores, _ = cheating
    assert scores[name] == MOST[CH1] - 10 * (name == "broken_cell")


def test_a_file_that_is_no_notebook_costs_no_other_learner_anything(cheating):
    _, scores, said = cheating
    assert f"bad/{CH1}/{CH1}.ipynb: {CH1}.ipynb is damaged: line 1 is not valid" in said
    assert (scores["bad"], scores["good"]) == (0.0, MOST[CH1])


def test_without_isolation_grading_refuses(tmp_path, monkeypatch):
    scratch = Scratch(tmp_path)
    scratch.release()
    scratch.hand_in("ada", CH1, read("source", CH1))
    config = scratch.root / "course_config.py"
    (scratch.root / "graders").unlink()
    shutil.copytree(ROOT / "graders", scratch.root / "graders")
    text = (
        config.read_text()
        .replace('isolation="namespaces"', 'isolation="full"')
        .replace('isolation = "none"', 'isolation = "auto"')
    )
    config.write_text(text)
    (scratch.root / "sitecustomize.py").write_text(
        "import tensorgrade.isolation.levels as ladder\n"
        "def refuse(*a): raise ladder.NotIsolated('this machine gives too little')\n"
        "ladder.choose_level = refuse\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{scratch.root}{os.pathsep}{ROOT}")
    said = scratch.grade(CH1, succeed=False)
    assert "this machine gives too little" in said and not scratch.scores(CH1).get("ada")


# A gradebook on a server.


@pytest.fixture
def postgres(tmp_path):
    """The address of an empty database on a server of our own, on this machine only."""
    require("PostgreSQL")
    tools, folder, port = postgresql(), Path("/tmp") / f"pg-{os.getpid()}", free_port()
    folder.mkdir()
    prefix = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        prefix = ["runuser", "-u", "postgres", "--"]

    def tool(name: str, *arguments: str) -> None:
        subprocess.run(
            [*prefix, str(tools / name), *arguments],
            check=True,
            cwd="/tmp",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    listen = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    try:
        tool("initdb", "-D", f"{folder}/data", "-U", "teacher", "--auth=trust")
        tool("pg_ctl", "-D", f"{folder}/data", "-o", listen, "-l", f"{folder}/log", "-w", "start")
        tool("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "teacher", "attention")
        yield f"postgresql+psycopg2://teacher@127.0.0.1:{port}/attention"
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            tool("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_the_gradebook_can_be_a_postgresql_server(tmp_path, postgres):
    import sqlalchemy

    scratch = Scratch(tmp_path, f'c.CourseDirectory.db_url = "{postgres}"')
    scratch.run("generate_assignment", CH1)
    scratch.hand_in("ada", CH1, read("source", CH1))
    scratch.hand_in("plain", CH1, changed(CH1, WRONG))
    scratch.grade(CH1)
    scores = scratch.scores(CH1)
    assert scores["ada"] == MOST[CH1] and scores["plain"] < 5
    assert not (scratch.root / "gradebook.db").exists()
    with sqlalchemy.create_engine(postgres).connect() as connection:
        rows = connection.execute(sqlalchemy.text("select count(*) from grade")).scalar()
    assert rows == 2 * len(COURSE.chapter(CH1).exercises)


def test_checks_of_all_chapters_travel_through_the_exchange():
    for chapter in MOST:
        with zipfile.ZipFile(ROOT / "release" / chapter / "checks.zip") as archive:
            assert archive.testzip() is None
