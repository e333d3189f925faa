"""`explain` and `log`: the learner's own code in full, and every step to the points."""

import os
import re
import shutil

import pytest

from ..support import ROOT
from . import runs
from .runs import CH1, MOST, NAMES, WHEN, WarmGrader, squeezed

pytestmark = pytest.mark.slow
STUB = (ROOT / "exercises" / f"{CH1}.py").read_text(encoding="utf-8")
SOLUTION = (ROOT / "solutions" / f"{CH1}.py").read_text(encoding="utf-8")
LATE = {"deadlines": {CH1: "2027-01-15 07:00 UTC"}, "share_a_day": 0.2, "zone": "Europe/Berlin"}


@pytest.fixture
def warm(monkeypatch):
    """Explain with one grader for all tests of this file."""
    monkeypatch.setattr(runs.grading, "Grader", WarmGrader.get)


@pytest.fixture(scope="module", autouse=True)
def end():
    """End the warm grader."""
    yield
    if WarmGrader.made:
        super(WarmGrader, WarmGrader.made).close()
        WarmGrader.made = None


@pytest.fixture
def explained(term, warm):
    """Return what `explain` shows of a learner's exercise, and the reply for the learner."""

    def made(text: str, name: str = f"{CH1}.py", exercise: str = "softmax") -> tuple[str, str]:
        folder = term.submitted / "ann" / CH1
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
        return term.explain("ann", exercise), term.explain("ann", exercise, "--reply")

    return made


def body(lines: str) -> str:
    """Return the stub with a body for softmax after its docstring."""
    before, after = STUB.split("def softmax(", 1)
    return f"{before}def softmax({after.replace('raise NotImplementedError', lines, 1)}"


def test_the_whole_definition_is_shown_and_an_endless_one_is_cut(explained):
    steps = "\n    ".join(f"x = x + {number}  # step {number}" for number in range(30))
    for text in explained(body(f"{steps}\n    return x")):
        assert "def softmax(x" in text and "# step 0" in text and "# step 29" in text
        assert "overflow" not in text.partition("def softmax")[2].partition("# step")[0]
    lines = "y = x * 2  # \x1b[31m\n    print('\\x1b[31m')\n" + "    pass\n" * 4000
    shown, sent = explained(body(f"{lines}    return y"))
    assert len(sent) < 30_000 and "\x1b" not in shown + sent


def test_another_definition_is_mentioned_once(explained):
    shown, _ = explained("def my_softmax(x, dim=-1):\n    return x.exp() / x.exp().sum(dim)\n")
    assert shown.count("it defines `my_softmax`") == 1 and "called" not in shown
    assert shown.count("✗") == 8, "every check, with its points"
    for text, name, sentence in (
        ("x = 1", "solution.py", "there is solution.py."),
        ("def softmax(x, dim=-1:\n    return x", f"{CH1}.py", "could not be loaded"),
    ):
        shown, _ = explained(text, name)
        assert shown.count(sentence) == 1 and "called  " not in shown


def test_checks_show_values_and_the_line(explained):
    shown, _ = explained(body("return x * 2"))
    assert "\nChecks\n" in shown and "not the right values" in shown
    assert "expected (" in shown and "yours (" in shown and "called    softmax(" in shown
    (line,) = re.findall(r"→ +\d+ +(.*)", shown.partition("Checks")[0])
    assert line == "return x * 2"


def test_the_bug_to_find_is_named_to_instructors_only(explained):
    shown, sent = explained(STUB, exercise="bug_simplified_self_attention")
    assert "learners were given" in shown and "learners were given" not in sent


def test_a_reply_has_the_points_that_count_and_every_step_to_them(term, warm):
    """With a late penalty, an override and a team; the same on the page and in Moodle."""
    term.settings(**LATE)
    (term.submitted / "ben").mkdir()
    term.write("teams.csv", "student,team", "ann,falcons", "ben,falcons")

    def graded() -> list[str]:
        """Grade as if it were all right, and return the three texts for the learner."""
        path = term.put("ann", 1.0)
        term.grade()
        path.write_text(SOLUTION, encoding="utf-8")
        os.utime(path, (WHEN,) * 2)
        sent = term.explain("ben", "softmax", "--out", term.out, "--reply")
        page = squeezed(term.exported("pages/ben.html", "--format", "pages"))
        told = ("--format", "moodle", "--roster", term.write("roster.csv", *WORKSHEET))
        return [" ".join(sent.split()), page, term.exported(f"moodle-{CH1}.csv", *told)]

    steps = "Graded: 10 of 10 points. 1 hour late: 2 points less. What counts: 8 of 10 points."
    texts = graded()
    assert all(steps in " ".join(text.split()) for text in texts)
    assert ",80.0," in texts[2]
    when = "2027-01-15 09:00:00 Europe/Berlin; deadline: 2027-01-15 08:00 Europe/Berlin"
    assert f"Submitted as team falcons: {when}" in texts[0]
    term.write("overrides.csv", "student,exercise,points,reason", "ben,softmax,9,ill")
    steps = "Graded: 10 of 10 points. Your instructor gave 9 points: ill. What counts: 9 of 10"
    assert all(steps in " ".join(text.split()) for text in graded())


WORKSHEET = (
    "Identifier,Username,Grade,Maximum grade,Feedback comments",
    "Participant 1,ben,,100.00,",
)


def test_a_reply_is_about_the_file_that_counts(term, warm):
    """The best file counts, and the learner's newest one is another."""
    term.settings(attempts="best")
    for share in (1.0, 0.5):
        term.put("ann", share, WHEN + int(100 / share))
        term.grade()
    sent = term.explain("ann", "softmax", "--out", term.out, "--reply")
    assert "softmax: 10 of 10 points\n" in sent and "another file of ann counts" in sent
    told = ("--submitted", term.submitted, "--out", term.folder / "ot", "--reply")
    done = term.run("explain", "ann", "softmax", *told)
    assert done.returncode == 2 and "ot holds no results" in done.stderr


def test_a_learner_without_a_file_is_told_that_nothing_arrived(term, warm):
    term.settings(**LATE)
    term.put("ann", 1.0)
    (term.submitted / "ben").mkdir()
    sent = term.explain("ben", "softmax", "--reply")
    assert f"ben: no file arrived for {runs.CHAPTER.title} ({CH1})." in sent
    assert "The deadline: 2027-01-15 08:00 Europe/Berlin." in sent and "points" not in sent
    term.grade()
    shutil.rmtree(term.submitted / "ann" / CH1)
    (term.submitted / "ben" / CH1).mkdir()
    sent = term.explain("ann", "softmax", "--reply", "--out", term.out)
    assert "no file arrived" in sent and "An earlier file counts" in sent and "8 of 10" in sent
    done = term.run("explain", "zoe", "softmax", "--submitted", term.submitted)
    assert done.returncode == 2 and f"no folder zoe/{CH1}" in done.stderr


def test_the_log_has_every_attempt_every_change_and_what_counts(term):
    for share in (1.0, 0.5):
        term.put("ada", share)
        term.grade()
    first, second, *changes, _, standing = term.log("ada")
    assert f"graded, {MOST} of {MOST} points found; submitted 2027-01-15" in first
    assert f"graded, {MOST / 2:g} of {MOST} points found" in second
    assert len(changes) == len(NAMES) and all("(another file)" in line for line in changes)
    assert standing == f"{CH1}: {MOST / 2:g} of {MOST} points count"
    term.settings(**LATE)
    term.grade()
    assert "1 hour late" in term.log("ada")[-1] and "points less" in term.log("ada")[-1]
