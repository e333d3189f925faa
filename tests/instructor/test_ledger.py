"""The ledger: whatever moment a run ends at, the next one has every row exactly once."""

import json
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.course import CourseError
from tensorgrade.instructor import store
from tensorgrade.instructor.ledger import Ledger, key
from tensorgrade.instructor.overrides import Override
from tensorgrade.instructor.results_folder import lines_of, write_text
from tensorgrade.instructor.run import kept
from tensorgrade.instructor.store import Store
from tensorgrade.lateness import Lateness
from tensorgrade.sources.submitted_files import SubmittedFiles

EXERCISES = ["first", "second"]
DIGESTS = {"ch1": "graders-1", "ch2": "graders-1"}
HANDINS = [
    SubmittedFiles(s, c, f"{c}.py", f"{s} {c} é".encode()) for s in ("ada", "bao") for c in DIGESTS
]


def verdicts(submitted_files: SubmittedFiles, points: float = 1.0) -> list[Verdict]:
    """Two rows; the message holds what has to survive being written: é, a quote, a new line."""
    return [
        Verdict(
            submitted_files.student,
            submitted_files.chapter,
            e,
            points,
            2.0,
            "partial",
            [],
            f'é " \u2028 \n {e}',
        )
        for e in EXERCISES
    ]


def start(out, digests=DIGESTS) -> Ledger:
    """A ledger as a new run opens it; the lock of the run before is let go."""
    ledger = Ledger(out, digests)
    ledger.lock.file.close()
    return ledger


def run(
    out, submissions=HANDINS, digests=DIGESTS, points: float = 1.0, batch: int = 1
) -> list[dict]:
    """A whole run; returns the rows and asserts nothing."""
    ledger = start(out, digests)
    todo = ledger.prepare(submissions)
    for i in range(0, len(todo), batch):
        ledger.write([(h, verdicts(h, points)) for h in todo[i : i + batch]])
    return ledger.finish(EXERCISES)


def whole(tmp_path):
    """The bytes of an undisturbed run."""
    run(tmp_path / "whole")
    return (tmp_path / "whole" / "results.jsonl").read_bytes()


WRITES = ("add_attempt", "put_result", "add_event", "set_meta", "begin_run")


class Cut(BaseException):
    """The process is ended here."""


def cut_at(monkeypatch, count: int) -> None:
    """End the process at the n-th write into the database."""
    calls = []

    def cutting(write):
        def cut(*arguments):
            calls.append(write)
            if len(calls) > count:
                raise Cut
            return write(*arguments)

        return cut

    for name in WRITES:
        monkeypatch.setattr(store, name, cutting(getattr(store, name)))


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("points", [1.0, 2.0])
def test_cut_off_at_any_write_the_next_run_completes_it(tmp_path, monkeypatch, batch, points):
    """The first time, and while other files are graded again; every row is there once."""
    anew = [SubmittedFiles(h.student, h.chapter, h.filename, b"new " + h.content) for h in HANDINS]
    submissions = HANDINS if points == 1.0 else anew
    begun = [] if points == 1.0 else HANDINS
    run(tmp_path / "whole", begun)
    expected = run(tmp_path / "whole", submissions, points=points)
    for count in range(50):
        out = tmp_path / str(count)
        run(out, begun)
        try:
            with monkeypatch.context() as patch:
                cut_at(patch, count)
                run(out, submissions, points=points, batch=batch)
            break
        except Cut:
            rows = Store(out).rows()
            assert len({key(row) for row in rows}) == len(rows) >= 2 * len(begun)
        assert run(out, submissions, points=points, batch=batch) == expected
        assert len(Store(out).history()) == 2
    assert 10 < count < 49


def test_what_is_done_is_not_done_again(tmp_path):
    run(tmp_path)
    assert start(tmp_path).prepare(HANDINS) == []


def test_a_changed_file_is_graded_again_and_alone(tmp_path):
    run(tmp_path)
    changed = [SubmittedFiles("ada", "ch1", "ch1.py", b"new"), *HANDINS[1:]]
    ledger = start(tmp_path)
    rows = ledger.rows()
    assert ledger.prepare(changed) == changed[:1]
    assert ledger.rows() == rows, "until it is graded, the old rows are shown"
    ledger.write([(changed[0], verdicts(changed[0], 2.0))])
    assert [row["points"] for row in ledger.finish(EXERCISES)] == [2.0, 2.0] + [1.0] * 6


