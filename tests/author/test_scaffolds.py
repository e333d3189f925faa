"""A new course, and every kind of exercise in it, is green at once and can be graded and handed
out; an exercise that is off is in no derived file."""

import json
import shutil
import zipfile

import pytest

from tensorgrade.author import scaffolds
from tensorgrade.course import CourseError
from tensorgrade.project import Project

from ..commands import ROOT, points_in_nbgrader, run
from .small_course import CHAPTER, GRADER, build, edit, make_course


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = make_course(tmp_path_factory.mktemp("made") / "small")
    built, wrote = build(root, anew=True, pairs=True)
    assert built.wrong == () and f"exercises/{CHAPTER}.py" in wrote
    return root


@pytest.mark.slow
def test_it_is_green_at_once_and_stays_so(course):
    built, wrote = build(course)
    assert built.wrong == () and built.said.endswith("derived files are fresh.") and wrote == []


def test_what_commands_write_about_learners_is_not_committed():
    new = ROOT / "tensorgrade" / "author" / "templates" / "course" / "gitignore.txt"
    for path in (ROOT / ".gitignore", new):
        ignored = path.read_text(encoding="utf-8").splitlines()
        own = {"submitted/", "out/", "questions/", "/*-submission.zip", "/submission.html"}
        assert own <= set(ignored)


def test_its_settings_for_nbgrader_are_those_of_every_course(course, project):
    """All but the name in an example, and where more is said on files of both kinds."""
    told = {}
    for root in (course, project.root, project.root / "courses" / "tokens"):
        text = (root / "course_config.py").read_text(encoding="utf-8")
        own = [line.strip() for line in text.partition('if "get_config"')[2].splitlines()]
        told[root] = [line for line in own if not line.startswith("# ")]
        assert "lateness=Lateness(" in text
    first, *others = told.values()
    assert len(first) > 20 and all(other == first for other in others)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_is_proved_graded_and_bundled(course, tmp_path):
    checked = run("tensorgrade.cli", "build", "--check", cwd=course)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for student, change in (("right", ("", "")), ("wrong", ("x * factor", "x + factor"))):
        place = tmp_path / "submitted" / student / CHAPTER
        place.mkdir(parents=True)
        text = (course / "solutions" / f"{CHAPTER}.py").read_text("utf-8").replace(*change)
        (place / f"{CHAPTER}.py").write_text(text, "utf-8")
    graded = run(
        *("tensorgrade.cli", "grade", tmp_path / "submitted", "--out", tmp_path / "out"),
        *("--isolation", "none", "--jobs", "1"),
        cwd=course,
    )
    assert graded.returncode == 0, graded.stdout + graded.stderr
    lines = (tmp_path / "out" / "results.jsonl").read_text("utf-8").splitlines()
    rows = {(row["student"], row["exercise"]): row for row in map(json.loads, lines)}
    assert {row["status"] for (who, _), row in rows.items() if who == "right"} == {"passed"}
    assert rows["wrong", "scaled"]["mistakes"] == ["scaled_factor_added"]
    assert rows["wrong", "Shift"]["status"] == "passed"
    assert (
        run("tensorgrade.cli", "bundle", "--out", tmp_path / "kit.zip", cwd=course).returncode == 0
    )
    with zipfile.ZipFile(tmp_path / "kit.zip") as kit:
        texts = [kit.read(n) for n in kit.namelist() if n.endswith((".py", ".md", ".ipynb"))]
        assert "kit/constraints.txt" in kit.namelist(), "the kit's page and workflow name it"
    assert not any(b"BEGIN SOLUTION" in t and b"x * factor" in t for t in texts)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nbgrader_hands_it_out_and_grades_it(course, tmp_path):
    shutil.copytree(course, tmp_path / "small")
    assert points_in_nbgrader(tmp_path / "small", "ch2_more") == {"ada": 5, "bo": 0}


@pytest.mark.slow
def test_a_new_chapter_says_that_its_exercise_is_a_sample(tmp_path):
    scaffolds.new_course(tmp_path / "made", "")
    done = run("tensorgrade.cli", "new", "chapter", "ch2_more", cwd=tmp_path / "made")
    assert done.returncode == 0, done.stderr
    assert "scaled_2 is a sample: replace it" in done.stdout
    assert "graders/ch2_more/scaled_2.py)" in done.stdout


def test_what_ends_a_chapter_stays_its_last_cell(tmp_path):
    scaffolds.new_course(tmp_path / "made", "")
    project = Project(tmp_path / "made")
    (chapter,) = project.course.chapters
    ending = "\n# %% [markdown] ending=true\n# ## What you can do now\n#\n# Scale.\n"
    with project.solution(chapter.name).open("a", encoding="utf-8") as lesson:
        lesson.write(ending)
    scaffolds.new_exercise(project, chapter.name, "weighted", "class")
    text = project.solution(chapter.name).read_text(encoding="utf-8")
    assert text.endswith(ending) and text.count("ending=true") == 1
    assert text.index('exercise="weighted"') < text.index('hints="weighted"') < len(text)


def test_what_is_there_is_not_written_over(course):
    project = Project(course)
    before = (course / "course_config.py").read_bytes()
    for attempt, said in (
        (lambda: scaffolds.new_course(course, ""), "not empty"),
        (lambda: scaffolds.new_chapter(project, "ch2_more"), "is there already"),
        (lambda: scaffolds.new_chapter(project, "no name"), "cannot be a name"),
        (
            lambda: scaffolds.new_exercise(project, CHAPTER, "scaled_2", "class"),
            "a name of its own",
        ),
        (lambda: scaffolds.new_exercise(project, "ch3", "x", "class"), "no chapter named ch3"),
        (lambda: scaffolds.new_exercise(project, CHAPTER, "print", "class"), "something else in"),
        (lambda: scaffolds.new_exercise(project, CHAPTER, "nn", "class"), "something else in"),
    ):
        with pytest.raises(CourseError, match=said):
            attempt()
    assert (course / "course_config.py").read_bytes() == before


@pytest.mark.slow
def test_an_exercise_that_is_off_is_nowhere(tmp_path):
    root = make_course(tmp_path / "off")
    edit(root, "course_config.py", "points={},", 'points={"word_counts": 9}, off=("Shift",),')
    built, wrote = build(root)
    assert built.wrong == ()
    # The private copy of the solution, from which pairs of mistakes are made, is whole.
    left_out = (".zip", ".sources.json")
    texts = [(root / name).read_bytes() for name in wrote if not name.endswith(left_out)]
    assert len(texts) > 10 and not any(b"Shift" in text for text in texts)
    assert any(b"word_counts" in text for text in texts)
    edit(root, "course_config.py", 'off=("Shift",),', "")
    built, wrote = build(root)
    assert built.wrong == () and "Shift" in (root / f"exercises/{CHAPTER}.py").read_text("utf-8")


def test_one_that_others_call_cannot_be_off(tmp_path):
    root = make_course(tmp_path / "off")
    edit(root, f"solutions/{CHAPTER}.py", "counts: dict[str, int] = {}", "counts = scaled({}, 1)")
    edit(root, "course_config.py", "points={},", 'points={}, off=("scaled",),')
    assert ["scaled is off" in said for said in build(root)[0].wrong] == [True]
    edit(root, "course_config.py", 'off=("scaled",)', 'off=("scalde",)')
    assert "names scalde" in build(root)[0].wrong[0]
    assert (root / GRADER).exists()
