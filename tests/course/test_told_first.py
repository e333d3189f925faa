"""If several checks fail, the simplest one is reported, with the line to fix."""

from dataclasses import replace

import pytest

from tensorgrade.attempts.details import in_place
from tensorgrade.attempts.results import first_failure
from tensorgrade.author.proofs.made_attempts import MadeAttempts
from tensorgrade.exchange.observation import Observation
from tensorgrade.judging.diagnosis import Diagnosis, Kind
from tensorgrade.messages.checks import ChangesInput
from tensorgrade.recognition.mistakes import make, mistake
from tensorgrade.testing.collected import CollectedTests
from tensorgrade.views.note import Note
from tensorgrade.views.summary import left_out

from ..sampling import first_of_each

CH1, CH2, CH3 = "ch1_simplified_attention", "ch2_self_attention", "ch3_causal_attention"
CH4, CH5, CH6 = "ch4_multi_head_attention", "ch5_beyond_one_sentence", "ch6_small_gpt"


@pytest.fixture(scope="module")
def note(project):
    """A function: the finding of an exercise's self-check, and its note in one line."""
    made, collected = MadeAttempts(project, project.exercises), CollectedTests(project.exercises)

    def note(chapter: str, exercise: str, text: str):
        first = first_failure(collected.results(made.attempt(chapter, text), exercise))
        return first and first.finding, first and " ".join(str(Note(first.finding)).split())

    yield note


def edited(project, chapter: str, exercise: str, *edits: tuple[str, str]) -> str:
    """The solution with edits in an exercise."""
    source = project.solution(chapter).read_text(encoding="utf-8")
    return make(source, exercise, [mistake("edited", "", {exercise: edits})])


def line_of(text: str, words: str) -> int:
    """The number of the last line that holds some words."""
    return max(number for number, line in enumerate(text.splitlines(), 1) if words in line)


SPLIT = "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)"
SCORES = "queries @ keys.transpose(-2, -1)"
PLAIN_FIRST = [
    # (exercise, edit, the reported check, and a part of its message): others fail with an error
    (
        CH4,
        "split_heads",
        (SPLIT, "x.view(b, num_heads, num_tokens, head_dim)"),
        "Three tokens of four features, for two heads.",
        "split_without_transpose",
    ),
    (
        CH2,
        "attention_weights",
        (SCORES, "keys @ queries.mT"),
        "With the sentence's projections (seed 123).",
        "scores_transposed",
    ),
    (
        CH2,
        "scaled_dot_product_attention",
        (SCORES, "keys @ queries.mT"),
        "With the sentence's projections (seed 123).",
        "scores_transposed",
    ),
    (
        CH2,
        "project_qkv",
        ("x @ W_key", "x @ W_query"),
        "Queries, keys and values of the sentence (seed 123).",
        "keys_from_W_query",
    ),
    (
        CH4,
        "MultiHeadAttentionWrapper",
        ("for _ in range(num_heads)", "for _ in range(num_heads - 1)"),
        "All heads' outputs side by side, for one head and for many.",
        "one_head_too_few",
    ),
]


@pytest.mark.parametrize(
    "chapter, exercise, edit, asks, name", first_of_each(PLAIN_FIRST, lambda one: one[0])
)
def test_a_plain_check_is_reported_before_an_error_in_a_later_one(
    project, note, chapter, exercise, edit, asks, name
):
    finding, told = note(chapter, exercise, edited(project, chapter, exercise, edit))
    assert finding.asks == asks and list(finding.mistakes) == [name]
    assert "RuntimeError" not in told


def test_of_wrong_values_and_a_later_error_without_a_name_the_values_are_reported(project, note):
    """The rows of each head upside down too, which no mistake of the catalogue does."""
    edit = (SPLIT, "x.view(b, num_heads, num_tokens, head_dim).flip(2)")
    text = edited(project, CH4, "split_heads", edit)
    finding, told = note(CH4, "split_heads", text)
    assert not finding.mistakes and finding.diagnosis.kind == "values"
    assert f"Where: line {line_of(text, '.flip(2)')}" in told