def test_rows_by_other_graders_are_known(tmp_path):
    run(tmp_path)
    ledger = start(tmp_path, DIGESTS | {"ch1": "graders-2"})
    others = ledger.others(HANDINS[:1])
    older = "of these 3 submissions come from an older version of the graders: bao"
    assert [note for note in kept(ledger, others) if "older version" in note] == [f"1 {older}"]
    assert not any("older version" in note for note in kept(start(tmp_path), others))


def test_changed_graders_regrade_their_chapter_and_tell_whose_points_moved(tmp_path):
    run(tmp_path)
    ledger = start(tmp_path, DIGESTS | {"ch1": "graders-2"})
    todo = ledger.prepare(HANDINS)
    assert {submitted_files.chapter for submitted_files in todo} == {"ch1"}
    ledger.write([(h, verdicts(h, 2.0 if h.student == "ada" else 1.0)) for h in todo])
    ledger.finish(EXERCISES)
    moved = [(one["student"], one["exercise"], one["points"]) for one in ledger.moved()]
    assert moved == [("ada", "first", [1.0, 2.0]), ("ada", "second", [1.0, 2.0])]


def with_a_new_file(tmp_path, points):
    """The ledger after a second run, in which a new file of ada's earned these points."""
    run(tmp_path)
    changed = [SubmittedFiles("ada", "ch1", "ch1.py", b"new"), *HANDINS[1:]]
    ledger = start(tmp_path)
    ledger.write([(h, verdicts(h, points)) for h in ledger.prepare(changed)])
    ledger.finish(EXERCISES)
    return ledger


def test_a_new_file_with_other_points_moves_nothing(tmp_path):
    """Learners may get better; that is no news about the graders."""
    ledger = with_a_new_file(tmp_path, 2.0)
    assert ledger.moves and ledger.moved() == []


def test_a_new_file_that_earns_less_tells_the_points_of_the_chapter(tmp_path):
    ledger = with_a_new_file(tmp_path, 0.25)
    first, second = ledger.moved()
    assert first["total"] == second["total"] == [2.0, 0.5]


@pytest.mark.slow
def test_some_learners_graded_again_leave_the_rows_of_all_others(tmp_path):
    rows = run(tmp_path)
    ledger = start(tmp_path)
    assert ledger.prepare(HANDINS[:2]) == [] and ledger.finish(EXERCISES) == rows
    assert run(tmp_path, [SubmittedFiles("chi", "ch1", "ch1.py", b"new")])[: len(rows)] == rows


def test_rows_of_before_are_still_done_when_their_submissions_come_back(tmp_path):
    run(tmp_path)
    run(tmp_path, HANDINS[:1])
    assert start(tmp_path).prepare(HANDINS) == []


def test_only_who_is_to_be_forgotten_goes(tmp_path):
    run(tmp_path)
    ledger = start(tmp_path)
    ledger.must_know(["bao"])
    ledger.prepare(HANDINS[:2], forget=["bao"])
    assert {row["student"] for row in ledger.finish(EXERCISES)} == {"ada"}
    with pytest.raises(CourseError, match="holds no rows of bob"):
        ledger.must_know(["ada", "bob"])


def test_what_was_graded_before_is_held_and_what_was_missing_is_not(tmp_path):
    missing = SubmittedFiles("chi", "ch1", reason="Nothing.", missing=True)
    run(tmp_path, [*HANDINS[:1], missing])
    ledger = start(tmp_path)
    assert ledger.holds(SubmittedFiles("ada", "ch1", reason="Nothing.", missing=True))
    assert not ledger.holds(SubmittedFiles("ada", "ch1", missing=True), forget=["ada"])
    assert not ledger.holds(missing) and not ledger.holds(
        SubmittedFiles("ada", "ch2", missing=True)
    )


def test_rows_of_an_exercise_that_is_gone_are_kept_and_come_last(tmp_path):
    run(tmp_path)
    ledger = start(tmp_path)
    ledger.prepare(HANDINS[2:])
    rows = ledger.finish(EXERCISES[1:])
    assert [row["exercise"] for row in rows[:2]] == ["second", "first"]


@pytest.mark.parametrize("text", ["[1]\n", "not JSON\n", '{"some": "record"}\n', "\0\n"])
@pytest.mark.parametrize("name", ["results.jsonl", "history.jsonl"])
def test_a_results_file_of_another_users_is_left_alone(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(CourseError, match="does not hold this program"):
        start(tmp_path).prepare(HANDINS)
    assert (tmp_path / name).read_text() == text


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CourseError, match="cannot be created"):
        start(tmp_path / "file" / "out")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_sentence(tmp_path):
    (tmp_path / "rows.tmp").symlink_to("/dev/full")
    with pytest.raises(CourseError, match="cannot be written: No space left"):
        write_text(tmp_path / "rows.jsonl", b"1")


