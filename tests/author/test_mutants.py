"""Generated mistakes: each rule makes what it says, and the oracle tells a mistake from a right
answer in other words."""

import ast

import pytest

from tensorgrade.author.proofs.kills import Bench, kind_of_message
from tensorgrade.author.proofs.made_attempts import Form, right_forms
from tensorgrade.author.proofs.mutants import OPERATORS, Mutant, compiles, mutants, sample

TEXT = '''import torch
from torch import nn


def helper(x, dim=-1):
    """A docstring with the number 5."""
    return x.softmax(dim)


def other(x):
    return x + 1


class Module(nn.Module):
    def __init__(self, size: int, bias: bool = False):
        super().__init__()
        self.layer = nn.Linear(size, size, bias=bias)
        self.more = nn.ModuleList([nn.Linear(size, 2) for _ in range(2)])
        self.register_buffer("mask", torch.ones(size, size).triu(1).bool())
        if size < 1:
            raise ValueError(f"{size} is less than 1")

    def forward(self, x):
        n = x.shape[1]
        hidden = ~self.mask[:n, :n]
        y = torch.einsum("bij,bjk->bik", x, x.mT)
        y += self.layer(x)
        y = y.masked_fill(hidden, -1.0) / 2
        return helper(y @ y.mT), other(y)
'''
FORM = Form("chapter", "Module", "a text", TEXT)
ALL = mutants(FORM, {"other"})
EXPECTED = {
    "numbers": "self.register_buffer('mask', torch.ones(size, size).triu(2).bool())",
    "arithmetic": "y -= self.layer(x)",
    "comparisons": "if size <= 1:",
    "operands": "return (helper(y.mT @ y), other(y))",
    "names": "y += self.layer(y)",
    "one_off": "self.layer = nn.Linear(size + 1, size, bias=bias)",
    "attributes": "hidden = ~self.layer[:n, :n]",
    "arguments": "y = y.masked_fill(-1.0, hidden) / 2",
    "booleans": "def __init__(self, size: int, bias: bool=True):",
    "unwrapped": "y += x",
    "signs": "hidden = self.mask[:n, :n]",
    "results": "return (helper(y @ y.mT).detach(), other(y))",
    "squeezed": "return (helper(y @ y.mT).squeeze(0), other(y))",
    "cuts": "hidden = ~self.mask[:n, :]",
    "in_place": "y.masked_fill(hidden, -1.0) / 2",
    "siblings": "return x.log_softmax(dim)",
    "registered": "setattr(self, 'mask', torch.ones(size, size).triu(1).bool())",
    "loops": "self.more = nn.ModuleList([nn.Linear(size, 2) for _ in list(range(2))[1:]])",
    "equations": "y = torch.einsum('bij,bjk->bki', x, x.mT)",
    "statements": "super().__init__()",
    "statements_swapped": "y += self.layer(x)\n        y = torch.einsum('bij,bjk->bik', x, x.mT)",
}


def test_a_rule_makes_what_it_says_on_the_lines_that_it_names():
    assert set(EXPECTED) == {*OPERATORS, "statements_swapped"} == {one.operator for one in ALL}
    for operator, expected in EXPECTED.items():
        made = [
            ast.unparse(ast.parse(m.source)) for m in ALL if m.operator == operator and compiles(m)
        ]
        if operator == "statements":
            assert any("pass" in text and text.count("super") == 0 for text in made)
        else:
            assert any(expected in text for text in made), made
    assert len({m.source for m in ALL} | {TEXT}) == len(ALL) + 1
    for mutant in ALL:
        first, last = mutant.lines
        old, new = TEXT.splitlines(), mutant.source.splitlines()
        assert old[: first - 1] == new[: first - 1]
        assert old[last:] == new[len(new) - len(old) + last :]
        assert "A docstring with the number 5." in mutant.source
        assert "def other(x):\n    return x + 1" in mutant.source
    drawn = sample(ALL, 21, seed=3)
    assert drawn == sample(ALL, 21, seed=3) != sample(ALL, 21, seed=4)
    assert len({mutant.operator for mutant in drawn}) == 21 and all(map(compiles, drawn))


# An answer in place of the solution's; whether it is right; whether it loses points.
ANSWERS = [
    ("query @ inputs.T", True, False),
    ("inputs @ query * 1.0", True, False),
    ("inputs @ query * 1.01", False, True),
    ("inputs.detach() @ query", False, True),
    ("inputs.mul_(2) @ query / 2", False, True),
]


@pytest.mark.slow
def test_the_oracle_tells_a_mistake_from_other_words(project):
    chapter, exercise = "ch1_simplified_attention", "attention_scores"
    bench = Bench(project, chapter, exercise)
    try:
        form = next(right_forms(project, chapter, exercise, project.root / "tests" / "answers"))
        for new, equivalent, killed in ANSWERS:
            source = form.source.replace("return inputs @ query", f"return {new}")
            trial = bench.try_out(Mutant(form, "by hand", (1, 1), "", new, source))
            assert (trial.equivalent, trial.killed) == (equivalent, killed), new
        known = [one for one in project.mistakes if exercise in one.edits and not one.same_as]
        trial = bench.try_unnamed(known[0])
        assert known[0].name not in trial.row["mistakes"] and trial.killed
        named = bench.graded(bench.attempt(trial.mutant.source), trial.mutant, equivalent=False)
        assert known[0].name in named.row["mistakes"] and kind_of_message(named) == "named"
    finally:
        bench.close()
