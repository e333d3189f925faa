"""Notes and summaries as learners read them: one idea at a time, in plain text and in colours."""

import re
import sys
from dataclasses import replace

import pytest
import torch

from tensorgrade.attempts.checking import sizes_in_trace
from tensorgrade.attempts.results import CheckResult, Rule
from tensorgrade.exchange.observation import Observation
from tensorgrade.judging.diagnosis import Diagnosis, Earlier, Finding, Kind
from tensorgrade.judging.where import Where
from tensorgrade.runner.tracing import Recorder
from tensorgrade.views.note import Note
from tensorgrade.views.points import Checked, how_earned
from tensorgrade.views.summary import checked_in

from .. import support
from ..support import run_pytest

CH4 = "ch4_multi_head_attention"


def with_mistakes(project, folder, chapter: str, exercise: str, *names: str):
    """Write a chapter's solution with these mistakes in an exercise; return its lines."""
    source = support.with_mistakes(project, chapter, exercise, *names)
    (folder / f"{chapter}.py").write_text(source, encoding="utf-8")
    return source.splitlines()


def run(chapter: str, folder) -> str:
    """Return the output of `pytest exercises/` on one chapter, with drawings."""
    options = ("-q", "--no-plain", f"exercises/{chapter}.py", "--attempt", folder)
    return run_pytest(*options, COLUMNS="80").stdout


@pytest.mark.slow
def test_of_two_mistakes_one_is_reported_at_a_time(project, tmp_path):
    names = ("scaled_by_sqrt_d_out", "dropout_left_out")
    with_mistakes(project, tmp_path, CH4, "MultiHeadAttention", *names)
    text = run(CH4, tmp_path)
    assert "The scale comes from all of d_out." in text and "There is a second mistake" in text
    assert "Nothing is dropped in training" not in text


@pytest.mark.slow
def test_an_error_comes_with_the_shapes_on_the_way_to_it(project, tmp_path):
    name = "heads_left_beside_features"
    lines = with_mistakes(project, tmp_path, CH4, "MultiHeadAttention", name)
    text = re.sub(" +\n", "\n", run(CH4, tmp_path))
    start = lines.index("class MultiHeadAttention(nn.Module):")

    def at(what: str) -> int:
        return next(n for n, row in enumerate(lines, 1) if what in row and n > start)

    assert re.search(rf"line {at('queries = self.W_query')}  queries +\(2, 6, 2\)\n", text), text
    scores = rf"line {at('attn_scores = queries')}  attn_scores +\(2, 6, 2, 2\)\n"
    assert re.search(scores, text)
    assert f"line {at('attn_scores.masked_fill')}  it ends here" in text
    assert "shapes in your code, in MultiHeadAttention.forward" in text


def test_shapes_are_traced_in_the_learners_file_only_and_forged_ones_are_left_out():
    code = compile("def f(x):\n    y = x.mT\n    return (y @ x).relu()\n", "learner.py", "exec")
    names = {}
    exec(code, names)
    before = sys.gettrace()
    facts = {}
    with Recorder("learner.py").during(facts, {}):
        names["f"](torch.zeros(2, 3))
        torch.nn.Linear(2, 2)(torch.zeros(1, 2))
    assert sys.gettrace() is before
    assert facts["trace"] == [[1, "x", [2, 3]], [2, "y", [3, 2]], [3, "return", [3, 3]]]
    shapes = [(1, "x", (2, 3)), (2, "y", (3, 2)), (3, "return", (3, 3))]
    assert sizes_in_trace(Observation(facts={"result": facts, "load": {}})) == shapes
    for forged in ("long", ["x"], [[1, 2, 3]], [[1, "y", ["2"]]], [[None, "z", [1]]]):
        assert sizes_in_trace(Observation(facts={"result": {"trace": forged}})) == []


def finding_of(**details) -> Finding:
    problem = "the values are wrong"
    return Finding("Values.", Diagnosis(Kind.VALUES, problem, **details))


def note_of(**details) -> str:
    """The note on a terminal without colours."""
    note = Note(finding_of(**details))
    return "\n".join(line.plain for line in note.lines(80, colour=False))


def values(actual, expected) -> dict:
    return {"actual": actual, "expected": expected, "differs": actual != expected}


