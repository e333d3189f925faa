"""What may be said on a hidden case: words of Python and torch, the learner's own, its sizes."""

import pytest
import torch
from torch import nn

from tensorgrade.attempts.verdict import Status, Verdict
from tensorgrade.exchange.cases import Case, record
from tensorgrade.exchange.observation import CaughtError, Observation
from tensorgrade.exchange.text import LONGEST_MESSAGE
from tensorgrade.judging.diagnosis import Diagnosis, Finding, Kind
from tensorgrade.judging.handed_in import HandedIn
from tensorgrade.judging.sayable import Sayable, spoken_size

TEXT = """def double(x, factor=2048):
    y = other_name + x
    return y
"""
CASE = record("double", "a/1", lambda a, d: a.call("double", x=d.normal(7, 11), factor=13), 1)
RIGHT = Observation(
    tensors={"result": torch.zeros(7, 11)},
    values={
        "result": {
            "type": "dict",
            "json": {"dict": [["ratio", 0.25], ["sizes", [1] * 9], ["said", "a b"]]},
        }
    },
    facts={"module": {"parameters": {"layer.weight": [[7, 11], "float32", True]}}},
)


@pytest.fixture
def sayable() -> Sayable:
    return Sayable(HandedIn(TEXT), CASE, RIGHT)


ERRORS = [
    lambda x: x @ torch.ones(13, 7),
    lambda x: x + torch.ones(13),
    lambda x: x.view(13, 13),
    lambda x: x.view(2048, -1),
    lambda x: x[13],
    lambda x: x.sum(4),
    lambda x: torch.stack([x, x.T]),
    lambda x: torch.cat([x, x.T]),
    lambda x: x.expand(2, 7, 13),
    lambda x: x.permute(0, 1, 2),
    lambda x: bool(x),
    lambda x: x.double().mm(x),
    lambda x: x * None,
    lambda x: x(),
    lambda x: len(1),
    lambda x: x.other_name,
    lambda x: nn.Linear(7, 13)(x),
    lambda x: nn.Module()(x),
    lambda x: torch.softmax([1.0], -1),
    lambda x: {}["factor"],
    lambda x: [][1],
    lambda x: 1 / 0,
    lambda x: x.item(),
    lambda x: x.masked_fill(x, 0),
    lambda x: nn.Linear(factor=1),
    lambda x: torch.triu(x[0]),
    lambda x: torch.autograd.grad(x.sum(), [x]),
]


@pytest.mark.parametrize("fails", ERRORS)
def test_what_python_and_torch_say_stays_word_for_word(sayable, fails):
    with pytest.raises(Exception) as raised:
        fails(torch.zeros(7, 11))
    assert sayable.text(str(raised.value)) == str(raised.value)


@pytest.mark.parametrize(
    "text, said",
    [
        ("index 496421 is out of bounds for dimension 0 with size 7", "index … is out of"),
        ("shape '[4964, 21]' is invalid for input of size 77", "shape '[…, …]' is invalid"),
        ("name 'secret_49642' is not defined", "…"),
        ("'Tensor' object has no attribute 'k49642'", "…"),
        ("division by zero, and by 49642", "…"),
        ("4 9 6 4 2", "…"),
        ("[4, 9, 6, 4, 2]", "…"),
        ("shape '[4, 9, 6, 4, 2, 1, 3, 5]' is invalid for input of size 7", "…"),
        ("", ""),
    ],
)
def test_what_a_learner_could_word_is_left_out(sayable, text, said):
    told = sayable.text(text)
    assert told.startswith(said) and (told == said or said.endswith(("is out of", "is invalid")))


def test_numbers_are_those_of_the_case_or_written_down(sayable):
    said = [
        number for number in (7, 11, 13, 77, 18, 2048, 4, 49642, 2047) if sayable.number(number)
    ]
    assert said == [7, 11, 13, 77, 18, 2048, 4]


def test_a_seed_is_no_number_of_the_case():
    case = record("f", "a/1", lambda a, d: a.call("f", x=d.normal(2)), 1, hidden=True)
    seed = case.steps[0]["seed"]
    assert seed > 2**32 and not Sayable(HandedIn(""), case, Observation()).number(seed)


