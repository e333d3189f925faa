"""Which tensors may meet: as torch has it on a GPU."""

import pytest
import torch
from torch import nn

from tensorgrade.runner.second_device import SECOND, SecondDevice, TwoDevices, name_left

HERE, THERE = torch.ones(3, 3), torch.ones(3, 3)
MAY = {
    "all on the second": lambda: torch.softmax(THERE @ THERE, -1),
    "a number": lambda: THERE * torch.tensor(2.0),
    "carried over": lambda: THERE + HERE.to(THERE.device),
    "copied in": lambda: THERE.clone().copy_(HERE),
    "assigned": lambda: THERE.clone().__setitem__(0, HERE[0]),
    "places": lambda: THERE[HERE.bool()],
    "numbers of places": lambda: THERE[torch.tensor([0, 2])],
    "assigned to places": lambda: THERE.clone().__setitem__(HERE.bool(), 0.0),
}
MAY_NOT = {
    "added": lambda: THERE + HERE,
    "one number in a list": lambda: THERE + torch.tensor([1.0]),
    "filled": lambda: THERE.masked_fill(HERE.bool(), 0.0),
    "where": lambda: torch.where(HERE.bool(), 0.0, THERE),
    "gathered": lambda: THERE.gather(0, torch.zeros(1, 3, dtype=torch.long)),
    "assigned numbers to places": lambda: THERE.clone().__setitem__(HERE.bool(), HERE.flatten()),
    "places there of a tensor here": lambda: HERE[torch.zeros(2, dtype=torch.long, device=SECOND)],
    "a layer that was not moved": lambda: nn.Linear(3, 3)(THERE),
}


@pytest.mark.parametrize("name", [*MAY, *MAY_NOT])
def test_only_some_may_meet(name):
    with SecondDevice([THERE]):
        if name in MAY:
            MAY[name]()
        else:
            with pytest.raises(TwoDevices):
                MAY_NOT[name]()


def test_the_one_left_behind_is_named():
    module = nn.Module()
    module.table = HERE.clone()
    row = torch.arange(3.0)
    for made, name in (
        (lambda: THERE * module.table[0], "self.table"),
        (lambda: THERE * row, "row"),
        (lambda: THERE * HERE, "HERE"),
        (lambda: THERE * torch.zeros(3), ""),
    ):
        with pytest.raises(TwoDevices) as caught, SecondDevice([THERE]):
            made()
        assert name_left(caught.value, module, __file__) == name
