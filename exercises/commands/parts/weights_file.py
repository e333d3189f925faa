"""Weights with all that is needed to use them, in one safetensors file, which cannot run code."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save

from tensorgrade import CourseError

State = dict[str, torch.Tensor]  # weights by name
MOST_BYTES = 64 << 20  # far above what anybody trains here


@dataclass(frozen=True)
class Settings:
    """What a model is made with. vocabulary: its characters, in the order of their ids."""

    vocabulary: str
    context_length: int
    d: int
    num_heads: int
    num_layers: int


def save_weights(path: Path, state: dict[str, torch.Tensor], settings: Settings) -> None:
    """Write weights by name, and the settings as JSON in the file's metadata; all or nothing."""
    plain = {name: tensor.detach().contiguous().clone() for name, tensor in state.items()}
    half = path.with_name(f"{path.name}.part")
    # As bytes: `save_file` leaves a file that nobody else may read.
    half.write_bytes(save(plain, {"settings": json.dumps(asdict(settings))}))
    half.replace(path)


def make_room(path: Path) -> Path | None:
    """See that a file can be written there; what is there already is kept under another name.

    Returns that name. Raises OSError, before any time has gone into what is to be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        empty = file.tell() == 0
    if empty:
        path.unlink()
        return None
    return path.replace(path.with_name(f"{path.stem}.before{path.suffix}"))


def load_weights(path: Path) -> tuple[dict[str, torch.Tensor], Settings]:
    """Weights and settings of a file. Raises CourseError where it is not one of these."""
    if not path.is_file():
        raise CourseError(f"there is no {path}; `tensorgrade train` makes one")
    if path.stat().st_size > MOST_BYTES:
        raise CourseError(f"{path} has more than {MOST_BYTES >> 20} MB, which no model here needs")
    try:
        with safe_open(path, "pt") as file:
            told = json.loads((file.metadata() or {})["settings"])
        state, settings = load_file(path), Settings(**told)
    except (SafetensorError, KeyError, TypeError, ValueError):
        raise CourseError(f"{path} is broken, or was not written by `tensorgrade train`") from None
    if wrong := sorted(name for name, kind in KINDS.items() if type(told[name]) is not kind):
        raise CourseError(f"{path} says of {', '.join(wrong)} what cannot be")
    return state, settings


KINDS = {"vocabulary": str, "context_length": int, "d": int, "num_heads": int, "num_layers": int}


def fill(model: torch.nn.Module, state: dict[str, torch.Tensor], path: Path) -> None:
    """Put the weights of a file into a model. Raises CourseError where they are another model's."""
    try:
        model.load_state_dict(state)
    except RuntimeError:
        raise CourseError(
            f"{path} does not fit your SmallGPT as it is now; train it again, or give another file"
        ) from None
