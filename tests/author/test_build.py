"""`tensorgrade build` makes what an edit concerns and nothing else, and finds stale files."""

import gzip
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from ..kits import begun, unpacked, wait_until
from ..support import ROOT, begin, cli, release, run_pytest
from .small_course import (
    CHAPTER,
    COUNTS,
    GRADER,
    LESSON,
    build,
    derived,
    edit,
    make_course,
    refused,
)

pytestmark = pytest.mark.slow
OTHER = "ch2_more"
CH1 = "ch1_simplified_attention"  # of this course
PUBLIC, HIDDEN = f"exercises/references/{CHAPTER}", f"graders/references/{CHAPTER}"
PRINTS = {f"{PUBLIC}.fingerprints.json.gz", f"{HIDDEN}.fingerprints.json.gz"}
NOTEBOOK = f"source/{CHAPTER}/{CHAPTER}.ipynb"
CHECKS = {f"source/{CHAPTER}/checks.zip"}
STUB, TESTS = f"exercises/{CHAPTER}.py", f"exercises/test_{CHAPTER}.py"
NEGATED = 'negated: Its sign is another one.\n    return -> return -\n"""'
# An edit, and what a build writes then: a file, what is written there, what it becomes.
EDITS = {
    "a word of a message": (GRADER, "added. It should", "added; it should", PRINTS | CHECKS),
    "a mistake's name": (GRADER, "scaled_factor_added:", "added:", PRINTS | CHECKS),
    "a new mistake": (GRADER, '\n"""\n', f"\n{NEGATED}\n", PRINTS | CHECKS),
    "a hidden case": (
        GRADER,
        "hidden=[(5,),",
        "hidden=[(5,), (6,),",
        {f"{HIDDEN}.safetensors", f"{HIDDEN}.fingerprints.json.gz"},
    ),
    "a public case": (
        GRADER,
        "public=[(4,),",
        "public=[(4,), (3,),",
        {f"{PUBLIC}.safetensors", f"{PUBLIC}.fingerprints.json.gz"} | CHECKS,
    ),
    "the lesson's text": (LESSON, "Explain what to write", "Say what to write", {STUB, NOTEBOOK}),
    "a test's sentence": (
        GRADER,
        "Every entry is multiplied",
        "All are multiplied",
        {TESTS} | CHECKS,
    ),
    "the other lesson": (
        f"solutions/{OTHER}.py",
        "Explain what to write",
        "Say what to write",
        {path.replace(CHAPTER, OTHER) for path in {STUB, NOTEBOOK}},
    ),
    "nothing": (LESSON, "Say what to write", "Say what to write", set()),
}


@pytest.fixture
def course(small_course, tmp_path) -> Path:
    """A copy of the course and of its cache. It is fresh in the new place, too."""
    return Path(shutil.copytree(small_course, tmp_path / "small"))


def without_builds(root: Path) -> Path:
    """Leave of a course what git has: take away its cache and the files that git ignores."""
    shutil.rmtree(root / ".tensorgrade")
    shutil.rmtree(root / "graders" / "references")
    for path in [*root.glob("exercises/references/*.safetensors"), *root.rglob("checks.zip")]:
        path.unlink()
    return root


def test_an_edit_builds_what_depends_on_it(course):
    """The edits follow each other. In the end the files are those of a build from nothing."""
    for name, (path, old, new, expected) in EDITS.items():
        edit(course, path, old, new)
        assert {one for one in build(course) if "sources.json" not in one} == expected, name
    before = derived(course)
    for place in ("exercises", "source", ".tensorgrade", "graders/references"):
        shutil.rmtree(course / place)
    build(course)
    assert derived(course) == before


def test_another_seed_changes_hidden_numbers_and_other_points_the_notebooks(course):
    edit(course, "course_config.py", "seed=", "seed=1")
    edit(course, "course_config.py", "points={}", 'points={"scaled": 7.5}')
    wrote = build(course)
    assert f"{HIDDEN}.safetensors" in wrote and f"{PUBLIC}.safetensors" not in wrote
    assert b'"points": 7.5' in (course / NOTEBOOK).read_bytes()


