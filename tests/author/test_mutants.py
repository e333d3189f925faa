"""Generated mistakes: each rule makes what it says, each mutant knows its line, and the oracle
tells a mistake from a right answer in other words."""

import ast
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from tensorgrade.author.proofs.kills import (
    GENERIC,
    Bench,
    Kills,
    Trial,
    alike,
    figures_of,
    kills_of,
    kind_of_message,
    measure_exercises,
    report,
    same,
    uses_by_chance,
)
from tensorgrade.author.proofs.made_attempts import Form, right_forms
from tensorgrade.author.proofs.mutants import OPERATORS, Mutant, compiles, mutants, sample
from tensorgrade.author.recording.references import observe
from tensorgrade.course import CourseError
from tensorgrade.exchange.observation import CaughtError, Observation

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


def test_every_rule_is_tried_here():
    assert set(EXPECTED) == {*OPERATORS, "statements_swapped"}
    assert {mutant.operator for mutant in ALL} == set(EXPECTED)


@pytest.mark.parametrize("operator", EXPECTED)
def test_a_rule_makes_what_it_says(operator):
    made = [ast.unparse(ast.parse(m.source)) for m in ALL if m.operator == operator and compiles(m)]
    assert made
    if operator == "statements":
        assert any("pass" in text and text.count("super") == 0 for text in made)
    else:
        assert any(EXPECTED[operator] in text for text in made), made


def test_each_differs_from_all_others_and_from_the_text_on_its_own_lines():
    assert len({m.source for m in ALL} | {TEXT}) == len(ALL) + 1
    for mutant in ALL:
        first, last = mutant.lines
        old, new = TEXT.splitlines(), mutant.source.splitlines()
        assert old[: first - 1] == new[: first - 1]
        assert old[last:] == new[len(new) - len(old) + last :]


def test_nothing_is_edited_that_no_code_uses():
    for mutant in ALL:
        assert "A docstring with the number 5." in mutant.source
        assert "is less than 1" in mutant.source or mutant.operator == "statements"
        assert "def other(x):\n    return x + 1" in mutant.source
        assert "size: int" in mutant.source


def test_of_an_edit_only_its_own_lines_are_mutated():
    edited = replace(FORM, source=TEXT.replace("/ 2", "* 0.5"), edited=TEXT)
    lines = {edited.source.splitlines()[m.lines[0] - 1] for m in mutants(edited, set())}
    assert lines == {"        y = y.masked_fill(hidden, -1.0) * 0.5"}


def test_a_seed_draws_the_same_and_every_rule_in_its_turn():
    drawn = sample(ALL, 21, seed=3)
    assert drawn == sample(ALL, 21, seed=3) != sample(ALL, 21, seed=4)
    assert len({mutant.operator for mutant in drawn}) == 21
    assert all(map(compiles, drawn))
    assert len(sample(ALL, 10**6, seed=3)) == sum(map(compiles, ALL))


def test_two_tensors_are_alike_but_for_rounding():
    one = torch.tensor([1.0, float("nan"), -torch.inf], dtype=torch.float64)
    assert alike(one, one * (1 + 1e-9)) and not alike(one, one * (1 + 1e-4))
    assert not alike(one, one.float()) and not alike(one, one[:2])


def answered(json=None, **error) -> Observation:
    """An answer that is no tensor, or an error."""
    kind = type(json).__name__
    raised = CaughtError(**error) if error else None
    return Observation(values={"result": {"type": kind, "json": json}}, error=raised)


def test_two_refusals_are_alike_and_floats_but_for_rounding():
    refused = answered(type="ValueError", kinds=("ValueError",), verb="construct")
    other = answered(type="AssertionError", kinds=("AssertionError",), verb="construct")
    broken = answered(type="TypeError", kinds=("TypeError",), verb="construct")
    assert same(refused, other) and not same(refused, broken) and not same(refused, answered(1))
    assert same(answered([0.1, "a"]), answered([0.1 + 1e-12, "a"]))
    assert not same(answered(2), answered(2.0)) and not same(answered(2.0), answered(2.1))
    assert not same(answered([2.0]), answered([2.0, 2.0]))


@pytest.mark.slow
def test_every_exercise_says_what_a_legal_use_is(project):
    """The solution manages all of them: what is refused is refused on purpose."""
    for chapter in project.course.chapters:
        source = project.solution(chapter.name).read_text(encoding="utf-8")
        for exercise in chapter.exercises:
            uses = uses_by_chance(project, chapter.name, exercise.name)[:12]
            seen = observe(project, chapter.name, source, uses)
            assert len({repr(sizes_of(use)) for use in uses}) > 6, exercise.name
            assert all(o.error is None or o.error.is_refusal(o.error.verb) for o in seen), (
                exercise.name
            )
            assert not all(o.error for o in seen), exercise.name


def sizes_of(use) -> tuple:
    """All that two uses can differ in but their numbers."""
    return [t.shape for t in use.tensors.values()], use.steps


