"""Audit the definitions of one file, in the process that runs them."""

import ast
import importlib
import inspect
import re
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import torch

from ..runner.edits import Edit, edits
from ..runner.loading import load_module
from .parts import Kind, kind_named, part_of, results
from .relations import ATTENTION, PARTS, Relation, Skip, follows_formula
from .relations.base import ONE
from .subject import (
    FIRST,
    MEANINGS,
    SHAPES,
    SHAPES_OF_KEYS,
    CannotRun,
    Convention,
    Subject,
    dependence,
    moved,
    prepared,
    raised,
)

SECONDS = 1.5  # of the processor
ATTENTION_NAME = re.compile(r"atten|attn|mha|(^|_)heads?$|sdpa|Head$", re.I)


def answer(request: dict) -> dict:
    """Return the audits of a file's definitions, in a form for JSON.

    request: `text` and `filename`, or `module`; `name`, one definition or an empty text; `wishes`,
    what the caller settles.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    begun = time.monotonic()
    try:
        module, text, problems = loaded(request)
    except Exception as error:
        return {"audits": [], "problem": f"{type(error).__name__}: {error}"}
    names = [request["name"]] if request["name"] else candidates(text)
    audits: list[dict] = []
    for name in names:
        if (target := getattr(module, name, None)) is None:
            audits.append(failed(name, text, f"the file defines no `{name}`", problems))
        else:
            audits.append(audit(target, name, text, request["wishes"]))
            audits[-1]["is_class"] = inspect.isclass(target)
    if any(one["status"] != "not run" for one in audits) and not request["name"]:
        # Helper functions with a telling name are no reason to complain.
        audits = [one for one in audits if one["status"] != "not run" or one.pop("is_class", True)]
    return {"audits": audits, "problem": "", "seconds": time.monotonic() - begun}


def audit_of(target: Any) -> dict:
    """Return the audit of a class or function of this process."""
    path = inspect.getsourcefile(target) or ""
    with open(path, encoding="utf-8") as file:
        found = audit(target, target.__name__, file.read(), {})
    return {"file": path, "audits": [found], "problem": ""}


def loaded(request: dict) -> tuple[types.ModuleType, str, list[dict]]:
    """Return the module, its text, and the problems of loading it."""
    if request.get("module"):
        module = importlib.import_module(request["module"])
        return module, inspect.getsource(module), []
    module, problems = load_module("audited", request["text"], request["filename"])
    return module, request["text"], problems


def failed(name: str, text: str, why: str, problems: list[dict]) -> dict:
    """Return the audit of a definition that could not be run."""
    found = next((p["error"] for p in problems if name in p["names"]), None)
    if found:
        why = f"loading it raises {found.get('type')}: {found.get('message')}"
    return {"name": name, "line": line_of(text, name), "status": "not run", "why": why}


def candidates(text: str) -> list[str]:
    """Return the definitions at the top of a file that may do attention."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and "forward" in {
            getattr(n, "name", "") for n in node.body
        }:
            words = ast.unparse(node)
            if (
                kind_named(node.name)
                or ATTENTION_NAME.search(node.name)
                or "softmax" in words
                or "scaled_dot" in words
            ) or re.search(r"Block|(En|De)coderLayer", node.name):
                found.append(node.name)
        elif isinstance(node, ast.FunctionDef):
            three = len(node.args.args) >= 3
            if kind_named(node.name) or (ATTENTION_NAME.search(node.name) and three):
                found.append(node.name)
    return found


def line_of(text: str, name: str) -> int:
    """Return the line of a definition, of the last one of that name, or 1."""
    found = [*re.finditer(rf"^(?:class|def)\s+{re.escape(name)}\b", text, re.M)]
    return text.count("\n", 0, found[-1].start()) + 1 if found else 1


def text_of(text: str, name: str) -> str:
    """Return a definition's own text."""
    for node in reversed(ast.parse(text).body):
        if getattr(node, "name", None) == name:
            return ast.get_source_segment(text, node) or ""
    return ""


