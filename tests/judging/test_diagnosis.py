"""Without a known mistake, messages give useful facts, no guesses, and no hidden answers."""

from pathlib import Path

import pytest
import torch

from tensorgrade.attempts.public_side import own_names
from tensorgrade.attempts.recognized import mistakes
from tensorgrade.attempts.verdict import Status, Verdict
from tensorgrade.author import call
from tensorgrade.author.proofs.made_attempts import MadeAttempts
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.text import LONGEST_MESSAGE
from tensorgrade.judging.diagnosis import (
    Diagnosis,
    Finding,
    Kind,
    PublicDiagnosis,
    Wrong,
)
from tensorgrade.judging.passing_cases import where_right
from tensorgrade.judging.remarks import not_numbers, ratios, remarks, reordered, sums
from tensorgrade.messages.checks import GrowingOperations, NotTheValues
from tensorgrade.messages.message import Plain, render, sentence
from tensorgrade.messages.remarks import (
    Argument,
    ColumnsSumToOne,
    Compared,
    EverythingNaN,
    EverythingSumsToOne,
    IsArgument,
    IsNumber,
    IsPassed,
    LooksLike,
    NaNAtSinglePlaces,
    NaNInRows,
    NegativeEntries,
    NumberOfSlices,
    NumbersInOtherPlaces,
    Reshaped,
    RightWhere,
    SignTurned,
    SizeOf,
    Slices,
    SlicesInOtherOrder,
    SoftmaxInputTimesFactor,
    Sum,
    SumOfEntries,
    SumOfEveryRow,
    SumsOfRows,
    SwappedDimensions,
    TimesFactor,
)
from tensorgrade.messages.results import Result

EVEN = torch.full((3, 4), 0.25)
CH1, CH2, CH3 = "ch1_simplified_attention", "ch2_self_attention", "ch3_causal_attention"
IMPORTS = "import torch\nfrom torch import nn\n"


@pytest.fixture(scope="module")
def public(project):
    return MadeAttempts(project, project.exercises)


@pytest.fixture(scope="module")
def hidden(project):
    return MadeAttempts(project, project.graders)


def diagnose(made, chapter: str, exercise: str, source: str, group="values"):
    """(the exercise's part of the attempt, the diagnosis of `agrees(group)` on it)."""
    attempt = made.attempt(chapter, IMPORTS + source)
    attempt.run([exercise])
    part = attempt.exercises[exercise]
    with pytest.raises(Wrong) as wrong:
        part.agrees(group)
    return part, wrong.value.diagnosis


def case_of(**arguments):
    """A case that calls `f` with these arguments."""
    return record("f", "a/1", [call("f", **arguments)])


SCALED = """
def attention_weights(queries, keys):
    return torch.softmax(queries @ keys.mT / 3, dim=-1)
"""
TIMES = "def attention_scores(query, inputs):\n    return inputs @ query * inputs.shape[0]\n"
FLIPPED = """
def project_qkv(x, W_query, W_key, W_value):
    x = x.flip(0)
    return x @ W_query, x @ W_key, x @ W_value
"""


def test_a_constant_ratio_on_public_cases_is_reported_with_what_it_looks_like(public):
    part, diagnosis = diagnose(public, CH1, "attention_scores", TIMES)
    assert list(map(render, diagnosis.observations.remarks)) == [
        "it is the expected result times 6, which is the number of rows of `inputs`",
    ]
    assert mistakes(part) == ()


def test_a_wrong_scale_inside_a_softmax_is_reported(public):
    part, diagnosis = diagnose(public, CH2, "attention_weights", SCALED)
    (remark,) = (
        r for r in diagnosis.observations.remarks if isinstance(r, SoftmaxInputTimesFactor)
    )
    assert remark.factor == pytest.approx(2 / 3, rel=1e-3)
    assert render(remark).startswith(
        "it looks as if the input of the softmax were 0.6667 times as large as it should be"
    )
    assert mistakes(part) == ()


def test_tokens_in_another_order_are_reported(public):
    _, diagnosis = diagnose(public, CH2, "project_qkv", FLIPPED)
    (remark,) = (r for r in diagnosis.observations.remarks if isinstance(r, SlicesInOtherOrder))
    told = render(remark)
    assert "it equals `expected[[5, 4, 3, 2, 1, 0]]`, the right rows in another order" in told


@pytest.mark.parametrize(
    "chapter, exercise, source",
    [
        (CH1, "attention_scores", TIMES),
        (CH2, "attention_weights", SCALED),
        (CH2, "project_qkv", FLIPPED),
    ],
)
def test_on_hidden_cases_none_of_that_is_said(hidden, chapter, exercise, source):
    _, diagnosis = diagnose(hidden, chapter, exercise, source)
    assert type(diagnosis) is Diagnosis and diagnosis.observations.remarks == ()


