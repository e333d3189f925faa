"""Messages between the trusted side and the learner's side: a JSON header and named tensors.

A message is `<8 bytes: length of the rest> <8 bytes: length of the header> header tensors`.
Only JSON and safetensors are ever parsed; neither can run code.
"""

import json
import struct
from typing import IO

import torch
from safetensors import TensorSpec, serialize
from safetensors.torch import load

LENGTH = struct.Struct("<Q")
MOST_CONTAINERS = 20_000  # lists and objects in an untrusted header; the course's cases send 1,000


class BadMessage(Exception):
    """The bytes are not a valid message, or are larger than allowed."""


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a detached, contiguous CPU copy that safetensors stores correctly.

    safetensors refuses shared storage and stores conjugate views wrong, so both are resolved.
    """
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    return tensor.contiguous().clone()


def serialized(tensors: dict[str, torch.Tensor]) -> bytes:
    """Return tensors in the format of safetensors, read directly from memory.

    `safetensors.torch.save` gives the same bytes, but takes longer than most cases do.
    """
    held = {name: plain(tensor) for name, tensor in tensors.items()}  # keeps memory alive
    specs = {
        name: TensorSpec(
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=tensor.shape,
            data_ptr=tensor.data_ptr(),
            data_len=tensor.nbytes,
        )
        for name, tensor in held.items()
    }
    return bytes(serialize(specs))


def pack(header: dict, tensors: dict[str, torch.Tensor] | None = None) -> bytes:
    """Return one message as bytes.

    >>> header, tensors = unpack(pack({"verb": "call"}, {"x": torch.ones(2)}))
    >>> header, tensors["x"].tolist()
    ({'verb': 'call'}, [1.0, 1.0])
    """
    text = json.dumps(header).encode()
    return LENGTH.pack(len(text)) + text + serialized(tensors or {})


def unpack(
    message: bytes, most_header_bytes: int | None = None
) -> tuple[dict, dict[str, torch.Tensor]]:
    """Return the header and the tensors of a message. Raises BadMessage on any other bytes.

    most_header_bytes: a limit for untrusted messages. Their lists and objects are limited too,
    because an empty one takes thirty times the memory of its text.
    """
    try:
        (length,) = LENGTH.unpack_from(message)
        if most_header_bytes is not None and length > most_header_bytes:
            raise BadMessage("the header is too large")
        text = message[LENGTH.size : LENGTH.size + length]
        containers = text.count(b"[") + text.count(b"{")
        if most_header_bytes is not None and containers > MOST_CONTAINERS:
            raise BadMessage("the header has too many parts")
        header, tensors = json.loads(text), load(message[LENGTH.size + length :])
    except Exception as error:  # each parser raises errors of its own
        raise BadMessage(f"{type(error).__name__}: {error}"[:200]) from None
    if not isinstance(header, dict):
        raise BadMessage("the header is not an object")
    # safetensors returns the names in a varying order.
    return header, dict(sorted(tensors.items()))


def send(stream: IO[bytes], message: bytes) -> None:
    """Write one message, preceded by its length, to a binary stream."""
    stream.write(LENGTH.pack(len(message)) + message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Return the next message of a binary stream; None if the other side has closed it."""
    prefix = stream.read(LENGTH.size)
    if len(prefix) < LENGTH.size:
        return None
    return stream.read(LENGTH.unpack(prefix)[0])
