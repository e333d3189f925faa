"""The first value of a wrong answer that differs from right ones, and its message."""

from dataclasses import replace

import pytest
import torch

from tensorgrade.attempts.in_process import InProcess
from tensorgrade.author.recording.casebook import recorded_cases
from tensorgrade.author.recording.references import observe, traces_of
from tensorgrade.exchange.observation import Observation
from tensorgrade.exchange.references import (
    References,
    Seen,
    load_references,
    save_references,
)
from tensorgrade.exchange.traces import Stage, Trace, read_trace, with_stages
from tensorgrade.judging.divergence import Divergence, divergence_sentence
from tensorgrade.judging.find_divergence import find_divergence
from tensorgrade.judging.right_values import Rows, close, right_values
from tensorgrade.judging.wrong_value import hides, instead, without_factor
from tensorgrade.messages.divergence import (
    ComesTooEarly,
    DefaultOnLine,
    HidesNothing,
    HoldsOtherValue,
    KeepsOrder,
    LeftAsMade,
    MakesPart,
    MakesPartOfShape,
    NothingIsDone,
    NothingIsDoneWith,
    NotLowEnough,
    ReturnsEarlierValue,
    ShouldComeBack,
)
from tensorgrade.messages.message import render, sentence
from tensorgrade.messages.remarks import (
    Compared,
    HoldsInfinities,
    LooksLike,
    NumbersInOtherPlaces,
    SignTurned,
    SoftmaxInputTimesFactor,
    TimesFactor,
)

RIGHT = """
import torch

def scaled_dot_product_attention(queries, keys, values):
    d_k = keys.shape[-1]
    turned = keys.transpose(-2, -1)
    scores = queries @ turned
    scaled = scores / d_k ** 0.5
    weights = torch.softmax(scaled, dim=-1)
    return weights @ values
"""
# Old code, new code, its line, the lost stage, and a word of the description.
WRONG = [
    ("/ d_k ** 0.5", "/ d_k", 8, "scaled scores", "times a constant"),
    ("/ d_k ** 0.5", "* d_k ** 0.5", 8, "scaled scores", "times a constant"),
    ("softmax(scaled, dim=-1)", "softmax(scaled, dim=-2)", 9, "attention weights", "columns"),
    ("queries @ turned", "keys @ queries.transpose(-2, -1)", 7, "attention scores", "swapped"),
    ("weights @ values", "weights @ keys", 10, "", ""),
    ("return weights @ values", "return weights", 10, "attention weights", "it returns"),
    ("weights @ values", "values @ weights", 10, "", ""),
]
# Right ones that no form of ours takes: sums, in place, scaled by roots, filled row by row.
OTHERWISE = [
    [("scores / d_k ** 0.5", "scores * d_k ** -0.5")],
    [("queries @ turned", "(queries.unsqueeze(-2) * keys.unsqueeze(-3)).sum(-1)")],
    [
        ("queries @ turned", "(queries / d_k ** 0.25) @ (turned / d_k ** 0.25)"),
        ("/ d_k ** 0.5", "/ 1"),
    ],
    [("scores / d_k ** 0.5", "scores.div_(d_k ** 0.5)")],
    [("torch.softmax(scaled, dim=-1)", "scaled.exp() / scaled.exp().sum(-1).unsqueeze(-1)")],
]
NAME, CHAPTER = "scaled_dot_product_attention", "ch2_self_attention"


@pytest.fixture(scope="module")
def recorded(project):
    """A case of learners', what is expected, and the traces of right answers through it."""
    return recorded_on(project, CHAPTER, NAME, "cross")


def recorded_on(project, chapter, exercise, word):
    """The same for the first case of an exercise with a word in its name."""
    cases = [c for c in recorded_cases(project, chapter, exercise, False) if word in c.name][:1]
    source = project.solution(chapter).read_text(encoding="utf-8")
    traces = traces_of(project, chapter, exercise, source, cases)
    (expected,) = observe(project, chapter, source, cases)
    return cases[0], expected, traces[cases[0].id]


def parted(project, recorded, text, chapter=CHAPTER, own=None):
    """Return the first difference of a text from right answers. own: lines to blame, or all."""
    case, expected, traces = recorded
    backend = InProcess(project.submission(chapter, text))
    backend.load()
    (observed,) = backend.run([with_stages(case)])
    trace = read_trace(observed)
    trace = trace if own is None else trace.attributed_to(lambda line: line in own)
    return find_divergence(Seen(case, expected, observed), trace, traces)


