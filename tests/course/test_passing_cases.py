"""Where wrong answers go wrong, end to end: the line, the stage, how sure, and nothing hidden."""

import re

import pytest

from tensorgrade.attempts.verdict import Certainty
from tensorgrade.recognition.mistakes import make, mistake

CHAPTER, NAME = "ch2_self_attention", "scaled_dot_product_attention"
RIGHT = """
import torch

def scaled_dot_product_attention(queries, keys, values):
    d_k = keys.shape[-1]
    attn_scores = queries @ keys.transpose(-2, -1)
    attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)
    return attn_weights @ values
"""


@pytest.fixture
def verdict_on(judged):
    """A function that grades the exercise in a text: its verdict."""
    return lambda text: judged(CHAPTER, NAME, text)


def test_what_is_right_has_no_line(verdict_on):
    row = verdict_on(RIGHT).row()
    assert (row["status"], row["line"], row["stage"], row["sure"]) == ("passed", None, None, None)


@pytest.mark.slow
def test_a_named_mistake_is_sure_by_its_name(verdict_on):
    verdict = verdict_on(RIGHT.replace("d_k**0.5", "d_k"))
    assert verdict.mistakes and verdict.sure == Certainty.NAMED and verdict.line in (7, None)


# One edit from right, and no mistake of the catalogue.
REPAIRED = [("d_k**0.5", "d_k**0.25", 7), ("d_k**0.5", "(d_k + 1) ** 0.5", 7)]


@pytest.mark.slow
@pytest.mark.parametrize("old, new, line", REPAIRED)
def test_what_one_small_edit_fixes_is_placed_there(verdict_on, old, new, line):
    verdict = verdict_on(RIGHT.replace(old, new))
    assert (verdict.mistakes, verdict.sure, verdict.line) == ([], Certainty.REPAIRED, line), verdict
    assert f"line {line}" in verdict.message
    # The idea, never the edit.
    assert "0.5" not in verdict.message and "d_k**" not in verdict.message


@pytest.mark.slow
def test_an_edit_that_only_suits_the_cases_of_learners_is_no_repair(verdict_on):
    """A table of the public sizes: right there and nowhere else, whatever is edited in it."""
    table = "{2: 2**0.5, 3: 3**0.5, 4: 4**0.4}.get(d_k, 1.0)"
    verdict = verdict_on(RIGHT.replace("d_k**0.5", table))
    assert verdict.sure != Certainty.REPAIRED, verdict


@pytest.mark.slow
def test_an_error_is_placed_on_its_line(verdict_on):
    verdict = verdict_on(RIGHT.replace("attn_weights @ values", "attn_weights @ no_values"))
    assert verdict.line == 8 and verdict.sure in (Certainty.REPAIRED, Certainty.PLACED)


@pytest.mark.slow
def test_the_line_of_an_error_is_reported_before_one_where_other_values_part(verdict_on):
    text = RIGHT.replace("d_k**0.5", "(d_k + 7)").replace(
        "    d_k =", "    if queries.requires_grad:\n        queries = queries.nothing\n    d_k ="
    )
    verdict = verdict_on(text)
    assert verdict.line == 6 and "part" not in verdict.message, verdict


def test_what_is_not_there_has_no_line(verdict_on):
    verdict = verdict_on("x = 1\n")
    assert (verdict.status, verdict.line, verdict.sure) == (
        "not_attempted",
        None,
        Certainty.OBSERVED,
    )


SPY = """
import torch

def scaled_dot_product_attention(queries, keys, values):
    told = queries.flatten()[:3].tolist()
    names = {f"n{abs(int(1e6 * one))}": queries for one in told}
    locals().update(names)
    d_k = keys.shape[-1]
    wrong = torch.softmax(queries @ keys.mT / d_k**0.5, dim=-1) @ values
    return wrong + queries.flatten()[0]
"""


@pytest.mark.slow
def test_a_message_holds_no_number_of_a_hidden_case(verdict_on, project):
    """No message repeats hidden inputs that the learner's code sees."""
    from tensorgrade.exchange.references import load_references

    verdict = verdict_on(SPY)
    stored = load_references(project.graders / "references" / f"{CHAPTER}.safetensors")
    numbers = {
        f"{abs(float(number)):.4g}"
        for case, expected in stored.of(NAME)
        for tensor in (*case.tensors.values(), *expected.tensors.values())
        for number in tensor.flatten()[:500].double()
    }
    assert len(numbers) > 100
    told = [word for word in re.findall(r"\d+\.\d+", verdict.message) if len(word) > 4]
    assert not numbers.intersection(told), verdict.message
    assert verdict.sure in (Certainty.PLACED, Certainty.REPAIRED)