def test_named_exercises_are_built_alone_and_a_slip_elsewhere_does_not_matter(course):
    edit(course, GRADER, "hidden=[(5,),", "hidden=[(5,), (6,),")
    edit(course, f"solutions/{OTHER}.py", "# ## ", "# ## Once more: ")
    (other,) = (course / "graders" / OTHER).glob("[!_]*.py")
    edit(course, f"graders/{OTHER}/{other.name}", "def cases(", "def case_s(")
    wrote = build(course, "scaled")
    assert f"{HIDDEN}.safetensors" in wrote and not [path for path in wrote if OTHER in path]
    assert "there is no cases(pick)" in refused(course)
    edit(course, f"graders/{OTHER}/{other.name}", "def case_s(", "def cases(")
    assert f"exercises/{OTHER}.py" in build(course)
    assert "there is no scald; there is scaled" in refused(course, "scald")
    edit(course, COUNTS, "def cases(", "def case_s(")
    assert "word_counts" in refused(course, "scaled"), "it is built with the same chapter"


def test_a_file_that_is_cut_exchanged_or_missing_is_built_again(course):
    before = derived(course)
    cut, exchanged, gone = f"{PUBLIC}.safetensors", f"{HIDDEN}.safetensors", sorted(PRINTS)
    (course / cut).write_bytes(before[cut][:50])
    (course / exchanged).write_bytes(before[exchanged.replace(CHAPTER, OTHER)])
    for path in gone:
        (course / path).unlink()
    assert {cut, exchanged, *gone} <= set(build(course)) and derived(course) == before
    for path in filter(Path.is_file, (course / ".tensorgrade").rglob("*")):
        path.write_bytes(b"\xff\xff no cache")
    build(course)
    shutil.rmtree(course / ".tensorgrade")
    assert build(course) == [] and derived(course) == before


def test_build_check_names_every_stale_missing_or_stray_file(course):
    before = derived(course)
    names = sorted(path for path in before if not path.endswith("made_from.json"))
    assert len(names) > 15
    for at, path in enumerate(names):
        (course / path).write_bytes(before[path][:-20]) if at % 2 else (course / path).unlink()
    (course / "exercises" / "notes.txt").write_text("mine", encoding="utf-8")
    said = refused(course, "--check")
    for at, path in enumerate(names):
        assert f"{path} is {'stale' if at % 2 else 'missing'}" in said
    assert "exercises/notes.txt does not belong there" in said
    assert "exercises/notes.txt does not belong there" in refused(course)


def test_answers_in_a_stub_are_kept_and_no_kit_gets_them(course, tmp_path):
    """A learner without a kit works in `exercises/`, and so does an instructor who tries one."""
    stub = course / STUB
    before, answer = stub.read_bytes(), b"def scaled(x): return 0 * x  # mine\n"
    stub.write_bytes(answer)
    release(course)
    kit = unpacked(tmp_path, course)
    for place in (STUB, f".tensorgrade/originals/{CHAPTER}.py"):
        assert (kit / place).read_bytes() == before
    said = cli("build", cwd=course).stdout
    (copy,) = [line.partition("is kept: ")[2] for line in said.splitlines() if "is kept" in line]
    assert (course / copy).read_bytes() == answer and stub.read_bytes() == before
    stub.write_bytes(answer)
    assert cli("reset", CHAPTER, cwd=course).returncode == 0 and stub.read_bytes() == before


def test_in_a_clone_commands_ask_for_a_build_and_it_makes_the_same_files(course, tmp_path):
    before = derived(course)
    clone = without_builds(course)
    place = tmp_path / "submitted" / "ada" / CHAPTER
    place.mkdir(parents=True)
    shutil.copy(clone / LESSON, place)
    grade = ("grade", tmp_path / "submitted", "--out", tmp_path / "out", "--isolation", "none")
    runs = [
        run_pytest(tests, "--attempt", "solutions", cwd=clone) for tests in ("graders", "exercises")
    ]
    runs += [cli(*grade, cwd=clone), cli("bundle", "--out", tmp_path / "kit.zip", cwd=clone)]
    for done in runs:
        said = done.stdout + done.stderr
        assert done.returncode != 0 and said.count("`tensorgrade build` makes it") == 1, said
        assert "Traceback" not in said
    assert not (tmp_path / "kit.zip").exists()
    wrote = build(clone)
    assert f"{HIDDEN}.safetensors" in wrote and PRINTS - set(wrote)
    assert derived(clone) == before


def pairs_in(path: Path) -> int:
    """Return how many fingerprints of pairs of mistakes a file holds."""
    exercises = json.loads(gzip.decompress(path.read_bytes()))["exercises"].values()
    return sum(len(mistakes) == 2 for each in exercises for mistakes, _ in each["prints"])