def test_another_limit_of_attempts_is_another_rule(tmp_path):
    (one, *_) = HANDINS
    for text in (b"1", b"2"):
        again = replace(one, content=text)
        ledger = start(tmp_path)
        ledger.prepare([again])
        ledger.write([(again, verdicts(again, points=float(text)))])
        ledger.finish(EXERCISES)
    ledger = start(tmp_path)
    ledger.rules.lateness = Lateness(most_attempts=1)
    ledger.prepare([])
    ledger.finish(EXERCISES)
    assert {move["why"] for move in ledger.moves} == {"another rule on attempts"}


def test_only_an_override_with_points_is_older_than_a_maximum(tmp_path):
    ledger = start(tmp_path)
    for points, notes in ((1.0, 1), (None, 0)):
        ledger.rules.overrides = {("ada", "ch1", "first"): Override(points, "ill")}
        assert ledger.old_overrides(HANDINS, {("ch1", "first"): 2.0}) == []
        assert len(ledger.old_overrides(HANDINS, {("ch1", "first"): 3.0})) == notes


def test_results_of_another_course_are_refused(tmp_path):
    run(tmp_path)
    ledger = Ledger(tmp_path, DIGESTS, exercises={"ch9": EXERCISES})
    with pytest.raises(CourseError, match=r"results of other chapters \(ch1, ch2\), not of new"):
        ledger.belongs_to("new")
    ledger.lock.file.close()
    ledger = Ledger(tmp_path, DIGESTS, exercises={"ch1": EXERCISES})
    ledger.belongs_to("old")
    ledger.belongs_to("old")
    with pytest.raises(CourseError, match="results of the course old, not of new; choose another"):
        ledger.belongs_to("new")


def test_rows_are_sorted_whatever_order_they_came_in(tmp_path):
    expected = whole(tmp_path)
    ledger = start(tmp_path / "out")
    ledger.prepare(HANDINS)
    ledger.write([(h, verdicts(h)[::-1]) for h in HANDINS[::-1]])
    ledger.finish(EXERCISES)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == expected


def test_a_second_run_in_the_same_folder_is_refused(tmp_path):
    first = Ledger(tmp_path, DIGESTS)
    with pytest.raises(CourseError, match="another run"):
        Ledger(tmp_path, DIGESTS)
    first.lock.file.close()
    Ledger(tmp_path, DIGESTS).lock.file.close()


def stay(begun, end) -> None:
    """In a fork: say that it has begun, and wait."""
    begun.set()
    end.wait(60)


def test_a_fork_of_a_run_neither_keeps_others_out_nor_lets_them_in(tmp_path):
    forks = multiprocessing.get_context("fork")
    begun, end = forks.Event(), forks.Event()
    first = Ledger(tmp_path, DIGESTS)
    worker = forks.Process(target=stay, args=(begun, end))
    worker.start()
    assert begun.wait(60)
    with pytest.raises(CourseError, match="another run"):
        Ledger(tmp_path, DIGESTS)
    first.lock.file.close()
    Ledger(tmp_path, DIGESTS).lock.file.close()
    assert worker.is_alive()
    end.set()
    worker.join()


MANY = [SubmittedFiles(f"s{n:05}", "ch1", "ch1.py", b"%d" % n) for n in range(3000)]


def long_run(out: str) -> None:
    """In a process: a run that is killed before it is through."""
    ledger = start(out)
    for submitted_files in ledger.prepare(MANY):
        ledger.write([(submitted_files, verdicts(submitted_files))])


@pytest.mark.slow
def test_killed_again_and_again_while_writing_each_row_is_there_once(tmp_path):
    done = 0
    for _ in range(4):
        process = multiprocessing.get_context("fork").Process(target=long_run, args=(tmp_path,))
        process.start()
        while process.is_alive() and Store(tmp_path).count() < done + 5:
            time.sleep(0.001)
        assert process.is_alive(), "it was killed in the middle, and not at its end"
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        done = Store(tmp_path).count()
    rows = run(tmp_path, MANY[: done + 5], batch=50)
    found = [(row["student"], row["exercise"]) for row in rows]
    assert found == [(h.student, e) for h in MANY[: done + 5] for e in EXERCISES]


def test_half_a_character_ends_no_run(tmp_path):
    submitted_files = SubmittedFiles("ada", "ch1", "ch1.py", b"x")
    rows = run(tmp_path, [submitted_files])
    text = lines_of([rows[0] | {"message": "\ud800 é"}]).decode()
    assert json.loads(text)["message"] == "\ud800 é"
