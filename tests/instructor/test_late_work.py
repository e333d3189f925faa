"""Late work loses the same on every route: rows, gradebook, nbgrader's own penalties."""

import shutil
from pathlib import Path

import pytest

from tensorgrade.course import CourseError, Settings
from tensorgrade.course_sources import load_course, resolve
from tensorgrade.instructor.dependencies import digest_of
from tensorgrade.instructor.gradebook import write_gradebook
from tensorgrade.instructor.store import Store
from tensorgrade.lateness import DAY, Lateness, read_time, written

from ..commands import ROOT
from ..sampling import first_of_each
from .runs import grade_by_content, put

COURSE = load_course(ROOT / "graders")
CHAPTER = COURSE.chapters[0]
CH1, MOST = CHAPTER.name, CHAPTER.points
DUE = "2027-01-15 23:59 Europe/Berlin"
RULE = Lateness({CH1: DUE}, share_a_day=0.2, most=0.5, grace_seconds=600)
AT = int(read_time(DUE).timestamp())
# Seconds after the deadline, and the share of the points that is left.
LATE = {-5: 1.0, 600: 1.0, 601: 0.8, DAY: 0.8, DAY + 1: 0.6, 3 * DAY: 0.5, 100 * DAY: 0.5}


def scores(rows: list[dict]) -> dict[str, float]:
    names = {row["student"] for row in rows}
    return {n: round(sum(r["points"] for r in rows if r["student"] == n), 6) for n in names}


@pytest.fixture
def graded(monkeypatch, tmp_path):
    """The rows of learners who came in at these times; some by file, some by nbgrader's stamp."""

    def grade(rule=RULE):
        for number, seconds in enumerate(LATE):
            path = put(tmp_path / "in", f"{seconds}", CH1, 1.0, AT + seconds)
            if number % 2:
                put(tmp_path / "in", f"{seconds}", CH1, 1.0, AT + 50 * DAY)
                at = written(read_time(DUE).fromtimestamp(AT + seconds).astimezone())
                (path.parent / "timestamp.txt").write_text(f"{at}\n")
        return grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)[0]

    return grade


@pytest.mark.slow
def test_points_are_less_by_what_the_rule_says_and_rows_say_why(graded):
    rows = graded()
    assert scores(rows) == {f"{s}": round(MOST * share, 6) for s, share in LATE.items()}
    assert all(row["status"] == "passed" for row in rows), "the code is right all the same"
    late = [row for row in rows if row["student"] == "601"]
    assert {(r["submitted"], r["late_seconds"]) for r in late} == {
        ("2027-01-15 23:09:01 UTC", 601.0)
    }
    assert all(r["points"] + r["penalty"] == r["max_points"] for r in late)
    early = [row for row in rows if row["student"] in ("-5", "600")]
    assert {(row["late_seconds"], row["penalty"]) for row in early} == {(0.0, 0.0)}


@pytest.mark.slow
def test_a_deadline_that_moves_moves_points_and_grades_no_learner_again(
    graded, monkeypatch, tmp_path
):
    first = graded()
    lax = Lateness({CH1: "2028-01-15 23:59 UTC"}, share_a_day=0.2)
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", lax)
    assert set(scores(rows).values()) == {MOST}
    assert graded() == first


def test_the_digest_of_graders_has_no_dates_in_it(tmp_path):
    shutil.copytree(ROOT / "graders" / CH1, tmp_path / "graders" / CH1)
    config = tmp_path / "course_config.py"
    text = (ROOT / "course_config.py").read_text(encoding="utf-8")

    def digest(old: str, new: str) -> str:
        assert old in text
        config.write_text(text.replace(old, new), encoding="utf-8")
        return digest_of(tmp_path / "graders", CH1)

    before = digest("deadlines={}", "deadlines={}")
    assert digest("deadlines={}", f"deadlines={{'{CH1}': '{DUE}'}}, share_a_day=1") == before
    assert digest("case_seconds=5", "case_seconds=6") != before