@pytest.mark.parametrize("old, new, line, stage, word", WRONG)
def test_a_wrong_answer_is_placed_on_its_line(project, recorded, old, new, line, stage, word):
    assert RIGHT.count(old) == 1
    found = parted(project, recorded, RIGHT.replace(old, new))
    assert found.line == line
    assert stage in found.stage and word in render(found.what), found


@pytest.mark.parametrize("edits", OTHERWISE)
def test_a_right_answer_parts_nowhere(project, recorded, edits):
    text = RIGHT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    assert parted(project, recorded, text) is None


@pytest.mark.parametrize("edits", OTHERWISE)
def test_an_unusual_way_before_the_mistake_is_not_blamed(project, recorded, edits):
    text = RIGHT.replace("return weights @ values", "return weights @ (values + keys[..., :1])")
    for old, new in edits:
        text = text.replace(old, new)
    assert parted(project, recorded, text).line == 10


NORM = """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        normed = (x - mean) / torch.sqrt(variance + self.eps)
        return self.scale * normed + self.shift
"""


@pytest.mark.parametrize(
    "old, new, line, stage",
    [
        ("x.mean(-1, keepdim=True)", "x.mean()", 12, "mean"),
        ("x.var(-1, keepdim=True, unbiased=False)", "x.var()", 13, "variance"),
        ("(x - mean) / torch", "(x + mean) / torch", 14, "normalised rows"),
    ],
)
def test_what_has_a_name_of_its_own_is_missed_by_it(project, old, new, line, stage):
    case = recorded_on(project, "ch6_small_gpt", "LayerNorm", "two rows")
    assert parted(project, case, NORM, "ch6_small_gpt") is None
    found = parted(project, case, NORM.replace(old, new), "ch6_small_gpt")
    assert (found.line, found.stage) == (line, stage)


@pytest.mark.slow
def test_a_line_that_turns_a_right_value_wrongly_is_not_called_right(project):
    """Sizes of heads and features exchanged: what the line comes to is no right answer's value."""
    solution = project.solution("ch4_multi_head_attention").read_text(encoding="utf-8")
    case = recorded_on(project, "ch4_multi_head_attention", "MultiHeadAttention", "one head")
    wrong = solution.replace("self.num_heads, self.head_dim)", "self.head_dim, self.num_heads)")
    found = parted(project, case, wrong, "ch4_multi_head_attention")
    first = wrong[: wrong.index("queries = queries.reshape")].count("\n") + 1
    assert found.upto < first, found


ROTATED = "return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)"
FIRST, SECOND = "first * cos - second * sin", "second * cos + first * sin"
# Ways to join the halves of a rotated row, and a mistake with its line.
HALVES = {
    "written into a copy": (
        f"out = x.clone()\n    out[..., :half] = {FIRST}\n    out[..., half:] = {SECOND}",
        (SECOND, "second * cos - first * sin"),
    ),
    "written into nothing": (
        f"out = torch.empty_like(x)\n    out[..., :half] = {FIRST}\n    out[..., half:] = {SECOND}",
        (SECOND, "second * cos - first * sin"),
    ),
    "the first of them": (
        f"out = torch.zeros_like(x)\n    out[..., :half] = {FIRST}\n    out[..., half:] = {SECOND}",
        (FIRST, "first * cos + second * sin"),
    ),
    "angles made twice as wide": (
        "cos, sin = torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)\n"
        "    out = x * cos + torch.cat((-second, first), dim=-1) * sin",
        ("x * cos +", "x +"),
    ),
}


@pytest.mark.parametrize("name", HALVES)
def test_parts_of_a_result_that_are_right_are_not_blamed(project, name):
    """A value that is written into another is right, or right values are side by side."""
    chapter, (put, (old, new)) = "ch5_beyond_one_sentence", HALVES[name]
    solution = project.solution(chapter).read_text(encoding="utf-8")
    case = recorded_on(project, chapter, "rotate", "")
    text = solution.replace(ROTATED, f"{put}\n    return out")
    assert ROTATED in solution and parted(project, case, text, chapter) is None
    wrong = text.replace(old, new)
    at = next(n for n, line in enumerate(wrong.splitlines(), 1) if new in line)
    assert parted(project, case, wrong, chapter).line == at


