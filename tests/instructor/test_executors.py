"""Each submission returns exactly once from any engine of workers, even if workers die."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor import grader as worker
from tensorgrade.instructor import retrying_workers as executors
from tensorgrade.instructor.cluster import pack_graders, unpack_graders
from tensorgrade.instructor.dependencies import digest_of, graders_files, right_answers
from tensorgrade.instructor.retrying_workers import LocalWorkers, default_count, graded
from tensorgrade.sources.submitted_files import SubmittedFiles

ROOT = Path(__file__).parents[2]
CHAPTER = "ch1_simplified_attention"
COURSE = load_course(ROOT / "graders")
CLASS = [SubmittedFiles(f"s{n:03}", CHAPTER, f"{CHAPTER}.py", b"%d" % n) for n in range(40)]


class Processes(LocalWorkers):
    """Real processes, in which some hand-ins end the process that they come to."""

    deadly: frozenset[str] = frozenset()

    def submit(self, submitted_files: SubmittedFiles) -> Future:
        if submitted_files.student in self.deadly:
            return self.executor.submit(os._exit, 1)
        return self.executor.submit(str, submitted_files.student)


@pytest.fixture
def processes(monkeypatch):
    """Makes workers whose processes start fast: they grade nothing."""
    monkeypatch.setattr(worker, "start", print)

    def make(count: int, *deadly: str) -> Processes:
        made = Processes(count, Setup(Path("nowhere"), "none"))
        made.deadly = frozenset(deadly)
        return made

    return make


def outcome(workers, todo=CLASS) -> dict[str, object]:
    """Return the result for each student; assert that each returns only once."""
    back = [pair for batch in graded(todo, workers, COURSE) for pair in batch]
    assert max(Counter(submitted_files.student for submitted_files, _ in back).values()) == 1
    return {submitted_files.student: verdicts for submitted_files, verdicts in back}


@pytest.mark.parametrize("count", [1, 3])
def test_everybody_comes_back_once(processes, count):
    with processes(count) as workers:
        assert outcome(workers) == {h.student: h.student for h in CLASS}


@pytest.mark.slow
def test_who_ends_workers_is_set_aside_and_no_other_learner(processes):
    with processes(2, "s000", "s017", "s039") as workers:
        back = outcome(workers)
    assert len(back) == len(CLASS)
    aside = {student for student, verdicts in back.items() if verdicts != student}
    assert aside == {"s000", "s017", "s039"}
    rows = [verdict.row() for verdict in back["s017"]]
    assert [row["exercise"] for row in rows] == [e.name for e in COURSE.chapter(CHAPTER).exercises]
    assert {row["status"] for row in rows} == {"killed"} and sum(row["points"] for row in rows) == 0


DIES_WHILE_A_TASK_IS_WRITTEN = """
import os, time
from tensorgrade.processes import side_by_side

def die_soon():
    time.sleep(0.5)
    os._exit(1)

