"""Each submission returns exactly once from any engine of workers, even if workers die.

A unit file of `tensorgrade.instructor`: workers, and what grades depend on.
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from tensorgrade.course import CourseError
from tensorgrade.exchange.stored import store, stored_path
from tensorgrade.instructor import grader as grading
from tensorgrade.instructor.grader import digest_of
from tensorgrade.instructor.run import by_content
from tensorgrade.sources.submitted_files import SubmittedFiles

from .runs import CH1, CH2, COURSE, NAMES

CLASS = [SubmittedFiles(f"s{n:03}", CH1, f"{CH1}.py", b"%d" % n) for n in range(40)]


class Threads(ThreadPoolExecutor):
    """Workers of another kind. ends, none: how often a student's file ends them, or has no result.

    defect: they cannot grade at all.
    """

    ahead = 5

    def __init__(self, ends: dict[str, int], none: dict[str, int], defect: bool = False):
        super().__init__(3)
        self.ends, self.none, self.defect, self.tries = ends, none, defect, Counter()

    def submit(self, one: SubmittedFiles, last: bool) -> Future:
        self.tries[one.student] += 1
        return super().submit(self.work, one, self.tries[one.student], last)

    def work(self, one: SubmittedFiles, tries: int, last: bool) -> str | None:
        assert last == (tries == 2)
        if self.defect:
            raise CourseError("the graders could not be collected")
        if tries <= self.ends.get(one.student, 0):
            raise BrokenExecutor
        return None if tries <= self.none.get(one.student, 0) else one.student


def test_one_fall_is_forgiven_two_are_not_and_a_defect_ends_the_run():
    with Threads({"s003": 1, "s004": 2}, {"s005": 1, "s006": 2}) as workers:
        back = [(one.student, verdicts) for one, verdicts in grading.graded(CLASS, workers, COURSE)]
    told = dict(back)
    assert len(back) == len(told) == len(CLASS) - 1, "each returns only once"
    assert told["s003"] == "s003" and told["s004"][0].status == "killed"
    assert told["s005"] == "s005" and "s006" not in told, "it is not graded"
    assert sum(workers.tries.values()) == len(CLASS) + 4
    with Threads({}, {}, True) as workers, pytest.raises(CourseError, match="be collected"):
        list(grading.graded(CLASS, workers, COURSE))


def test_a_fault_of_the_graders_costs_one_file_and_one_of_the_course_ends_the_run(caplog):
    class Faulty:
        class maker:
            course = COURSE

        def one_try(self, one, last):
            raise self.fault

    Faulty.fault = IndexError("in a hidden test")
    verdicts = grading.grade_with(Faulty(), CLASS[0])
    assert [verdict.exercise for verdict in verdicts] == NAMES
    assert all(one.status == "error" and "not your fault" in one.message for one in verdicts)
    assert "in a hidden test" in caplog.text
    Faulty.fault = CourseError("references are missing")
    with pytest.raises(CourseError):
        grading.grade_with(Faulty(), CLASS[0])


def test_only_the_same_content_of_the_same_kind_is_graded_once():
    ada, bao = CLASS[0], replace(CLASS[0], student="bao")
    assert by_content([ada, bao, CLASS[1]]) == {ada: [ada, bao], CLASS[1]: [CLASS[1]]}
    notebook = replace(ada, filename=f"{CH1}.ipynb")
    different = [ada, replace(ada, chapter=CH2), notebook, replace(notebook, script=b"x = 1")]
    different += [replace(ada, content=b"", reason=reason) for reason in ("", "a link")]
    assert len(by_content(different)) == len(different)


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
