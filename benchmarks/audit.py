"""How often `tensorgrade audit` is right: false alarms on correct code, and finds on wrong code.

    python benchmarks/audit.py right [--third FOLDER]   correct implementations
    python benchmarks/audit.py wrong                    public code, one in 8 wrong answers, mutants

A case is found if a relation fails, or if every call raises an error. The line counts as right if a
wrong one is next to it. Install packages with `pip install --target FOLDER`.
"""

import argparse
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "solutions")]

from edits import edits  # noqa: E402

from tensorgrade.audit.run import audits  # noqa: E402
from tests.answers.reader import answers, changed_lines  # noqa: E402

CORE = (
    "scaled_dot_product_attention SelfAttention_v1 SelfAttention_v2 CausalAttention "
    "MultiHeadAttentionWrapper MultiHeadAttention CrossAttention GroupedQueryAttention "
    "CachedAttention online_softmax_attention LatentAttention"
).split()
PARTS = "softmax sinusoidal_positions rotate LayerNorm cross_entropy TransformerBlock".split()
RIGHT, WRONG = ("solution", "right_answers", "right_edits"), ("open_world", "wrong_edits")
TORCH = "torch/nn/modules torch/nn/functional"
# Files and packages below the folder of `--third`.
MODELS = "bart bert clip distilbert gemma gpt2 gpt_neox llama mistral opt phi qwen2 roberta t5 vit"
THIRD_PARTY = (
    "axial_attention labml_nn/transformers linformer local_attention nystrom_attention "
    "performer_pytorch rotary_embedding_torch timm/layers timm/models/vision_transformer "
    "torchtune/modules vit_pytorch x_transformers "
) + " ".join(f"transformers/models/{one}/modeling_{one}" for one in f"{MODELS} whisper".split())
# Heads without attention, and code that only a rule of the course makes wrong.
OTHERS = {"MultiHeadAttentionWrapper einsum", "TransformerBlock post_norm_without_dropout"}
OTHERS |= {"SelfAttention_v1 linear_layers_in_v1", "SelfAttention_v1 normal_numbers"}


@dataclass(frozen=True)
class Case:
    """Code to audit: a text with a name in it, or a file. lines: those that are wrong."""

    kind: str
    label: str
    text: str = ""
    name: str = ""
    path: Path = Path()
    lines: frozenset[int] = frozenset()


def of_answers(right: bool) -> Iterator[Case]:
    """Yield the answers of this repository whose kind an audit knows."""
    for one in answers():
        label = f"{one.exercise} {one.name}"
        known = one.exercise in CORE + PARTS and label not in OTHERS
        if known and one.right == right and one.corpus in (RIGHT if right else WRONG):
            yield Case(one.corpus, label, one.text, one.exercise, lines=one.faults)


def mutants(count: int) -> Iterator[Case]:
    """Yield mutants of solutions, drawn evenly from all exercises."""
    solved = [one for one in answers() if one.corpus == "solution" and one.exercise in CORE]
    for one in solved:
        made, share = edits(one.text, one.exercise), -(-count // len(solved))
        for edit in random.Random(f"{one.exercise} 1").sample(made, min(share, len(made))):
            lines, label = changed_lines(one.text, edit.text), f"{one.exercise} {edit.line}"
            yield Case("mutants", label, edit.text, one.exercise, lines=lines)


def files(folder: Path, places: str, kind: str) -> Iterator[Case]:
    """Yield the files at places below a folder."""
    for place in places.split():
        path = folder / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            if file.exists():
                yield Case(kind, str(file.relative_to(folder)), path=file)


def rows_of(case: Case, folder: Path) -> Iterator[dict]:
    """Yield what the table counts of the audits of a case."""
    path = folder / "code.py" if case.text else case.path
    if case.text:
        path.write_text(case.text, encoding="utf-8")
    begun = time.process_time()
    (found,) = audits([f"{path}:{case.name}" if case.name else str(path)], trust=True)
    seconds = (time.process_time() - begun) / max(len(found["audits"]), 1)
    for one in found["audits"]:
        fails = [r["why"] for r in one.get("relations", ()) if r["status"] == "fails"]
        lines = [m["line"] for m in one["mistakes"] if m["line"]]
        raises = one["status"] == "not run" and lines
        yield {
            "kind": case.kind,
            "label": case.label if case.name else f"{case.label}:{one['name']}",
            "status": "raises" if raises else one["status"],
            "why": one.get("why") or "; ".join(fails),
            "named": [m["name"] for m in one["mistakes"] if m["name"]],
            "located": any(abs(at - line) <= 1 for at in lines for line in case.lines),
            "seconds": round(seconds, 2),
        }


def main() -> None:
    """Audit all cases, print the shares by kind, and list what went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("which", choices=("right", "wrong"))
    parser.add_argument("--third", type=Path, help="a folder with other packages")
    parser.add_argument("--only", default="", help="a pattern for kinds and labels")
    asked = parser.parse_args()
    sys.path.append(str(asked.third or ROOT))
    cases = [*of_answers(asked.which == "right")]
    if asked.which == "right":
        cases.append(Case("conventions", "", path=ROOT / "tests" / "audit" / "conventions.py"))
        cases += files(Path(find_spec("torch").origin).parents[1], TORCH, "torch")  # type: ignore
        cases += files(asked.third, THIRD_PARTY, "packages") if asked.third else []
    else:
        public = [one for one in cases if one.kind == "open_world"]
        answered = [one for one in cases if one not in public][::8]
        cases = [*public, *answered, *mutants(42)]
    rows = []
    with TemporaryDirectory() as folder:
        for case in cases:
            if re.search(asked.only, f"{case.kind} {case.label}"):
                for row in rows_of(case, Path(folder)):
                    rows.append(row)
                    print(json.dumps(row), file=sys.stderr, flush=True)
    print("| code | cases | a relation fails | an error | holds | not run | named | right line |")
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        states = [row["status"] for row in own]
        counts = [states.count(one) for one in ("fails", "raises", "holds", "not run")]
        hits = [row for row in own if row["status"] in ("fails", "raises")]
        counts += [sum(bool(row["named"]) for row in hits), sum(row["located"] for row in hits)]
        print("| " + " | ".join(map(str, [kind, len(own), *counts])) + " |")
    print(f"\nmedian seconds: {statistics.median(row['seconds'] for row in rows):.1f}")


if __name__ == "__main__":
    main()
