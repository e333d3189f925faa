"""`tensorgrade build` makes what an edit concerns and nothing else."""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tensorgrade.exchange.stored import SUFFIX, key_in, read_part, without_part
from tensorgrade.recognition.fingerprints import read_prints

from ..kits import unpacked, wait_until
from ..support import ROOT, begin, cli, release, run_pytest, submit
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
PLACES = {False: f"exercises/references/{CHAPTER}", True: f"graders/references/{CHAPTER}"}
PUBLIC, HIDDEN = (f"{place}/scaled.safetensors" for place in PLACES.values())
ALL = {f"{place}/{name}.safetensors" for place in PLACES.values()
       for name in ("scaled", "Shift", "word_counts")}  # fmt: skip
MESSAGES = {f"{place}/mistakes.json" for place in PLACES.values()}
PAIRS = "graders/pairs/scaled.json.xz"
NOTEBOOK, CHECKS = f"source/{CHAPTER}/{CHAPTER}.ipynb", f"source/{CHAPTER}/checks.zip"
SCALED = {PUBLIC, HIDDEN, CHECKS}
STUB, JSON = f"exercises/{CHAPTER}.py", "exercises/course.json"
NEGATED = 'negated: Its sign is another one.\n    return -> return -\n"""'
# An edit, and what a build writes then: a file, what is written there, what it becomes.
EDITS = {
    "a word of a message": (GRADER, "added. It should", "added; it should", MESSAGES | {CHECKS}),
    "a mistake's name": (GRADER, "scaled_factor_added:", "added:", SCALED | MESSAGES),
    "a new mistake": (GRADER, '\n"""\n', f"\n{NEGATED}\n", SCALED | MESSAGES),
    "an edit of a mistake": (GRADER, "x * factor -> x + f", "x * factor -> 2 + x + f", SCALED),
    "sizes that graders draw": (GRADER, "draw((10, 20),", "draw((40, 50),", {HIDDEN}),
    "a case": (GRADER, "[(4,),", "[(4,), (5,),", {PUBLIC, HIDDEN, CHECKS}),
    "the lesson's text": (LESSON, "Explain what to write", "Say what to write", {STUB, NOTEBOOK}),
    "a docstring": (LESSON, '"""Return ', '"""Compute and return ', {STUB, NOTEBOOK}),
    "a comment": (LESSON, "    return x * factor", "    # So.\n    return x * factor", {NOTEBOOK}),
    "code of the same lesson": (LESSON, "# So.", "factor = 1 * factor", ALL | {NOTEBOOK, CHECKS}),
    "a check's sentence": (
        GRADER,
        "Every entry is multiplied",
        "All are multiplied",
        SCALED | {JSON, f"source/{OTHER}/checks.zip"},
    ),
    "the other lesson": (
        f"solutions/{OTHER}.py",
        "Explain what to write",
        "Say what to write",
        {path.replace(CHAPTER, OTHER) for path in (STUB, NOTEBOOK)},
    ),
    "nothing": (LESSON, "Say what to write", "Say what to write", set()),
}


def without_builds(root: Path) -> Path:
    """Leave of a course what git has: take away the files that a new course's git ignores."""
    for place in (".tensorgrade", "graders/references", "exercises/references"):
        shutil.rmtree(root / place)
    for path in root.rglob("checks.zip"):
        path.unlink()
    return root


def recorded(root: Path) -> dict[str, bytes]:
    """Return the bytes of all derived files, without the graders' copies of the lessons' text."""
    return {
        path: without_part(root / path, "sources") if path.endswith(SUFFIX) else content
        for path, content in derived(root).items()
    }


def test_an_edit_builds_what_depends_on_it(course):
    """The edits follow each other. In the end the files are those of a build from nothing."""
    for name, (path, old, new, expected) in EDITS.items():
        edit(course, path, old, new)
        assert set(build(course)) == expected, name
    before = recorded(course)
    for place in ("exercises", "source", ".tensorgrade", "graders/references", "graders/pairs"):
        shutil.rmtree(course / place)
    build(course)
    assert recorded(course) == before


def test_another_seed_changes_hidden_numbers_and_other_points_the_notebooks(course):
    edit(course, "course_config.py", "seed=", "seed=1")
    wrote = build(course)
    assert HIDDEN in wrote and PUBLIC not in wrote
    edit(course, "course_config.py", "points={}", 'points={"scaled": 7.5}')
    build(course)
    assert b'"points": 7.5' in (course / NOTEBOOK).read_bytes()


