"""Small edits of a definition: each is a whole text that parses; the pointed line's come first."""

import ast
import tracemalloc

import pytest

from tensorgrade.runner.case_runner import CaseRunner
from tensorgrade.runner.edits import Edit, Idea, edits
from tensorgrade.runner.loading import load_module
from tensorgrade.runner.serve import edited

TEXT = '''
import torch

ö = "not touched"

def scale(x, size):
    """Not touched either: 2."""
    shrunk = x / size
    x.clamp_(0)
    return shrunk.transpose(0, 1)
'''


def written(node: ast.AST) -> str:
    """A tree with the positions of all its nodes."""
    return ast.dump(node, include_attributes=True)


def test_every_edit_parses_differs_and_quotes_the_text():
    made = edits(TEXT, "scale", 8)
    assert len(made) > 40 and len({edit.text for edit in made}) == len(made)
    for edit in made:
        ast.parse(edit.text)
        assert edit.text != TEXT and 'ö = "not touched"' in edit.text and "either: 2" in edit.text
        assert edit.quotes(TEXT) and isinstance(edit.idea, Idea), edit


def test_the_edited_definition_alone_is_what_is_in_the_file():
    text = TEXT.replace("def scale", "@torch.no_grad()\n\ndef scale") + "\nafter = scale\n"
    for edit in edits(text, "scale", 10):
        (alone,) = ast.parse(edit.definition).body
        whole = ast.parse(edit.text).body
        assert alone.name == "scale" and len(whole) == 4
        assert written(alone) == written(whole[2])


def test_edits_of_the_pointed_line_come_first():
    lines = [min(2, abs(edit.line - 8)) for edit in edits(TEXT, "scale", 8)]
    assert lines == sorted(lines) and {0, 1, 2} == set(lines)


def test_the_edits_that_fix_the_usual_slips_are_there():
    texts = {edit.text for edit in edits(TEXT, "scale", 0)}
    for old, new in (
        ("x / size", "((x) * (size))"),
        ("    x.clamp_(0)", "    x = x.clamp_(0)"),
        ("transpose(0, 1)", "transpose(0, 2)"),
        ("x / size", "x / (size) ** 0.5"),
    ):
        assert TEXT.replace(old, new) in texts, new


def peak(*which: int) -> int:
    """Bytes at most for some of the edits of a file that is mostly one long line."""
    text = f"{TEXT}\nlong = '{'—' * 400_000}'\n"
    tracemalloc.start()
    made = edits(text, "scale", 8, *which)
    assert all(edit.text.endswith("—'\n") for edit in made)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.slow
def test_of_a_large_file_only_the_edits_that_are_asked_for_are_written_out():
    assert edits(TEXT, "scale", 8, 3, 2) == edits(TEXT, "scale", 8)[3:5]
    assert peak(0, 2) < 12e6 < 40e6 < peak()


def test_a_text_that_does_not_parse_or_lacks_the_name_has_no_edits():
    assert edits("def scale(:", "scale", 0) == []
    assert edits(TEXT, "other", 0) == []


def test_code_that_is_not_in_the_text_is_no_quote_of_it():
    assert Edit(1, Idea.NAME, "size", "").quotes(TEXT)
    assert not Edit(1, Idea.NAME, "0.1234", "").quotes(TEXT)


def test_a_misspelt_definition_that_fails_keeps_no_other_from_being_fixed():
    text = "def widht(x=1 / 0): return x\n\ndef half(x): return x * 2\n"
    misspelt = {"width": "widht"}
    module, problems = load_module("learner", text, "learner.py", misspelt=misspelt)
    assert [problem["names"] for problem in problems] == [["width"]]
    (mend,) = [edit for edit in edits(text, "half", 3) if "((x) / (2))" in edit.text]
    new = edited(CaseRunner(module, {}, misspelt=misspelt), mend, "learner.py")
    assert new is not None and new.half(6) == 3
