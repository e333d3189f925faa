"""`tensorgrade explain`: the learner's own code in full, and nothing said twice."""

import io
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tensorgrade.author.recording.bugs import drawn
from tensorgrade.cli.instructors import bug_told
from tensorgrade.cli.shared import app
from tensorgrade.course import CourseError
from tensorgrade.instructor.explain import (
    ANOTHER_COUNTS,
    LONGEST_CODE,
    differs_from_record,
    docstrings_in,
    explain,
    for_learner,
    print_explanation,
    print_nearest,
)
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.roster import Roster
from tensorgrade.lateness import Lateness
from tensorgrade.recognition.fingerprints import Near

from ..commands import ROOT
from .runs import grade_by_content, put

CH1 = "ch1_simplified_attention"
STUB = ROOT / "exercises" / f"{CH1}.py"


@pytest.fixture
def explained(grader, tmp_path):
    """Return the printed explanation of a learner's softmax, and the text for the learner."""

    def made(text: str, name: str = f"{CH1}.py", given: str = "") -> tuple[str, str]:
        folder = tmp_path / "in" / "ann" / CH1
        folder.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
        told = explain(grader, "ann", "softmax", tmp_path / "in")
        console = Console(file=io.StringIO(), width=200, highlight=False, color_system=None)
        print_explanation(console, told, given)
        return console.file.getvalue(), for_learner(told)

    return made


def body(lines: str) -> str:
    """The stub with a body for softmax behind its docstring."""
    before, after = STUB.read_text(encoding="utf-8").split("def softmax(", 1)
    return f"{before}def softmax({after.replace('raise NotImplementedError', lines, 1)}"


@pytest.mark.slow
def test_the_whole_definition_is_shown_and_not_the_stubs_own_docstring(explained):
    steps = "\n    ".join(f"x = x + {number}  # step {number}" for number in range(30))
    own = 'def softmax(x, dim=-1):\n        """My own words."""\n        return x'
    shown, sent = explained(body(f"{steps}\n    {own.replace('softmax', 'inner')}\n    return x"))
    for text in (shown, sent):
        assert "def softmax(x" in text and "# step 0" in text and "# step 29" in text
        assert '"""My own words."""' in text, "what the learner wrote stays"
        assert "raise NotImplementedError" not in text
    written = next(d for d in docstrings_in(STUB) if "exponentials" in d.lower() or "dim" in d)
    assert written.splitlines()[0] not in sent


@pytest.mark.slow
def test_a_definition_without_end_is_cut(explained):
    _, sent = explained(body("return x\n" + "    pass\n" * 4000))
    assert len(sent) < 2 * LONGEST_CODE and "…" in sent


@pytest.mark.slow
def test_a_name_that_is_nearly_right_shows_its_code_and_says_so_once(explained):
    own = "def my_softmax(x, dim=-1):\n    return x.exp() / x.exp().sum(dim)\n"
    shown, sent = explained(own)
    assert shown.count("which has a similar name") == 1 and "Cases" not in shown
    assert "No known mistake" not in shown and "Exception" not in shown
    assert all("x.exp().sum(dim)" in text for text in (shown, sent))
    assert shown.count("✗") == 8, "every check, with its points"


@pytest.mark.parametrize(
    "text, name, sentence",
    [
        ("x = 1", "solution.py", "there is solution.py."),
        ("def softmax(x, dim=-1:\n    return x", f"{CH1}.py", "could not be loaded"),
        (STUB.read_text(encoding="utf-8"), f"{CH1}.py", "Not written yet."),
    ],
)
def test_what_no_case_says_more_about_is_said_once(explained, text, name, sentence):
    shown, _ = explained(text, name)
    assert shown.count(sentence) == 1
    assert "\nCases" not in shown and "\nStages" not in shown and "No known mistake" not in shown


@pytest.mark.parametrize(
    "near, title, line",
    [
        (
            [Near(("doubled",), 2, 3, ("b",))],
            "Nearest known mistakes",
            "2 of 3 cases  doubled; not on b",
        ),
        ([], "No known mistake is similar", ""),
    ],
)
def test_mistakes_with_almost_the_same_results_are_listed(monkeypatch, near, title, line):
    monkeypatch.setattr("tensorgrade.instructor.explain.nearly", lambda *_: near)
    attempt = SimpleNamespace(fingerprints=None, own=SimpleNamespace(signatures={}))
    part = SimpleNamespace(name="softmax", claimed=[], attempt=attempt)
    console = Console(file=io.StringIO(), width=200, highlight=False, color_system=None)
    print_nearest(console, SimpleNamespace(part=part))
    shown = console.file.getvalue().strip().splitlines()
    assert (shown[0], shown[-1].strip()) == (title, line or title)


@pytest.mark.slow
def test_where_all_checks_find_one_thing_in_what_ran_the_cases_are_shown(explained):
    """Values are shown even if only values are wrong, because instructors look for them."""
    shown, _ = explained(body("return torch.full_like(x, 3.0, requires_grad=True) * x.mean()"))
    assert "\nCases\n" in shown and "yours" in shown


@pytest.mark.slow
def test_where_checks_find_different_things_all_is_said(explained):
    shown, _ = explained(body("return x * 2"))
    assert "\nChecks\n" in shown and "\nCases\n" in shown and "not the right values" in shown


