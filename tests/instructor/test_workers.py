"""Each submission returns exactly once from any engine of workers, even if workers die.

A unit file of `tensorgrade.instructor`: workers, what travels to them, and what grades depend on.
"""

import io
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import replace

import pytest
from rich.console import Console

from tensorgrade.course import CourseError
from tensorgrade.exchange.stored import store, stored_path
from tensorgrade.instructor import grader as worker
from tensorgrade.instructor.class_terminal import ClassProgress
from tensorgrade.instructor.cluster import pack_graders, unpack_graders
from tensorgrade.instructor.dependencies import digest_of, graders_files, settings_in
from tensorgrade.instructor.run import Task, by_content
from tensorgrade.instructor.workers import graded
from tensorgrade.lateness import Lateness
from tensorgrade.project import load_course
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..support import ROOT
from .runs import CH1, COURSE, NAMES

CLASS = [SubmittedFiles(f"s{n:03}", CH1, f"{CH1}.py", b"%d" % n) for n in range(40)]


def outcome(workers) -> dict[str, object]:
    """Return the result for each student; assert that each returns only once."""
    back = [*graded(CLASS, workers, COURSE)]
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

        def one_try(self, one, last):
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

    ada, bao, chi = (Task(f, {}) for f in (file("ada"), file("bao"), file("chi", b"y")))
    assert by_content([ada, bao, chi]) == {ada.files: [ada, bao], chi.files: [chi]}
    different = [
        file("a"),
        file("b", chapter="ch2"),
        file("c", name="ch1.ipynb"),
        file("d", b""),
        file("e", b"", reason="a link"),
        file("f", name="ch1.ipynb", script=b"x = 1"),
    ]
    assert len(by_content([Task(one, {}) for one in different])) == len(different)


def test_progress_without_a_terminal_is_a_line_now_and_then():
    now, out = [100.0], io.StringIO()
    with ClassProgress(Console(file=out, width=200, highlight=False), lambda: now[0]) as shown:
        shown.begin(30, 20, [])
        shown.checked_in({"sandbox": 2})
        for seconds in (2, 2, 12, 2):
            now[0] += seconds
            shown.advance(SubmittedFiles("ada", "ch1"), [])
    assert out.getvalue().splitlines()[-1] == "3 of 20 graded"


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
    assert names == {*graders_files(ROOT / "graders"), "graders/course.json"}
    assert not any(
        "mistakes.py" in name or "solutions" in name or "config" in name for name in names
    )
    assert (tmp_path / "there").stat().st_mode & 0o077 == 0


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
    built = stored_path(tmp_path / "graders", "a", "first")

    def digests() -> list[str]:
        return [digest_of(tmp_path / "graders", COURSE, chapter) for chapter in "ab"]

    def changes(write: Callable[[], object]) -> tuple[bool, bool]:
        before = digests()
        write()
        return tuple(one != other for one, other in zip(before, digests(), strict=True))

    def changes_of_file(key: str, text: str) -> tuple[bool, bool]:
        return changes(lambda: store(built, key, {"sources": {"text": text}}, {}))

    changes_of_file("one", "x = 1  # as in the lesson")
    assert changes_of_file("one", "x = 1  # reworded") == (False, False)
    assert changes_of_file("two", "x = 2") == (True, False)
    for name, expected in FILES.items():
        assert changes(lambda name=name: (tmp_path / name).write_text("changed")) == expected, name


def test_settings_that_decide_no_grade_change_no_digest():
    """Titles, dates and what belongs to another chapter."""
    first, second, *rest = COURSE.chapters
    exercise, *others = second.exercises
    more = replace(second, exercises=(replace(exercise, points=99.0), *others))
    others = replace(first, title="another", due="2027-01-15"), more, *rest
    other = replace(COURSE, chapters=others, title="another", lateness=Lateness(share_a_day=1))
    assert settings_in(other, first.name) == settings_in(COURSE, first.name)
    assert settings_in(other, second.name) != settings_in(COURSE, second.name)
    assert settings_in(replace(COURSE, seed=1), first.name) != settings_in(COURSE, first.name)
