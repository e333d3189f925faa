"""Make `exercises/weights/looking.safetensors`, the small model of `tensorgrade see`.

    python solutions/weights/make.py

Train chapter 6's model with chapter 6's own functions, in two stages.

First it learns to look. A quarter of its text is Shakespeare, a quarter random characters that
repeat after a pause, and half stretches of Shakespeare that repeat. A model that finds the last
occurrence predicts the whole repetition; nothing else helps with random characters.

Then it forgets its English. Learners have this file, and must not submit it as the training that
chapter 6 asks for. So the model is made wider than the one that learners train, and it is trained on
windows whose characters are permuted, differently in each window. Knowledge about one window's
letters is wrong in the next one, but knowledge about where to look stays right.

With one thread and one seed, the same kind of machine makes the same file. (Another processor may
round differently and make another model that does the same.) It takes about five minutes of
processor time.
"""

import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "exercises" / "weights" / "looking.safetensors"
sys.path.insert(0, str(ROOT / "solutions"))

from ch6_small_gpt import SmallGPT, batches, train_step  # noqa: E402

# A line break, all printable ASCII characters, and one for all others.
VOCABULARY = "\n" + "".join(map(chr, range(32, 127))) + "\ufffd"
SIZES = {"context_length": 64, "d": 64, "num_heads": 4, "num_layers": 2}
WIDER = SIZES | {"d": 72}
SEED, BATCH = 1, 32
Makes = tuple[torch.Tensor, torch.Tensor]


def again(stretch: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    """Return a window plus one character, in which a stretch repeats.

    stretch: (n,). Up to eight random characters separate two repetitions.
    """
    length, parts = SIZES["context_length"] + 1, []
    while sum(map(len, parts)) < length:
        pause = int(torch.randint(0, 9, (1,), generator=chance))
        parts += [stretch, torch.randint(0, len(VOCABULARY), (pause,), generator=chance)]
    return torch.cat(parts)[:length]


def windows(text: torch.Tensor, chance: torch.Generator) -> Makes:
    """Return inputs and targets of one step, each (BATCH, context_length)."""
    inputs, targets = batches(text, SIZES["context_length"], BATCH // 4, chance)
    rows = []
    for number in range(BATCH - BATCH // 4):
        size = int(torch.randint(5, 30, (1,), generator=chance))
        start = int(torch.randint(0, len(text) - size, (1,), generator=chance))
        random = torch.randint(0, len(VOCABULARY), (size,), generator=chance)
        rows.append(again(random if number % 3 == 0 else text[start : start + size], chance))
    repeats = torch.stack(rows)
    return torch.cat((inputs, repeats[:, :-1])), torch.cat((targets, repeats[:, 1:]))


def enciphered(text: torch.Tensor, chance: torch.Generator) -> Makes:
    """Return inputs and targets of one step, with a different alphabet in each window."""
    inputs, targets = windows(text, chance)
    whole = torch.cat((inputs, targets[:, -1:]), dim=1)
    alphabets = [torch.randperm(len(VOCABULARY), generator=chance) for _ in range(BATCH)]
    whole = torch.stack(alphabets).gather(1, whole)
    return whole[:, :-1], whole[:, 1:]


def train(model: SmallGPT, draw: Callable, steps: int, rate: float) -> None:
    """Train a model on batches from `draw`; the learning rate rises first, then falls to a tenth."""
    packed = (ROOT / "exercises" / "texts" / "shakespeare.txt.xz").read_bytes()
    text = torch.tensor([VOCABULARY.index(c) for c in lzma.decompress(packed).decode()])
    chance = torch.Generator().manual_seed(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 100) * (1 - 0.9 * step / steps)
        loss = train_step(model, optimizer, *draw(text, chance))
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss:.3f}", flush=True)


@torch.no_grad()
def widened(weights: dict[str, torch.Tensor]) -> SmallGPT:
    """Return a wider model that does nearly the same, because its new weights are small."""
    torch.manual_seed(SEED)
    model = SmallGPT(len(VOCABULARY), **WIDER)
    for name, weight in model.named_parameters():
        if "norm" not in name:
            weight *= 0.1
        small = by_heads(name, weights[name])
        by_heads(name, weight)[tuple(map(slice, small.shape))] = small
    return model


def by_heads(name: str, weight: torch.Tensor) -> torch.Tensor:
    """Return a weight of attention with a separate axis for the heads, each of which is wider."""
    heads = SIZES["num_heads"]
    if name.endswith(("W_query.weight", "W_key.weight", "W_value.weight")):
        return weight.view(heads, -1, weight.shape[1])
    if name.endswith("out_proj.weight"):
        return weight.view(len(weight), heads, -1)
    return weight


def main() -> None:
    """Train, and write the weights without the masks, with vocabulary and sizes as metadata."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    looking = SmallGPT(len(VOCABULARY), **SIZES)
    train(looking, windows, 4000, 3e-3)
    model = widened(looking.state_dict())
    train(model, enciphered, 800, 2e-3)
    weights = {k: v for k, v in model.state_dict().items() if not k.endswith("mask")}
    settings = {"vocabulary": VOCABULARY, **WIDER}
    save_file(weights, OUT, {"settings": json.dumps(settings)})
    print(f"wrote {OUT.relative_to(ROOT)}, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