def audit(target: Any, name: str, text: str, wishes: dict[str, str]) -> dict:
    """Return the audit of one definition."""
    line = line_of(text, name)
    wished = wishes.get("as", "")
    is_part = wished or not (inspect.isclass(target) and ATTENTION_NAME.search(name))
    if is_part and (kind := kind_named(wished or name)):
        return audit_of_part(target, name, text, kind)
    try:
        subject = prepared(target, name, text_of(text, name), line, wishes, follows_formula)
    except CannotRun as error:
        return {"name": name, "line": line, "status": "not run", "why": str(error)}
    except Exception as error:
        return {"name": name, "line": line, "status": "not run", "why": raised(error, target)}
    subject.causal = "causal" in wished if wished else is_causal(subject)
    find_mask(subject)
    relations = [relation(subject) for relation in ATTENTION]
    found = [result_of(relation, subject) for relation in relations]
    leave_out_consequences(found)
    failing = [one for one in found if one["status"] == "fails"]
    told = {
        "name": name,
        "line": line,
        "status": "fails" if failing else "holds",
        "kind": kind_of(subject),
        "roles": roles_of(subject),
        "relations": found,
    }
    return told | (cause_of(subject, text, relations, found) if failing else {})


def audit_of_part(target: Any, name: str, text: str, kind: Kind) -> dict:
    """Return the audit of a softmax, a norm, positions or a loss."""
    line = line_of(text, name)
    try:
        part = part_of(target, name, text_of(text, name), line, kind)
    except CannotRun as error:
        return {"name": name, "line": line, "status": "not run", "why": str(error)}
    relations = [relation(part) for relation in PARTS]  # type: ignore[arg-type]
    found = [result_of(relation, part) for relation in relations]
    convention = results(part, PARTS[0].draws[0])[1]
    told = {
        "name": name,
        "line": line,
        "status": "fails" if any(one["status"] == "fails" for one in found) else "holds",
        "kind": kind.name,
        "roles": {"convention": convention} if convention else {},
        "relations": found,
    }
    return told | (cause_of(part, text, relations, found) if told["status"] == "fails" else {})


# A relation that fails only because another one does.
CONSEQUENCES = {
    "causality in training": "dropout is scaled",
    "dropout only in training": "dropout is scaled",
}


def leave_out_consequences(results: list[dict]) -> None:
    """Skip relations whose failure follows from another one's."""
    by_name = {one["name"]: one for one in results}
    for cause, follows in CONSEQUENCES.items():
        if by_name[cause]["status"] == by_name[follows]["status"] == "fails":
            by_name[follows] |= {"status": "skipped", "why": f"{cause} fails"}


def cause_of(subject: Any, text: str, relations: list, results: list[dict]) -> dict:
    """Return the known mistakes behind the failures, and the line."""
    failing = [one for one in results if one["status"] == "fails"]
    pairs = zip(relations, results, strict=True)
    applied = {r: o["status"] == "fails" for r, o in pairs if o["status"] in ("fails", "holds")}
    # One cause often breaks several relations: the formula's mistakes say most.
    failing.sort(key=lambda one: -len(one["mistakes"]))
    main = failing[0]
    words = [word for one in failing for word in one["where"]]
    at = place_of(subject, text, applied, words)
    lines = text.split("\n")
    at["code"] = lines[at["line"] - 1].strip() if at["line"] <= len(lines) else ""
    named = [*dict.fromkeys(name for one in failing for name in one["mistakes"])]
    said = [*dict.fromkeys(sentence for one in failing for sentence in one["explained"])]
    return {"mistakes": named, "explained": said, "at": at, "main": main["name"]}


