"""A build makes the exercises that have changed and no others, and notices every stale file."""

import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tensorgrade import folders
from tensorgrade.author.building import derive, parts
from tensorgrade.author.building.parts import BuildOptions
from tensorgrade.author.building.reference_files import without_pairs
from tensorgrade.author.bundle import files_of_kit, stub_of
from tensorgrade.author.cache import BUILT, BUILT_WITH_PAIRS, FOLDER, cached, contents, key_of
from tensorgrade.author.proofs.build_checks import check
from tensorgrade.author.recording.references import Recording
from tensorgrade.author.terminal import BuildProgress, concerned, look
from tensorgrade.built_code import refuse_unbuilt
from tensorgrade.course import CourseError
from tensorgrade.learner.kit import Kit, reset
from tensorgrade.project import Project, check_seed
from tensorgrade.recognition.fingerprints import load_fingerprints

from ..commands import ROOT
from .small_course import CHAPTER, GRADER, build, edit, make_course

LESSON = f"solutions/{CHAPTER}.py"

HIDDEN = "graders/references/ch1_first_steps"


@pytest.fixture(scope="module")
def built_course(tmp_path_factory):
    """The small course, built once; each test changes a copy."""
    root = make_course(tmp_path_factory.mktemp("built") / "small")
    assert build(root)[0].wrong == ()
    return root


@pytest.fixture
def course(built_course, tmp_path):
    """A copy of the course and of its cache. It is fresh in the new place, too."""
    return Path(shutil.copytree(built_course, tmp_path / "small"))


@pytest.fixture
def runs(monkeypatch):
    """The versions that are run: (exercise, hidden, mistakes). Few are run, all in this process."""
    seen, rows = [], Recording.rows

    def noted(recording, versions):
        versions = list(versions)
        seen.extend((recording.exercise, recording.hidden, one.mistakes) for one in versions)
        return rows(recording, versions)

    monkeypatch.setattr(Recording, "rows", noted)
    monkeypatch.setattr("tensorgrade.author.building.parts.FEW_RUNS", 10**6)
    return seen


def parts_run(runs) -> set[tuple[str, bool]]:
    """The parts of which something was run."""
    return {(exercise, hidden) for exercise, hidden, _ in runs}


BOTH = {("scaled", True), ("scaled", False)}


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
def test_a_new_mistake_runs_its_exercise(course, runs):
    new = '    mistake("halved", "It is half as much.", ("x * factor", "x * factor / 2")),\n]'
    edit(course, GRADER, "\n]\n", f"\n{new}\n")
    assert build(course)[0].wrong == ()
    assert parts_run(runs) == BOTH and ("scaled", True, ("halved",)) in runs


def test_a_new_case_runs_its_side_of_its_exercise(course, runs):
    refuse_unbuilt(course / "graders", [CHAPTER])
    edit(course, GRADER, "hidden=[(5,),", "hidden=[(5,), (6,),")
    with pytest.raises(CourseError, match=f"since the last build: {GRADER}"):
        refuse_unbuilt(course / "graders", [CHAPTER])
    assert build(course)[0].wrong == ()
    refuse_unbuilt(course / "graders", [CHAPTER])
    assert parts_run(runs) == {("scaled", True)}


@pytest.mark.slow
def test_a_new_name_of_a_mistake_is_told(course):
    edit(course, GRADER, '"scaled_factor_added"', '"added"')
    built, wrote = build(course)
    assert built.wrong == () and f"{HIDDEN}.fingerprints.json.gz" in wrote
    prints = load_fingerprints(course / f"{HIDDEN}.fingerprints.json.gz").by_exercise["scaled"]
    assert ("added",) in {one.mistakes for one in prints}


@pytest.mark.slow
def test_another_solution_runs_its_exercise_alone(course, runs):
    edit(course, f"solutions/{CHAPTER}.py", "    return x * factor", "    return x * factor + 0")
    assert build(course)[0].wrong == () and parts_run(runs) == BOTH