def test_a_plain_fault_has_its_own_line_and_no_other_place():
    faulty = replace(
        finding_of(**values(torch.ones(2), torch.zeros(2))),
        find_where=lambda: Where(7, "Your values become wrong on line 7."),
        fact="the `return` on line 9 is inside a loop",
        fact_line=9,
        line=5,
    )
    note = Note(faulty, "ch1.py", 3)
    assert note.where == "ch1.py:9" and "become wrong" not in str(note)
    assert Note(replace(faulty, fact_line=None), "ch1.py", 3).where == "ch1.py:7"


def test_a_note_shows_the_part_that_differs_with_its_index_and_as_many_digits_as_differ():
    expected = torch.zeros(3, 2, 20, 4)
    actual = expected.clone()
    actual[1, 1, 17, 2] = 5.0
    text = note_of(**values(actual, expected))
    assert "[1, 1, 12:20, 0:4] of each; ≠ differs" in text and "5.00≠" in text
    for actual, expected, shown in (
        (torch.tensor(7.0), torch.tensor(3.0), "7.00≠"),
        (torch.tensor([torch.nan]), torch.tensor([1.0]), "nan≠"),
        (torch.tensor([True]), torch.tensor([False]), "T≠"),
        (torch.zeros(0, 3), torch.zeros(0, 3), "(0, 3)"),
        (torch.tensor([0.3334, 0.5]), torch.tensor([0.3333, 0.5]), ".3334≠"),
        (torch.ones(2).double(), torch.zeros(2), "yours (2,), float64"),
        (torch.ones(2), torch.zeros(2), "yours (2,)"),
    ):
        text = note_of(**values(actual, expected))
        assert shown in text, text
        assert ("float32" in text) == (actual.dtype == torch.float64)
    other = note_of(actual=torch.zeros(3), expected=torch.zeros(2, 2))
    assert "expected  (2, 2)\nyours     (3,)\n" in other and "░" not in other


DRAWN = set("░▒▓█✓✗○≠│─")


def test_a_plain_note_has_sentences_no_drawings_and_no_hidden_values():
    expected = torch.zeros(3, 3)
    text = str(Note(finding_of(**values(expected + 1, expected)), "exercises/ch1.py", 12))
    assert text.splitlines()[:4] == [
        "The values are wrong.",
        "exercises/ch1.py:12",
        "",
        "At [0, 0]: expected 0, yours 1.",
    ]
    assert "5 more of 9 entries differ." in text and not DRAWN & set(text)
    hidden = Diagnosis(Kind.VALUES, "it differs", actual=torch.full((2, 2), 0.125))
    text = str(Note(Finding("Values.", hidden)))
    assert "It differs." in text and ".125" not in text
    earlier = Earlier("halves")
    said = " ".join(str(Note(Finding("", hidden, {"no_sum": "No."}, earlier=earlier))).split())
    word = "It calls your own `halves`, which is wrong: fix that first."
    assert said == f"No. - {word} problem it differs"


def test_a_place_names_the_last_definition_and_the_line_to_write(project, tmp_path, monkeypatch):
    chapter = project.course.chapters[0]
    name, path = chapter.exercises[0].name, tmp_path / f"{chapter.name}.py"

    def place(text: str) -> tuple[str, int]:
        path.write_text(text)
        checked = checked_in(tmp_path, project.course, name, [])
        return checked.place, checked.line_to_edit

    assert place("x = 1\n") == (str(path), 1)
    monkeypatch.chdir(tmp_path)  # a terminal in this folder opens the short path on a click
    assert place(f"def {name}(): pass\n\ndef {name}(): pass\n") == (f"{path.name}:3", 3)
    assert place(f"\ndef {name}():\n    raise NotImplementedError") == (f"{path.name}:2", 3)


def test_the_line_on_points_says_how_they_came_about(project):
    for rule, words in (
        (None, ""),
        (Rule.SIZES_OF_ONE, "; dimensions of size 1 lost or added: −1"),
        (Rule.FORBIDDEN, "; a forbidden call: −1"),
        (Rule.EARLIER, "; only an earlier exercise is wrong: −1"),
        (Rule.REPAIR, "; checks that the given code passes earn nothing: −1"),
        (Rule.MISTAKE, "; known mistake: −1"),
    ):
        checks = [CheckResult(2.0, right, earned_points=1.5, rule=rule) for right in (True, False)]
        assert how_earned(checks, 4.0) == f"1 of 2 checks passed{words}"
    exercise = project.course.chapters[0].exercises[0]
    half = exercise.points / 2
    checks = [CheckResult(half, True), CheckResult(half, False)]
    told = Checked(exercise, checks)
    assert told.sums == f"{half:g} of {exercise.points:g} points"
    assert told.came_about == "1 of 2 checks passed"
