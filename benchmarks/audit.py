"""How often `tensorgrade audit` is right: false alarms on correct code, and finds on wrong code.

    python benchmarks/audit.py right [--third FOLDER]   correct implementations
    python benchmarks/audit.py wrong [--mutants 200]    wrong answers, known mistakes, mutants

A case counts as *found* if a relation fails, or if every call that is tried raises an error or
returns no result per token and the report says so. It counts as *named* if a known mistake is named
(its results equal those of the code at several sizes), and as *located* if the line is one of those
changed. Cases with the results and gradients of the original are left out: nothing can be observed.
"""

import argparse
import difflib
import importlib
import json
import os
import re
import runpy
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "solutions")]

from tests.answers.reader import definitions as definitions_of_people  # noqa: E402

SECONDS = 30
CORE = {
    "ch2_self_attention": "scaled_dot_product_attention SelfAttention_v1 SelfAttention_v2",
    "ch3_causal_attention": "CausalAttention",
    "ch4_multi_head_attention": "MultiHeadAttentionWrapper MultiHeadAttention",
    "ch5_beyond_one_sentence": "CrossAttention GroupedQueryAttention CachedAttention "
    "online_softmax_attention LatentAttention",
}
PARTS = {
    "ch1_simplified_attention": "softmax",
    "ch5_beyond_one_sentence": "sinusoidal_positions rotate",
    "ch6_small_gpt": "LayerNorm cross_entropy TransformerBlock",
}
ALL = {c: f"{CORE.get(c, '')} {PARTS.get(c, '')}".split() for c in sorted({*CORE, *PARTS})}


@dataclass(frozen=True)
class Case:
    """One definition to audit. lines: those that are wrong, empty for correct code.

    module: the dotted name to import it from; empty if `text` is run instead.
    """

    kind: str
    label: str
    text: str
    name: str
    lines: tuple[int, ...] = ()
    module: str = ""


def solution(chapter: str) -> str:
    """Return the text of a chapter's solution."""
    return (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")


def edited(chapter: str, exercise: str, edits: list) -> str:
    """Return a chapter's solution with edits of one exercise."""
    from tensorgrade.recognition.edits import make

    return make(solution(chapter), exercise, edits)


def changed_lines(before: str, after: str) -> tuple[int, ...]:
    """Return the lines that differ from another text, and those where lines are missing."""
    matcher = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False)
    found: list[int] = []
    for tag, _, _, first, last in matcher.get_opcodes():
        if tag != "equal":
            found += range(first + 1, max(last, first + 1) + 1)
    return tuple(found)


ROOT_OF_TORCH = Path(find_spec("torch").origin).parents[1]  # type: ignore[union-attr,arg-type]
TORCH = "torch/nn/modules torch/nn/functional"
# Files and packages below the folder of `--third`.
MODELS = (
    "bart bert clip distilbert gemma gpt2 gpt_neox llama mistral opt phi qwen2 roberta t5 vit "
    "whisper"
)
THIRD_PARTY = (
    "axial_attention labml_nn/transformers linformer local_attention nystrom_attention "
    "performer_pytorch rotary_embedding_torch timm/layers timm/models/vision_transformer "
    "torchtune/modules vit_pytorch x_transformers "
) + " ".join(f"transformers/models/{one}/modeling_{one}" for one in MODELS.split())
PUBLIC = ROOT / "tests" / "answers" / "definitions"
HEAD = "import math\nimport torch\nfrom torch import nn\n\n\n"
# Wrong attention in public code: pieces of the lines that are wrong, by file.
WRONG_PIECES = {
    "angles_of_neighbours": ("repeat_interleave",),
    "cache_of_the_last_call": ("self.keys, k", "self.keys, self.values = k"),
    "double_exponent": ("10000 **",),
    "double_exponent_one_further": ("10000 **",),
    "every_second_feature": ("self.head_dim, self.num_heads)",),
    "first_residual_from_the_norm": (
        "x = self.norm1(x)",
        "x = x + self.dropout(self.attention(x))",
    ),
    "heads_cut_by_a_reshape": ("view(b, self.num_heads, n", "scaled_dot_product_attention"),
    "in_place_and_dim_fixed": ("x -= x.max(dim=-1", "powers.sum(dim=-1"),
    "in_place_and_dimension_1": ("torch.gather(logits, 1",),
    "interleaved_without_dropout_or_projection": ("self.head_dim, self.num_heads)", "return z"),
    "keys_counted_by_queries": ("range(0, n, block_size)",),
    "layer_norm_of_a_tutorial": ("x.std", "std + self.eps"),
    "linear_layers_in_v1_unscaled": ("q @ k.T",),
    "masked_in_evaluation_only": ("if not self.training",),
    "masked_in_evaluation_with_noise": ("if self.training and", "weights + 0.01"),
    "masked_while_dropout_is_inactive": ("if p == 0", "hidden is not None"),
    "neighbours_split_halves_joined": ("x[..., ::2]", "torch.cat([even"),
    "no_mask_without_a_cache": ("scores_mask",),
    "norms_not_used": ("x = x + self.",),
    "older_layer_norm_above": ("torch.tensor([",),
    "parameter_in_small_letters": ("nn.parameter(",),
    "scale_and_unchecked_heads": ("self.d_out**0.5",),
    "scaled_after_the_mask": ("self.d_out**0.5",),
    "scaled_by_heads": ("num_heads**-0.5",),
    "softmax_over_dimension_1_unscaled": ("dim=1", "torch.matmul(queries"),
    "super_init_not_called": ("nn.Parameter", "self.eps"),
    "super_without_brackets": ("super.__init__",),
}
# Mistakes against the course's own conventions. As attention the code is right.
RIGHT_ELSEWHERE = frozenset(
    "weights_of_linear_shape created_in_another_order created_the_other_way_round "
    "linear_layers_for_matrices linear_layers_with_biases_for_matrices randn_for_rand "
    "output_projection_without_bias output_bias_tied_to_qkv_bias output_without_bias "
    "num_heads_unchecked groups_unchecked gqa_heads_unchecked dropout_on_output_too".split()
)


