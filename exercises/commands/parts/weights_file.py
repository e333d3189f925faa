"""Weights and settings of a model in one safetensors file, which cannot run code."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save

from tensorgrade import CourseError

State = dict[str, torch.Tensor]  # weights by name
MOST_BYTES = 64 << 20  # far more than any model here needs


@dataclass(frozen=True)
class Settings:
    """A model's arguments. vocabulary: its characters, in the order of their ids."""

    vocabulary: str
    context_length: int
    d: int
    num_heads: int
    num_layers: int


def save_weights(path: Path, state: dict[str, torch.Tensor], settings: Settings) -> None:
    """Write weights by name, with the settings as JSON metadata; write all or nothing."""
    plain = {name: tensor.detach().contiguous().clone() for name, tensor in state.items()}
    half = path.with_name(f"{path.name}.part")
    # As bytes: `save_file` would create a file that only its owner may read.
    half.write_bytes(save(plain, {"settings": json.dumps(asdict(settings))}))
    half.replace(path)


def make_room(path: Path) -> Path | None:
    """Check that a file can be written, and rename an existing one.

    Return the new name of the old file. Raises OSError before the training has taken any time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        empty = file.tell() == 0
    if empty:
        path.unlink()
        return None
    return path.replace(path.with_name(f"{path.stem}.before{path.suffix}"))


def load_weights(path: Path) -> tuple[dict[str, torch.Tensor], Settings]:
    """Return the weights and settings of a file. Raises CourseError if it is another file."""
    if not path.is_file():
        raise CourseError(f"there is no {path}; `tensorgrade train` creates one")
    if path.stat().st_size > MOST_BYTES:
        raise CourseError(f"{path} has more than {MOST_BYTES >> 20} MB, which no model here needs")
    try:
        with safe_open(path, "pt") as file:
            told = json.loads((file.metadata() or {})["settings"])
        state, settings = load_file(path), Settings(**told)
    except (SafetensorError, KeyError, TypeError, ValueError):
        raise CourseError(f"{path} is broken, or was not written by `tensorgrade train`") from None
    if wrong := sorted(name for name, kind in KINDS.items() if type(told[name]) is not kind):
        raise CourseError(f"{path} has impossible values for {', '.join(wrong)}")
    return state, settings


KINDS = {"vocabulary": str, "context_length": int, "d": int, "num_heads": int, "num_layers": int}


def fill(model: torch.nn.Module, state: dict[str, torch.Tensor], path: Path) -> None:
    """Load the weights of a file into a model. Raises CourseError if they do not fit."""
    try:
        model.load_state_dict(state)
    except RuntimeError:
        raise CourseError(
            f"{path} does not fit your present SmallGPT; train it again, or use another file"
        ) from None