def test_public_diagnoses_carry_the_expected_values(public):
    _, diagnosis = diagnose(public, CH1, "attention_scores", TIMES)
    assert isinstance(diagnosis, PublicDiagnosis) and diagnosis.expected is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The use of `x.T`")  # one of the mistakes is just that
def test_no_mistake_makes_a_hidden_diagnosis_with_expected_values(project, hidden):
    for mistake in project.mistakes:
        if "CausalAttention" in mistake.edits:
            attempt = hidden.wrong(CH3, "CausalAttention", [mistake])
            attempt.run(["CausalAttention"])
            part = attempt.CausalAttention
            for group in ("values", "short", "bias", "gradients"):
                try:
                    part.agrees(group)
                except Wrong as wrong:
                    assert type(wrong.diagnosis) is Diagnosis


def test_hidden_remarks_do_not_depend_on_the_expected_values():
    case = case_of(x=torch.arange(12.0).reshape(3, 4))
    generator = torch.Generator().manual_seed(1)
    for _ in range(50):
        actual = torch.softmax(torch.randn(3, 4, generator=generator), dim=0)
        first, second = (
            torch.softmax(torch.randn(3, 4, generator=generator), dim=-1) for _ in range(2)
        )
        assert remarks(case, actual, first, hidden=True) == remarks(
            case, actual, second, hidden=True
        )
        assert remarks(case, actual, first, hidden=True)


def test_an_argument_that_some_cases_leave_out_is_reported_before_its_sizes():
    without = [case_of(x=torch.ones(n, 2)) for n in (3, 4)]
    passed = [case_of(x=torch.ones(n, 2), hidden=torch.ones(n, n)) for n in (5, 6)]
    said = "it is {} whenever `hidden` is passed in, and {} otherwise"
    assert where_right(without, passed) == RightWhere(IsPassed("hidden"), right=False)
    assert render(where_right(without, passed)) == said.format("wrong", "right")
    assert where_right(passed, without) == RightWhere(IsPassed("hidden"))
    assert render(where_right(passed, without)) == said.format("right", "wrong")
    assert where_right(without[:1] + passed[:1], without[1:] + passed[1:]) is None


def test_options_and_sizes_that_tell_cases_apart():
    def pattern(right, wrong):
        return where_right(*([case_of(**one)] * 2 for one in (right, wrong)))

    found = pattern({"x": torch.ones(1, 3)}, {"x": torch.ones(2, 3)})
    assert found == RightWhere(IsNumber(SizeOf("x", -2), "1"))
    assert render(found) == (
        "it is right whenever the size of dimension -2 of `x` is 1, and wrong otherwise"
    )
    found = pattern({"n": 3, "m": 4}, {"n": 3, "m": 3})
    assert render(found) == "it is wrong whenever `n` and `m` are equal, and right otherwise"
    batch, one = torch.ones(5, 3, 4), torch.ones(3, 4)
    assert pattern({"q": one, "k": one[:2]}, {"q": batch, "k": batch[:, :2]}) is None
    assert pattern({"on": True}, {"on": 1}) == RightWhere(IsNumber(Argument("on"), "True"))


def test_sums_of_rows_and_columns():
    assert sums(EVEN, EVEN) is None
    assert sums(torch.full((3, 4), 1 / 3), EVEN) == ColumnsSumToOne()
    assert sums(torch.full((3, 4), 1 / 12), EVEN) == EverythingSumsToOne()
    assert sums(torch.full((3, 4), 0.5), EVEN) == SumOfEveryRow(Sum(2.0))
    assert sums(torch.tensor([0.5, 1.0]), torch.tensor([0.5, 0.5])) == SumOfEntries(Sum(1.5))
    assert sums(torch.tensor([[0.5, 1.0], [1.0, 1.0]]), EVEN) == SumsOfRows(Sum(1.5), Sum(2.0))
    assert sums(torch.tensor([[2.0, -1.0]]), torch.tensor([[0.5, 0.5]])) == NegativeEntries()
    assert sums(torch.rand(3, 4), torch.randn(3, 4)) is None  # sums mean nothing here


@pytest.mark.parametrize(
    "remark, said",
    [
        (SumOfEntries(Sum(1.004)), "its entries sum to 1.004 instead of 1"),
        (SumOfEveryRow(Sum(1.00004)), "every row sums to nearly 1 instead of 1"),
        (
            SumsOfRows(Sum(0.5), Sum(2.0)),
            "its rows should sum to 1; their sums are between 0.5 and 2",
        ),
    ],
)
def test_sums_are_reported_in_four_digits(remark, said):
    assert render(remark) == said


