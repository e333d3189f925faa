"""A build makes what has changed and no more, the same wherever it lies, and keeps what it made."""

import os
import shutil
import subprocess
import sys

import pytest

from tensorgrade import folders
from tensorgrade.author.building import derive, made_parts
from tensorgrade.author.building.reference_files import without_pairs
from tensorgrade.author.kept import FOLDER, Kept
from tensorgrade.author.proofs.complaints import solved_stubs
from tensorgrade.author.proved import concerned, proved_before, seen_now, unproved
from tensorgrade.author.recording.references import build_references
from tensorgrade.author.terminal import look, read_ahead
from tensorgrade.course import CourseError
from tensorgrade.project import Project, find_project
from tensorgrade.recognition.fingerprints import load_fingerprints

from ..commands import ROOT
from .small_course import CHAPTER, GRADER, build, edit, make_course

LESSON = f"solutions/{CHAPTER}.py"

HIDDEN = "graders/references/ch1_first_steps"


@pytest.fixture
def course(tmp_path):
    root = make_course(tmp_path / "small")
    assert build(root)[0].wrong == ()
    return root


@pytest.fixture
def runs(monkeypatch):
    """The versions that are run, (exercise, hidden, mistakes, number of cases) each."""
    seen = []

    def counted(jobs, works, how, original=made_parts.run):
        seen.extend(
            (job.part.exercise, job.part.hidden, version.mistakes, len(job.cases))
            for job in jobs
            for version in job.versions
        )
        original(jobs, works, how)

    monkeypatch.setattr(made_parts, "run", counted)
    return seen