def test_what_another_chapters_exercises_are_worth_grades_no_learner_again(tmp_path):
    for chapter in COURSE.chapters[:2]:
        place = tmp_path / "graders" / chapter.name
        shutil.copytree(ROOT / "graders" / chapter.name, place)
    text = (ROOT / "course_config.py").read_text(encoding="utf-8")
    own, other = (chapter.exercises[0].name for chapter in COURSE.chapters[:2])

    def digests(settings: str) -> list[str]:
        new = text.replace("points={},", settings)
        assert new != text
        (tmp_path / "course_config.py").write_text(new, encoding="utf-8")
        chapters = [chapter.name for chapter in COURSE.chapters[:2]]
        return [digest_of(tmp_path / "graders", chapter) for chapter in chapters]

    before = digests("points={ },")
    for settings in (f'points={{"{own}": 12}},', f'points={{}}, off=("{own}",),'):
        first, second = digests(settings)
        same = digests(settings.replace(own, "nobody"))
        assert first != same[0] and second == same[1], settings
    first, second = digests(f'points={{"{other}": 12}},')
    assert first == before[0] and second != before[1]
    assert digests("points=worked_out(),") != digests("points=worked_out(2),"), "nobody knows whose"


@pytest.mark.slow
def test_the_gradebook_has_the_same_points_and_says_how_late(graded, tmp_path):
    from nbgrader import api

    rows = graded()
    course = load_course(ROOT / "graders")
    object.__setattr__(course, "lateness", RULE)
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    for _ in range(2):
        write_gradebook(url, rows, course, "a-course")
    with api.Gradebook(url, "a-course") as gradebook:
        found = gradebook.assignment_submissions(CH1)
        got = {s.student_id: round(s.score - s.late_submission_penalty, 6) for s in found}
        assert got == scores(rows), "nbgrader's pages and its export take penalties off so"
        late = {s.student_id: s.total_seconds_late for s in found}
        assert late["601"] == 601 and late["-5"] == 0
        assert {course.id for course in gradebook.db.query(api.Course)} == {"a-course"}


@pytest.mark.parametrize("seconds, share", LATE.items())
def test_nbgraders_own_penalty_is_the_same(seconds, share):
    from dataclasses import asdict

    from traitlets.config import Config

    from tensorgrade.nbgrader_plugin.late_work import LateWork

    config = Config({"LateWork": {"lateness": asdict(RULE)}})
    lost = LateWork(config=config).late_submission_penalty("ada", MOST, max(0, seconds))
    assert MOST - (lost or 0) == pytest.approx(MOST * share)
    zero = Config({"LateSubmissionPlugin": {"penalty_method": "zero"}})
    assert LateWork(config=zero).late_submission_penalty("ada", MOST, 1.0) == MOST


@pytest.mark.slow
@pytest.mark.parametrize("attempts, better, worse", [("last", 0.75, 0.25), ("best", 0.75, 0.75)])
def test_the_last_attempt_counts_or_the_best(monkeypatch, tmp_path, attempts, better, worse):
    rule, got = Lateness(attempts=attempts), []
    for share in (0.5, 0.75, 0.25):
        put(tmp_path / "in", "ada", CH1, share)
        rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
        got.append(scores(rows)["ada"] / MOST)
    assert got == [0.5, better, worse]
    again, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
    assert again == rows


@pytest.mark.slow
def test_where_the_last_attempt_counts_from_now_on_its_rows_are_still_there(monkeypatch, tmp_path):
    best, last = Lateness(attempts="best"), Lateness(attempts="last")
    got = []
    for share, rule in ((0.75, best), (0.25, best), (0.25, best), (0.25, last), (0.25, last)):
        put(tmp_path / "in", "ada", CH1, share)
        rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
        got.append(scores(rows)["ada"] / MOST)
    assert got == [0.75, 0.75, 0.75, 0.25, 0.25]


@pytest.mark.slow
def test_the_best_attempt_is_that_with_most_points_after_its_penalty(monkeypatch, tmp_path):
    rule = Lateness({CH1: DUE}, share_a_day=0.5, attempts="best")
    for share, at in ((0.8, AT - 5), (1.0, AT + 5)):
        put(tmp_path / "in", "ada", CH1, share, at)
        rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
    assert scores(rows)["ada"] == pytest.approx(0.8 * MOST)
    assert {row["late_seconds"] for row in rows} == {0.0}