@pytest.mark.slow
def test_a_start_value_that_swallows_all_is_blamed(project):
    chapter = "ch5_beyond_one_sentence"
    solution = project.solution(chapter).read_text(encoding="utf-8")
    case = recorded_on(project, chapter, "online_softmax_attention", "")
    wrong = solution.replace("new_full((n, 1), -torch.inf)", "new_full((n, 1), torch.inf)")
    at = next(n for n, line in enumerate(wrong.splitlines(), 1) if "1), torch.inf)" in line)
    assert parted(project, case, wrong, chapter).line == at


def test_where_nothing_was_added_no_line_is_blamed(project):
    """Zero by zero, since a loop did not run: that line is right, and no other can be known."""
    chapter = "ch5_beyond_one_sentence"
    solution = project.solution(chapter).read_text(encoding="utf-8")
    case = recorded_on(project, chapter, "online_softmax_attention", "")
    wrong = solution.replace("range(0, len(keys), block_size)", "range(0)")
    assert wrong != solution and parted(project, case, wrong, chapter) is None


def test_the_meaning_of_a_name_of_one_letter(project):
    chapter, name = "ch5_beyond_one_sentence", "LatentAttention"
    solution = project.solution(chapter).read_text(encoding="utf-8")
    case = recorded_on(project, chapter, name, "values")
    at = solution.index("class LatentAttention")
    own = solution[at:].replace("keys = self.W_key_up(latent)", "keys = self.W_value_up(latent)")
    wrong = solution[:at] + own.replace("keys", "k")
    found = parted(project, case, wrong, chapter)
    assert "k = self.W_value_up" in wrong.splitlines()[found.line - 1], found
    assert found.what == HoldsOtherValue("k", "values")


def test_a_right_value_that_nothing_is_done_with_is_reported(project, recorded):
    text = RIGHT.replace("    scaled = scores / d_k ** 0.5", "    scores / d_k ** 0.5\n")
    found = parted(project, recorded, text.replace("softmax(scaled", "softmax(scores"))
    assert (found.line, found.stage, found.what) == (8, "scaled scores", NothingIsDone()), found
    said = render(divergence_sentence(found, "line {}".format))
    assert "Line 8: its value is right, but nothing uses it." in said


@pytest.mark.parametrize(
    "left",
    [
        "scores / d_k ** 0.5",  # made once more, and used there
        "scores + 1",  # no right answer's
        "print(scaled[0, 0], scaled.shape)",
    ],
)
def test_what_is_left_beside_the_mistake_is_not_blamed(project, recorded, left):
    text = RIGHT.replace("    return weights", f"    {left}\n    return 2 * weights")
    assert parted(project, recorded, text).line == 11


def test_a_right_value_that_has_a_name_and_is_left_is_reported_beside_the_place(project, recorded):
    text = RIGHT.replace("softmax(scaled", "softmax(scores")
    found = parted(project, recorded, text)
    assert (found.line, found.unused) == (9, 8), found
    said = divergence_sentence(found, "line {}".format)
    assert said.parts[-1] == NothingIsDoneWith("line 8"), said
    assert render(said).endswith("Nothing uses the value that line 8 computes."), said


def test_an_error_is_followed_to_the_value_that_led_there(project, recorded):
    text = RIGHT.replace("weights @ values", "weights @ values[:-1]")
    assert parted(project, recorded, text).line == 10
    for wrong in ("torch.softmax(scaled.repeat(1, 3), dim=-1)", "scaled.flatten().softmax(0)"):
        text = RIGHT.replace("torch.softmax(scaled, dim=-1)", wrong)
        assert parted(project, recorded, text).line == 9  # line 10 is where Python raises


def test_what_weights_are_put_together_to_is_not_blamed_for_an_error(project, recorded):
    text = RIGHT.replace("    d_k", "    both = torch.stack([torch.eye(3)] * 2)\n    d_k", 1)
    text = text.replace("weights @ values", "weights @ both[:, :2] @ values")
    assert parted(project, recorded, text).line == 11


def test_what_another_line_makes_counts_as_made_by_the_line_that_calls_it():
    steps = [[[3, 9], "add", [], []], [[9], "mul", [0], []], [[4], "sub", [1], []]]
    told = {"steps": steps, "raised": [3, 9]}
    trace = read_trace(Observation(facts={"stages": told})).attributed_to(lambda line: line > 8)
    assert [(one.line, one.inside) for one in trace.stages] == [(9, True), (9, False), (0, False)]
    assert trace.raised == (9,)


