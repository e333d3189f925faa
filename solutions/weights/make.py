"""Makes `exercises/weights/looking.safetensors`, the small model of `tensorgrade see`.

    python solutions/weights/make.py

Chapter 6's model, trained by chapter 6's own functions. A quarter of what it reads is Shakespeare,
a quarter random characters that come again after a pause, a half stretches of Shakespeare that do
so. Whoever can look back for the last time that the same thing stood there foresees all of the
second time; nothing else helps with random characters. One thread and one seed: the same file
again on the same kind of machine (another processor may round otherwise, and its model will be
another one that does the same). Some four minutes of processor time.
"""

import json
import lzma
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "exercises" / "weights" / "looking.safetensors"
sys.path.insert(0, str(ROOT / "solutions"))

from ch6_small_gpt import SmallGPT, batches, train_step  # noqa: E402

# A line break, all characters that a keyboard of ASCII types, and one for all others.
VOCABULARY = "\n" + "".join(map(chr, range(32, 127))) + "\ufffd"
SIZES = {"context_length": 64, "d": 64, "num_heads": 4, "num_layers": 2}
SEED, STEPS, BATCH, RATE = 1, 4000, 32, 3e-3
Makes = tuple[torch.Tensor, torch.Tensor]


def again(stretch: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    """A window and one character more, in which a stretch stands again and again.

    stretch: (n,). Between two of them are up to eight random characters.
    """
    length, parts = SIZES["context_length"] + 1, []
    while sum(map(len, parts)) < length:
        pause = int(torch.randint(0, 9, (1,), generator=chance))
        parts += [stretch, torch.randint(0, len(VOCABULARY), (pause,), generator=chance)]
    return torch.cat(parts)[:length]


def windows(text: torch.Tensor, chance: torch.Generator) -> Makes:
    """Inputs and targets of one step, each (BATCH, context_length)."""
    inputs, targets = batches(text, SIZES["context_length"], BATCH // 4, chance)
    rows = []
    for number in range(BATCH - BATCH // 4):
        size = int(torch.randint(5, 30, (1,), generator=chance))
        start = int(torch.randint(0, len(text) - size, (1,), generator=chance))
        random = torch.randint(0, len(VOCABULARY), (size,), generator=chance)
        rows.append(again(random if number % 3 == 0 else text[start : start + size], chance))
    repeats = torch.stack(rows)
    return torch.cat((inputs, repeats[:, :-1])), torch.cat((targets, repeats[:, 1:]))


def trained(steps: int) -> SmallGPT:
    """The model after so many steps; the rate rises for a hundred, then falls to a tenth."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    chance = torch.Generator().manual_seed(SEED)
    packed = (ROOT / "exercises" / "texts" / "shakespeare.txt.xz").read_bytes()
    text = torch.tensor([VOCABULARY.index(c) for c in lzma.decompress(packed).decode()])
    model = SmallGPT(len(VOCABULARY), **SIZES)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 100) * (1 - 0.9 * step / steps)
        loss = train_step(model, optimizer, *windows(text, chance))
        if step % 500 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss:.3f}", flush=True)
    return model


def main() -> None:
    """Train, and write weights without the masks, with vocabulary and sizes beside them."""
    weights = {k: v for k, v in trained(STEPS).state_dict().items() if not k.endswith("mask")}
    settings = {"vocabulary": VOCABULARY, **SIZES}
    save_file(weights, OUT, {"settings": json.dumps(settings)})
    print(f"wrote {OUT.relative_to(ROOT)}, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