def test_pairs_of_mistakes_are_for_learners_and_every_folder_gives_the_same_bytes(course, tmp_path):
    other = make_course(tmp_path / "another place" / "small")
    shutil.copy(course / "course_config.py", other)  # each new course has a seed of its own
    for root in (course, other):
        edit(root, GRADER, '\n"""\n', f"\n{NEGATED}\n")
        build(root, "--pairs")
    assert derived(other) == derived(course)
    files = [course / f"{place}.fingerprints.json.gz" for place in (PUBLIC, HIDDEN)]
    assert [pairs_in(path) for path in files] == [3, 0]


SLIPS = [
    (GRADER, "x + factor", "x +* factor", "scaled: scaled_factor_added is not valid Python"),
    (GRADER, "factor=3.0)", "factr=3.0)", "TypeError: scaled() has no parameter 'factr'"),
    (GRADER, "x + factor", "factor * x", "scaled: scaled_factor_added looks like a right"),
    (GRADER, "factor=3.0)", ")", "scaled: the solution fails on values/(5,): TypeError"),
    (LESSON, "import torch\n", "import torch, nowhere\n", ":14: ModuleNotFoundError: No mod"),
    (LESSON, "# Explain", "# ![Arrows.](pictures/none.png)\n# Explain", "a picture of a lesson"),
]


def test_a_slip_that_shows_when_code_runs_is_a_sentence_with_its_file(course):
    for path, old, new, said in SLIPS:
        before = (course / path).read_text(encoding="utf-8")
        edit(course, path, old, new)
        told = refused(course, "scaled")
        assert said in told and (GRADER in told or LESSON in told or "none.png" in told), told
        (course / path).write_text(before, encoding="utf-8")


def test_similar_mistakes_of_all_exercises_are_reported_at_once(course):
    same = 'again: It is added.\n    x * factor -> factor + x\n"""'
    edit(course, GRADER, '\n"""\n', f"\n{same}\n")
    nothing = 'none: It is right.\n    return counts -> return counts # so\n"""'
    edit(course, COUNTS, '\n"""\n', f"\n{nothing}\n")
    said = refused(course)
    assert "again looks like scaled_factor_added" in said
    assert "none looks like a right answer" in said


def test_a_sample_class_is_written(tmp_path):
    done = cli("sample", tmp_path / "class", "--learners", 12)
    assert done.returncode == 0 and len([*tmp_path.glob("class/*/*/*.py")]) == 12 * 6


# --- interruptions ----------------------------------------------------------------------------


def left(session: int) -> list[str]:
    """Return the processes of a session that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, owner = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(owner) == session and state != "Z":
            found.append(path.parent.name)
    return found


def ends(process) -> None:
    """Wait until a command has ended and none of its processes is left."""
    try:
        process.wait(120)
        deadline = time.monotonic() + 120
        while left(process.pid):
            assert time.monotonic() < deadline, left(process.pid)
            time.sleep(0.05)
    finally:
        for number in left(process.pid):
            os.kill(int(number), signal.SIGKILL)


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are counted in /proc")


@on_linux
def test_an_interrupted_build_leaves_no_process(tmp_path):
    """By Ctrl-C, which all processes get, and by a kill of the first one alone."""
    for name in ("solutions", "exercises", "graders"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "course_config.py", tmp_path)
    (tmp_path / "graders" / "references" / "made_from.json").unlink()  # all are made again
    for number, stop in ((signal.SIGINT, os.killpg), (signal.SIGKILL, os.kill)):
        process = begun("build", CH1, cwd=tmp_path, written=tmp_path / "said.txt")
        wait_until(lambda: len(left(process.pid)) > 2, process)  # noqa: B023
        stop(process.pid, number)
        ends(process)
        said = (tmp_path / "said.txt").read_text(encoding="utf-8")
        assert process.returncode == (130 if stop == os.killpg else -number), said
        assert "Traceback" not in said


@on_linux
def test_the_authors_loop_builds_on_a_save_and_ends_with_everybody(course, tmp_path):
    said = tmp_path / "said.txt"
    process = begun("author", cwd=course, written=said)
    try:
        wait_until(lambda: "waiting for the next save" in said.read_text(), process)
        edit(course, GRADER, "def cases(", "def casees(")
        wait_until(lambda: "there is no cases(pick), but casees" in said.read_text(), process)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        ends(process)
    assert process.returncode == 130 and "Traceback" not in said.read_text(), said.read_text()


@pytest.mark.proof
def test_another_processor_builds_the_same():
    """Sums come in another order there, and names in a set."""
    names = ["inverted_dropout", "batches", "TransformerBlock", "trained_loss"]
    elsewhere = {"ATEN_CPU_CAPABILITY": "default", "PYTHONHASHSEED": "7"}
    process = begin("build", "--check", *names, **elsewhere)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0 and "The solutions pass" in said, said