def test_where_nan_comes_from():
    nan = torch.zeros(2, 3, 3)
    assert not_numbers(nan, nan) is None
    nan[:, 0] = torch.nan
    assert not_numbers(nan, EVEN) == NaNInRows(only_first=True)
    assert render(not_numbers(nan, EVEN)).startswith("NaN fills the first row")
    nan[0, 2] = torch.nan
    assert not_numbers(nan, EVEN) == NaNInRows(only_first=False)
    assert render(not_numbers(nan, EVEN)).startswith("NaN fills whole rows")
    nan[0, 1, 1] = torch.nan
    assert not_numbers(nan, EVEN) == NaNAtSinglePlaces()
    assert not_numbers(nan * torch.nan, EVEN) == EverythingNaN()


@pytest.mark.parametrize(
    "factor, said",
    [
        (0.5, "1/sqrt(4); 4 is `d_k`"),
        (4.0, "times 4, which is `d_k`"),
        (2.0, "sqrt(4); 4 is `d_k`"),
        (5.0, "times 5, which is the number of rows of `x`"),
        (-1.0, "the sign is the wrong way round"),
        (1 / 0.7, "1/(1 - 0.3); 0.3 is `p`"),
    ],
)
def test_what_a_ratio_looks_like(factor, said):
    case, expected = case_of(x=torch.zeros(5, 7), d_k=4, p=0.3), torch.randn(5, 7)
    assert said in render(ratios(case, factor * expected, expected))


def test_a_ratio_that_a_number_gives_in_two_ways_is_reported_without_an_origin():
    case, expected = case_of(x=torch.zeros(5, 7), p=0.5), torch.randn(5, 7)
    assert render(ratios(case, 0.5 * expected, expected)).endswith("times 0.5")


def test_a_ratio_that_looks_like_nothing_is_reported_without_an_origin():
    expected = torch.randn(5, 7)
    found = ratios(case_of(x=torch.zeros(5, 7)), 1.234 * expected, expected)
    assert isinstance(found, TimesFactor) and found.origin is None
    assert render(found) == "it is the expected result times 1.234"
    assert ratios(case_of(x=torch.zeros(5, 7)), torch.randn(5, 7), expected) is None


def test_a_factor_that_is_reported_as_one_is_not_reported():
    case, expected = case_of(x=torch.zeros(5, 7)), torch.randn(5, 7)
    assert ratios(case, 1.00003 * expected, expected) is None
    assert render(ratios(case, 1.002 * expected, expected)).endswith("times 1.002")
    weights = torch.softmax(expected, dim=-1)
    assert ratios(case, torch.softmax(1.00003 * expected, dim=-1).double(), weights) is None


def test_numbers_in_another_order():
    right = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    assert reordered(right.transpose(1, 2), right) == SwappedDimensions((1, 2))
    assert reordered(right.reshape(6, 4), right) == Reshaped((2, 3, 4))
    found = reordered(right[..., [1, 0, 3, 2]], right)
    assert found == SlicesInOtherOrder(Slices(2, 3), (1, 0, 3, 2))
    assert render(found) == (
        "it equals `expected[..., [1, 0, 3, 2]]`, the right columns in another order"
    )
    mixed = right.flatten().flip(0)[torch.randperm(24)].reshape(2, 3, 4)
    assert reordered(mixed, right) == NumbersInOtherPlaces()
    assert reordered(right + 1, right) is None and reordered(right, right) is None


@pytest.mark.parametrize(
    "remark, said",
    [
        (
            SwappedDimensions((1, 2)),
            "it is right, except that its dimensions 1 and 2 are swapped",
        ),
        (
            Reshaped((2, 3)),
            "its numbers are right and in the right order; only the shape is wrong: it should be "
            "(2, 3)",
        ),
        (
            NumberOfSlices(Slices(3, 5), "x"),
            "the number of slices along dimension 3 of `x`",
        ),
        (
            TimesFactor(Compared.RESULT, 0.5, LooksLike(4, Argument("n"), "1/sqrt(4)")),
            "it is the expected result times 0.5, which is 1/sqrt(4); 4 is `n`",
        ),
        (
            SoftmaxInputTimesFactor(-1.0, SignTurned()),
            "it looks as if the input of the softmax were -1 times as large as it should be: the "
            "sign is the wrong way round",
        ),
    ],
)
def test_what_remarks_say(remark, said):
    assert render(remark) == said