@pytest.fixture(scope="module")
def bench(project):
    made = Bench(project, "ch1_simplified_attention", "attention_scores")
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "new, equivalent, killed",
    [
        ("query @ inputs.T", True, False),
        ("inputs @ query * 1.0", True, False),
        ("inputs @ query * 1.01", False, True),
        ("inputs.detach() @ query", False, True),
        ("inputs.mul_(2) @ query / 2", False, True),
    ],
)
def test_the_oracle_tells_a_mistake_from_other_words(project, bench, new, equivalent, killed):
    folder = project.root / "tests"
    form = next(right_forms(project, "ch1_simplified_attention", "attention_scores", folder))
    source = form.source.replace("return inputs @ query", f"return {new}")
    assert source != form.source
    trial = bench.try_out(Mutant(form, "by hand", (1, 1), "", new, source))
    assert (trial.equivalent, trial.killed) == (equivalent, killed)


@pytest.mark.slow
def test_a_known_mistake_without_its_name_gets_another_message(project, bench):
    known = [one for one in project.mistakes if "attention_scores" in one.edits]
    one = next(mistake for mistake in known if not mistake.same_as)
    trial = bench.try_unnamed(one)
    first, last = trial.mutant.lines
    (edit,) = one.edits["attention_scores"]
    assert edit[1].splitlines()[0].strip() in trial.mutant.source.splitlines()[first - 1]
    assert one.name not in trial.row["mistakes"] and trial.killed and last >= first
    named = bench.graded(bench.attempt(trial.mutant.source), trial.mutant, equivalent=False)
    assert one.name in named.row["mistakes"] and kind_of_message(named) == "named"


ROW = {"points": 0, "max_points": 5, "mistakes": [], "message": f"It has {GENERIC}."}


def trial(equivalent=False, **row) -> Trial:
    return Trial(replace(ALL[0], lines=(20, 21)), equivalent, ROW | {"exercise": "Module"} | row)


@pytest.mark.parametrize(
    "row, kind",
    [
        ({}, "nothing"),
        ({"message": "It has another shape."}, "observed"),
        ({"mistakes": ["a"]}, "named"),
        ({"sure": "placed", "line": 19}, "placed"),
        ({"sure": "placed", "line": 22}, "placed"),
        ({"sure": "placed", "line": 23}, "false"),
        ({"sure": "placed", "line": None}, "false"),
        ({"sure": "repaired", "line": 1}, "repaired"),
        ({"sure": "observed", "line": 3}, "nothing"),
    ],
)
def test_what_is_reported_is_judged_by_the_line_of_the_edit(row, kind):
    assert kind_of_message(trial(**row)) == kind
    where_python_raised = replace(trial(**row), raised=True)
    assert kind_of_message(where_python_raised) == ("raised" if kind == "false" else kind)


@pytest.mark.parametrize("besides, kind", [((18, 30), "wide"), ((22, 30), "false")])
def test_a_stretch_counts_as_one_where_the_edit_is_in_it(besides, kind):
    assert kind_of_message(replace(trial(sure="placed", line=30), besides=(besides,))) == kind
    assert kind_of_message(replace(trial(sure="placed", line=21), besides=(besides,))) == "placed"


def test_only_what_is_said_beside_it_tells_more_than_that_values_are_wrong():
    assert (
        kind_of_message(trial(message=f"It has {GENERIC}: every row sums to 3 instead of 1."))
        == "observed"
    )


def test_a_line_that_begins_the_statement_of_the_edit_is_its_line():
    source = "\n" * 9 + "x = [\n" + "\n" * 9 + "1,\n]\ny = 2"
    mutant = replace(ALL[0], lines=(20, 20), source=source)
    one = replace(trial(sure="placed", line=10), mutant=mutant)
    assert (
        kind_of_message(one) == "placed"
        and kind_of_message(replace(one, row=one.row | {"line": 12})) == "false"
    )


@pytest.mark.slow
def test_the_line_of_an_error_is_known_for_one(project, bench):
    folder = project.root / "tests"
    form = next(right_forms(project, "ch1_simplified_attention", "attention_scores", folder))
    for new, raised in (
        ("other = inputs.T\n    return other @ query", True),
        ("-inputs @ query", False),
    ):
        source = form.source.replace("return inputs @ query", new if raised else f"return {new}")
        found = bench.try_out(Mutant(form, "by hand", (1, 1), "", new, source))
        assert found.row["line"] and found.raised == raised, found


def test_a_mistake_that_keeps_all_points_survives_and_is_listed():
    kills = Kills("Module", 99, [trial(), trial(points=5), trial(equivalent=True, points=5)])
    assert figures_of(kills)[:6] == ("Module", 99, 3, 1, 1, "50.0 %")
    said = report([kills], sentences=1, seed=1)
    assert "survived: 1\n" in said and "drawn by chance, to be read: 1\n" in said
    assert "no random call" not in said
    unfair = Kills("Module", 99, [trial(equivalent=True)])
    assert "no random call distinguishes it from a right answer: 1\n" in report([unfair], 0, 1)


def test_a_name_that_is_no_exercise_is_reported(project):
    measured = partial(kills_of, right=str(project.root / "tests"), count=1, seed=1)
    with pytest.raises(CourseError, match="no_such_exercise"):
        measure_exercises(project, measured, ["no_such_exercise"])


def test_all_right_forms_are_found(project):
    folder: Path = project.root / "tests"
    forms = list(right_forms(project, "ch3_causal_attention", "CausalAttention", folder))
    assert len({form.name for form in forms}) == len(forms) > 15
    assert sum(bool(form.edited) for form in forms) > 10