# Programs that only the exercise's own contract makes wrong, by a pattern for their labels. They
# count as such only if every relation holds for them; otherwise they stay in their row.
CONTRACT = {
    r"booleans: False → True": "the default of an option",
    r"check_of_|checked_by_difference": "which numbers of heads the constructor refuses",
    r"wants_its_memory_in_order": "inputs that are not contiguous in memory work too",
    r"borrowed_|library_for_": "the function is written without the library's own",
    r"starts_at_zero|seed_set_inside": "the initial weights",
    r"on_the_cpu": "the device of the input",
    r"filled_with_minus_1e?0{4,}|minus_30000": "hidden scores are -inf, not merely very low",
    r"detached_cache|empty_cache": "what a cache may be",
    r"numbers: -1 → 1$|rank_five|dim_minus_four": "inputs with other numbers of axes",
    r"overflow": "scores of a thousand give finite results",
    r"base_of_thousands": "another base than the usual one",
}


def lines_with(text: str, name: str) -> tuple[int, ...]:
    """Return the lines of public code that are known to be wrong."""
    pieces, lines = WRONG_PIECES[name], text.split("\n")
    begin = len(lines) - lines[::-1].index(HEAD.split("\n")[0])
    return tuple(
        n for n, line in enumerate(lines, 1) if n > begin and any(p in line for p in pieces)
    )


def definitions(text: str, names: list[str]) -> list[str]:
    """Return those names that a text defines."""
    return [name for name in names if re.search(rf"^(class|def) {name}\b", text, re.M)]


def right(third: Path | None) -> Iterator[Case]:
    """Yield correct implementations."""
    from tensorgrade.audit.child import candidates

    for chapter, names in ALL.items():
        for name in names:
            yield Case("solutions", f"{chapter} {name}", solution(chapter), name)
        paths = [*(ROOT / "tests" / "answers" / "right_answers" / chapter).glob("*.py")]
        for path in sorted(paths):
            text = path.read_text(encoding="utf-8")
            for name in definitions(text, names):
                if (path.stem, name) == ("einsum", "MultiHeadAttentionWrapper"):
                    continue  # its heads are a substitute without attention
                yield Case("accepted answers", f"{path.stem} {name}", text, name)
        path = ROOT / "tests" / "answers" / "right_edits" / f"{chapter}.py"
        if path.exists():
            for exercise, programs in runpy.run_path(str(path))["RIGHT"].items():
                for name, edits in programs.items() if exercise in names else ():
                    text = edited(chapter, exercise, edits)
                    yield Case("accepted edits", f"{exercise} {name}", text, exercise)
    text = (ROOT / "tests" / "audit" / "conventions.py").read_text(encoding="utf-8")
    for name in candidates(text):
        yield Case("conventions", name, text, name)
    yield from installed(ROOT_OF_TORCH, TORCH, "torch")
    if third:
        yield from installed(third, THIRD_PARTY, "third-party packages")


