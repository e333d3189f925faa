"""Find-the-bug exercises: what an author writes, what learners get, and what a build proves."""

import gzip
import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import nbformat
import pytest

from tensorgrade.attempts.points import repaired
from tensorgrade.attempts.results import CheckResult
from tensorgrade.author.building.derive import script_for_learners
from tensorgrade.author.building.notebooks import release_text
from tensorgrade.author.building.script import stub_text
from tensorgrade.author.bundle import files_of_kit
from tensorgrade.author.proofs import build_checks
from tensorgrade.author.proofs.course_errors import course_errors
from tensorgrade.author.recording.bugs import candidates, drawn
from tensorgrade.exchange.observation import Outcome
from tensorgrade.exchange.references import load_references
from tensorgrade.project import Project
from tensorgrade.recognition.mistakes import Mistake

from .small_course import CHAPTER, build, edit, make_course

NAME, LESSON = "bug_scaled", f"solutions/{CHAPTER}.py"
FILE = f"graders/{CHAPTER}/{NAME}.py"
TWICE = '("x * factor", "x * factor * factor")'
MISTAKE = f'    mistake("scaled_twice", "It is multiplied twice.", {TWICE}),\n]'
SOURCE = '''
# %% exercise="bug_scaled"
def bug_scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    """Return x times factor. It has one mistake."""
    ### BEGIN SOLUTION
    entries = x.reshape(-1)
    factors = torch.full_like(entries, factor)
    products = torch.mul(entries, factors)  # one by one
    return products.reshape(x.shape)
    ### END SOLUTION


# %% [markdown] hints="bug_scaled"
# 1. Which checks fail?
# 2. Print every value on the way.
'''
RIGHT_LINE = "products = torch.mul(entries, factors)"
BUG = '''"""A find-the-bug exercise, graded like scaled."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "scaled",
    points=4,
    among={
        "scaled_factor_added": ("torch.mul(", "torch.add("),
        "scaled_factor_ignored": ("(entries, factor)", "(entries, 2.0)"),
        "scaled_twice": ("entries, factors)", "entries, factors * factors)"),
    },
)
'''