def test_misnamed_projections_are_found_where_they_get_their_names(project, recorded):
    text = RIGHT.replace("    d_k", "    keys, queries = queries, keys\n    d_k", 1)
    found = parted(project, recorded, text)
    assert found is not None and found.line in (7, 8)


def test_an_error_has_its_own_line(project, recorded):
    found = parted(project, recorded, RIGHT.replace("queries @ turned", "queries @ keys.T.T.T @ 3"))
    assert found.line == 7


@pytest.mark.parametrize(
    "steps",
    [
        "long",
        [[[1], "add", [0], []]],  # made from itself
        [[[1], "add", [-1], []]],
        [[[-1], "add", [], []]],
        [[1, "add", [], []]],
        [[[1] * 9, "add", [], []]],  # within more calls than are reported
        [[["1"], "add", [], []]],
        [[[1], "add", []]],
        [[[1], 7, [], []]],
        [7],
    ],
)
def test_a_forged_way_is_no_way(steps):
    assert read_trace(Observation(facts={"stages": {"steps": steps, "returned": [0]}})) == Trace()


def test_places_that_are_not_there_do_not_come_back():
    told = {"steps": [[[1, 5], "add", [], ["x"]]], "returned": [0, 1, -1, "a"], "last": -4}
    told |= {"raised": [3, "4"]}
    trace = read_trace(Observation(facts={"stages": told}))
    assert trace.returned == (0,) and (trace.last, trace.raised) == (0, ())
    assert (trace.stages[0].line, trace.stages[0].callers) == (1, (5,))


def test_ways_are_stored_without_lines_operations_or_a_name_of_the_code(recorded, tmp_path):
    case, expected, traces = recorded
    references = References(CHAPTER, False, ((case, expected),), {case.id: traces})
    save_references(tmp_path / "r.safetensors", references)
    content = (tmp_path / "r.safetensors").read_bytes()
    for word in (b"softmax", b"matmul", b"transpose", b"d_k**", b"attn_scores"):
        assert word not in content
    back = load_references(tmp_path / "r.safetensors").traces[case.id]
    assert [len(trace.stages) for trace in back] == [len(trace.stages) for trace in traces]
    assert all(stage.line == 0 and not stage.operation for trace in back for stage in trace.stages)
    for one, other in zip(traces[0].stages, back[0].stages, strict=True):
        assert one.names == other.names and torch.allclose(one.value.float(), other.value)


@pytest.mark.slow
def test_hidden_references_have_no_ways(project):
    for chapter in project.course.chapters:
        path = project.graders / "references" / f"{chapter.name}.safetensors"
        assert load_references(path).traces == {}


def test_a_sentence_says_no_more_than_is_known():
    place = "line {}".format
    assert (
        divergence_sentence(Divergence(9, raised=True), place) is None
    )  # the error has told its line
    said = render(divergence_sentence(Divergence(9), place))
    assert said == "Your values become wrong on line 9."
    said = render(divergence_sentence(Divergence(9, "", ("keys", "scores"), 4), place))
    assert said == (
        "Up to line 4 your values are right: keys, scores. Then they become wrong on line 9."
    )
    said = render(divergence_sentence(Divergence(9, "", ("keys",), 9, NothingIsDone()), place))
    assert said == (
        "The first values on line 9 are right: keys. "
        "Line 9: its value is right, but nothing uses it."
    )
    said = divergence_sentence(Divergence(9, "", ("keys",), 4, since=7, reads=(("n", 2),)), place)
    said = render(said)
    assert said.endswith(
        "Then they become wrong between line 7 and line 9. Used there: `n` from line 2."
    ), said


def test_scores_that_hide_too_little_do_not_hide_nothing():
    right = torch.tensor([[1.0, -torch.inf, 3.0], [2.0, -torch.inf, 0.5]])
    weights = right.masked_fill(right.isinf(), -9.0).softmax(dim=-1)
    assert hides(right.masked_fill(right.isinf(), -9.0), right) == NotLowEnough(-9.0)
    assert hides(weights, right) is None
    assert hides(torch.where(right.isinf(), torch.rand(2, 3), right), right) == HidesNothing()


def test_a_reshape_in_place_of_a_transpose_is_called_one(project, recorded):
    turned = "keys.transpose(-2, -1)"
    assert RIGHT.count(turned) == 1
    found = parted(project, recorded, RIGHT.replace(turned, "keys.reshape(keys.shape[::-1])"))
    assert (found.line, found.what) == (6, KeepsOrder())