def test_names_stand_in_the_text_or_belong_to_python_torch_and_the_case(sayable):
    names = [
        "other_name",
        "layer.0.weight",
        "Tensor",
        "x",
        "ndarray",
        "k49642",
        "x.k49642",
        "y" * 41,
    ]
    assert [n for n in names if sayable.name(n) == n] == names[:5]


def test_what_is_right_stays_as_it_is(sayable):
    told = sayable.observation(RIGHT)
    assert (told.values, told.facts) == (RIGHT.values, RIGHT.facts)


def test_other_values_and_facts_are_cut_down(sayable):
    claimed = Observation(
        values={
            "result": {"type": "k49642", "json": {"dict": [["factor", 0.49642], ["k49642", 1]]}}
        },
        facts={"module": {"parameters": {"layer.weight": [[7, 49642], "float32", True]}}},
    )
    told = sayable.observation(claimed)
    assert "49642" not in repr(told) and told.facts != RIGHT.facts
    assert told.values["result"]["json"]["dict"][0] == ["factor", "…"]


def test_only_a_few_names_of_a_learners_own_are_listed(sayable):
    """Out of many words in a file, a long list of them could spell out anything."""
    text = " ".join(f"w{n}" for n in range(100))
    names = [f"w{n}" for n in range(50)]
    own = Sayable(HandedIn(text), CASE, RIGHT)
    assert own.told(names) == names[:3]
    assert [key for key in own.told(dict.fromkeys(names, 1)) if key != "…"] == names[:3]


def test_an_error_has_the_line_that_was_handed_in(sayable):
    claimed = CaughtError(
        "ValueError", "", 2, "k49642", "k49642", ("ValueError",), "call", "k49642"
    )
    told = sayable.error(claimed)
    assert (told.line, told.source) == (2, "y = other_name + x")
    assert (told.function, told.missing) == ("", None)
    beyond = sayable.error(CaughtError("ValueError", line=49642, source="k49642"))
    assert (beyond.line, beyond.source) == (None, "")


def test_a_type_of_ones_own_is_told_by_what_it_is(sayable):
    made = CaughtError("k49642", kinds=("k49642", "ValueError", "Exception"))
    assert sayable.error(made).type == "ValueError"
    assert sayable.error(CaughtError("other_name", kinds=())).type == "other_name"


def test_lines_are_counted_as_python_counts_them():
    text = "a = 1\x0cb = 2\x85\n# \u2028 one line\r\n1 / 0\r2 / 0"
    told = [HandedIn(text).in_place(CaughtError("E", line=n)).source for n in (3, 4)]
    assert told == ["1 / 0", "2 / 0"]


def test_shapes_that_hold_anything_are_not_spelled_out():
    right, case = torch.zeros(2, 3), Case("mix", "a/1", (), {"x": torch.zeros(2, 7)})
    odd = ((0, 49642), (1,) * 9, (49642,), (744, 68), (6, 2, 21), (6, 2, 7))
    said = [spoken_size(torch.zeros(shape), right, case) for shape in odd]
    assert said[:4] == ["no entries", "more dimensions", "shape (…,)", "shape (…, …)"]
    assert said[4:] == ["shape (…, 2, …)", "shape (6, 2, 7)"]
    wide = torch.zeros(2, 49642)
    assert spoken_size(torch.zeros(1, 49642), wide, case) == "shape (1, 49642)"
    assert spoken_size(torch.zeros(()), right, case) == "shape a single number"
    assert spoken_size(torch.zeros(744, 91), right, case) == "shape (…, …)"
    assert spoken_size(torch.zeros(744, 91), right, case, hidden=False) == "shape (744, 91)"


def test_no_message_is_longer_than_it_may_be():
    problem = "it changes " + "its input " * 100_000
    diagnosis = Diagnosis(Kind.FACT, problem)
    assert len(diagnosis.problem) <= LONGEST_MESSAGE and diagnosis.problem.endswith(" …")
    finding = Finding("", diagnosis, {"a": "One idea is wrong. " * 50})
    row = Verdict("ada", "c", "e", 0, 1, Status.FAILED, message=problem).row()
    assert max(len(finding.message), len(row["message"])) <= LONGEST_MESSAGE
    assert Verdict("ada", "c", "e", 1, 1, Status.PASSED, message="Right.").message == "Right."