def result_of(relation: Any, subject: Any) -> dict:
    """Return what came of one relation."""
    told = {"name": relation.name, "sentence": relation.sentence, "source": relation.source}
    try:
        broken = relation.test()
    except Skip as skip:
        return told | {"status": "skipped", "why": str(skip)}
    except Exception as error:
        return told | {"status": "skipped", "why": f"{type(error).__name__}: {error}"[:200]}
    if broken is None:
        return told | {"status": "holds"}
    return told | {
        "status": "advice" if relation.advice else "fails",
        "why": broken.says,
        "example": example_of(subject, broken.sizes),
        "mistakes": list(broken.mistakes),
        "explained": list(broken.sentences),
        "where": list(broken.where),
    }


def example_of(subject: Any, sizes: Any) -> str:
    """Return the sizes of an example, in words."""
    if sizes is None:
        return ""
    drawn = {name: getattr(value, "shape", value) for name, value in subject.inputs(sizes).items()}
    told = ", ".join(f"{name} {value}" for name, value in drawn.items())
    told = told.replace("torch.Size([", "(").replace("])", ")")
    if not isinstance(subject, Subject):
        return f"{told}, seed {sizes.seed}"
    heads = f", {sizes.heads} head{'s' * (sizes.heads != 1)}"
    drop = f", dropout={sizes.dropout}" if sizes.dropout else ""
    return f"{told}{heads}{drop}, seed {sizes.seed}"


CAUSAL_NAME = re.compile(r"causal|decoder|autoregress|masked_?(self|multi|att)|gpt", re.I)
TRIANGLE = re.compile(r"\b(tril|triu)(_indices)?\b|is_causal\s*=\s*(?!False)|causal_mask")


def is_causal(subject: Subject) -> bool:
    """Return True if the name, the code or the results say that it is meant to be causal."""
    if subject.given == "x, context" or subject.given == "q, k":
        return False
    if subject.has("causal") or (subject.is_module and subject.constructor_has("causal")):
        return works_causally(subject)
    if re.search(r"non_?causal|bidirectional", subject.name, re.I):
        return False
    if CAUSAL_NAME.search(subject.name) or has_triangle(subject):
        return works_causally(subject)
    if subject.given == "q, k, v" and subject.is_module:
        return False
    return behaves_causally(subject)


def works_causally(subject: Subject) -> bool:
    """Return True if the definition runs when it is called like a causal one.

    Next to a mask, `is_causal` can be a hint on that mask, which means nothing alone.
    """
    if subject.has("causal") and subject.has("mask") and subject.is_module:
        return behaves_causally(subject)
    sizes = subject.batch_of(subject.fitted(FIRST))
    subject.causal = True
    try:
        for training in (False, True):
            subject.run(subject.build(sizes), subject.inputs(sizes), sizes, training=training)
    except Exception:
        return False
    finally:
        subject.causal = False
    return True


def has_triangle(subject: Subject) -> bool:
    """Return True if a buffer is a triangle, or the code makes one and takes no mask."""
    if not subject.is_module:
        return bool(TRIANGLE.search(subject.text)) and not subject.has("mask")
    made = subject.build(subject.fitted(FIRST))
    for value in made.buffers():
        square = (
            value.reshape(value.shape[-2:])
            if value.dim() >= 2 and value.numel() == value.shape[-1] * value.shape[-2]
            else None
        )
        if square is None or square.shape[0] != square.shape[1] or square.shape[0] < 3:
            continue
        filled = square.double().nan_to_num(neginf=-1.0) != 0
        if not torch.equal(filled, filled.mT) and (
            torch.equal(filled, filled.tril()) or torch.equal(filled, filled.triu())
        ):
            return True
    return bool(TRIANGLE.search(subject.text)) and not subject.has("mask")


def behaves_causally(subject: Subject) -> bool:
    """Return True if no token sees a later one, in evaluation or in training."""
    sizes = subject.batch_of(subject.fitted(FIRST))
    subject.causal = True
    try:
        for training in (False, True):
            table = dependence(subject, sizes, training=training)
            if not table.triu(1).any() and table.tril(-1).any():
                return True
    except Exception:
        return False
    finally:
        subject.causal = False
    return False