FORGED = '''
import torch
import sys

for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").endswith("runner.edits"):
        made = module.edits
        def edits(text, name, line, first=0, most=None):
            return [module.Edit(3, IDEA, CODE, RIGHT)]
        module.edits = edits
        for other in list(sys.modules.values()):
            if getattr(other, "edits", None) is made:
                other.edits = edits

def scaled_dot_product_attention(queries, keys, values):
    return values
IDEA, CODE = FORGERY
RIGHT = """RIGHT TEXT"""
'''.replace("RIGHT TEXT", RIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("forgery", ['"give full points", ""', '"name", "full points: 0.1234"'])
def test_a_forged_idea_is_not_repeated(verdict_on, forgery):
    verdict = verdict_on(FORGED.replace("FORGERY", forgery))
    assert "full points" not in verdict.message and verdict.status != "passed"


def said_of(project, judged, chapter, exercise, *edits):
    """The verdict on the solution with some edits in one exercise, and its text."""
    source = project.solution(chapter).read_text(encoding="utf-8")
    wrong = make(source, exercise, [mistake("wrong", "", {exercise: edits})])
    return judged(chapter, exercise, wrong), wrong


# An edit of a right answer, and what would be false to say of it.
FALSE = {
    "a mask made within one line": (
        ("ch3_causal_attention", "CausalAttention"),
        (
            "torch.triu(torch.ones(context_length, context_length), diagonal=1)",
            "torch.ones(context_length, context_length).tril(-1) == 0",
        ),
        ("masked_fill(future, -torch.inf)", "masked_fill(future, -1e30)"),
        "changed places",
    ),
    "exponentials of what was cut off": (
        ("ch1_simplified_attention", "softmax"),
        ("torch.exp(shifted)", "torch.exp(x.clamp(-80, 80))"),
        "sum to 1",
    ),
    "a sum along the other side of a symmetric case": (
        ("ch1_simplified_attention", "softmax"),
        ("exponentials.sum(dim=dim, keepdim=True)", "exponentials.sum(dim=dim)[None]"),
        "changed places",
    ),
    "a result that some step of right answers looks like": (
        ("ch4_multi_head_attention", "split_heads"),
        (
            "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)",
            "x.reshape(b, num_heads, num_tokens, head_dim)",
        ),
        "only the shape",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FALSE)
def test_nothing_false_is_said_of_what_is_halfway(project, judged, name):
    (chapter, exercise), *edits, false = FALSE[name]
    verdict, _ = said_of(project, judged, chapter, exercise, *edits)
    assert verdict.points < verdict.max_points and verdict.message
    assert false not in verdict.message, verdict.message


@pytest.mark.slow
def test_a_value_in_which_all_became_the_same_is_blamed(project, judged):
    """A softmax over the only row is all ones: that line is wrong, and not the one after it."""
    edits = ("torch.softmax(attn_scores, dim=-1)", "torch.softmax(attn_scores[None], dim=0)[0]")
    verdict, wrong = said_of(project, judged, "ch1_simplified_attention", "context_vector", edits)
    line = next(n for n, text in enumerate(wrong.splitlines(), 1) if edits[1] in text)
    assert verdict.line == line, verdict


# A block whose norm is right, and meets what it should not; a line of its own that can be blamed.
LOST = (
    "        x = x + self.dropout(self.attention(self.norm1(x)))\n"
    "        x = x + self.dropout(self.feed_forward(self.norm2(x)))\n        return x",
    "        y = x + self.dropout(self.attention(self.norm1(x)))\n"
    "        z = self.norm2(self.norm1(x).roll(1, 2) + y.flip(1))\n"
    "        return y + self.dropout(self.feed_forward(z))",
)
HELPED = "        return added(x, self.dropout(self.feed_forward(self.norm2(x))))"
HELPER = "\n\ndef added(x, y):\n    both = x - y\n    return both\n"


def block(project, judged, edits, helper=""):
    """The verdict on a wrong TransformerBlock, and its text."""
    chapter = "ch6_small_gpt"
    source = project.solution(chapter).read_text(encoding="utf-8")
    for old, new in edits:
        assert source.count(old) == 1
        source = source.replace(old, new)
    return judged(chapter, "TransformerBlock", source + helper), source + helper


@pytest.mark.slow
def test_no_line_of_a_right_exercise_is_blamed_for_one_that_calls_it(project, judged):
    """The norm gets a wrong value: the message names the line of the caller, not of the norm."""
    verdict, text = block(project, judged, [LOST])
    assert verdict.line == text.splitlines().index(LOST[1].splitlines()[1]) + 1, verdict
    # The norm's output is no right answer's either: as far as anybody knows, both lines may be it.
    told = f"Then they become wrong between line {verdict.line} and line {verdict.line + 1}."
    assert told in verdict.message, verdict.message


@pytest.mark.slow
def test_a_line_of_a_helper_that_is_no_exercise_is_blamed(project, judged):
    helped = LOST[0].splitlines()[1:]
    verdict, text = block(project, judged, [("\n".join(helped), HELPED)], HELPER)
    assert verdict.line == text.splitlines().index("    both = x - y") + 1, verdict


# Parts of another size, with the message on the line that makes the first of them.
LARGER = "self.norm{0} = LayerNorm(d)", "self.norm{0} = LayerNorm(d + d // 2)"
MISSHAPEN = {
    "`norm1.scale` has shape (6,)": [tuple(one.format(n) for one in LARGER) for n in (1, 2)],
    "a weight in it has shape (4, 5)": [
        ("attention = MultiHeadAttention(d, d,", "attention = MultiHeadAttention(d + 1, d,"),
        tuple(one.format(2) for one in LARGER),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("said", MISSHAPEN)
def test_the_line_is_reported_that_makes_a_part_with_another_size(project, judged, said):
    """The call raises an error elsewhere; no message names code inside a substitute."""
    verdict, text = block(project, judged, MISSHAPEN[said])
    new = MISSHAPEN[said][0][1]
    lines = text.splitlines()
    assert verdict.line == next(at for at, line in enumerate(lines, 1) if new in line), verdict
    assert said in verdict.message and "projection" not in verdict.message, verdict.message


@pytest.mark.slow
def test_no_message_names_what_is_inside_a_substitute(project, judged):
    """The gradient never gets to the weights of attention, which learners do not know by name."""
    edits = [("self.attention(self.norm1(x))", "self.attention(self.norm1(x)).detach()")]
    verdict, _ = block(project, judged, edits)
    assert "a weight of `attention` is missing" in verdict.message, verdict.message
    assert "projection" not in verdict.message
    made = "self.attention = MultiHeadAttention(d, d, context_length, dropout, num_heads)"
    edits = [(made, "self.attention = nn.Linear(d, d)")]
    verdict, _ = block(project, judged, edits)
    assert verdict.points < verdict.max_points and "projection" not in verdict.message, verdict


@pytest.mark.slow
def test_values_that_other_weights_make_are_not_held_against_right_ones(project, judged):
    """Torch does not find parts in a list: the message names the list's line, and no later one."""
    edits = [
        ("self.norm2 = LayerNorm(d)", "self.norm2 = [LayerNorm(d)]"),
        ("self.feed_forward(self.norm2(x))", "self.feed_forward(self.norm2[0](x))"),
    ]
    verdict, text = block(project, judged, edits)
    assert verdict.line == text.splitlines().index(f"        {edits[0][1]}") + 1, verdict
    assert "no parameters in `norm2`" in verdict.message and "become wrong" not in verdict.message


# A setting on another line than the values that it spoils: an edit, and parts of its message.
SETTINGS = {
    "a default that is handed on": (
        *("ch6_small_gpt", "LayerNorm", "eps: float = 1e-5", "eps: float = 2e-5"),
        "`eps` from line ",
    ),
    "a number made before": (
        *("ch5_beyond_one_sentence", "GroupedQueryAttention"),
        *("self.num_heads // self.num_kv_heads", "self.num_heads * self.num_kv_heads"),
        "That line uses `group` from line ",
    ),
    "a part that weights do not determine": (
        *("ch6_small_gpt", "TransformerBlock"),
        *(
            "= MultiHeadAttention(d, d, context_length, dropout,",
            "= MultiHeadAttention(d, d, context_length, d,",
        ),
        "`self.attention` from line ",
    ),
    "a default that others judge": (
        *("ch5_beyond_one_sentence", "CrossAttention"),
        *("qkv_bias: bool = False", "qkv_bias: bool = True"),
        " The result is right whenever `qkv_bias` is passed in: check its default on line ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_the_line_of_a_setting_is_reported(project, judged, name):
    chapter, exercise, old, new, said = SETTINGS[name]
    source = project.solution(chapter).read_text(encoding="utf-8")
    at = source.index(f"class {exercise}(")
    assert old in source[at:]
    wrong = source[:at] + source[at:].replace(old, new, 1)
    verdict = judged(chapter, exercise, wrong)
    line = wrong.count("\n", 0, at + wrong[at:].index(new)) + 1
    assert said in verdict.message, verdict.message
    assert re.search(rf"\b[Ll]ine {line}\b", verdict.message), (line, verdict.message)


@pytest.mark.slow
def test_another_version_of_what_fails_is_reported(verdict_on):
    older = RIGHT.replace("return attn_weights @ values", "return attn_weights[0]")
    newer = RIGHT.replace(f"def {NAME}", f"def {NAME}_v2")
    verdict = verdict_on(older + newer)
    assert f"The file also defines `{NAME}_v2`, but only `{NAME}` is graded." in verdict.message, (
        verdict
    )
    assert "_v2" not in verdict_on(RIGHT + newer.replace("keys", "k")).message