@pytest.mark.slow
def test_a_new_seed_and_new_points_leave_learners_cases_alone(course, runs):
    edit(course, "course_config.py", "seed=", "seed=1")
    edit(course, "course_config.py", "points={}", 'points={"scaled": 7.5}')
    built, _ = build(course)
    assert built.wrong == () and {hidden for _, hidden in parts_run(runs)} == {True}
    assert ("scaled", True) in parts_run(runs)
    assert b'"points": 7.5' in (course / f"release/{CHAPTER}/{CHAPTER}.ipynb").read_bytes()


@pytest.mark.slow
def test_named_exercises_alone_are_made(course, runs):
    edit(course, f"solutions/{CHAPTER}.py", "    return x * factor", "    return x * factor + 0")
    edit(course, f"solutions/{CHAPTER}.py", "return counts", "return dict(counts)")
    built, _ = build(course, exercises=frozenset({"scaled"}))
    assert built.wrong == () and "Other exercises were not built" in built.said
    assert parts_run(runs) == BOTH
    runs.clear()
    assert build(course)[0].wrong == () and {name for name, _ in parts_run(runs)} == {"word_counts"}


@pytest.mark.slow
def test_chapters_of_other_exercises_are_left_alone(course):
    edit(course, "solutions/ch2_more.py", "# ## ", "# ## Once more: ")
    edit(course, GRADER, "The factor is added. It should", "The factor is added; it should")
    built, wrote = build(course, exercises=frozenset({"scaled"}))
    assert built.wrong == () and wrote and not [path for path in wrote if "ch2_more" in path]
    built, wrote = build(course)
    assert built.wrong == () and "exercises/ch2_more.py" in wrote
    assert not [path for path in wrote if CHAPTER in path]


@pytest.mark.slow
def test_a_slip_keeps_what_is_built_with_it_from_being_built(course):
    (other,) = (course / "graders" / "ch2_more").glob("[!_]*.py")
    edit(course, f"graders/ch2_more/{other.name}", "def cases(", "def case_s(")
    assert build(course, exercises=frozenset({"scaled"}))[0].wrong == ()
    assert "there is no cases(pick)" in build(course)[0].wrong[0]
    edit(course, f"graders/{CHAPTER}/word_counts.py", "def cases(", "def case_s(")
    assert "word_counts" in build(course, exercises=frozenset({"scaled"}))[0].wrong[0]


@pytest.mark.slow
def test_without_the_cache_the_stored_files_are_enough(course, runs):
    shutil.rmtree(course / FOLDER)
    built, wrote = build(course)
    assert built.wrong == () and runs == [] and wrote == []


@pytest.mark.slow
def test_a_broken_cache_is_ignored(course):
    for content in (b"", b"\n", b"no key\nAll is well.", b"\xff\xff"):
        for path in filter(Path.is_file, (course / FOLDER).rglob("*")):
            path.write_bytes(content)
        assert not is_known_as_built(course)
    assert build(course)[0].wrong == () and is_known_as_built(course)


REFERENCES = [
    f"{place}/references/{CHAPTER}.{ending}"
    for place in ("graders", "exercises")
    for ending in ("safetensors", "fingerprints.json.gz")
]


@pytest.mark.slow
def test_a_spoilt_reference_file_is_built_again(course):
    """The file is cut, another chapter's, or missing."""
    before = derived(course)
    for path in REFERENCES:
        other = before[path.replace(CHAPTER, "ch2_more")]
        for content in (before[path][:50], other, None):
            (course / path).write_bytes(content) if content else (course / path).unlink()
            built, wrote = build(course)
            assert built.wrong == () and path in wrote and derived(course) == before