def derived(root):
    """The bytes of all derived files, by their paths."""
    places = ("exercises", "graders/references", "source", "release")
    paths = [p for place in places for p in sorted((root / place).rglob("*")) if p.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


@pytest.mark.slow
def test_a_word_of_a_message_runs_nothing(course, runs):
    edit(course, GRADER, "The factor is added. It should", "The factor is added; it should")
    built, wrote = build(course)
    assert built.wrong == () and runs == []
    assert f"{HIDDEN}.fingerprints.json.gz" in wrote and f"{HIDDEN}.safetensors" not in wrote


@pytest.mark.slow
def test_a_new_mistake_runs_that_mistake(course, runs):
    new = '    mistake("halved", "It is half as much.", ("x * factor", "x * factor / 2")),\n]'
    edit(course, GRADER, "\n]\n", f"\n{new}\n")
    assert build(course)[0].wrong == ()
    assert {(exercise, names) for exercise, _, names, _ in runs if len(names) == 1} == {
        ("scaled", ("halved",))
    }


def test_a_new_case_runs_that_case(course, runs):
    edit(course, GRADER, "hidden=[(5,),", "hidden=[(5,), (6,),")
    assert build(course)[0].wrong == ()
    assert runs and {(ex, hidden, cases) for ex, hidden, _, cases in runs} == {("scaled", True, 1)}


def test_a_new_name_of_a_mistake_runs_nothing_and_is_reported(course, runs):
    edit(course, GRADER, '"scaled_factor_added"', '"added"')
    built, wrote = build(course)
    assert built.wrong == () and runs == [] and f"{HIDDEN}.fingerprints.json.gz" in wrote


def test_another_solution_runs_its_exercise_alone(course, runs):
    edit(course, f"solutions/{CHAPTER}.py", "    return x * factor", "    return x * factor + 0")
    assert build(course)[0].wrong == ()
    assert {exercise for exercise, *_ in runs} == {"scaled"}


@pytest.mark.slow
def test_a_new_seed_and_new_points_leave_learners_cases_alone(course, runs):
    edit(course, "course_config.py", "seed=", "seed=1")
    edit(course, "course_config.py", "points={}", 'points={"scaled": 7.5}')
    built, _ = build(course)
    assert built.wrong == () and {hidden for _, hidden, *_ in runs} == {True}
    assert "scaled" in {exercise for exercise, *_ in runs}
    assert b'"points": 7.5' in (course / f"release/{CHAPTER}/{CHAPTER}.ipynb").read_bytes()


def test_named_exercises_alone_are_made(course, runs):
    edit(course, f"solutions/{CHAPTER}.py", "    return x * factor", "    return x * factor + 0")
    edit(course, f"solutions/{CHAPTER}.py", "return counts", "return dict(counts)")
    built, _ = build(course, exercises=frozenset({"scaled"}))
    assert built.wrong == () and "Other exercises were not built" in built.said
    assert {exercise for exercise, *_ in runs} == {"scaled"}
    runs.clear()
    assert build(course)[0].wrong == () and {exercise for exercise, *_ in runs} == {"word_counts"}


def test_chapters_of_other_exercises_are_left_alone(course):
    made_from = (course / "graders/references/made_from.json").read_bytes()
    edit(course, "solutions/ch2_more.py", "# ## ", "# ## Once more: ")
    edit(course, GRADER, "The factor is added. It should", "The factor is added; it should")
    built, wrote = build(course, exercises=frozenset({"scaled"}))
    assert built.wrong == () and wrote and not [path for path in wrote if "ch2_more" in path]
    assert (course / "graders/references/made_from.json").read_bytes() == made_from
    built, wrote = build(course)
    assert built.wrong == () and "exercises/ch2_more.py" in wrote
    assert not [path for path in wrote if CHAPTER in path]


def test_a_slip_keeps_what_is_built_with_it_from_being_built(course):
    (other,) = (course / "graders" / "ch2_more").glob("[!_]*.py")
    edit(course, f"graders/ch2_more/{other.name}", "def cases(", "def case_s(")
    assert build(course, exercises=frozenset({"scaled"}))[0].wrong == ()
    assert "there is no cases(pick)" in build(course)[0].wrong[0]
    edit(course, f"graders/{CHAPTER}/word_counts.py", "def cases(", "def case_s(")
    assert "word_counts" in build(course, exercises=frozenset({"scaled"}))[0].wrong[0]


def test_without_what_was_kept_the_stored_files_are_enough(course, runs):
    for path in sorted((course / FOLDER).rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    built, wrote = build(course)
    assert built.wrong == () and runs == [] and wrote == []


def test_a_broken_keep_is_made_again(course, runs):
    for path in (course / FOLDER).rglob("*.json"):
        path.write_text('{"messages": {}, "exerc', encoding="utf-8")
    edit(course, GRADER, "hidden=[(5,),", "hidden=[(6,),")
    assert build(course)[0].wrong == () and runs


def test_a_stub_is_looked_at_again_where_it_is_another(course):
    project = Project(course)
    chapter, kept = project.course.chapter(CHAPTER), Kept(course)
    name = f"{CHAPTER}/stub.txt"
    assert solved_stubs(project, chapter, kept) == []
    seen = kept.text(name)
    assert seen
    kept.keep_text(name, "")  # as if it had never been looked at
    assert solved_stubs(project, chapter) == [] and kept.text(name) == ""
    solved = (course / f"solutions/{CHAPTER}.py").read_bytes()
    kept.keep_text(name, seen)
    (course / f"exercises/{CHAPTER}.py").write_bytes(solved)
    said = solved_stubs(project, chapter, kept)
    assert said and all("is solved already" in line for line in said)
    assert solved_stubs(project, chapter, kept) == said  # it is not kept that it was wrong


def test_where_nothing_has_changed_nobody_waits_for_torch(course):
    asked = (
        "import sys; from pathlib import Path; from tensorgrade.author.proved import *; "
        "root = Path(sys.argv[1]); proved = proved_before(root); "
        "print('torch' in sys.modules, proved.seen == seen_now(root), proved.said)"
    )
    command = [sys.executable, "-c", asked, str(course)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False True ") and "files are fresh" in done.stdout


def test_everything_counts_for_what_is_proved(course):
    proved = proved_before(course)
    assert proved.said.endswith("derived files are fresh.")
    for path in (GRADER, f"exercises/{CHAPTER}.py", "graders/references/made_from.json"):
        text = (course / path).read_bytes()
        (course / path).write_bytes(text + b"\n")
        assert proved.seen != seen_now(course)
        (course / path).write_bytes(text)
    assert proved.seen == seen_now(course)


def left(course):
    """The exercises that are still to be proved; None where that may be all."""
    return unproved(Project(course), proved_before(course), seen_now(course))


def test_what_is_proved_and_unchanged_is_not_looked_at_again(course, monkeypatch):
    looked_at = []
    monkeypatch.setattr(
        "tensorgrade.author.proofs.slips.ExerciseFile.slips",
        lambda file: looked_at.append(file.exercise.name) or [],
    )
    edit(course, GRADER, "The factor is added. It should", "The factor is added; it should")
    assert left(course) == {"scaled"}
    built, wrote = build(course)
    assert built.said.startswith("All derived files are fresh.")
    assert set(looked_at) == {"scaled", "Shift", "word_counts"}  # those of its chapter
    assert wrote and left(course) == frozenset()


@pytest.mark.slow
@pytest.mark.parametrize("saved, all_is_proved", [("scaled", True), ("Shift", False)])
def test_a_save_proves_all_where_it_is_all_that_changed(course, saved, all_is_proved):
    edit(course, GRADER, "The factor is added. It should", "The factor is added; it should")
    assert build(course, exercises=frozenset({saved}))[0].wrong == ()
    assert (left(course) == frozenset()) == all_is_proved


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["course_config.py", "graders/helpers.py", "exercises/new.py", "source/ch2_more/x"]
)
def test_what_all_may_hang_on_is_proved_with_all(course, path):
    (course / path).touch()
    (course / path).write_text((course / path).read_text("utf-8") + "\n", encoding="utf-8")
    assert left(course) is None


def test_what_is_wrong_is_not_proved(course):
    edit(course, GRADER, '"The factor is added. It should', f'"{"x" * 200}')
    assert build(course)[0].wrong and left(course) == {"scaled"}
    assert build(course)[0].wrong


@pytest.mark.slow
def test_what_was_read_ahead_is_never_stale(course):
    path = course / GRADER
    read_ahead(course, look(course))
    saved = path.stat().st_mtime_ns
    edit(course, GRADER, "The factor is added. It should", "The factor is added, it should")
    os.utime(path, ns=(saved, saved))  # of the same size, in the same moment
    build(course)
    prints = load_fingerprints(course / f"{HIDDEN}.fingerprints.json.gz")
    assert any("The factor is added, it should" in said for said in prints.messages.values())


@pytest.mark.slow
def test_a_new_mistake_runs_the_solution_on_no_case(course, monkeypatch):
    recorded = []
    monkeypatch.setattr(
        "tensorgrade.author.recording.references.build_references",
        lambda *about: recorded.append(about) or build_references(*about),
    )
    new = '    mistake("halved", "It is half as much.", ("x * factor", "x * factor / 2")),\n]'
    edit(course, GRADER, "\n]\n", f"\n{new}\n")
    assert build(course)[0].wrong == () and recorded == []
    edit(course, GRADER, "hidden=[(5,),", "hidden=[(6,),")
    assert build(course)[0].wrong == ()
    assert [hidden for *_, hidden in recorded] == [True]


@pytest.mark.slow
def test_two_folders_give_the_same_bytes(course, tmp_path):
    other = tmp_path / "another place" / "small"
    make_course(other)
    for path in sorted(course.glob("*_config.py")):
        (other / path.name).write_bytes(path.read_bytes())  # the seed is another one in each
    built, wrote = build(other, pairs=True)
    build(course, pairs=True)
    assert built.wrong == () and len(wrote) > 20
    assert derived(other) == derived(course)


NEGATED = '    mistake("negated", "Its sign is another one.", ("return ", "return -")),\n]'
PUBLIC = f"exercises/references/{CHAPTER}.fingerprints.json.gz"


@pytest.fixture
def with_pairs(course, runs):
    """The course with a mistake that fits together with two others; Shift has a pair as well."""
    edit(course, GRADER, "\n]\n", f"\n{NEGATED}\n")
    assert build(course)[0].wrong == ()
    assert pairs_in(course / PUBLIC) == 3 and pairs_run(runs) == {("scaled", False)}
    runs.clear()
    return course


def pairs_in(path) -> int:
    """How many fingerprints of pairs a file holds."""
    every = load_fingerprints(path).by_exercise.values()
    return sum(len(one.mistakes) == 2 for prints in every for one in prints)


def pairs_run(runs) -> set[tuple[str, bool]]:
    """The exercises of which pairs were run, and whether on hidden cases."""
    return {(exercise, hidden) for exercise, hidden, names, _ in runs if len(names) == 2}


def test_pairs_of_a_changed_engine_stay_where_single_mistakes_do(with_pairs, runs, monkeypatch):
    before = derived(with_pairs)
    monkeypatch.setattr("tensorgrade.author.recording.references.engine_digest", lambda: "other")
    edit(with_pairs, GRADER, "The factor is added. It should", "The factor is added; it should")
    assert build(with_pairs)[0].wrong == ()
    assert runs and not pairs_run(runs) and pairs_in(with_pairs / PUBLIC) == 3
    assert before[PUBLIC] != derived(with_pairs)[PUBLIC]  # for the message


def test_no_pairs_are_stored_for_hidden_cases(with_pairs):
    assert pairs_in(with_pairs / f"{HIDDEN}.fingerprints.json.gz") == 0


def test_a_clone_without_what_git_ignores_makes_everything_but_pairs(with_pairs, runs):
    """Of all references, git hands out only the fingerprints on public cases."""
    before = derived(with_pairs)
    shutil.rmtree(with_pairs / FOLDER)
    shutil.rmtree(with_pairs / "graders" / "references")
    tensors = with_pairs.glob("exercises/references/*.safetensors")
    for path in [*tensors, *with_pairs.rglob("checks.zip")]:
        path.unlink()
    built, wrote = build(with_pairs)
    assert built.wrong == () and f"{HIDDEN}.safetensors" in wrote
    assert PUBLIC not in wrote and derived(with_pairs) == before
    assert runs and not pairs_run(runs)


def test_stored_pairs_of_other_edits_are_made_again(with_pairs, runs):
    shutil.rmtree(with_pairs / FOLDER)
    shutil.rmtree(with_pairs / "graders" / "references")
    edit(with_pairs, GRADER, '"x + factor"', '"x + 2 * factor"')
    assert build(with_pairs)[0].wrong == ()
    assert pairs_run(runs) == {("scaled", False)} and pairs_in(with_pairs / PUBLIC) == 3


def test_similar_mistakes_are_reported_for_all_exercises_at_once(course):
    same = '    mistake("again", "It is added.", ("x * factor", "factor + x")),\n]'
    edit(course, GRADER, "\n]\n", f"\n{same}\n")
    nothing = '    mistake("none", "It is right.", ("return counts", "return counts # so")),\n]'
    edit(course, f"graders/{CHAPTER}/word_counts.py", "\n]\n", f"\n{nothing}\n")
    with pytest.raises(CourseError) as error:
        build(course)
    assert "scaled: again looks like scaled_factor_added" in str(error.value)
    assert "word_counts: none looks like a right answer" in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "file, old, new, said",
    [
        (GRADER, "x + factor", "x +* factor", "scaled: scaled_factor_added is no Python"),
        (GRADER, '"x + factor"', '"[1 for x in iter(int, 1)]"', "is still at work on values/"),
        (GRADER, "factor=3.0)", "factr=3.0)", "TypeError: scaled() has no parameter 'factr'"),
        (GRADER, '"x + factor"', '"factor * x"', "scaled: scaled_factor_added looks like a right"),
        (GRADER, "factor=3.0)", ")", "scaled: the solution fails on values/(5,): TypeError"),
        (LESSON, "import torch\n", "import torch, nowhere\n", ":14: ModuleNotFoundError: No mod"),
        (LESSON, "return x * factor", "return object()", "is an object of type object, which"),
    ],
)
def test_a_slip_that_shows_when_it_is_run_is_a_sentence_with_its_file(
    tmp_path, monkeypatch, file, old, new, said
):
    course = make_course(tmp_path / "small")
    edit(course, file, old, new)
    if file == LESSON and "object()" in new:  # so that the edits of mistakes fit
        edit(course, GRADER, '("x * factor", "x + factor")', '("object()", "x")')
        edit(course, GRADER, '("x * factor", "x * 2.0")', '("object()", "2 * x")')
    monkeypatch.setattr("tensorgrade.author.recording.references.SECONDS_OF_A_VERSION", 0.5)
    with pytest.raises(CourseError) as error:
        build(course, exercises=frozenset({"scaled"}))
    places = str(course / GRADER), str(course / LESSON)
    assert str(error.value).startswith(places) and said in str(error.value)


def test_many_pairs_are_not_made_unasked(tmp_path, monkeypatch):
    course = make_course(tmp_path / "small")
    monkeypatch.setattr("tensorgrade.author.building.made_parts.FEW_RUNS_TOGETHER", 5)
    assert "Pairs of mistakes are still to be made for 4 exercises" in build(course)[0].said
    assert without_pairs(Project(course)) and build(course, pairs=True)[0].wrong == ()
    assert without_pairs(Project(course)) == []


def test_a_save_concerns_its_exercise_its_chapter_or_everything(course):
    project = Project(course)
    assert concerned(project, [course / GRADER]) == {"scaled"}
    lesson = course / "solutions" / f"{CHAPTER}.py"
    assert concerned(project, [lesson]) == {"scaled", "Shift", "word_counts"}
    assert concerned(project, [course / "course_config.py", lesson]) is None
    assert concerned(project, [course / f"graders/{CHAPTER}/helpers.py"]) is None
    before = look(course)
    edit(course, GRADER, "factor=3.0", "factor=30.0")
    assert {p for p, seen in look(course).items() if before[p] != seen} == {course / GRADER}


def test_a_release_is_made_again_where_what_nbgrader_loads_is_new(monkeypatch, tmp_path):
    made, engine = [], tmp_path / "engine"
    shutil.copytree(folders.ENGINE / "nbgrader_plugin", engine / "nbgrader_plugin")
    monkeypatch.setattr(folders, "ENGINE", engine)
    monkeypatch.setattr(derive, "release_text", lambda *about: made.append(about) or "released")

    def released() -> str:
        return derive.kept_release(find_project(ROOT), CHAPTER, "notebook", Kept(tmp_path))

    assert released() == released() == "released" and len(made) == 1
    edit(engine, "nbgrader_plugin/releasing.py", "class GivenCode", "class OtherCode")
    assert released() == released() == "released" and len(made) == 2


def test_a_bug_is_built_again_with_the_exercise_it_is_judged_as():
    project, folder = Project(ROOT), ROOT / "graders" / "ch3_causal_attention"
    found = concerned(project, [folder / "inverted_dropout.py"])
    assert found == {"inverted_dropout", "bug_inverted_dropout"}
    assert concerned(project, [folder / "bug_inverted_dropout.py"]) == {"bug_inverted_dropout"}