def test_named_exercises_are_built_alone_and_a_slip_elsewhere_does_not_matter(course):
    edit(course, GRADER, "draw((10, 20),", "draw((40, 50),")
    edit(course, f"solutions/{OTHER}.py", "# ## ", "# ## Once more: ")
    (other,) = (course / "graders" / OTHER).glob("[!_]*.py")
    edit(course, f"graders/{OTHER}/{other.name}", "def cases(", "def case_s(")
    assert build(course, "scaled") == [HIDDEN]
    assert "there is no cases(draw)" in refused(course)
    edit(course, f"graders/{OTHER}/{other.name}", "def case_s(", "def cases(")
    assert f"exercises/{OTHER}.py" in build(course)
    assert "no exercise is named scald; there is scaled" in refused(course, "scald")
    edit(course, COUNTS, "def cases(", "def case_s(")
    assert "word_counts" in refused(course, "scaled"), "it is built with the same chapter"


def test_a_file_that_is_cut_exchanged_or_missing_is_built_again(course):
    before = derived(course)
    (course / PUBLIC).write_bytes(before[PUBLIC][:50])
    (course / HIDDEN).write_bytes(before[HIDDEN.replace("scaled", "Shift")])
    (course / PAIRS).write_bytes(before[PAIRS][:-9])
    gone = {*MESSAGES, STUB}
    for path in gone:
        (course / path).unlink()
    for name in ("old.safetensors", f"{CHAPTER}/gone.safetensors"):
        (course / "exercises" / "references" / name).write_bytes(b"of an exercise that is off")
    assert set(build(course)) == {PUBLIC, HIDDEN, *gone} and derived(course) == before
    shutil.rmtree(course / ".tensorgrade")
    assert build(course) == [] and derived(course) == before
    (course / "exercises" / "notes.txt").write_text("mine", encoding="utf-8")
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
    submit(tmp_path / "submitted", "ada", CHAPTER, (clone / LESSON).read_text(encoding="utf-8"))
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
    assert HIDDEN in build(clone) and derived(clone) == before


def test_pairs_of_mistakes_are_for_learners_and_every_folder_gives_the_same_bytes(course, tmp_path):
    other = make_course(tmp_path / "another place")
    shutil.copy(course / "course_config.py", other)  # each new course has a seed of its own
    for root in (course, other):
        edit(root, GRADER, '\n"""\n', f"\n{NEGATED}\n")
        build(root)
    assert derived(other) == derived(course)
    found = {False: 0, True: 0}
    for path in ALL:
        prints = read_prints(read_part(course / path, "fingerprints"))
        found[path.startswith("graders/")] += sum(len(one.mistakes) == 2 for one in prints)
    assert found == {False: 2, True: 0}


SLIPS = [
    (GRADER, "x + factor", "x +* factor", "scaled: scaled_factor_added is not valid Python"),
    (GRADER, "factor=3.0)", "factr=3.0)", "TypeError: scaled() has no parameter 'factr'"),
    (GRADER, "x + factor", "factor * x", "scaled: scaled_factor_added looks like a right"),
    (GRADER, "x + factor", "x * 2.0", "scaled_factor_ignored looks like scaled_factor_added"),
    (GRADER, "factor=3.0)", ")", "scaled, case values/(4,): the solution raises TypeError"),
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
def test_an_interrupted_build_leaves_whole_files_and_no_process(tmp_path):
    """By Ctrl-C, which all processes get, and by a kill of the first one alone."""
    for name in ("solutions", "exercises", "graders"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "course_config.py", tmp_path)
    for number, stop in ((signal.SIGINT, os.killpg), (signal.SIGKILL, os.kill)):
        shutil.rmtree(tmp_path / "graders" / "references" / CH1)
        process = begin("build", CH1, cwd=tmp_path, written=tmp_path / "said.txt")
        files = (tmp_path / "graders" / "references" / CH1).glob
        wait_until(lambda: [*files("*.safetensors")] and len(left(process.pid)) > 2, process)  # noqa: B023
        stop(process.pid, number)
        ends(process)
        said = (tmp_path / "said.txt").read_text(encoding="utf-8")
        assert process.returncode == (130 if stop == os.killpg else -number), said
        assert "Traceback" not in said and all(map(key_in, files("*.safetensors")))


@on_linux
def test_the_authors_loop_builds_on_a_save_and_ends_with_everybody(course, tmp_path):
    said = tmp_path / "said.txt"
    process = begin("author", cwd=course, written=said)
    try:
        wait_until(lambda: "waiting for the next save" in said.read_text(), process)
        edit(course, GRADER, "def cases(", "def casees(")
        wait_until(lambda: "there is no cases(draw), but casees" in said.read_text(), process)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        ends(process)
    assert process.returncode == 130 and "Traceback" not in said.read_text(), said.read_text()


@pytest.mark.proof
def test_another_processor_draws_the_same_cases(tmp_path):
    """Sums come in another order there, and names in a set. So a kit is made of the same files."""
    elsewhere = {"ATEN_CPU_CAPABILITY": "default", "PYTHONHASHSEED": "7"}
    process = begin("bundle", "--out", tmp_path / "kit.zip", **elsewhere)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
