"""Honest errors of wrong programs, written without a look at the list of known sentences."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import CaughtError, Observation
from tensorgrade.judging.handed_in import HandedIn
from tensorgrade.judging.sayable import UNSAID, Sayable

TEXT = "def mix(x, factor=3):\n    weights = x\n    return weights.attend(factor).softmaxx(x)\n"
TEXT += "def later(a, b, c):\n    return torch.sofftmax(a)\n"
WRONG = {
    "batches_differ": lambda x: x.expand(2, 4, 6) @ x.expand(3, 4, 6).mT,
    "three_by_one": lambda x: torch.bmm(x, x),
    "diagonal_beyond": lambda x: torch.diagonal(x, 0, 2, 3),
    "gather_floats": lambda x: torch.gather(x, 0, x),
    "index_floats": lambda x: x[x],
    "index_text": lambda x: x["weights"],
    "one_hot_floats": lambda x: F.one_hot(x),
    "layer_norm": lambda x: F.layer_norm(x, (5,)),
    "dropout_share": lambda x: F.dropout(x, 3.0),
    "dropout_layer": lambda x: nn.Dropout(factor=0.1),
    "softmax_twice": lambda x: torch.softmax(x, -1, -1, -1),
    "softmax_no_dim": lambda x: torch.softmax(x),
    "softmax_dim_text": lambda x: torch.softmax(x, dim="factor"),
    "mean_of_whole": lambda x: torch.arange(6).mean(),
    "exp_of_list": lambda x: torch.exp([1.0]),
    "bool_minus": lambda x: (x > 0) - (x < 0),
    "not_a_tensor": lambda x: torch.matmul(x, 3),
    "matmul_list": lambda x: x @ [1.0],
    "repeat_few": lambda x: x.repeat(3),
    "chunk_none": lambda x: x.chunk(0),
    "split_wrong": lambda x: x.split([1, 1]),
    "unsqueeze_far": lambda x: x.unsqueeze(7),
    "squeeze_far": lambda x: x.squeeze(5),
    "transpose_far": lambda x: x.transpose(1, 2),
    "permute_twice": lambda x: x.permute(0, 0),
    "movedim": lambda x: x.movedim((0, 1), (1,)),
    "einsum_letters": lambda x: torch.einsum("ij,jk->ik", x, x),
    "einsum_three": lambda x: torch.einsum("ijk->i", x),
    "stack_empty": lambda x: torch.stack([]),
    "cat_other_rank": lambda x: torch.cat([x, x[0]]),
    "masked_fill_value": lambda x: x.masked_fill(x > 0, x),
    "where_shapes": lambda x: torch.where(x[:3] > 0, x, 0.0),
    "triu_vector": lambda x: x[0].triu(),
    "mT_vector": lambda x: x[0].mT,
    "view_of_transposed": lambda x: x.T.view(24),
    "reshape_wrong": lambda x: x.reshape(5, -1),
    "unflatten_wrong": lambda x: x.unflatten(-1, (4, 4)),
    "linear_missing": lambda x: nn.Linear(3),
    "linear_too_many": lambda x: nn.Linear(3, 3, 3, 3, 3, 3),
    "linear_text": lambda x: nn.Linear("factor", 3),
    "module_list_call": lambda x: nn.ModuleList([nn.Linear(6, 6)])(x),
    "module_list_of_tensors": lambda x: nn.ModuleList([x]),
    "parameter_of_ints": lambda x: nn.Parameter(torch.arange(3)),
    "register_missing": lambda x: nn.Module().register_buffer("factor"),
    "numpy_of_grad": lambda x: x.requires_grad_().numpy(),
    "in_place_on_leaf": lambda x: x.clone().requires_grad_().mul_(2),
    "backward_of_many": lambda x: x.requires_grad_().backward(),
    "item_of_many": lambda x: x.item(),
    "if_many": lambda x: 1 if x > 0 else 0,
    "int_of_many": lambda x: int(x),
    "range_of_tensor": lambda x: range(x),
    "len_of_number": lambda x: len(x.sum()),
    "unpack_two": lambda x: [a for a, b in [(1, 2, 3)]],
    "unpack_shape": lambda x: (lambda a, b, c: a)(*x.shape),
    "key_missing": lambda x: {"factor": 1}["weights"],
    "sum_of_texts": lambda x: "factor" + 3,
    "tuple_times_float": lambda x: x.shape * 0.5,
    "power_of_tuple": lambda x: x.shape**0.5,
    "call_a_tensor": lambda x: x(3),
    "call_a_shape": lambda x: x.shape(0),
    "size_of_text": lambda x: x.size("factor"),
    "no_such_method": lambda x: x.softmaxx(-1),
    "no_such_module": lambda x: torch.sofftmax(x, -1),
    "zeros_of_floats": lambda x: torch.zeros(2.5, 3),
    "arange_nothing": lambda x: torch.arange(),
    "float_index": lambda x: x[1.5],
    "slice_float": lambda x: x[:2.5],
    "too_many_indices": lambda x: x[0, 0, 0],
    "index_beyond": lambda x: x[4],
    "assign_wrong_shape": lambda x: x.__setitem__(0, torch.zeros(5)),
    "sqrt_of_shape": lambda x: torch.sqrt(6),
    "dtype_mix": lambda x: x @ x.double().T,
    "embedding_floats": lambda x: nn.Embedding(4, 4)(x),
}


@pytest.fixture
def sayable() -> Sayable:
    case = record("mix", "a/1", lambda a, d: a.call("mix", x=d.normal(4, 6), factor=3), 1)
    return Sayable(HandedIn(TEXT), case, Observation())


def text_of(wrong) -> str:
    with pytest.raises(Exception) as raised:
        wrong(torch.zeros(4, 6))
    return str(raised.value)


@pytest.mark.parametrize("name", WRONG)
def test_an_error_that_a_public_case_ends_in_too_is_told_in_its_own_words(sayable, name):
    """The words are the public case's, whatever they are; the numbers are this case's."""
    text = text_of(WRONG[name])
    told = sayable.error(CaughtError("RuntimeError", text, 2))
    public = CaughtError("RuntimeError", text_of(WRONG[name]), 2)
    assert sayable.as_in_public(CaughtError("RuntimeError", text, 2), told, [public]).text == text


def test_most_errors_are_told_where_no_public_case_ends_in_one(sayable):
    """How far the list of sentences reaches by itself: 53 of these 73, when they were written."""
    unsaid = [name for name, wrong in WRONG.items() if sayable.text(text_of(wrong)) == UNSAID]
    assert len(unsaid) <= len(WRONG) // 10, unsaid


@pytest.mark.parametrize(
    "text, public, said",
    [
        ("77 is too many", "3 is too many", "… is too many"),
        ("4 is too many", "3 is too many", "4 is too many"),
        ("49642 is too many", "3 is too many", "… is too many"),
        ("secret_word is too many", "3 is too many", "…"),
        ("3 is too many of kjh", "3 is too many of abc", "…"),
        ("1 2 3 4 6 7 8 9", "9 8 7 6 5 4 3 2", "…"),
        ("4", "", "…"),
    ],
)
def test_numbers_in_public_words_are_those_of_the_case(sayable, text, public, said):
    claimed, other = CaughtError("ValueError", text, 2), CaughtError("ValueError", public, 2)
    assert sayable.as_in_public(claimed, sayable.error(claimed), [other]).text == said


def test_what_is_around_an_error_is_the_public_ones_and_on_the_line(sayable):
    claimed = CaughtError("ValueError", "", 2, sizes={"weights": (49642,)}, signs=("on self",))
    public = CaughtError("ValueError", "", 2, sizes={"weights": (2, 2), "else": 7})
    told = sayable.as_in_public(claimed, sayable.error(claimed), [public])
    assert (told.sizes, told.signs) == ({"weights": (2, 2)}, ())
    elsewhere = CaughtError("ValueError", "", 3, sizes={"weights": (2, 2)})
    assert sayable.as_in_public(claimed, sayable.error(claimed), [elsewhere]).sizes == {}
