"""Each submission returns exactly once from any engine of workers, even if workers die.

A unit file of `tensorgrade.instructor`: workers, what travels to them, and what grades depend on.
"""

import io
from collections import Counter
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from rich.console import Console

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.exchange.stored import store, stored_path
from tensorgrade.instructor import grader as worker
from tensorgrade.instructor.class_terminal import ClassProgress
from tensorgrade.instructor.cluster import pack_graders, unpack_graders
from tensorgrade.instructor.dependencies import digest_of, graders_files
from tensorgrade.instructor.retrying_workers import graded
from tensorgrade.instructor.run import by_content
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..support import ROOT
from .runs import CH1, COURSE, NAMES

CLASS = [SubmittedFiles(f"s{n:03}", CH1, f"{CH1}.py", b"%d" % n) for n in range(40)]


def outcome(workers) -> dict[str, object]:
    """Return the result for each student; assert that each returns only once."""
    back = [pair for batch in graded(CLASS, workers, COURSE) for pair in batch]
    assert max(Counter(one.student for one, _ in back).values()) == 1
    return {one.student: verdicts for one, verdicts in back}


class OneFall(ThreadPoolExecutor):
    """Workers of another kind: threads. The first submissions of some students are lost."""

    lost, ahead = (BrokenExecutor,), 5

    def __init__(self, falls: dict[str, int]):
        super().__init__(3)
        self.falls, self.tries = Counter(falls), Counter()

    def submit(self, one: SubmittedFiles, last: bool) -> Future:
        self.tries[one.student] += 1
        return super().submit(self.work, one, last)

    def work(self, one: SubmittedFiles, last: bool) -> str:
        self.falls[one.student] -= 1
        if self.falls[one.student] >= 0:
            raise BrokenExecutor
        return one.student

    def replace(self, running: set[Future]) -> set[Future]:
        return set()


class Defect(OneFall):
    """Workers that cannot grade at all."""

    def work(self, one: SubmittedFiles, last: bool) -> str:
        raise worker.NotReady("the graders could not be collected")


class Trouble(OneFall):
    """Workers whose processes for learner code end, as often as `falls` says."""

    def work(self, one: SubmittedFiles, last: bool) -> str | None:
        self.falls[one.student] -= 1
        assert last == (self.tries[one.student] == 2)
        return None if self.falls[one.student] >= 0 else one.student


def test_one_fall_is_forgiven_two_are_not_and_a_defect_ends_the_run():
    with OneFall({"s003": 1, "s004": 2}) as workers:
        back = outcome(workers)
        assert back["s003"] == "s003" and back["s004"][0].status == "killed"
        assert workers.tries["s003"] == workers.tries["s004"] == 2
    with Trouble({"s003": 1, "s004": 2}) as workers:
        back = outcome(workers)
        assert back["s003"] == "s003" and back["s004"] is None, "it is not graded"
        assert sum(workers.tries.values()) == len(CLASS) + 2
    with Defect({}) as workers, pytest.raises(worker.NotReady, match="could not be collected"):
        outcome(workers)


def test_a_fault_of_the_graders_costs_one_file_and_one_of_the_course_ends_the_run(caplog):
    class Faulty:
        class maker:
            course = COURSE

        def last_try(self, one):
            raise self.fault

    Faulty.fault = IndexError("in a hidden test")
    verdicts = worker.grade_with(Faulty(), CLASS[0])
    assert [verdict.exercise for verdict in verdicts] == NAMES
    assert all(one.status == "error" and "not your fault" in one.message for one in verdicts)
    assert "in a hidden test" in caplog.text
    Faulty.fault = CourseError("references are missing")
    with pytest.raises(CourseError):
        worker.grade_with(Faulty(), CLASS[0])