def test_who_submitted_nothing_is_not_late_and_neither_is_an_unknown_time(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada", CH1, 1.0, AT + DAY)
    (tmp_path / "in" / "ada" / CH1 / ".no_timestamp").write_text("")
    (tmp_path / "in" / "bao").mkdir()
    rows, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", RULE)
    told = "the times of 1 submission are unknown, so they count as on time: ada. To set a time, "
    assert f"{told}write timestamp.txt in the chapter's folder" in notes
    assert {(row["submitted"], row["late_seconds"], row["penalty"]) for row in rows} == {
        (None, 0.0, 0.0)
    }
    assert scores(rows) == {"ada": MOST, "bao": 0.0}


STAMPS = ["", " \n", "yesterday", "2027-01-15 8 Uhr\n", "\N{SNOWMAN}", "0" * 200]
STAMPS += ["0001-01-01 00:00:00 UTC", "9999-12-31 23:59:59 UTC", "1980-01-01 00:00:00 UTC"]
STAMPS += ["9999-12-31 23:59:59 -14:00", "2036-01-01 00:00:00 UTC", "2027-02-30 00:00 UTC"]


@pytest.mark.parametrize("stamp", first_of_each(STAMPS, type))
def test_a_stamp_that_tells_no_time_is_reported(monkeypatch, tmp_path, stamp):
    put(tmp_path / "in", "ada", CH1, 1.0, AT + DAY)
    (tmp_path / "in" / "ada" / CH1 / "timestamp.txt").write_text(stamp, encoding="utf-8")
    rows, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", RULE)
    assert {row["late_seconds"] for row in rows} == {DAY}, "the file's own time"
    why = f"timestamp.txt of {CH1} has no possible time; the newest file's own time counts"
    assert notes.count(f"impossible times were replaced, of ada: {why}") == 1
    assert {row["time_note"] for row in rows} == {why}
    (tmp_path / "in" / "ada" / CH1 / "timestamp.txt").write_text("2027-01-15 08:00 UTC")
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", RULE)
    assert not any("time_note" in row for row in rows)


@pytest.mark.parametrize(
    "told, sentence",
    [
        ({"deadlines": {"ch9": DUE}}, "no chapter is named ch9"),
        ({"deadlines": {CH1: "tomorrow"}}, "'tomorrow' is not a time such as 2027-01-15 23:59 UTC"),
        ({"deadlines": {CH1: "2027-02-30 23:59 UTC"}}, "is not a time: day is out of range"),
        ({"deadlines": {CH1: "2027-01-15 23:59 Mars/Base"}}, "there is no time zone Mars/Base"),
        ({"share_a_day": 20}, "share_a_day is 20; give a share, 0 to 1"),
        ({"attempts": "first"}, "attempts is 'first'; give last or best"),
    ],
)
def test_settings_that_say_nothing_are_one_sentence(told, sentence):
    settings = Settings("a", "A", 1, (CH1,), {}, lateness=Lateness(**told))
    with pytest.raises(CourseError, match=sentence):
        resolve(settings, Path(ROOT))


def test_a_time_at_the_edge_of_the_calendar_is_none():
    for text in ("0001-01-01 00:00:00 +14:00", "9999-12-31 23:59:59 -14:00"):
        with pytest.raises(ValueError, match="is not a time"):
            read_time(text)


@pytest.mark.slow
def test_a_rule_that_changes_to_the_best_attempt_finds_an_earlier_one(monkeypatch, tmp_path):
    """Every judged attempt is kept; the history names the rule, and not the graders."""
    last, best = Lateness(attempts="last"), Lateness(attempts="best")
    got = []
    for share, rule in ((0.75, last), (0.25, last), (0.25, best)):
        put(tmp_path / "in", "ada", CH1, share)
        rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
        got.append(scores(rows)["ada"] / MOST)
    assert got == [0.75, 0.25, 0.75]
    (*_, record) = Store(tmp_path / "out").history()
    assert {move["why"] for move in record["moved"]} == {"another rule on attempts"}


@pytest.mark.slow
def test_lateness_by_the_time_of_a_file_is_reported(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada", CH1, 1.0, AT + DAY)
    put(tmp_path / "in", "bao", CH1, 1.0, AT + DAY)
    put(tmp_path / "in", "chi", CH1, 1.0, AT - DAY)
    (tmp_path / "in" / "bao" / CH1 / "timestamp.txt").write_text("2027-01-01 08:00 UTC")
    _, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", RULE)
    (note,) = [note for note in notes if "file's own time" in note]
    assert note.startswith("submissions of ada are late")


@pytest.mark.slow
def test_a_time_without_a_zone_is_reported_if_the_course_has_one(monkeypatch, tmp_path):
    for name, text in {"ada": "2027-01-15 08:00", "bao": "2027-01-15 08:00 UTC"}.items():
        put(tmp_path / "in", name, CH1, 1.0)
        (tmp_path / "in" / name / CH1 / "timestamp.txt").write_text(text)
    got = {}
    for zone in ("", "Europe/Berlin"):
        rule = Lateness(zone=zone)
        _, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
        got[zone] = [note for note in notes if "names no time zone" in note]
    assert got[""] == []
    (note,) = got["Europe/Berlin"]
    assert note.endswith("write the zone after the time: ada")