def test_hidden_scores_are_no_overflow():
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    scores = torch.tensor([[1.0, -torch.inf], [2.0, 3.0]])
    assert instead(None, scores, weights) is None
    assert instead(None, -scores, weights) == HoldsInfinities()


def test_rows_are_compared_as_one_value_with_another():
    chance, inf = torch.Generator().manual_seed(1), torch.inf
    value = torch.randn(7, generator=chance).double()
    hidden, far = value.clone(), value.clone()
    hidden[3], far[0] = -inf, value[0] + 1e-3
    others = [value, value * (1 + 1e-6), hidden, far, value + 1e-7, torch.full((7,), inf).double()]
    rows = Rows([((Trace(), at), other) for at, other in enumerate(others)])
    for one in others:
        found = [at for _, at in rows.close_to(one)]
        assert found == [at for at, other in enumerate(others) if close(one, other)]
    assert [at for _, at in rows.close_to(value)] == [0, 1, 4]


def test_right_values_are_looked_through_once_for_all_learners(recorded):
    _, _, traces = recorded
    assert right_values(traces) is right_values(traces)
    assert right_values(traces[:1]) is not right_values(traces)


def test_only_factors_of_right_answers_scale_a_value_and_each_is_listed_once():
    value = torch.tensor([1.0, -2.0, 4.0])
    made = [(value, ()), (2 * value, (0,)), (value * 6, (1,)), (value * 12, (2,))]
    right = right_values((Trace(tuple(Stage(0, "mul", since, (), one) for one, since in made)),))
    assert right.factors == pytest.approx([2, 2**0.5, 3, 3**0.5])
    assert [weight for _, weight in right.unscaled] == [7.0]
    assert right.scaled(3 * value) and not right.scaled(2.5 * value)


def line_of(text, words):
    """The number of the one line of a text with these words."""
    (line,) = (n for n, one in enumerate(text.splitlines(), 1) if words in one)
    return line


def parted_in(project, chapter, exercise, word, *edit, form=""):
    """Return where the solution, or another right answer, diverges after an edit; and the text."""
    path = project.root / "tests" / "right_answers" / chapter / f"{form}.py"
    text = (path if form else project.solution(chapter)).read_text(encoding="utf-8")
    at = text.index(f"{'class' if exercise[0].isupper() else 'def'} {exercise}(")
    old, new = edit
    assert old in text[at:]
    wrong = text[:at] + text[at:].replace(old, new, 1)
    return parted(project, recorded_on(project, chapter, exercise, word), wrong, chapter), wrong


CH5, CH6 = "ch5_beyond_one_sentence", "ch6_small_gpt"


def test_what_a_loop_leaves_too_early_is_reported_as_that(project):
    edit = ("range(0, len(keys), block_size)", "list(range(0, len(keys), block_size))[:-1]")
    found, text = parted_in(project, CH5, "online_softmax_attention", "", *edit)
    assert found.line == line_of(text, "return context / total") and found.what == ComesTooEarly()
    assert line_of(text, edit[1]) < found.since < found.line
    for wrong in ("total**2", "largest"):  # the loop is through with all of them
        edit = ("return context / total", f"return context / {wrong}")
        found, text = parted_in(project, CH5, "online_softmax_attention", "", *edit)
        assert found.line == line_of(text, edit[1]) and not found.since, found
        assert found.what != ComesTooEarly()


def test_an_unusual_way_is_blamed_from_its_beginning_to_its_end(project):
    edit = ("(block_sum - both).exp()", "(block_sum - both).expm1()")
    exercise = "online_softmax_attention"
    found, text = parted_in(project, CH5, exercise, "", *edit, form="library_calls")
    first, last = found.stretch
    assert first <= line_of(text, edit[1]) <= last and first > line_of(text, '"""Block by block')


@pytest.mark.slow
def test_parts_by_head_are_those_of_right_answers(project):
    edit = ("scores / d**0.5", "scores / 0.5")
    exercise = "GroupedQueryAttention"
    found, text = parted_in(project, CH5, exercise, "values", *edit, form="loops_and_einsum")
    assert found.line == line_of(text, edit[1]), found


def test_a_form_that_is_not_right_yet_is_blamed_beside_who_uses_it(project):
    made = "keys.reshape(b, m, self.num_heads, self.head_dim)"
    edit = (f"{made}.transpose(1, 2)", made)
    found, text = parted_in(project, CH5, "CrossAttention", "one head", *edit)
    assert found.since == line_of(text, f"keys = {made}") < found.line


