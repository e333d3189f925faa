"""Notes and summaries as learners read them: one idea at a time, in plain text and in colours."""

import re
from dataclasses import replace

import pytest
import torch

from tensorgrade.judging.diagnosis import (
    OF_GRADIENT,
    Diagnosis,
    Earlier,
    Finding,
    Kind,
    Observations,
)
from tensorgrade.judging.where import Where
from tensorgrade.views.note import Note

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


ALONE = Diagnosis(
    Kind.VALUES,
    "the result does not have the right values",
    id="not_the_values",
    observe=lambda: Observations((), how_many="all entries differ"),
)
KNOWN = replace(ALONE, observe=lambda: Observations(("it is `x`",)))
GRADIENT = replace(KNOWN, id=OF_GRADIENT)
RAISED = Diagnosis(Kind.ERROR, "RuntimeError: sizes")
CHANGED = Diagnosis(Kind.FACT, "it changes the input `x` in place")
UNREACHED = Diagnosis(Kind.UNREACHED, "not tried")
# Of checks that fail, in their author's order, the one that is reported.
FAILED = [
    ([KNOWN, RAISED], 0),
    ([ALONE, RAISED], 1),  # what says nothing waits
    ([ALONE, UNREACHED], 0),
    ([ALONE, GRADIENT], 0),  # the code does not show it
    ([GRADIENT, CHANGED], 1),
]


def test_the_first_check_that_tells_what_is_wrong_speaks():
    for diagnoses, first in FAILED:
        keys = [Finding("", one).telling for one in diagnoses]
        assert keys.index(min(keys)) == first, diagnoses
    # If a mistake is known, the first check speaks that came to an answer.
    named = [Finding("", one, {"turned": "It is."}).telling for one in (ALONE, UNREACHED, RAISED)]
    assert named[0] == named[2] < named[1]


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