@pytest.mark.slow
def test_the_rule_behind_the_points_of_a_known_mistake_is_said(explained):
    steps = "e = torch.exp(x - x.amax(dim, keepdim=True))\n    return e / e.sum()"
    shown, _ = explained(body(steps))
    why = "graders/checks.py sets the share of all_entries_share_one_sum to 40%: −4 of 10 points."
    assert why in shown


@pytest.mark.slow
def test_no_line_of_a_learners_obeys_a_terminal(explained):
    shown, sent = explained(body("y = x * 2  # \x1b[31m\n    return y  # \x1b[31m"))
    assert "\nStages\n" in shown and "\x1b" not in shown + sent


@pytest.mark.slow
def test_a_reply_shows_the_deadline_and_the_team(grader, monkeypatch, tmp_path):
    rule = Lateness({CH1: "2027-01-15 07:00 UTC"}, zone="Europe/Berlin")
    course = replace(grader.maker.course, lateness=rule)
    monkeypatch.setattr(grader.maker, "course", course)
    put(tmp_path / "in", "ann", CH1, 1.0, 1_800_000_000)
    (tmp_path / "in" / "ben").mkdir()
    (tmp_path / "in" / "teams.csv").write_text("student,team\nann,falcons\nben,falcons\n")
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
    sent = for_learner(explain(grader, "ben", "softmax", tmp_path / "in", tmp_path / "out"))
    when = "2027-01-15 09:00:00 Europe/Berlin; deadline: 2027-01-15 08:00 Europe/Berlin"
    assert f"Submitted as team falcons: {when}" in sent


def test_an_instructor_is_told_which_bug_is_to_be_found_and_no_learner_is(explained, project):
    bug = "bug_simplified_self_attention"
    told, mistake = bug_told(bug), drawn(project, CH1, bug)
    assert told == f"learners were given {mistake.name}: {mistake.message}"
    assert bug_told("softmax") == "", "there is none in it"
    shown, sent = explained(body("return x"), given=told)
    assert told in shown and mistake.name not in sent


@pytest.mark.slow
def test_what_may_be_sent_has_the_points_that_count_and_every_step_to_them(
    grader, monkeypatch, tmp_path
):
    """With a late penalty, with an override, and in the learner's page and comment the same."""
    rule = Lateness({CH1: "2027-01-15 07:00 UTC"}, share_a_day=0.2)
    path = put(tmp_path / "in", "ann", CH1, 1.0, 1_800_000_000)
    out = tmp_path / "out"
    grade_by_content(monkeypatch, tmp_path / "in", out, rule)
    path.write_text((ROOT / "solutions" / f"{CH1}.py").read_text("utf-8"), encoding="utf-8")
    os.utime(path, (1_800_000_000,) * 2)
    steps = "Graded: 10 of 10 points. 1 hour late: 2 points less. What counts: 8 of 10 points."

    def told() -> str:
        return for_learner(explain(grader, "ann", "softmax", tmp_path / "in", out))

    def everywhere() -> list[str]:
        export(out, grader.maker.course, "html", "plain", Roster())
        (file,), _ = export(out, grader.maker.course, "csv", "moodle", Roster())
        page = (out / "export" / "pages" / "ann.html").read_text("utf-8")
        return [" ".join(text.split()) for text in (told(), page, file.read_text("utf-8-sig"))]

    assert told().startswith("softmax: 8 of 10 points\n")
    assert all(steps in text for text in everywhere())
    (out / "overrides.csv").write_text("student,exercise,points,reason\nann,softmax,9,ill\n")
    put(tmp_path / "in", "ann", CH1, 1.0, 1_800_000_000)
    grade_by_content(monkeypatch, tmp_path / "in", out, rule)
    path.write_text((ROOT / "solutions" / f"{CH1}.py").read_text("utf-8"), encoding="utf-8")
    assert "points (an override)." in told() and "8 → 9" in told()
    steps = "Graded: 10 of 10 points. Your instructor gave 9 points: ill. What counts: 9 of 10"
    assert all(steps in text for text in everywhere())


def test_a_mistyped_out_is_refused(tmp_path):
    given = ("--submitted", str(tmp_path), "--out", str(tmp_path / "ot"), "--reply")
    said = CliRunner().invoke(app, ["explain", "ann", "softmax", *given])
    assert isinstance(said.exception, CourseError) and "ot holds no results" in str(said.exception)


@pytest.mark.slow
def test_a_reply_speaks_of_the_file_that_counts(grader, monkeypatch, tmp_path):
    """The best file counts, and the learner's newest one is another."""
    out, rule = tmp_path / "out", Lateness(attempts="best")
    put(tmp_path / "in", "ann", CH1, 1.0, 1_800_000_000)
    grade_by_content(monkeypatch, tmp_path / "in", out, rule)
    put(tmp_path / "in", "ann", CH1, 0.5, 1_800_000_100)
    grade_by_content(monkeypatch, tmp_path / "in", out, rule)
    explanation = explain(grader, "ann", "softmax", tmp_path / "in", out)
    sent, row = for_learner(explanation), explanation.recorded
    assert sent.startswith("softmax: 10 of 10 points\n") and ANOTHER_COUNTS in sent
    assert row["message"] in sent and explanation.verdict.message not in sent
    assert "another file of ann counts" in differs_from_record(explanation)