def test_what_was_not_written_to_is_reported(project):
    made = "table[:, 0::2] = torch.sin(place * rate)"
    exercise = "sinusoidal_positions"
    found, text = parted_in(project, CH5, exercise, "", made, "pass", form="library_calls")
    assert found.line == found.since and found.what == LeftAsMade()
    assert found.line < line_of(text, "table[:, 1::2]") <= found.until
    half = made.replace("torch.sin", "0.5 * torch.sin")
    found, text = parted_in(project, CH5, exercise, "", made, half, form="library_calls")
    assert found.line == line_of(text, half), found


@pytest.mark.slow
def test_what_is_called_and_thrown_away_is_reported_on_its_line(project):
    """The result of another class has a name there, but not here."""
    edit = ("\n            x = block(x)", "\n            block(x)")
    case = recorded_on(project, CH6, "SmallGPT", "one block")
    text = project.solution(CH6).read_text(encoding="utf-8").replace(*edit)
    line = line_of(text, "    block(x)")
    found = parted(project, case, text, CH6, range(line - 20, line + 5))
    assert (found.line, found.what) == (line, NothingIsDone()), found


def test_an_argument_that_should_come_back_is_named_with_the_options_of_its_call():
    what = ShouldComeBack("weights", ("p=0.5", "training=False"))
    said = render(divergence_sentence(Divergence(9, what=what, since=1), "line {}".format))
    assert said.startswith("With `p=0.5` and `training=False`, `weights` should be returned")
    assert said.endswith("; something else is computed between line 1 and line 9.")


def test_of_a_way_that_is_cut_nothing_is_said(recorded):
    case, expected, traces = recorded
    trace = Trace(traces[0].stages[:3], (), 9, cut=True)
    seen = Seen(case, expected, expected)
    assert find_divergence(seen, trace, traces) is None and find_divergence(
        seen, replace(trace, cut=False), traces
    )


def test_where_nothing_comes_back_the_last_line_that_runs_is_reported(project, recorded):
    found = parted(project, recorded, RIGHT.replace("return weights @ values", "weights @ values"))
    said = render(divergence_sentence(found, "line {}".format))
    assert said == "Line 10 is the last line that runs, and it returns nothing."


@pytest.mark.parametrize(
    "factor, said",
    [
        (1.0042, "it is the right value times 1.004"),
        (0.9932, "it is the right value times 0.9932"),
        (0.99, "it is the right value times a constant"),
        (-0.995, "it is the right value times a constant"),
        (2**0.5, "it is the right value times a constant"),
    ],
)
def test_a_factor_that_differs_from_case_to_case_is_not_reported(factor, said):
    origin = LooksLike(2, NumbersInOtherPlaces(), "sqrt(2)")
    assert render(without_factor(TimesFactor(Compared.ON_THE_WAY, factor, origin))) == said


def test_only_remarks_about_factors_lose_anything():
    sharper = without_factor(SoftmaxInputTimesFactor(2.0, SignTurned()))
    assert render(sharper).endswith("the input of the softmax were too large or too small")
    assert without_factor(HoldsInfinities()) == HoldsInfinities()


def test_an_earlier_value_that_is_returned_is_named():
    assert render(ReturnsEarlierValue("masked scores")) == "it returns the masked scores"


@pytest.mark.parametrize(
    "message, said",
    [
        (
            DefaultOnLine("line 3", "scale"),
            "The result is right whenever `scale` is passed in: check its default on line 3.",
        ),
        (MakesPart("cell 2, line 3", "norm"), "Cell 2, line 3 makes `norm`."),
        (
            MakesPartOfShape("line 3", "scale", (4,), (4, 2)),
            "Line 3 makes `scale`: it has shape (4,); shape (4, 2) is expected.",
        ),
        (
            MakesPartOfShape("line 3", "out", (), (4,), weight="out.bias"),
            "Line 3 makes `out`: `out.bias` is a single number; shape (4,) is expected.",
        ),
        (
            MakesPartOfShape("line 3", "out", (3,), (4,), weight="out.0.ff.bias", deep=True),
            "Line 3 makes `out`: a weight in it has shape (3,); shape (4,) is expected.",
        ),
    ],
)
def test_a_line_that_makes_something_else_is_reported(message, said):
    assert sentence(message) == said
