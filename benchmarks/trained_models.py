"""Measure the chapter 6 score of a small GPT's weights: right ones, short runs, wrong ones.

    python benchmarks/trained_models.py train WHAT [--seed 0] [--steps 2000] --out FOLDER
    python benchmarks/trained_models.py table FOLDER

WHAT is `right` or one of WRONG: the solutions with known mistakes, trained by one thread as with
`tensorgrade train`. The table has a line for each file of weights with these losses:

- the model's own code: at all positions, and at the last position
- the graders' model with the same weights: at the last position, on hidden windows of three terms

It also has lines for models that only count tokens.
"""

import argparse
import json
import runpy
import statistics
import sys
import time
from pathlib import Path
from random import Random
from types import ModuleType

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.nn import functional

from tensorgrade.grader_files import import_from
from tensorgrade.project import Project
from tensorgrade.recognition.mistakes import make, mistake

ROOT = Path(__file__).resolve().parents[1]
PROJECT = Project(ROOT)
ATTENTION, GPT = "ch4_multi_head_attention", "ch6_small_gpt"
CHECKS = runpy.run_path(str(ROOT / "graders" / "checks.py"))
TERMS = range(3)

# Each wrong model by its description: the exercise, and its known mistake.
KNOWN = {
    "no mask": ("MultiHeadAttention", "mask_thrown_away"),
    "mask shifted by one": ("MultiHeadAttention", "mask_one_too_late"),
    "mask inverted": ("MultiHeadAttention", "mask_inverted"),
    "masked after the softmax": ("MultiHeadAttention", "masked_after_the_softmax"),
    "softmax over queries": ("MultiHeadAttention", "softmax_over_columns"),
    "softmax over heads": ("MultiHeadAttention", "softmax_over_heads"),
    "no softmax": ("MultiHeadAttention", "no_softmax"),
    "no scale": ("MultiHeadAttention", "no_scale"),
    "scaled by d_k": ("MultiHeadAttention", "scaled_by_d_k"),
    "heads split without transpose": ("MultiHeadAttention", "split_without_transpose"),
    "heads merged without transpose": ("MultiHeadAttention", "merged_without_transpose"),
    "heads interleaved": ("MultiHeadAttention", "heads_interleaved"),
    "one big head": ("MultiHeadAttention", "one_big_head"),
    "no positions": ("SmallGPT", "no_positions"),
    "blocks in reverse": ("SmallGPT", "blocks_in_reverse"),
    "no residuals": ("TransformerBlock", "nothing_added"),
    "no residual around attention": ("TransformerBlock", "attention_not_added"),
    "norm after the sum": ("TransformerBlock", "norm_after_the_sum"),
    "targets not shifted": ("batches", "targets_not_moved"),
    "targets shifted back": ("batches", "targets_moved_back"),
    "targets shifted by two": ("batches", "targets_two_on"),
    "gradients not cleared": ("train_step", "gradients_not_cleared"),
    "optimizer never steps": ("train_step", "no_step_taken"),
}
# Models that see one token, or none. They do not result from a typical mistake.
OWN = {
    "one token only (bigram)": (
        "TransformerBlock",
        ("x = x + self.dropout(self.attention(self.norm1(x)))", "pass"),
    ),
    "no token (unigram)": (
        "SmallGPT",
        ("self.token_embedding(ids)", "self.token_embedding(ids * 0)"),
    ),
}
WRONG = [*KNOWN, *OWN]


def sources(what: str) -> dict[str, str]:
    """Return the solutions of both chapters with one mistake."""
    texts = {c: PROJECT.solution(c).read_text(encoding="utf-8") for c in (ATTENTION, GPT)}
    if what in WRONG:
        exercise, how = (KNOWN | OWN)[what]
        by_name = {one.name: one for one in PROJECT.mistakes}
        wrong = by_name[how] if isinstance(how, str) else mistake("own", "", {exercise: (how,)})
        chapter = ATTENTION if exercise == "MultiHeadAttention" else GPT
        texts[chapter] = make(texts[chapter], exercise, [wrong])
    return texts


def gpt_of(texts: dict[str, str]) -> ModuleType:
    """Load chapter 6 with this chapter 4. Afterwards no chapter can be imported from here."""
    solutions, made = str(ROOT / "solutions"), {name: ModuleType(name) for name in texts}
    sys.path.insert(0, solutions)  # chapter 4 imports the chapters before it
    sys.modules.update(made)
    try:
        for name, text in texts.items():
            exec(compile(text, name, "exec"), vars(made[name]))
    finally:
        sys.path.remove(solutions)
        for chapter in PROJECT.course.chapters:
            sys.modules.pop(chapter.name, None)
    return made[GPT]