@pytest.mark.slow
@pytest.mark.parametrize("path", REFERENCES[:3:2])
def test_a_file_from_elsewhere_is_not_taken_for_a_built_one(course, path, runs):
    """Even if only another chapter of the course is built in between."""
    (course / path).write_bytes(derived(course)[path.replace(CHAPTER, "ch2_more")])
    edit(course, "solutions/ch2_more.py", "# ## ", "# ## Once more: ")
    assert build(course, exercises=frozenset({"scaled_2"}))[0].wrong == ()
    built, wrote = build(course)
    assert built.wrong == () and path in wrote and ("scaled", "graders" in path) in parts_run(runs)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_answers_in_a_stub_are_kept_and_no_kit_gets_them(course):
    """A learner without a kit works in `exercises/`, and so does an instructor who tries one."""
    stub = course / "exercises" / f"{CHAPTER}.py"
    before, answer = stub.read_bytes(), b"def scaled(x): return 0 * x  # mine\n"
    stub.write_bytes(answer)
    kit = files_of_kit(Project(course))
    places = f"exercises/{CHAPTER}.py", f".tensorgrade/originals/{CHAPTER}.py"
    assert {kit[place] for place in places} == {before}
    built, said = build(course)
    (line,) = [line for line in said if "a copy is kept: " in line]
    assert built.wrong == () and stub.read_bytes() == before
    assert (course / line.partition("is kept: ")[2]).read_bytes() == answer
    edit(course, LESSON, "# %% [markdown]", "# %% [markdown]\n# More.")
    assert not [line for line in build(course)[1] if "is kept" in line]


def test_a_stub_comes_back_where_the_course_is_written(course):
    stub = course / "exercises" / f"{CHAPTER}.py"
    before = stub.read_bytes()
    stub.write_bytes(b"nothing")
    reset(Kit(course), CHAPTER)
    assert stub.read_bytes() == before
    shutil.rmtree(course / FOLDER)
    with pytest.raises(CourseError, match="is missing; `tensorgrade build` makes it"):
        reset(Kit(course), CHAPTER)
    assert stub_of(Project(course), Project(course).course.chapters[0]) == before


def test_a_check_names_every_file_that_is_missing_cut_or_changed(course):
    before = derived(course)
    everything = {path for path in before if not path.endswith("made_from.json")}
    assert len(everything) > 20

    def named(state: str) -> set[str]:
        wrong = check(Project(course), BuildOptions(), lambda *_: None).wrong
        return {line.removesuffix(f" is {state}") for line in wrong if line.endswith(state)}

    assert check(Project(course), BuildOptions(), lambda *_: None).wrong == ()
    for path in everything:
        (course / path).write_bytes(before[path][:-20])
    assert named("stale") == everything
    for path in everything:
        (course / path).unlink()
    assert named("missing") == everything


