"""Small edits of a definition: each is a whole text that parses; the pointed line's come first."""

import ast

from tensorgrade.runner.edits import edits

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


def test_every_edit_parses_and_differs():
    made = edits(TEXT, "scale", 8)
    assert len(made) > 40 and len({edit.text for edit in made}) == len(made)
    lines = [min(2, abs(edit.line - 8)) for edit in made]
    assert lines == sorted(lines) and {0, 1, 2} == set(lines), "the pointed line's come first"
    for edit in made:
        ast.parse(edit.text)
        assert edit.text != TEXT and 'ö = "not touched"' in edit.text and "either: 2" in edit.text


def test_the_edited_definition_alone_is_what_is_in_the_file():
    text = TEXT.replace("def scale", "@torch.no_grad()\n\ndef scale") + "\nafter = scale\n"
    for edit in edits(text, "scale", 10):
        (alone,) = ast.parse(edit.definition).body
        whole = ast.parse(edit.text).body
        assert alone.name == "scale" and len(whole) == 4
        assert written(alone) == written(whole[2])


def test_the_edits_that_fix_the_usual_slips_are_there():
    texts = {edit.text for edit in edits(TEXT, "scale", 0)}
    for old, new in (
        ("x / size", "((x) * (size))"),
        ("    x.clamp_(0)", "    pass"),
        ("transpose(0, 1)", "transpose(0, 2)"),
        ("x / size", "x / (size) ** 0.5"),
    ):
        assert TEXT.replace(old, new) in texts, new


def test_single_edits_can_be_asked_for():
    assert edits(TEXT, "scale", 8, 3, 2) == edits(TEXT, "scale", 8)[3:5]


def test_what_is_not_in_the_text_is_not_edited():
    assert edits("def scale(:", "scale", 0) == edits(TEXT, "other", 0) == []
