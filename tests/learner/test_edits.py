"""Small edits of a definition: each parses, and differs from the others."""

import ast

from tensorgrade.learner.edits import edits

TEXT = '''
import torch

ö = "not touched"

@torch.no_grad()

def scale(x, size):
    """Not touched either: 2."""
    shrunk = x / size
    x.clamp_(0)
    return shrunk.transpose(0, 1)
'''


def test_every_edit_parses_differs_and_leaves_the_rest_of_the_file():
    made = edits(TEXT, "scale")
    texts = {edit.text for edit in made}
    assert len(made) > 40 and len(texts) == len(made) and TEXT not in texts
    for edit in made:
        (alone,) = ast.parse(edit.code).body
        assert ast.dump(alone) == ast.dump(ast.parse(edit.text).body[-1])
        assert 'ö = "not touched"' in edit.text and "either: 2" in edit.text
    for old, new in (
        ("x / size", "((x) * (size))"),
        ("    x.clamp_(0)", "    pass"),
        ("transpose(0, 1)", "transpose(0, 2)"),
        ("x / size", "x / (size) ** 0.5"),
    ):
        assert TEXT.replace(old, new) in texts, new
    assert edits("def scale(:", "scale") == edits(TEXT, "other") == []