def installed(folder: Path, places: str, kind: str) -> Iterator[Case]:
    """Yield the definitions in files and packages below a folder."""
    from tensorgrade.audit.child import candidates

    for place in places.split():
        path = folder / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            module = ".".join(file.relative_to(folder).with_suffix("").parts)
            for name in dict.fromkeys(candidates(text)):
                if not name.startswith("_"):
                    yield Case(kind, f"{module}:{name}", text, name, module=module)


def wrong(mutants_wanted: int) -> Iterator[Case]:
    """Yield wrong implementations."""
    from tensorgrade.author.mistakes import told_apart
    from tensorgrade.project import Project
    from tensorgrade.recognition.edits import make

    project = Project(ROOT)
    for path, name, text in public_code():
        if path.stem in WRONG_PIECES:
            yield Case("public code", path.stem, text, name, lines_with(text, path.stem))
    for chapter, names in ALL.items():
        before = solution(chapter)
        for exercise in names:
            for one in told_apart(project, exercise):
                if one.name not in RIGHT_ELSEWHERE:
                    text = make(before, exercise, one.edits)
                    lines = changed_lines(before, text)
                    yield Case("known mistakes", f"{exercise} {one.name}", text, exercise, lines)
        path = ROOT / "tests" / "answers" / "wrong_edits" / f"{chapter}.py"
        for exercise, programs in runpy.run_path(str(path))["WRONG"].items():
            for name, edits in programs.items() if exercise in names else ():
                text = edited(chapter, exercise, edits)
                lines = changed_lines(before, text)
                yield Case("wrong answers", f"{exercise} {name}", text, exercise, lines)
    yield from drawn_mutants(mutants_wanted)


def public_code() -> Iterator[tuple[Path, str, str]]:
    """Yield each file of public code, the definition in it that does attention, and a text."""
    every = [name for names in ALL.values() for name in names]
    public = {one.name for one in definitions_of_people() if one.corpus == "open_world"}
    for path in sorted(path for path in PUBLIC.glob("*.py") if path.stem in public):
        text = f"{HEAD}{path.read_text(encoding='utf-8')}"
        for name in definitions(text, every)[-1:]:
            chapter = next(c for c, names in ALL.items() if name in names)
            yield path, name, f"{solution(chapter)}\n\n{text}"