def with_a_bug(root):
    """The small course, with one exercise more."""
    make_course(root)
    edit(root, f"graders/{CHAPTER}/scaled.py", "\n]", f"\n{MISTAKE}")
    for path, text in ((LESSON, SOURCE), (FILE, BUG)):
        before = (root / path).read_text("utf-8") if path == LESSON else ""
        (root / path).write_text(before + text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Project:
    """The course, built; nothing is wrong with it."""
    root = with_a_bug(tmp_path_factory.mktemp("bugs"))
    built, _ = build(root)
    assert built.wrong == ()
    return Project(root)


def given_in(project: Project, seed: int) -> str:
    """The stub of a term with this seed."""
    term = Project(project.root)
    term.__dict__["course"] = replace(project.course, seed=seed)
    return stub_text(script_for_learners(term, term.course.chapter(CHAPTER)))


@pytest.mark.slow
def test_learners_get_the_code_with_the_mistake_wherever_they_work(course):
    wrong = drawn(course, CHAPTER, NAME)
    ((old, new),) = wrong.edits[NAME]
    code = SOURCE[SOURCE.index("def ") : SOURCE.index("# %% [markdown]")].rstrip()
    code = "\n".join(line for line in code.splitlines() if "###" not in line).replace(old, new)
    stub = (course.exercises / f"{CHAPTER}.py").read_text("utf-8")
    assert code in stub and old not in stub
    nb, cell = cell_in(course.root / "release")
    assert cell.source == code and cell.metadata.get("editable", True)
    assert not cell.metadata.nbgrader.locked and not cell.metadata.nbgrader.grade
    assert cell.metadata.nbgrader.solution, "nbgrader knows what learners write"
    assert "BEGIN SOLUTION" not in nb and "given" not in cell.metadata


def cell_in(folder):
    """The text of the chapter's notebook in a folder, and the cell to write in."""
    text = (folder / CHAPTER / f"{CHAPTER}.ipynb").read_text("utf-8")
    nb = nbformat.reads(text, as_version=4)
    return text, next(cell for cell in nb.cells if cell.id == NAME)


@pytest.mark.slow
def test_the_instructors_notebook_holds_the_answer_and_no_release_does(course, tmp_path):
    nb, cell = cell_in(course.root / "source")
    answer = SOURCE[SOURCE.index("def ") : SOURCE.index("# %% [markdown]")].strip()
    assert cell.source == answer
    for name in ("course_config.py", "nbgrader_config.py"):
        text = (course.root / name).read_text("utf-8")
        assert name != "course_config.py" or "c.GenerateAssignment.exporter_class" in text
        (tmp_path / name).write_text(text.replace("c.GenerateAssignment.", "c.Nobody."), "utf-8")
    released = release_text(tmp_path, CHAPTER, nb)
    ((right, _),) = drawn(course, CHAPTER, NAME).edits[NAME]
    assert right in answer and right not in released


def test_points_are_the_bugs_own_and_its_tests_those_of_the_other_exercise(course):
    (bug,) = (one for one in course.course.chapter(CHAPTER).exercises if one.name == NAME)
    assert (bug.points, bug.shares) == (4, 5)
    checks = (course.exercises / f"test_{CHAPTER}.py").read_text("utf-8")
    assert "def test_bug_scaled_values(attempt)" in checks
    assert 'attempt.bug_scaled.agrees("values")' in checks and "find_the_bug" not in checks


@pytest.mark.slow
def test_nothing_in_the_kit_tells_which_mistake_it_is(course):
    names = [one.name for one in candidates(course, CHAPTER, NAME)]
    assert len(names) == 3
    files = files_of_kit(course)
    path = f"exercises/references/{CHAPTER}.fingerprints.json.gz"
    files[path] = gzip.decompress(files[path])
    told = {path: text.decode("utf-8", "ignore") for path, text in files.items()}
    # Of the other exercise: all of them.
    assert {path for path, text in told.items() if any(name in text for name in names)} == {path}
    prints = json.loads(told[path])
    assert prints["exercises"][NAME]["prints"] == []
    ((old, _),) = drawn(course, CHAPTER, NAME).edits[NAME]
    (right,) = (line.strip() for line in SOURCE.splitlines() if old in line)
    assert not [path for path, text in told.items() if right in text]
    public = load_references(course.exercises / "references" / f"{CHAPTER}.safetensors")
    hidden = load_references(course.graders / "references" / f"{CHAPTER}.safetensors")
    assert public.bugs == hidden.bugs and list(public.bugs) == [NAME]
    assert not [case for case in public.traces if case.startswith(f"{NAME}:")]


@pytest.mark.slow
def test_another_seed_draws_another_mistake(course):
    stubs = {given_in(course, 2**100 + n) for n in range(30)}
    assert len(stubs) == 3  # as many as there are mistakes to draw from
    assert given_in(course, 2**100) == given_in(course, 2**100)


@pytest.mark.slow
def test_a_build_proves_every_mistake_that_could_be_drawn(course):
    assert list(build_checks.unproved_bugs(course)) == []
    assert list(build_checks.unproved_bugs(course, frozenset({"scaled"}))) == []


def test_a_build_finds_a_bug_that_is_none(course, monkeypatch):
    none = Mistake("none", "", {NAME: (("(entries, factors)", "(factors, entries)"),)})
    monkeypatch.setattr(build_checks, "candidates", lambda *names: [none])
    said = list(build_checks.unproved_bugs(course))
    assert said == [
        f"{tests}: bug_scaled with none, as it is given, is not_attempted with 1 points; "
        "it should be not_attempted with 0"
        for tests in ("graders", "exercises")
    ]


@pytest.mark.slow
def test_a_build_finds_a_solution_that_is_no_repair(course, monkeypatch):
    monkeypatch.setattr(build_checks, "rewritten", lambda project, right, *names: right)
    said = list(build_checks.unproved_bugs(course))
    assert len(said) == 6 and all("rewritten, is passed with 4 points" in one for one in said)


SLIPS = [
    (FILE, '"scaled_twice"', '"scaled_thrice"', "scaled_thrice, among its bugs, is not a known"),
    (FILE, '("torch.mul("', '("torch.mull("', "'torch.mull(' is there 0 times"),
    (FILE, '        "scaled_twice": (', '        # "scaled_twice": (', "list at least 3 mistakes"),
    (FILE, "points=4", "points=2 + 2", f"{NAME}.py:5: write BUG = find_the_bug("),
    (
        FILE,
        "BUG = find_the_bug(",
        "BUG = 7\nIT = find_the_bug(",
        f"{NAME}.py:5: write BUG = find_the_bug(",
    ),
    (FILE, '"scaled",', '"scald",', "there is no scald.py whose tests could judge it"),
    (LESSON, "torch.mul(entries, factors)", "scaled(entries, factors)", "and calls scaled"),
    (FILE, '"torch.mul(", "torch.add("', '"products.reshape(x.shape)", "x"', None),
    (
        LESSON,
        "products.reshape(x.shape)",
        "(1 + 1 + 1 - 1 - 1) * products.reshape(x.shape)",
        None,
    ),
]


@pytest.mark.parametrize("path, old, new, said", SLIPS)
def test_an_authors_slip_is_reported(tmp_path, path, old, new, said):
    root = with_a_bug(tmp_path)
    edit(root, path, old, new)
    if "scaled(entries" in new:  # so that the edits fit
        edit(root, FILE, '("torch.mul(", "torch.add(")', '("reshape(-1)", "flatten()")')
    found = course_errors(Project(root))
    assert any(said in one for one in found) if said else found == [], found


@pytest.mark.slow
def test_a_mistake_that_takes_a_rewrite_to_fix_is_reported(tmp_path):
    root = with_a_bug(tmp_path)
    whole = f"{RIGHT_LINE}  # one by one\\n    return products.reshape(x.shape)"
    edit(root, FILE, '"torch.mul(", "torch.add("', f'"{whole}", "return x"')
    (said,) = course_errors(Project(root))
    assert "fixing scaled_factor_added changes 1" in said and "at most 6 are allowed" in said


def part(changed: int) -> SimpleNamespace:
    """An exercise of four points, of which so many parts were changed."""
    loaded = SimpleNamespace(status=Outcome.UNREADABLE)  # so nothing else can run in its place
    attempt = SimpleNamespace(facts=SimpleNamespace(changes={NAME: changed}), loaded=loaded)
    return SimpleNamespace(name=NAME, attempt=attempt, given_code="code", results_cache={})


def earned(changed: int, *checks: tuple[float, bool, bool]) -> float:
    """Return an exercise's points for checks (points, passed, passed by the given code)."""
    results = [
        CheckResult(NAME, points, passed, given=partial(bool, given))
        for points, passed, given in checks
    ]
    return sum(check.earned for check in repaired(part(changed), results))


@pytest.mark.parametrize(
    "changed, checks, points",
    [
        (2, [(1, True, False), (3, True, True)], 4),  # fixed
        (30, [(1, True, False), (3, True, True)], 3),  # rewritten
        (0, [(1, False, False), (3, True, True)], 0),  # unchanged
        (2, [(1, False, False), (3, True, True)], 0),  # another mistake for the one that was there
        (2, [(1, True, False), (1, False, False), (2, True, True)], 1.5),  # half of it fixed
        (2, [(1, True, False), (1, True, False), (1, False, True), (1, True, True)], 1.5),
        (2, [(1, True, False), (3, False, True)], 0),  # more broken than fixed: never below 0
    ],
)
def test_only_what_was_fixed_earns_points(changed, checks, points):
    assert earned(changed, *checks) == pytest.approx(points)