@pytest.mark.parametrize(
    "chapter, exercise, right",
    [
        (CH4, "split_heads", "torch.stack(x.chunk(num_heads, dim=-1), dim=1)"),
        (CH4, "split_heads", "x.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3)"),
    ],
)
def test_a_right_answer_gets_no_message(project, note, chapter, exercise, right):
    assert note(chapter, exercise, edited(project, chapter, exercise, (SPLIT, right)))[0] is None


TWO = [
    (f"{one} = {one}.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)",
     f"{one} = {one}.reshape(b, num_tokens, self.num_heads, self.head_dim)")
    for one in ("queries", "keys", "values")
]  # fmt: skip
MERGE = "context_heads.transpose(1, 2).reshape(b, num_tokens, -1)"


@pytest.mark.slow
def test_of_two_mistakes_the_one_is_reported_that_explains_more(project, note):
    merged = (MERGE, "context_heads.reshape(b, num_tokens, -1)")
    text = edited(project, CH4, "MultiHeadAttention", *TWO, merged)
    finding, _ = note(CH4, "MultiHeadAttention", text)
    assert list(finding.mistakes) == ["heads_left_beside_features", "merged_without_transpose"]


HELPED = """
import torch

def scores_of(a, b):
    return a @ b.T

def simplified_self_attention(inputs):
    attn_scores = scores_of(inputs, inputs[0, 0])
    attn_weights = torch.softmax(attn_scores, dim=-1)
    return attn_weights @ inputs, attn_weights
"""


@pytest.mark.slow
def test_an_error_in_a_helper_is_reported_with_the_line_that_calls_it(note, judged):
    _, told = note(CH1, "simplified_self_attention", HELPED)
    verdict = judged(CH1, "simplified_self_attention", HELPED)
    for said in (told, verdict.message):
        assert "(line 5: `return a @ b.T`, called on line 8)" in said


def test_an_error_in_the_exercise_itself_tells_of_no_caller(note):
    text = HELPED.replace("scores_of(inputs, inputs[0, 0])", "inputs @ inputs[0, 0].T")
    _, told = note(CH1, "simplified_self_attention", text)
    assert "(line 8: `attn_scores = inputs @ inputs[0, 0].T`)" in told and "called in" not in told


def test_a_statement_at_the_end_of_the_file_is_reported_with_its_own_line(project):
    made = MadeAttempts(project, project.exercises)
    attempt = made.attempt(CH1, HELPED + "\nprint(scores_of(torch.ones(2), torch.ones(3)))\n")
    attempt.run(["simplified_self_attention"])
    (said,) = left_out(attempt)
    assert "(line 5: `return a @ b.T`, called on line 12)" in said


def test_a_name_that_a_failed_statement_makes_is_reported_with_that_statement(note):
    text = HELPED + "\nstart = scores_of(torch.ones(2), torch.ones(3))\n"
    text = text.replace("inputs[0, 0])", "start)")
    _, told = note(CH1, "simplified_self_attention", text)
    assert "the line that defines it failed (RuntimeError" in told and ", line 12)" in told