def train(what: str, seed: int, steps: int, out: Path) -> None:
    """Train a model, and write its weights with the data for the table."""
    training = import_from(ROOT / "exercises" / "commands", "parts.training")
    settings_of = import_from(ROOT / "exercises" / "commands", "parts.weights_file").Settings
    ids, vocabulary = text_ids()
    gpt, settings = gpt_of(sources(what)), settings_of(vocabulary, 64, 64, 4, 2)
    learned, held_back = training.in_two(ids, settings.context_length)
    began = time.process_time()
    run = training.begin(gpt, settings, steps, seed)
    losses = list(training.train(gpt, run, learned, seed))
    told = {"what": what, "seed": seed, "steps": steps, "seconds": time.process_time() - began}
    told |= {"losses": losses[-1], "own": training.loss_on(run.model, held_back, 64)}
    windows = hidden_windows(0)
    with torch.no_grad():
        logits = run.model.eval()(windows[:, :-1])[:, -1]
    told["own_last"] = functional.cross_entropy(logits, windows[:, -1]).item()
    out.mkdir(parents=True, exist_ok=True)
    plain = {k: v.detach().clone() for k, v in run.model.state_dict().items() if "mask" not in k}
    path = out / f"{what.replace(' ', '_')}-{steps}-{seed}.safetensors"
    save_file(plain, path, {"told": json.dumps(told)})
    print(path.name, json.dumps(told))


def text_ids() -> tuple[torch.Tensor, str]:
    """Return Shakespeare's text as ids, and its characters."""
    texts = import_from(ROOT / "exercises" / "commands", "parts.texts")
    text = texts.read_text("shakespeare")
    vocabulary = "".join(sorted(set(text)))
    return texts.ids_of(text, vocabulary), vocabulary


def hidden_windows(term: int) -> torch.Tensor:
    """Return windows like those of a term's graders: (512, 65)."""
    ids, _ = text_ids()
    first, last = int(0.95 * len(ids)), len(ids) - 65
    chance = Random(term)
    starts = torch.tensor([chance.randint(first, last) for _ in range(512)])
    return ids[starts[:, None] + torch.arange(65)]


def table(folder: Path) -> None:
    """Print a line for each file of weights, and one for each model that only counts."""
    windows = [hidden_windows(term) for term in TERMS]
    print(f"{'':34} steps seed   own  own, last  graded (mean, most of {len(windows)} terms)")
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            told = json.loads(file.metadata()["told"])
        weights = load_file(path)
        graded = [CHECKS["loss_at_the_end"](weights, one) for one in windows]
        print(
            f"{told['what']:34} {told['steps']:5} {told['seed']:4} {told['own']:6.3f}"
            f" {told['own_last']:9.3f} {statistics.mean(graded):7.3f} {max(graded):7.3f}"
        )
    for tokens, name in enumerate(("unigrams", "bigrams", "trigrams")):
        graded = [counted(tokens, one) for one in windows]
        mean = statistics.mean(graded)
        print(f"{name + ' counted':34} {'':27} {mean:7.3f} {min(graded):7.3f} (least)")


def counted(tokens: int, windows: torch.Tensor) -> float:
    """Return the loss of a model that counts each next token, with 0.1 added to every count."""
    ids, vocabulary = text_ids()
    learned = ids[: int(0.9 * len(ids))]
    size = len(vocabulary)
    places = sum(
        (size**n * learned[tokens - n : len(learned) - n] for n in range(tokens + 1)),
        torch.tensor(0),
    )
    counts = 0.1 + torch.bincount(places, minlength=size ** (tokens + 1)).double()
    chances = counts.view(-1, size) / counts.view(-1, size).sum(dim=1, keepdim=True)
    rows = sum(
        (size ** (n - 1) * windows[:, -1 - n] for n in range(1, tokens + 1)), torch.tensor(0)
    )
    return -chances[rows, windows[:, -1]].log().mean().item()


def main() -> None:
    """Train one model, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("train")
    one.add_argument("what", choices=["right", *WRONG])
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--steps", type=int, default=2000)
    one.add_argument("--out", type=Path, required=True)
    commands.add_parser("table").add_argument("folder", type=Path)
    asked = vars(parser.parse_args())
    torch.set_num_threads(1)
    {"train": train, "table": table}[asked.pop("command")](**asked)


if __name__ == "__main__":
    main()