def find_mask(subject: Subject) -> None:
    """Find the parameter of a mask and its convention, by trial."""
    for name, role in subject.call.items():
        if role not in ("mask", "padding") or subject.mask is not None:
            continue
        subject.mask_parameter = name
        shapes = SHAPES_OF_KEYS if role == "padding" else (*SHAPES, *SHAPES_OF_KEYS)
        subject.mask = convention_of(subject, shapes)
        if subject.mask is None and not mask_matters(subject, shapes):
            subject.mask_parameter = ""


def convention_of(subject: Subject, shapes: tuple[str, ...]) -> Convention | None:
    """Return the first convention in which masked keys have no influence, and others have."""
    from .relations.attention import drawn_mask, leaks

    wished = subject.wishes.get("mask", "")
    sizes = subject.batch_of(subject.fitted(FIRST))
    for shape in shapes:
        for meaning in (wished,) if wished else MEANINGS:
            subject.mask = Convention(meaning, shape)
            try:
                visible = drawn_mask(subject, sizes)
                made, inputs = subject.build(sizes), subject.inputs(sizes)
                with torch.no_grad():
                    out = subject.run(made, inputs, sizes, visible).value
                if not out.isnan().any() and leaks(subject, sizes) is None:
                    return subject.mask
            except Exception:
                continue
    subject.mask = None
    return None


def mask_matters(subject: Subject, shapes: tuple[str, ...]) -> bool:
    """Return True if a mask of booleans is accepted and changes results."""
    from .relations.attention import drawn_mask

    sizes = subject.batch_of(subject.fitted(FIRST))
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    for shape in shapes:
        subject.mask = Convention("true-hides", shape)
        try:
            with torch.no_grad():
                one = subject.run(made, inputs, sizes, drawn_mask(subject, sizes)).value
                other = subject.run(made, inputs, sizes).value
        except Exception:
            continue
        finally:
            subject.mask = None
        if one.isfinite().all() and moved(one, other):
            return True
    return False


def kind_of(subject: Subject) -> str:
    """Return in words what a definition was taken for."""
    heads = subject.fitted(FIRST).heads > 1
    words = ["causal"] * subject.causal
    if subject.is_module and subject.constructor_has("kv_heads"):
        words.append("grouped-query")
    elif heads:
        words.append("multi-head")
    source = {"x": "self-attention", "x, context": "cross-attention", "q, k": "attention weights"}
    words.append(source.get(subject.given, "attention on q, k, v"))
    if subject.is_module and has_feed_forward(subject):
        return f"{'causal ' * subject.causal}block"
    return " ".join(words)


def has_feed_forward(subject: Subject) -> bool:
    """Return True if a module has a feed-forward network, and so is a whole block."""
    names = [name for name, _ in subject.build(subject.fitted(FIRST)).named_children()]
    return any(re.fullmatch(r"ff|ffn|mlp|ffwd|feed_?forward|linear1", name, re.I) for name in names)


def roles_of(subject: Subject) -> dict[str, str]:
    """Return what was found out, by topic."""
    told = {"input": f"{subject.given} as ({subject.layout}, width)"}
    if subject.mask:
        told["mask"] = f"`{subject.mask_parameter}`, {subject.mask.meaning}, ({subject.mask.shape})"
    if subject.guesses:
        told["tried"] = ", ".join(f"`{n}` as {r}" for n, r in subject.guesses.items())
    return told


def place_of(
    subject: Subject, text: str, relations: dict[Relation, bool], words: list[str]
) -> dict:
    """Return the `line` of a failure, and the `fix` if one edit of it makes all relations hold.

    text: the whole file. relations: those that apply, True for those that fail. words: operations
    that the line is likely to have, the most telling first.
    """
    suspect = line_with(subject, words)
    failing = [one for one, fails in relations.items() if fails]
    for edit, fixed in repaired(subject, text, failing, suspect):
        if all(holds(type(one)(fixed, explain=False)) for one in relations):
            return {"line": edit.line, "fix": edit.text.split("\n")[edit.line - 1].strip()}
    return {"line": suspect, "fix": ""}