pool = side_by_side(1, warm=True)
tasks = [pool.submit(die_soon), pool.submit(len, bytes(1_000_000))]
print(*(type(task.exception()).__name__ for task in tasks))
pool.shutdown(wait=False)
"""


@pytest.mark.slow
def test_a_program_ends_although_a_worker_died_while_a_task_was_written():
    """Python before 3.11.5 waits forever until a worker reads the task."""
    code = [sys.executable, "-c", DIES_WHILE_A_TASK_IS_WRITTEN]
    done = subprocess.run(code, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["BrokenProcessPool"] * 2, done.stderr


class OneFall(ThreadPoolExecutor):
    """Workers of a foreign kind: threads. The first hand-ins of some students are lost."""

    lost, ahead = (BrokenExecutor,), 5

    def __init__(self, falls: dict[str, int]):
        super().__init__(3)
        self.falls, self.tries = Counter(falls), Counter()

    def submit(self, submitted_files: SubmittedFiles) -> Future:
        self.tries[submitted_files.student] += 1
        return super().submit(self.work, submitted_files)

    def work(self, submitted_files: SubmittedFiles) -> str:
        self.falls[submitted_files.student] -= 1
        if self.falls[submitted_files.student] >= 0:
            raise BrokenExecutor
        return submitted_files.student

    def replace(self, running: set[Future]) -> set[Future]:
        return set()


def test_one_fall_is_forgiven_two_are_not():
    with OneFall({"s003": 1, "s004": 2}) as workers:
        back = outcome(workers)
        assert back["s003"] == "s003" and back["s004"][0].status == "killed"
        assert workers.tries["s003"] == workers.tries["s004"] == 2
        assert set(workers.tries.values()) == {1, 2}


class Defect(OneFall):
    """Workers that cannot grade at all."""

    def work(self, submitted_files: SubmittedFiles) -> str:
        raise worker.NotReady("the graders could not be collected")


def test_workers_that_cannot_grade_end_the_run_and_blame_no_learner():
    with Defect({}) as workers, pytest.raises(worker.NotReady, match="could not be collected"):
        outcome(workers)


def test_a_worker_that_could_not_start_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "GRADER", None)
    worker.start(Setup(tmp_path / "graders", "none"))
    with pytest.raises(CourseError, match=re.escape("course_config.py")):
        worker.check_in()
    with pytest.raises(CourseError, match="could not start"):
        worker.grade(CLASS[0])


def test_one_process_for_each_core_but_not_more_than_files(monkeypatch):
    monkeypatch.setattr(
        executors.os, "sched_getaffinity", lambda process: set(range(8)), raising=False
    )
    assert [default_count(submissions, 0) for submissions in (100, 9, 4, 0)] == [8, 3, 1, 1]
    assert [default_count(submissions, 2) for submissions in (100, 4, 1, 0)] == [2, 2, 1, 1]


def test_graders_travel_as_bytes_without_seed_or_password(tmp_path):
    packed = pack_graders(ROOT / "graders", COURSE)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert all(member.compress_type == zipfile.ZIP_DEFLATED for member in archive.infolist())
    folder = unpack_graders(packed, tmp_path / "there")
    there = load_course(folder)
    assert there.seed is None and COURSE.seed is not None
    assert there.chapters == COURSE.chapters and there.limits == COURSE.limits
    assert there.isolation == COURSE.isolation and there.tolerances == COURSE.tolerances
    names = {
        str(path.relative_to(tmp_path / "there"))
        for path in folder.parent.rglob("*")
        if path.is_file()
    }
    read = graders_files(ROOT / "graders") | right_answers(ROOT / "graders")
    assert names == {*read, "graders/course.json"}
    for chapter in COURSE.chapters:
        assert f"graders/references/{chapter.name}.sources.json" in names
    assert not any("mistakes" in name or "solutions" in name or "config" in name for name in names)
    assert (tmp_path / "there").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_slip_costs_points_once_on_another_machine_too(tmp_path, grader):
    solution = (ROOT / "solutions" / "ch2_self_attention.py").read_text()
    wrong = solution.replace(
        "    return torch.softmax(attn_scores / d_k**0.5, dim=-1)\n",
        "    return torch.softmax(attn_scores / d_k**1.5, dim=-1)\n",
    ).replace(
        "    attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)\n"
        "    return attn_weights @ values\n",
        "    return attention_weights(queries, keys) @ values\n",
    )
    file = SubmittedFiles("ada", "ch2_self_attention", "ch2_self_attention.py", wrong.encode())
    there = unpack_graders(pack_graders(ROOT / "graders", COURSE), tmp_path / "there")
    other = worker.Grader(Setup(there, "none"))
    try:
        here, theirs = ({v.exercise: v.points for v in g.grade(file)} for g in (grader, other))
    finally:
        other.close()
    assert here == theirs
    assert here["attention_weights"] < here["scaled_dot_product_attention"]


@pytest.mark.slow
def test_isolation_of_the_course_is_not_lost_on_the_way(tmp_path):
    from dataclasses import replace

    full = replace(COURSE, isolation="full")
    assert (
        load_course(unpack_graders(pack_graders(ROOT / "graders", full), tmp_path / "x")).isolation
        == "full"
    )


@pytest.fixture
def small_course(tmp_path):
    """Two chapters' worth of files that grades depend on."""
    for name in (
        "graders/a/first.py",
        "graders/b/second.py",
        "graders/shared.py",
        "graders/checks.py",
        "graders/mistakes/family.py",
        "graders/references/made_from.json",
        "graders/references/a.safetensors",
        "graders/references/b.safetensors",
        "graders/from_earlier/a/by_softmax.py",
        "graders/from_earlier/b/stand_ins/mask.py",
        "exercises/given/a/stand_in.py",
        "course_config.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    with_solution(tmp_path, "x = 1  # as in the lesson")
    return tmp_path


def with_solution(course: Path, text: str) -> None:
    sources = {"text": text, "edits": {}, "effects": {}}
    (course / "graders/references/a.sources.json").write_text(json.dumps(sources))


def test_a_digest_follows_the_solutions_code_but_not_its_comments(small_course):
    before = digest_of(small_course / "graders", "a")
    with_solution(small_course, "x = 1  # reworded")
    assert digest_of(small_course / "graders", "a") == before
    with_solution(small_course, "x = 2")
    assert digest_of(small_course / "graders", "a") != before


@pytest.mark.parametrize("name, a, b", [
    ("graders/a/first.py", True, False), ("graders/references/b.safetensors", False, True),
    ("graders/shared.py", True, True), ("graders/mistakes/family.py", False, False),
    ("graders/references/made_from.json", False, False),
    ("exercises/given/a/stand_in.py", True, False), ("course_config.py", True, True),
    ("graders/checks.py", True, True), ("graders/from_earlier/a/by_softmax.py", True, False),
    ("graders/from_earlier/b/stand_ins/mask.py", False, True),
    ("exercises/a.py", False, False),
])  # fmt: skip
def test_a_digest_follows_what_a_chapters_grades_depend_on(small_course, name, a, b):
    before = [digest_of(small_course / "graders", chapter) for chapter in "ab"]
    (small_course / name).write_text("changed")
    after = [digest_of(small_course / "graders", chapter) for chapter in "ab"]
    assert [x != y for x, y in zip(before, after, strict=True)] == [a, b]