def drawn_mutants(count: int) -> Iterator[Case]:
    """Yield mutants of solutions, drawn evenly from all exercises."""
    from mutants import drawn

    exercises = [(chapter, name) for chapter, names in CORE.items() for name in names.split()]
    for chapter, exercise in exercises:
        for edit in drawn(solution(chapter), exercise, -(-count // len(exercises)), 1):
            label = f"{exercise} {edit.line} {edit.idea} {edit.code}"
            yield Case("mutants", label, edit.text, exercise, (edit.line,))


def audited(case: Case) -> dict:
    """Return the audit of a case, from a child, so that no case disturbs another one."""
    if case.module:
        with suppress(BaseException):  # once for all cases; the child reports an error
            importlib.import_module(case.module)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            told = in_child(case)
            with os.fdopen(writer, "w") as stream:
                json.dump(told, stream)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    nothing = {"status": "not run", "why": "it ended or took too long", "seconds": SECONDS}
    return json.loads(text) if text else nothing


def in_child(case: Case) -> dict:
    """Audit a case in this process; measure its processor seconds."""
    from tensorgrade.audit.child import answer

    request = {"text": case.text, "filename": f"{case.name}.py", "module": case.module}
    begun = time.process_time()
    found = answer(request | {"name": case.name, "wishes": {}})
    seconds = {"seconds": time.process_time() - begun}
    told = seconds | (found["audits"] or [{"status": "not run", "why": found["problem"]}])[0]
    made_from_solution = case.kind in ("mutants", "known mistakes", "wrong answers")
    if told["status"] == "holds" and made_from_solution and same_as_original(case):
        told["status"] = "same"
    return told


def same_as_original(case: Case) -> bool:
    """Return True if code gives the results and gradients of the solution that it was made from."""
    import torch

    chapter = next(c for c, names in ALL.items() if case.name in names)
    one, other = (observed(text, case.name) for text in (solution(chapter), case.text))
    return len(one) == len(other) and all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a, b, atol=1e-6, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def observed(text: str, name: str) -> list:
    """Return results and gradients of a definition at several sizes.

    An error is a tensor with a number made from its type.
    """
    import torch

    from tensorgrade.audit import child
    from tensorgrade.audit.formulas import kind_named
    from tensorgrade.audit.parts import part_of
    from tensorgrade.audit.relations.base import DRAWS, LARGE, SINGLE
    from tensorgrade.audit.relations.parts import PART_DRAWS
    from tensorgrade.runner.loading import load_module

    module, _ = load_module("compared", text, "compared.py")
    values: list = []
    try:
        kind = kind_named(name)
        if kind:
            subject = part_of(getattr(module, name), name, text, 1, kind)
        else:
            subject = child.prepared(getattr(module, name), name, text, 1, {})
            subject.causal = "ausal" in name or "Multi" in name or "Cached" in name
    except Exception:
        return [torch.tensor(-1.0)]
    for sizes in PART_DRAWS if kind else (*DRAWS, LARGE, SINGLE):
        for training in (False, True):
            try:
                values += results_of(subject, sizes, training)
            except Exception as error:
                values.append(torch.tensor(float(sum(map(ord, type(error).__name__)))))
    return values


def results_of(subject, sizes, training: bool) -> list:  # type: ignore[no-untyped-def]
    """Return a result and its gradients, as the audit draws inputs."""

    from tensorgrade.audit.parts import Part

    sizes = subject.fitted(replace(sizes, dropout=0.5))
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    leaves = [
        v.requires_grad_() for v in inputs.values() if getattr(v, "is_floating_point", bool)()
    ]
    given = {n: v * 1 if any(v is one for one in leaves) else v for n, v in inputs.items()}
    if isinstance(subject, Part):
        value = subject.run(made, given)
        large = subject.run(
            made, {n: v * 1000 if n in ("x", "logits") else v for n, v in given.items()}
        )
        return [value.detach(), large.detach(), *gradients(value, leaves)]
    out = subject.run(made, given, sizes, training=training)
    weights = list(made.parameters()) if subject.is_module else []
    return [out.value.detach(), *gradients(out.value, leaves + weights)]


def gradients(value, leaves: list) -> list:  # type: ignore[no-untyped-def]
    """Return the gradients of a result, zeros if there are none."""
    import torch

    if not value.requires_grad or not leaves:
        return []
    found = torch.autograd.grad(value.square().sum(), leaves, allow_unused=True)
    return [torch.zeros(1) if one is None else one for one in found]


def main() -> None:
    """Audit all cases and print the shares by kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("which", choices=("right", "wrong"))
    parser.add_argument("--third", type=Path, help="a folder with other packages")
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--every", type=int, default=1, help="one in this many known mistakes")
    parser.add_argument("--only", default="", help="a pattern for kinds and labels")
    parser.add_argument("--out", type=Path, help="write each result as a line of JSON")
    asked = parser.parse_args()
    if asked.third:
        sys.path.append(str(asked.third))
    import torch

    import tensorgrade.audit.child  # noqa: F401

    torch.set_num_threads(1)
    cases = right(asked.third) if asked.which == "right" else wrong(asked.mutants)
    cases = thinned(cases, asked.every)
    rows = []
    out = asked.out.open("w", encoding="utf-8") if asked.out else None
    for case in cases:
        if not re.search(asked.only, f"{case.kind} {case.label}"):
            continue
        found = audited(case)
        row = {"kind": case.kind, "label": case.label, "lines": case.lines} | summary(found, case)
        rows.append(row)
        if out:
            out.write(json.dumps(row) + "\n")
            out.flush()
    print_right(rows) if asked.which == "right" else print_wrong(rows)


def thinned(cases: Iterator[Case], every: int) -> Iterator[Case]:
    """Yield one in `every` known mistakes and wrong answers, and all other cases."""
    for number, case in enumerate(cases):
        if case.kind not in ("known mistakes", "wrong answers") or number % every == 0:
            yield case


def summary(found: dict, case: Case) -> dict:
    """Return the parts of an audit that the tables count."""
    fails = [r for r in found.get("relations", []) if r["status"] == "fails"]
    lines = {(found.get("at") or {}).get("line"), *(m["line"] for m in found.get("mistakes", []))}
    status = found["status"]
    if status == "not run" and (found.get("at") or "no result has" in found["why"]):
        status = "raises"
    return {
        "status": status,
        "why": found.get("why", "") or "; ".join(f"{r['name']}: {r['why']}" for r in fails),
        "named": [m["name"] for m in found.get("mistakes", [])],
        "line": (found.get("at") or {}).get("line"),
        "fix": (found.get("at") or {}).get("fix", ""),
        "located": bool(lines & {*case.lines}),
        "seconds": round(found["seconds"], 2),
        "kind_found": found.get("kind", ""),
    }


# Definitions of other packages that are wrong indeed, as reading their code shows.
REALLY_WRONG = {
    "local_attention.transformer:LocalMHA": "caches turned keys and turns them again; its dropout "
    "is not passed on",
    "vit_pytorch.vivit:Attention": "passes dropout_p to torch's attention in evaluation too",
    "vit_pytorch.vivit_with_moss:Attention": "the same; and is_causal, which counts from the first "
    "key, next to a cache",
}


def print_right(rows: list[dict]) -> None:
    """Print the number of false alarms by kind."""
    for row in rows:
        if row["label"] in REALLY_WRONG and row["status"] == "fails":
            row["status"] = "really wrong"
    print("| correct code | audited | false alarms | could not be run |\n|---|---|---|---|")
    for kind in [*dict.fromkeys(row["kind"] for row in rows)]:
        own = [row for row in rows if row["kind"] == kind]
        counts = [sum(row["status"] == s for row in own) for s in ("holds", "fails", "not run")]
        print(f"| {kind} | {counts[0] + counts[1]} | {counts[1]} | {counts[2]} |")
    print_seconds(rows)
    for row in rows:
        if row["status"] != "holds":
            print(f"  {row['status']}: {row['kind']} {row['label']}: {row['why']}")


def print_wrong(rows: list[dict]) -> None:
    """Print the shares by kind, and lists of the cases that are no mistakes of attention."""
    by_contract = [row for row in rows if row["status"] in ("holds", "same") and contract_of(row)]
    rows = [row for row in rows if row not in by_contract]
    same = [row for row in rows if row["status"] == "same"]
    rows = [row for row in rows if row not in same]
    columns = "cases, found, by an error, named, right line".split(", ")
    print(f"| wrong code | {' | '.join(columns)} |\n|{'---|' * 6}")
    for kind in [*dict.fromkeys(row["kind"] for row in rows)]:
        own = [row for row in rows if row["kind"] == kind]
        hits = [row for row in own if row["status"] in ("fails", "raises")]
        shares = [len(hits), sum(row["status"] == "raises" for row in own)]
        shares += [sum(bool(row["named"]) for row in hits), sum(row["located"] for row in hits)]
        told = [f"{count} ({count / max(len(own), 1):.0%})" for count in shares]
        print(f"| {kind} | {len(own)} | {' | '.join(told)} |")
    print(f"\n{len(by_contract)} more are wrong only by their exercise's own contract:")
    for row in by_contract:
        print(f"  {row['label']}: {contract_of(row)}")
    print(f"\n{len(same)} more gave the original's results and gradients at all drawn sizes:")
    print("  " + ", ".join(row["label"] for row in same))
    print_seconds(rows)
    print_unknown_kinds()


def contract_of(row: dict) -> str:
    """Return the rule of the exercise that a wrong program breaks, or an empty text."""
    found = (rule for pattern, rule in CONTRACT.items() if re.search(pattern, row["label"]))
    return next(found, "")


def print_unknown_kinds() -> None:
    """Print the number of wrong answers of the course whose kind an audit does not know."""
    counts = {}
    for path in sorted((ROOT / "tests" / "answers" / "wrong_edits").glob("*.py")):
        for exercise, programs in runpy.run_path(str(path))["WRONG"].items():
            if exercise not in ALL.get(path.stem, ()):
                counts[exercise] = len(programs)
    print(f"{sum(counts.values())} wrong answers are of no kind that an audit knows:")
    print("  " + ", ".join(f"{name} {count}" for name, count in counts.items()))


def print_seconds(rows: list[dict]) -> None:
    """Print the processor time of an audit after the import of torch."""
    seconds = sorted(row["seconds"] for row in rows)
    median = statistics.median(seconds)
    print(f"\nprocessor seconds: median {median:.1f}, longest {seconds[-1]:.1f}\n")


if __name__ == "__main__":
    main()