def line_with(subject: Subject, words: list[str]) -> int:
    """Return the first line of code with one of the words, the definition's own without one."""
    for lines in code_lines(subject.text):
        for word in words:
            pattern = rf"(?<![\w]){re.escape(word)}" if word[0].isalpha() else re.escape(word)
            for number, line in lines.items():
                if re.search(pattern, line):
                    return subject.line + number
    return subject.line


def code_lines(text: str) -> tuple[dict[int, str], dict[int, str]]:
    """Return the lines of code of a definition, counted from 0: of calls, and of `__init__`."""
    lines = text.split("\n")
    calls: dict[int, str] = {}
    starts: dict[int, str] = {}
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            found = starts if function.name == "__init__" else calls
            for statement in function.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    continue
                for number in range(statement.lineno, (statement.end_lineno or 0) + 1):
                    found[number - 1] = lines[number - 1].partition("#")[0]
    return calls, starts


def repaired(
    subject: Subject, text: str, failing: list[Relation], suspect: int
) -> Iterator[tuple[Edit, Subject]]:
    """Yield edits after which the failing relations hold at one size, near the suspect first."""
    until = time.process_time() + SECONDS
    for edit in in_turns(sensible(subject, text, suspect), suspect):
        if time.process_time() > until:
            return
        fixed = edited(subject, edit)
        if fixed and all(holds_once(type(one)(fixed, explain=False)) for one in failing):
            yield edit, fixed


def sensible(subject: Subject, text: str, suspect: int) -> list[Edit]:
    """Return the edits, without those that put an attribute in place of one of another type."""
    made = subject.build(subject.fitted(ONE))
    lines, found = text.split("\n"), []
    for edit in edits(text, subject.name, suspect):
        before, after = lines[edit.line - 1], edit.text.split("\n")[edit.line - 1]
        old, new = (set(re.findall(r"self\.(\w+)", line)) for line in (before, after))
        kinds = [
            {type(getattr(made, name, None)) for name in names} for names in (old - new, new - old)
        ]
        if new - old and kinds[0] != kinds[1]:
            continue
        found.append(edit)
    return found


def in_turns(found: list[Edit], suspect: int) -> Iterator[Edit]:
    """Yield edits by their distance from a line; edits of different parts of a line take turns."""
    near = [[one for one in found if test(abs(one.line - suspect))] for test in DISTANCES]
    for group in near:
        parts: dict[tuple[int, str], list[Edit]] = {}
        for one in group:
            parts.setdefault((one.line, one.idea), []).append(one)
        for turn in zip_longest(*parts.values()):
            yield from filter(None, turn)


DISTANCES: tuple[Callable[[int], bool], ...] = (
    lambda away: away == 0, lambda away: 0 < away < 4, lambda away: away > 3,
)  # fmt: skip


def edited(subject: Subject, edit: Edit) -> Subject | None:
    """Return the subject with an edit of its definition, or None if that does not run."""
    function = subject.target.forward if subject.is_module else subject.target
    space: dict[str, Any] = dict(function.__globals__)
    space = types.ModuleType("edited").__dict__ | space
    try:
        exec(compile(edit.definition, "edited", "exec", dont_inherit=True), space)
    except Exception:
        return None
    return replace(subject, target=space[subject.name])


def holds_once(relation: Relation) -> bool:
    """Return True if a relation holds at one size."""
    try:
        return relation.check(relation.fitted(ONE)) is None
    except Exception:
        return False


def holds(relation: Relation) -> bool:
    """Return True if a relation holds at all sizes."""
    try:
        return relation.test() is None
    except Exception:  # also Skip: an edit must not make a relation meaningless
        return False