def test_an_input_that_comes_back_is_reported(public):
    _, diagnosis = diagnose(public, CH1, "softmax_naive", "def softmax_naive(x):\n    return x\n")
    assert IsArgument("x") in diagnosis.observations.remarks
    assert render(IsArgument("x")) == "it is `x`, unchanged"


def test_a_name_whose_import_failed_is_reported(public):
    source = "import no_such_library as tool\ndef softmax_naive(x):\n    return tool.softmax(x)\n"
    _, diagnosis = diagnose(public, CH1, "softmax_naive", source)
    assert (
        "its import failed (ModuleNotFoundError: No module named 'no_such_library', line 3)"
        in render(diagnosis.problem)
    )
    assert diagnosis.error.line == 5 and diagnosis.error.source == "return tool.softmax(x)"


def test_a_name_of_another_cell_is_reported(public):
    source = "def softmax_naive(x):\n    return torch.exp(scores)\n"
    _, diagnosis = diagnose(public, CH1, "softmax_naive", source)
    assert "it is not an argument, and nothing before that line defines it" in render(
        diagnosis.problem
    )
    assert "self." not in render(diagnosis.problem)


MODULE = """
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_q = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        scores = self.W_q(x) @ self.W_key(x).T
        return torch.softmax(scores / scores.shape[-1] ** 0.5, dim=-1) @ self.W_value(x)
"""


def test_a_renamed_parameter_is_reported_with_what_was_found(public, hidden):
    for made in (public, hidden):
        part, diagnosis = diagnose(made, CH2, "SelfAttention_v2", MODULE)
        assert render(own_names(part).sentence) == "`W_q` should be called `W_query`"
        assert "right shape but not the right values" in render(diagnosis.problem)  # of the scale


def test_a_parameter_that_nothing_can_stand_for_is_reported(public, hidden):
    module = MODULE.replace("W_q(x)", "W_key(x)").replace("self.W_q =", "one =")
    for made in (public, hidden):
        _, diagnosis = diagnose(made, CH2, "SelfAttention_v2", module)
        assert "the module has no parameter `W_query.weight`" in render(diagnosis.problem)


def test_a_global_in_a_method_asks_for_self(public):
    _, diagnosis = diagnose(
        public, CH2, "SelfAttention_v2", MODULE.replace("self.W_q(x)", "W_query(x)")
    )
    assert "is `self.` missing?" in render(diagnosis.problem)


def test_a_renamed_class_is_reported_with_what_was_found(public):
    _, diagnosis = diagnose(
        public, CH2, "SelfAttention_v2", MODULE.replace("SelfAttention_v2", "SelfAttn_v2")
    )
    found = "`SelfAttn_v2`, which has a similar name"
    assert diagnosis.kind == "missing" and found in render(diagnosis.problem)


def test_every_file_of_the_engine_is_free_of_the_course_words(project):
    words = ("attention", "causal", "num_heads", "queries")
    for path in (project.root / "tensorgrade" / "judging").glob("*.py"):
        if path.name in (
            "lost_weights.py",
            "lost_names.py",
            "sums.py",
            "ratios.py",
            "reordered.py",
            "remarks.py",
            "echoes.py",
            "not_numbers.py",
        ):
            text = Path(path).read_text(encoding="utf-8").lower()
            assert not [word for word in words if word in text], path.name


def test_no_message_is_longer_than_it_may_be():
    problem = "it changes " + "its input " * 100_000
    diagnosis = Diagnosis(Kind.FACT, Plain(problem))
    said = render(diagnosis.problem)
    assert len(said) <= LONGEST_MESSAGE and said.endswith(" …")
    finding = Finding("", diagnosis, {"a": "One idea is wrong. " * 50})
    row = Verdict("ada", "c", "e", 0, 1, Status.FAILED, message=problem).row()
    assert max(len(sentence(finding.message)), len(row["message"])) <= LONGEST_MESSAGE
    assert Verdict("ada", "c", "e", 1, 1, Status.PASSED, message="Right.").message == "Right."


def test_wrong_values_are_reported_before_a_loop():
    loop = Diagnosis(Kind.FACT, GrowingOperations(Plain("more tokens, more work"), 5, 38))
    values = Diagnosis(Kind.VALUES, NotTheValues(Result()))
    fact = Diagnosis(Kind.FACT, Plain("the mask is no buffer"))
    of_loop, of_values, of_fact = (Finding("", one) for one in (loop, values, fact))
    assert min(of_values, of_loop, key=lambda one: one.telling) is of_values
    assert of_fact.telling < of_loop.telling
