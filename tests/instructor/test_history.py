"""The history records all changes from one run to the next, with their reasons."""

import pytest

from tensorgrade.course_sources import load_course
from tensorgrade.instructor import run as running
from tensorgrade.instructor.store import Store
from tensorgrade.lateness import Lateness

from ..commands import ROOT
from .runs import ByContent, Silent, grade_by_content, put

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
COUNT = len(load_course(ROOT / "graders").chapter(CH1).exercises)


@pytest.fixture
def term(monkeypatch, tmp_path):
    """A class of three that was graded once; grades it again, and gives the newest record."""
    for student, share in (("ada", 1.0), ("bao", 0.5), ("chi", 0.0)):
        put(tmp_path / "in", student, CH1, share)

    def grade(rule=None, **options):
        rows, notes = grade_by_content(
            monkeypatch, tmp_path / "in", tmp_path / "out", rule, **options
        )
        return Store(tmp_path / "out").history()[-1], rows, notes

    grade()
    grade.folder = tmp_path
    return grade


@pytest.mark.slow
def test_the_first_run_and_one_that_moves_nothing(term):
    record, rows, _ = term()
    assert len(Store(term.folder / "out").history()) == 1
    assert record["moved"] == record["came"] == record["gone"] == []
    assert record["totals"]["learners"] == 3 and record["totals"]["rows"] == len(rows) == 3 * COUNT
    assert record["totals"]["points"] == sum(row["points"] for row in rows)


@pytest.mark.slow
def test_another_file_other_graders_and_other_dates_are_distinguished(term, monkeypatch):
    put(term.folder / "in", "bao", CH1, 1.0)
    record, *_ = term()
    assert {(m["student"], m["why"], *m["status"]) for m in record["moved"]} == {
        ("bao", "another file", "partial", "passed")
    }
    record, *_ = term(Lateness({CH1: "2020-01-01 00:00 UTC"}, share_a_day=0.5, most=0.5))
    assert {(m["student"], m["why"]) for m in record["moved"]} == {
        ("ada", "other deadlines"),
        ("bao", "other deadlines"),
    }
    monkeypatch.setattr(running, "digest_of", lambda *_: "other")
    monkeypatch.setattr(ByContent, "found", {"ada": 0.5, "bao": 0.8})
    record, *_ = term(Lateness({CH1: "2020-01-01 00:00 UTC"}, share_a_day=0.5, most=0.5))
    assert {(m["student"], m["why"]) for m in record["moved"]} == {
        ("ada", "other graders"),
        ("bao", "other graders"),
    }
    assert record["graders"] == {CH1: ["other"]}
    assert len(Store(term.folder / "out").history()) == 4


@pytest.mark.slow
def test_each_row_has_its_own_cause_where_graders_and_dates_move_at_once(term, monkeypatch):
    """New graders that find the same have moved nothing; what is less is less by the deadline."""
    rule = Lateness({CH1: "2020-01-01 00:00 UTC"}, share_a_day=0.5, most=0.5)
    told = []
    monkeypatch.setattr(Silent, "moved", lambda self, moves: told.append(moves), raising=False)
    with monkeypatch.context() as patch:
        patch.setattr(running, "digest_of", lambda *_: "other")
        patch.setattr(ByContent, "found", {"bao": 0.8}, raising=False)
        record, *_ = term(rule)
    causes = {(m["student"], m["why"]) for m in record["moved"]}
    assert causes == {("ada", "other deadlines"), ("bao", "other graders")}
    assert told[-1] == record["moved"], "the terminal has what the history has"
    with monkeypatch.context() as patch:
        patch.setattr(running, "digest_of", lambda *_: "other")
        patch.setattr(ByContent, "found", {"bao": 0.8}, raising=False)
        record, *_ = term()
    assert {m["why"] for m in told[-1]} == {"other deadlines"}, "a changed deadline is reported too"


@pytest.mark.slow
def test_who_hands_in_later_has_moved_the_date_and_no_deadline(term):
    rule = Lateness({CH1: "2027-01-16 00:00 UTC"}, share_a_day=0.5, most=0.5)
    assert term(rule)[0]["moved"] == []
    put(term.folder / "in", "ada", CH1, 1.0, 1_900_000_000, "the same, and a word")
    record, *_ = term(rule)
    assert {(m["student"], m["why"]) for m in record["moved"]} == {("ada", "another file")}


@pytest.mark.slow
def test_who_comes_and_who_is_forgotten(term):
    put(term.folder / "in", "dan", CH1, 1.0)
    put(term.folder / "in", "ada", CH2, 1.0)
    record, *_ = term()
    assert ["dan", CH1] in record["came"] and ["ada", CH2] in record["came"]
    (term.folder / "in" / "chi" / CH1 / f"{CH1}.py").unlink()
    (term.folder / "in" / "chi" / CH1).rmdir()
    (term.folder / "in" / "chi").rmdir()
    record, *_ = term(forget=("chi",))
    assert ["chi", CH1] in record["gone"]


@pytest.mark.slow
def test_an_interrupted_run_hides_no_move(term, monkeypatch):
    """The record compares with how it stood when the last whole run had ended."""
    put(term.folder / "in", "bao", CH1, 1.0)
    put(term.folder / "in", "chi", CH1, 1.0)

    def interrupt(*_):
        raise KeyboardInterrupt

    for name in ("graded", "Ledger.finish"):  # before anything is graded, and after everything is
        with monkeypatch.context() as patch:
            patch.setattr(f"{running.__name__}.{name}", interrupt)
            with pytest.raises(KeyboardInterrupt):
                term()
    put(term.folder / "in", "ada", CH1, 0.0)
    term()
    moved = [m for record in Store(term.folder / "out").history() for m in record["moved"]]
    assert {m["student"] for m in moved} == {"ada", "bao", "chi"}
    assert len(moved) == 3 * COUNT, "each once"


@pytest.mark.slow
def test_everybody_on_the_roster_has_rows_and_who_is_not_on_it_is_listed(term):
    _, rows, notes = term(roster=("ada", "bao", "zoe"))
    assert [row["status"] for row in rows if row["student"] == "zoe"] == ["not_attempted"] * COUNT
    assert "not on the roster: chi" in notes
    assert f"no submission for {CH1} by zoe" in notes


@pytest.mark.slow
def test_a_resubmission_that_earns_less_is_reported_and_one_that_earns_more_is_not(
    term, monkeypatch
):
    told = []
    monkeypatch.setattr(Silent, "moved", lambda self, moves: told.append(moves), raising=False)
    put(term.folder / "in", "ada", CH1, 0.5, text="worse")
    put(term.folder / "in", "bao", CH1, 1.0, text="better")
    record, *_ = term()
    assert {(m["student"], m["why"]) for m in told[-1]} == {("ada", "another file")}
    assert {m["student"] for m in record["moved"]} == {"ada", "bao"}


@pytest.mark.slow
def test_an_older_file_that_replaces_a_newer_one_is_reported(term):
    put(term.folder / "in", "ada", CH1, 1.0, 1_700_000_000, "an older copy")
    _, _, notes = term()
    (note,) = [note for note in notes if "older than those" in note]
    assert f"ada/{CH1} (2023-11-14 22:13:20 UTC, and before 2027-01-15 08:00:00 UTC)" in note
