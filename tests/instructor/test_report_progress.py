"""Progress: plain lines where there is no terminal, with rate, time left and trouble so far.

And a page that is written while a run goes on.
"""

import io
import re
import threading

from rich.console import Console

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.instructor.class_terminal import ClassProgress
from tensorgrade.instructor.history import OTHER_DATES, OTHER_FILE, OTHER_GRADERS
from tensorgrade.instructor.report.page import watch_report
from tensorgrade.instructor.results_folder import Lock, is_in_use
from tensorgrade.sources.submitted_files import SubmittedFiles

from .runs import put_rows
from .test_report import COURSE, hand_in


class Clock:
    """Time that passes only when told."""

    def __init__(self):
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def progress(clock: Clock) -> tuple[ClassProgress, io.StringIO]:
    out = io.StringIO()
    return ClassProgress(Console(file=out, width=200, highlight=False), clock), out


def advance(shown: ClassProgress, clock: Clock, seconds: float, status: str = "passed") -> None:
    clock.now += seconds
    verdict = Verdict("ada", "ch1", "first", 0, 1, status)
    shown.advance(SubmittedFiles("ada", "ch1"), [verdict, verdict])


def test_lines_say_rate_time_left_and_trouble():
    clock = Clock()
    shown, out = progress(clock)
    with shown:
        shown.begin(30, 20, ["a note [bold] about ada/[x]"])
        shown.checked_in({"full": 2, "landlock": 1})
        advance(shown, clock, 2.0, "timeout")
        advance(shown, clock, 2.0, "failed")
        advance(shown, clock, 12.0)
    assert out.getvalue().splitlines() == [
        "note: a note [bold] about ada/[x]",
        "30 submissions, 10 of them graded before",
        "2 workers, isolation full",
        "1 worker, isolation landlock",
        "3 of 20 graded, 0.2/s, 1:31 left, 1 with problems",
    ]


def test_the_time_that_workers_take_to_start_does_not_count():
    clock = Clock()
    shown, out = progress(clock)
    with shown:
        shown.begin(2, 2, [])
        clock.now += 1000
        shown.checked_in({"full": 1})
        advance(shown, clock, 20.0)
    assert "0.1/s, 0:20 left" in out.getvalue()


def test_the_bar_and_its_thread_come_when_the_workers_have_been_forked():
    shown = ClassProgress(Console(file=io.StringIO(), force_terminal=True))
    before = threading.active_count()
    with shown:
        shown.begin(2, 2, ["a note"])
        assert threading.active_count() == before
        shown.checked_in({"full": 1})
        assert threading.active_count() == before + 1 and shown.bar.live.is_started


def test_moved_points_are_listed_and_not_endless():
    shown, out = progress(Clock())
    one = {"student": "ada", "chapter": "ch1", "exercise": "first", "points": [1.0, 2.5]}
    shown.moved([])
    assert out.getvalue() == ""
    shown.moved([one | {"why": OTHER_GRADERS}] * 15)
    lines = out.getvalue().splitlines()
    assert (
        "15 results" in lines[0]
        and lines[1] == "  ada/first: 1 → 2.5"
        and lines[-1] == "  … and 3 more"
    )


def test_moved_points_are_listed_by_learner():
    shown, out = progress(Clock())
    one = {"chapter": "ch1", "exercise": "first", "points": [1.0, 2.5], "why": OTHER_GRADERS}
    shown.moved([one | {"student": "bao"}, one | {"student": "ada"}])
    assert re.findall("ada|bao", out.getvalue()) == ["ada", "bao"]


def test_a_new_file_that_earns_less_is_one_line_with_the_points_of_the_chapter():
    shown, out = progress(Clock())
    one = {"student": "ada", "chapter": "ch1", "why": OTHER_FILE, "total": [63.0, 43.0]}
    shown.moved([one | {"exercise": name, "points": [20.0, 10.0]} for name in ("first", "second")])
    assert out.getvalue().splitlines() == [
        "New files earn less than earlier ones; points differ in 2 results:",
        "  ada/ch1: 63 → 43",
    ]


def test_what_dates_moved_is_listed_alone():
    shown, out = progress(Clock())
    one = {"student": "ada", "chapter": "ch1", "exercise": "first", "points": [2.0, 1.0]}
    shown.moved([one | {"why": OTHER_DATES}, one | {"why": OTHER_GRADERS, "points": [2.0, 2.5]}])
    assert out.getvalue().splitlines() == [
        "The graders changed; points differ in 1 result:",
        "  ada/first: 2 → 2.5",
        "Deadlines or late penalties changed; points differ in 1 result:",
        "  ada/first: 2 → 1",
    ]


def test_the_page_follows_a_run_until_its_end(tmp_path):
    """Written when there is more to see, not when there is not, and once when the run has ended."""
    rows, said, names = [], [], iter(["ada", "", "bao", ""])
    run = [Lock(tmp_path / "in-use")]

    def wait(seconds: float) -> None:
        assert is_in_use(tmp_path)
        name = next(names, None)
        if name is None:
            rows.extend(hand_in("chi"))
            run.pop().file.close()
        elif name:
            rows.extend(hand_in(name))
        put_rows(tmp_path, rows)

    page = watch_report(tmp_path, COURSE, False, said.append, wait)
    assert [line.split(" in ")[0] for line in said] == ["1 submission", "2 submissions"]
    assert ">chi<" in page.read_text(encoding="utf-8") and not is_in_use(tmp_path)
    assert [path.name for path in tmp_path.glob("*.tmp")] == []


def test_the_page_of_a_section_follows_a_run_in_its_own_learners_only(tmp_path):
    rows, said, names = [], [], iter(["ada", "bao"])
    run = [Lock(tmp_path / "in-use")]

    def wait(seconds: float) -> None:
        name = next(names, None) or run.pop().file.close() or "chi"
        rows.extend(hand_in(name))
        put_rows(tmp_path, rows)

    own = frozenset(["bao", "chi"])
    page = watch_report(tmp_path, COURSE, False, said.append, wait, section="Lab 1", learners=own)
    assert page.name == "report-Lab 1.html" and len(said) == 1
    text = page.read_text(encoding="utf-8")
    assert ">bao<" in text and ">chi<" in text and ">ada<" not in text


def test_where_no_run_is_the_page_is_written_once(tmp_path):
    put_rows(tmp_path, hand_in("ada"))
    assert watch_report(tmp_path, COURSE, False, print, lambda _: 1 / 0).exists()