IN_PLACE = [
    # (chapter, exercise, edits, words of the line that changes something)
    (
        CH3,
        "mask_and_renormalize",
        [("masked = attn_weights * visible", "masked = attn_weights.mul_(visible)")],
        ".mul_(visible)",
    ),
    (
        CH3,
        "causal_attention_weights",
        [("attn_scores.masked_fill(", "attn_scores.masked_fill_(")],
        "masked_fill_(",
    ),
    (
        CH5,
        "rotate",
        [
            ("return torch.cat((", "turned = x\n    turned[...] = torch.cat(("),
            ("first * sin), dim=-1)", "first * sin), dim=-1)\n    return turned"),
        ],
        "turned[...] =",
    ),
    (
        CH5,
        "padding_mask",
        [("positions = ", "lengths -= 1\n    positions = "), (">= lengths", "> lengths")],
        "lengths -= 1",
    ),
    (
        CH6,
        "generate",
        [("for _ in range(max_new_tokens):", "model.eval()\n    for _ in range(max_new_tokens):")],
        "model.eval()\n    for",
    ),
    (  # the first line is right: its change has to be undone
        CH6,
        "generate",
        [
            (
                "for _ in range(max_new_tokens):",
                "model.eval()\n    for _ in range(max_new_tokens):",
            ),
            (
                "chosen), dim=1)\n    return ids",
                "chosen), dim=1)\n    model.train()\n    return ids",
            ),
        ],
        "model.train()\n    return",
    ),
    (
        CH1,
        "softmax",
        [("shifted = x - x.amax(dim=dim, keepdim=True)", "shifted = x.sub_(x.amax(dim, True))")],
        ".sub_(",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter, exercise, edits, words", first_of_each(IN_PLACE, lambda one: one[0] in (CH3, CH5))
)
def test_what_is_changed_in_place_is_reported_with_the_line(
    project, note, judged, chapter, exercise, edits, words
):
    text = edited(project, chapter, exercise, *edits)
    line = text[: text.rindex(words)].count("\n") + 1
    _, told = note(chapter, exercise, text)
    assert f"ine {line} changes " in told or f"line {line} overwrites a tensor in place" in told
    assert judged(chapter, exercise, text).line == line


@pytest.mark.parametrize("told", [{"x": 10**6}, {"x": 0}, {"x": True}, {"x": "3"}, [3], None])
def test_a_line_that_a_process_claims_and_the_file_has_not_is_not_reported(
    project, monkeypatch, told
):
    attempt = MadeAttempts(project, project.exercises).right(CH1)
    part = attempt.softmax
    attempt.run(["softmax"])
    claimed = [Observation(facts={"result": {"changed_at": told}})]
    monkeypatch.setattr(attempt, "run_public", lambda cases: claimed)
    changed = Diagnosis(Kind.FACT, ChangesInput("x"))
    changed = replace(changed, case=part.seen[0].case.name)
    assert in_place.add(part, changed) == changed


def test_a_step_in_place_that_a_gradient_cannot_bear_is_reported_with_its_line(project, note):
    """torch finds it after the call, on no line of the file."""
    edits = [("mean = x.mean(dim=-1, keepdim=True)", "x = x - x.mean(dim=-1, keepdim=True)")]
    edits += [("variance = x.var(dim=-1, keepdim=True, unbiased=False)",
               "x *= (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt()")]  # fmt: skip
    edits += [("normed = (x - mean) / torch.sqrt(variance + self.eps)", "normed = x")]
    text = edited(project, CH6, "LayerNorm", *edits)
    finding, told = note(CH6, "LayerNorm", text)
    line = line_of(text, "x *= (x.square()")
    assert f"line {line} overwrites a tensor in place" in told and finding.diagnosis.line == line


@pytest.mark.slow
def test_a_step_in_place_where_a_layer_is_made_is_not_reported_as_what_spoils_a_gradient(
    project, note
):
    """torch fills new weights in place, on lines of `__init__`."""
    edit = ("x = x + self.dropout(self.attention", "x += self.dropout(self.attention")
    text = edited(project, CH6, "TransformerBlock", edit)
    finding, told = note(CH6, "TransformerBlock", text)
    line = line_of(text, "x += self.dropout(")
    assert (
        f"`x = x / …`; line {line} overwrites a tensor in place" in told
        and finding.diagnosis.line == line
    )


@pytest.mark.slow
def test_an_error_in_another_exercise_is_placed_where_that_is_called(project, note, judged):
    edit = ("TransformerBlock(d, context_length, dropout, num_heads)",
            "TransformerBlock(d, context_length, num_heads, dropout)")  # fmt: skip
    text = edited(project, CH6, "SmallGPT", edit)
    _, told = note(CH6, "SmallGPT", text)
    line = line_of(text, edit[1]) - 1  # the statement's first one
    assert "In `TransformerBlock`, which it uses: ValueError" in told
    placed = judged(CH6, "SmallGPT", text).line
    assert placed in (line, line + 1) and f"called on line {placed})" in told


COPY = "v1.W_query.copy_(v2.W_query.weight.T)"


def test_shared_memory_is_reported_for_the_module_and_not_for_a_later_one(project, note):
    text = edited(project, CH2, "copy_v2_into_v1", (COPY, "v1.W_query.data = v2.W_query.weight.T"))
    _, told = note(CH2, "copy_v2_into_v1", text)
    assert "The parameter `W_query` of `v1`, after `v2` got other weights, has the right" in told
    assert "`later`" not in told, told
    assert "Called: v2 = LinearProjections(d_in=3, d_out=2), then" in told


def test_what_never_arrived_is_not_blamed_on_other_weights(project, note):
    text = edited(project, CH2, "copy_v2_into_v1", (COPY, "v1.W_query.copy_(v2.W_key.weight.T)"))
    _, told = note(CH2, "copy_v2_into_v1", text)
    assert "The parameter `W_query` of `v1` has the right shape but not" in told


HEADS = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"


def test_a_weight_inside_a_part_is_asked_after_where_that_is_made(project, note):
    """Dropout and bias have changed places: no head gets a bias, or all do."""
    swapped = (HEADS, HEADS.replace("dropout, qkv_bias", "qkv_bias, dropout"))
    text = edited(project, CH4, "MultiHeadAttentionWrapper", swapped)
    _, told = note(CH4, "MultiHeadAttentionWrapper", text)
    assert (
        "weight of `heads.0` is missing (does `heads.0` get all the arguments that it needs?)"
        in told
    )
    assert "no weight of" not in told


@pytest.mark.slow
def test_parts_that_torch_does_not_find_are_reported_as_a_whole(project, note):
    text = edited(
        project,
        CH6,
        "SmallGPT",
        ("nn.ModuleList(\n", "list(\n"),
    )
    _, told = note(CH6, "SmallGPT", text)
    assert "torch finds no parameters in `blocks`, so its weights could not be set" in told


def test_a_head_that_is_not_there_is_no_weight_that_was_not_handed_on(project, note):
    one_less = ("for _ in range(num_heads)", "for _ in range(num_heads - 1)")
    text = edited(project, CH4, "MultiHeadAttentionWrapper", one_less)
    _, told = note(CH4, "MultiHeadAttentionWrapper", text)
    assert "torch finds no parameters in `heads.1`" in told and "handed on" not in told


@pytest.mark.slow
def test_a_matrix_that_is_the_other_way_round_is_reported_with_the_line_that_makes_it(
    project, note, judged
):
    edits = [
        (f"self.{one} = nn.Parameter(torch.rand(d_in, d_out))",
         f"self.{one} = nn.Parameter(torch.rand(d_out, d_in))")
        for one in ("W_query", "W_key", "W_value")
    ]  # fmt: skip
    edits += [(f"x @ self.{one}", f"x @ self.{one}.T") for one in ("W_query", "W_key", "W_value")]
    text = edited(project, CH2, "SelfAttention_v1", *edits)
    _, told = note(CH2, "SelfAttention_v1", text)
    line = line_of(text, "self.W_query = nn.Parameter(torch.rand(d_out, d_in))")
    assert f"Line {line} makes `W_query`: it has shape (2, 3); shape (3, 2) is expected." in told
    assert "The parameter `W_query` has shape (2, 3); (3, 2) is expected." in told
    assert judged(CH2, "SelfAttention_v1", text).line == line


@pytest.mark.slow
def test_a_result_that_is_another_one_is_reported_as_that(project, note, judged):
    edit = ("v1.W_value.copy_(v2.W_value.weight.T)", "v1.W_value.copy_(v2.W_key.weight.T)")
    text = edited(project, CH2, "copy_v2_into_v1", edit)
    _, told = note(CH2, "copy_v2_into_v1", text)
    assert "It is what the parameter `W_key` of `v1` should be." in told
    graded = judged(CH2, "copy_v2_into_v1", text)  # its messages contain public numbers
    assert graded.message.endswith("it is what the parameter `W_key` of `v1` should be.")


def test_a_wrong_result_that_is_no_other_one_is_not_reported_as_that(project, note):
    edit = ("v1.W_value.copy_(v2.W_value.weight.T)", "v1.W_value.copy_(-v2.W_value.weight.T)")
    text = edited(project, CH2, "copy_v2_into_v1", edit)
    finding, told = note(CH2, "copy_v2_into_v1", text)
    assert not finding.mistakes and "should be" not in told