def test_a_build_without_changes_does_not_import_torch(course):
    asked = (
        "import sys; from pathlib import Path; from tensorgrade.author.cache import *; "
        "root = Path(sys.argv[1]); "
        "print(cached(root, BUILT, key_of(contents(root))), 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", asked, str(course)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "files are fresh" in done.stdout and done.stdout.strip().endswith("False")


def is_known_as_built(course) -> bool:
    """Return True if the next build of everything finds nothing to do."""
    return cached(course, BUILT, key_of(contents(course))) is not None


@pytest.mark.slow
def test_every_file_counts_for_what_is_built(course):
    new = ("graders/helpers.py", "exercises/new.py", "source/ch2_more/x")
    for path in new:
        (course / path).write_text("\n")
        assert not is_known_as_built(course)
        (course / path).unlink()
    for path in ("course_config.py", LESSON, GRADER, *derived(course)):
        before = (course / path).read_bytes()
        (course / path).write_bytes(before + b"\n")
        assert not is_known_as_built(course)
        (course / path).write_bytes(before)
    assert is_known_as_built(course)


@pytest.mark.slow
def test_a_build_of_one_exercise_does_not_speak_for_the_others(course):
    edit(course, GRADER, "The factor is added. It should", "The factor is added; it should")
    assert build(course, exercises=frozenset({"Shift"}))[0].wrong == ()
    assert not is_known_as_built(course)
    assert build(course)[0].wrong == () and is_known_as_built(course)


@pytest.mark.slow
def test_what_is_wrong_is_not_known_as_built(course):
    edit(course, GRADER, '"The factor is added. It should', f'"{"x" * 200}')
    assert build(course)[0].wrong and not is_known_as_built(course)
    assert build(course)[0].wrong


@pytest.mark.slow
def test_an_interrupted_build_keeps_the_chapters_that_are_finished(course, runs, monkeypatch):
    edit(course, "course_config.py", "seed=", "seed=1")
    make_part, begun = parts.make_part, []

    def interrupted(root, part, *more):
        begun.append(part.chapter)
        if len(set(begun)) > 1:
            raise KeyboardInterrupt
        return make_part(root, part, *more)

    monkeypatch.setattr(parts, "make_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(course)
    with pytest.raises(CourseError, match="drawn from another seed"):
        check_seed(course / "graders", Project(course).course)
    monkeypatch.setattr(parts, "make_part", make_part)
    done = {exercise for exercise, hidden in parts_run(runs) if hidden}
    runs.clear()
    assert build(course)[0].wrong == ()
    assert done and not done & {exercise for exercise, _ in parts_run(runs)}
    check_seed(course / "graders", Project(course).course)


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
    return {(exercise, hidden) for exercise, hidden, names in runs if len(names) == 2}


@pytest.mark.slow
def test_pairs_of_a_changed_engine_stay_where_single_mistakes_do(with_pairs, runs, monkeypatch):
    before = derived(with_pairs)
    monkeypatch.setattr(
        "tensorgrade.author.recording.digests.engine_digest", lambda places: "other"
    )
    edit(with_pairs, GRADER, "The factor is added. It should", "The factor is added; it should")
    assert build(with_pairs)[0].wrong == ()
    assert runs and not pairs_run(runs) and pairs_in(with_pairs / PUBLIC) == 3
    assert before[PUBLIC] != derived(with_pairs)[PUBLIC]  # for the message


def test_no_pairs_are_stored_for_hidden_cases(with_pairs):
    assert pairs_in(with_pairs / f"{HIDDEN}.fingerprints.json.gz") == 0


@pytest.mark.slow
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


@pytest.mark.slow
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
        (GRADER, "x + factor", "x +* factor", "scaled: scaled_factor_added is not valid Python"),
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


@pytest.mark.slow
def test_many_pairs_are_not_made_unasked(tmp_path, monkeypatch):
    course = make_course(tmp_path / "small")
    monkeypatch.setattr("tensorgrade.author.building.parts.FEW_RUNS_OF_PAIRS", -1)
    assert "Pairs of mistakes are still to be made for 4 exercises" in build(course)[0].said
    assert cached(course, BUILT_WITH_PAIRS, key_of(contents(course))) is None
    assert without_pairs(Project(course)) and build(course, pairs=True)[0].wrong == ()
    assert without_pairs(Project(course)) == []
    assert cached(course, BUILT_WITH_PAIRS, key_of(contents(course)))


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


def test_a_build_without_a_terminal_prints_its_pace_now_and_then():
    now, said = [0.0], StringIO()
    progress = BuildProgress(Console(file=said), clock=lambda: now[0])
    progress.tell("mistakes", 0, 400)
    now[0] = 30.0
    progress.tell("mistakes", 100, 400)
    assert said.getvalue() == "100 of 400 runs, about 1:30 left\n"


def test_a_release_is_made_again_where_what_nbgrader_loads_is_new(monkeypatch, tmp_path):
    made, engine = [], tmp_path / "engine"
    shutil.copytree(folders.ENGINE / "nbgrader_plugin", engine / "nbgrader_plugin")
    monkeypatch.setattr(folders, "ENGINE", engine)
    monkeypatch.setattr(derive, "release_text", lambda *about: made.append(about) or "released")

    def released() -> str:
        return derive.cached_release(tmp_path, CHAPTER, "notebook")

    assert released() == released() == "released" and len(made) == 1
    edit(engine, "nbgrader_plugin/releasing.py", "class GivenCode", "class OtherCode")
    assert released() == released() == "released" and len(made) == 2


def test_a_bug_is_built_again_with_the_exercise_it_is_judged_as():
    project, folder = Project(ROOT), ROOT / "graders" / "ch3_causal_attention"
    found = concerned(project, [folder / "inverted_dropout.py"])
    assert found == {"inverted_dropout", "bug_inverted_dropout"}
    assert concerned(project, [folder / "bug_inverted_dropout.py"]) == {"bug_inverted_dropout"}
