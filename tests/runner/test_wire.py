"""Packed tensors are in safetensors' own format, whatever their layout in memory."""

import pytest
import torch
from safetensors.torch import save

from tensorgrade.runner.wire import pack, serialized, unpack

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bytes_are_those_of_the_library(dtype):
    made = (5 * torch.rand(2, 3)).to(getattr(torch, dtype))
    tensors = {"b": made, "a": made[0, 0].clone(), "none": made[:0].clone()}
    assert serialized(tensors) == save(tensors)


def test_numbers_come_in_their_order_wherever_they_lie():
    x = torch.arange(6.0).reshape(2, 3)
    turned = torch.complex(x, x).conj()
    views = {"T": x.T, "gaps": x[:, ::2], "wide": x[:1].expand(4, 3), "same": x, "again": x}
    views |= {"conj": turned, "neg": turned.imag, "grad": x.clone().requires_grad_()}
    _, back = unpack(pack({}, views))
    assert list(back) == sorted(views)
    assert all(back[name].tolist() == views[name].tolist() for name in views)