def test_only_the_same_content_of_the_same_kind_is_graded_once():
    def file(student: str, content=b"x", chapter="ch1", name="ch1.py", **more) -> SubmittedFiles:
        return SubmittedFiles(student, chapter, name, content, **more)

    ada, bao, chi = file("ada"), file("bao"), file("chi", b"y")
    assert by_content([ada, bao, chi]) == {ada: [ada, bao], chi: [chi]}
    different = [
        file("a"),
        file("b", chapter="ch2"),
        file("c", name="ch1.ipynb"),
        file("d", b""),
        file("e", b"", reason="a link"),
        file("f", name="ch1.ipynb", script=b"x = 1"),
    ]
    assert len(by_content(different)) == len(different)


def test_progress_says_rate_time_left_and_trouble_since_the_workers_are_ready():
    now, out = [100.0], io.StringIO()
    with ClassProgress(Console(file=out, width=200, highlight=False), lambda: now[0]) as shown:
        shown.begin(30, 20, [])
        now[0] += 1000
        shown.checked_in({"sandbox": 2})
        for seconds, status in ((2, "timeout"), (2, "failed"), (12, "passed")):
            now[0] += seconds
            shown.advance(SubmittedFiles("ada", "ch1"), [Verdict("ada", "ch1", "a", 0, 1, status)])
    last = out.getvalue().splitlines()[-1]
    assert last == "3 of 20 graded, 0.2/s, 1:31 left, 1 with problems"


def test_graders_travel_without_seed_mistakes_and_solutions_and_stay_private(tmp_path):
    folder = unpack_graders(pack_graders(ROOT / "graders", COURSE), tmp_path / "there")
    there = load_course(folder)
    assert there.seed is None and COURSE.seed is not None
    assert (there.chapters, there.limits) == (COURSE.chapters, COURSE.limits)
    assert (there.isolation, there.tolerances) == (COURSE.isolation, COURSE.tolerances)
    names = {
        str(path.relative_to(tmp_path / "there"))
        for path in folder.parent.rglob("*")
        if path.is_file()
    }
    read = graders_files(ROOT / "graders")
    assert names == {*read, "graders/course.json"}
    assert not any(
        "mistakes.py" in name or "solutions" in name or "config" in name for name in names
    )
    assert (tmp_path / "there").stat().st_mode & 0o077 == 0


CONFIG = "COURSE = Settings(seed=1, points={{{0}}}, lateness=Lateness({1}))\n"
FILES = {  # changed files, and whether the grades of chapter a and of b depend on them
    "graders/a/first.py": (True, False),
    "graders/references/b/mistakes.json": (False, True),
    "graders/shared.py": (True, True),
    "graders/mistakes.py": (False, False),
    "graders/pairs/first.json.xz": (False, False),
    "exercises/given/a/substitute.py": (True, False),
    "graders/checks.py": (True, True),
    "exercises/a.py": (False, False),
}


def test_a_digest_follows_what_a_chapters_grades_depend_on(tmp_path):
    for name in (*FILES, "graders/b/second.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    built, config = stored_path(tmp_path / "graders", "a", "first"), tmp_path / "course_config.py"

    def changes(path: Path, text: str) -> tuple[bool, bool]:
        before = [digest_of(tmp_path / "graders", chapter) for chapter in "ab"]
        path.write_text(text)
        after = [digest_of(tmp_path / "graders", chapter) for chapter in "ab"]
        return before[0] != after[0], before[1] != after[1]

    def changes_of_file(key: str, text: str) -> tuple[bool, bool]:
        before = [digest_of(tmp_path / "graders", chapter) for chapter in "ab"]
        store(built, key, {"sources": {"text": text}}, {})
        after = [digest_of(tmp_path / "graders", chapter) for chapter in "ab"]
        return before[0] != after[0], before[1] != after[1]

    changes_of_file("one", "x = 1  # as in the lesson")
    assert changes_of_file("one", "x = 1  # reworded") == (False, False)
    assert changes_of_file("two", "x = 2") == (True, False)
    changes(config, CONFIG.format("", ""))
    assert changes(config, CONFIG.format("", "share_a_day=1")) == (False, False)
    assert changes(config, CONFIG.format("'first': 2", "")) == (True, False)
    assert changes(config, CONFIG.format("'first': 2, 'second': 3", "")) == (False, True)
    for name, expected in FILES.items():
        assert changes(tmp_path / name, "changed") == expected, name
