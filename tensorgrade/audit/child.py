"""Audit the definitions of one file, in the process that runs them.

Below: loading a file; auditing a definition; its verdict in a form for JSON; the line of a failure,
which is that of an edit that repairs the definition, or else the most likely one.
"""

import ast
import importlib
import inspect
import re
import sys
import time
import types
import warnings
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, BinaryIO

import torch

from ..runner import serve as runner
from ..runner.edits import Edit, edits
from ..runner.loading import load_module
from ..runner.wire import pack, receive, send, unpack
from .errors import CannotRun, known_errors, line_raising, raised
from .formulas import kind_named
from .parts import Part, compared, part_of
from .reference import Cause
from .relations import (
    ATTENTION,
    PARTS,
    SPECIAL_CASE,
    Broken,
    Relation,
    Tested,
    follows_formula,
    tested,
)  # fmt: skip
from .relations.base import ONE
from .subject import FIRST, Subject
from .trials import find_mask, is_causal, prepared

SECONDS = 5.0  # of the processor, for edits
Definition = Subject | Part
ATTENTION_NAME = re.compile(r"(?<!fl)atten|attn|mha|(^|_)heads?$|sdpa|Head$", re.I)

BLOCK_NAME = re.compile(r"Block|(En|De)coderLayer")


def warm_up() -> None:
    """Import and use once what is slow the first time; the fork server calls this."""
    runner.warm_up()


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Answer one request."""
    request, _ = unpack(receive(reader) or b"")
    send(writer, pack(answer(request)))


def answer(request: dict) -> dict:
    """Return the audits of a file's definitions, in a form for JSON.

    request: `text` and `filename`; `module`, if the file is in a package, and the folder of the
    topmost one as `package`; `name`, one definition, or an empty text for all
    candidates; `wishes`, the facts that the caller gives: `as`, the kind, and `mask`, the meaning
    of its entries.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    begun = time.monotonic()
    try:
        module, text, problems = loaded(request)
    except Exception as error:
        return {"audits": [], "problem": f"{type(error).__name__}: {error}"}
    if problem := syntax_error(text):
        return {"audits": [], "problem": problem}
    names = [request["name"]] if request["name"] else candidates(text)
    audits = [audit_of_name(name, module, text, request["wishes"], problems) for name in names]
    ran = any(one["status"] != "not run" for one in audits)
    if ran and not request["name"]:
        # Helper functions with a telling name are no reason to complain.
        helpers = [name for name in names if inspect.isfunction(getattr(module, name, None))]
        audits = [a for a in audits if a["status"] != "not run" or a["name"] not in helpers]
    return {"audits": audits, "problem": "", "seconds": time.monotonic() - begun}


def audit_of_name(
    name: str, module: types.ModuleType, text: str, wishes: dict[str, str], problems: list[dict]
) -> dict:
    """Return the audit of one definition of a module. problems: those of loading the module."""
    target = getattr(module, name, None)
    if target is not None:
        found = audit(target, name, text, wishes)
    else:
        error = next((one["error"] for one in problems if name in one["names"]), None)
        why = f"the file defines no `{name}`"
        if error:
            why = f"loading it raises {error.get('type')}: {error.get('text')}"
        found = {"name": name, "line": line_of(text, name)} | not_run(why, 0)
    if found["status"] == "not run" and (missing := missing_imports(problems)):
        found |= {"why": missing, "at": {}, "mistakes": []}
    return found


def audit_of(target: Any) -> dict:
    """Return the audit of a class or function of this process."""
    path = inspect.getsourcefile(target) or ""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several threads are slower for small tensors
    try:
        found = audit(target, target.__name__, text, {})
    finally:
        torch.set_num_threads(threads)
    return {"file": path, "audits": [found], "problem": ""}


def loaded(request: dict) -> tuple[types.ModuleType, str, list[dict]]:
    """Return the module, its text, and the problems of loading it."""
    if request.get("module"):
        if request.get("package"):
            import_package(Path(request["package"]))
        module = importlib.import_module(request["module"])
        return module, inspect.getsource(module), []
    module, problems = load_module("audited", request["text"], request["filename"])
    return module, request["text"], problems


def import_package(folder: Path) -> None:
    """Import a package by its folder, because the folder around it may be closed."""
    if folder.name in sys.modules:
        return
    spec = spec_from_file_location(folder.name, folder / "__init__.py")
    assert spec and spec.loader
    package = sys.modules[folder.name] = module_from_spec(spec)
    spec.loader.exec_module(package)


def syntax_error(text: str) -> str:
    """Return a file's syntax error in words, an empty text without one."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno} has a syntax error: {error.msg}"
    return ""


def missing_imports(problems: list[dict]) -> str:
    """Return in words which imports of a file failed, an empty text if none did."""
    errors = [one["error"] for one in problems]
    said = [
        f"line {one.get('line')}: {one.get('text')}"
        for one in errors
        if one.get("type") in ("ModuleNotFoundError", "ImportError")
    ]
    # In the sandbox, a file that is in no package can import nothing next to it.
    return f"an import of the file failed ({'; '.join(said)}; --trust allows it)" if said else ""


def candidates(text: str) -> list[str]:
    """Return the names of a file's top-level definitions that may be attention or a part of it."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    aliases = re.findall(r"scaled_dot_product_attention as (\w+)", text)
    signs = re.compile("|".join(["softmax", "scaled_dot", "MultiheadAttention", *aliases]))
    return [node.name for node in tree.body if may_attend(node, signs)]  # type: ignore[attr-defined]


def may_attend(node: ast.stmt, signs: re.Pattern[str]) -> bool:
    """Return True if a statement defines attention or a part of it, by its name or its code."""
    if isinstance(node, ast.FunctionDef):
        named = ATTENTION_NAME.search(node.name) and len(node.args.args) >= 3
        return bool(kind_named(node.name) or named)
    if not isinstance(node, ast.ClassDef):
        return False
    if not any(getattr(one, "name", "") == "forward" for one in node.body):
        return False
    by_name = ATTENTION_NAME.search(node.name) or BLOCK_NAME.search(node.name)
    return bool(kind_named(node.name) or by_name or signs.search(ast.unparse(node)))


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
    told: dict[str, Any] = {"name": name, "line": line}
    wished = wishes.get("as", "")
    is_part = wished or not (inspect.isclass(target) and ATTENTION_NAME.search(name))
    kind = kind_named(wished or name) if is_part else None
    own = name, text_of(text, name), line
    try:
        if kind:
            told |= audit_of_part(part_of(target, *own, kind))
        else:
            told |= audit_of_attention(prepared(target, *own, wishes, follows_formula))
    except CannotRun as error:
        told |= not_run(str(error), error.line)
    except Exception as error:
        told |= not_run(raised(error, target), line_raising(error, target))
    if told.get("at"):
        told["at"]["code"] = text.split("\n")[told["at"]["line"] - 1].strip()
    return told


def audit_of_attention(subject: Subject) -> dict:
    """Return the audit of attention or of a block."""
    find_masks(subject)
    found = tested(subject, ATTENTION)
    return {"kind": kind_of(subject), "roles": roles_of(subject)} | verdict(subject, found)


def audit_of_part(part: Part) -> dict:
    """Return the audit of a softmax, a norm, positions or a loss."""
    found = tested(part, PARTS)
    form = compared(part, PARTS[0].draws[0])[1]
    convention = "" if form is None else part.kind.right[form]
    roles = {"convention": convention} if convention else {}
    return {"kind": part.kind.name, "roles": roles} | verdict(part, found)


def find_masks(subject: Subject) -> None:
    """Find out if a definition is causal, and the convention of its mask."""
    wished = subject.wishes.get("as", "")
    subject.causal = "causal" in wished if wished else is_causal(subject)
    find_mask(subject)


def not_run(why: str, line: int) -> dict:
    """Return the audit of a definition that could not be run. line: the one that raises."""
    mistakes = [named(cause, line) for cause in known_errors(why)]
    told: dict[str, Any] = {"status": "not run", "why": why, "mistakes": mistakes}
    if line:
        told["at"] = {"line": line, "fix": ""}
    return told


def verdict(subject: Definition, found: list[Tested]) -> dict:
    """Return the status, the relations, and the known mistakes and the line of a failure."""
    told = {"relations": [told_of(one, subject) for one in found]}
    applied = {one.relation: one.broken for one in found if not one.skipped}
    broken = [one for one in applied.values() if one]
    if not broken:
        return told | {"status": "holds"}
    causes = {cause.name: cause for one in broken for cause in one.causes}
    line, fix = place_of(subject, applied)
    mistakes = [named(cause, line) for cause in causes.values()]
    if len(causes) > 1:  # each has its own line
        for told_one, cause in zip(mistakes, causes.values(), strict=True):
            told_one["line"] = subject.line + suspect_of(subject, cause.where) - 1
    at = {"line": line, "fix": fix} if line else {}
    return told | {"status": "fails", "mistakes": mistakes, "at": at}


def named(cause: Cause, line: int) -> dict:
    """Return a mistake in a form for JSON."""
    return {"name": cause.name, "says": cause.sentence, "line": line}


def told_of(one: Tested, subject: Definition) -> dict:
    """Return the outcome of one relation, in a form for JSON."""
    relation = one.relation
    told = {"name": relation.name, "sentence": relation.sentence, "source": relation.source}
    if one.skipped:
        return told | {"status": "skipped", "why": one.skipped}
    if one.broken is None:
        return told | {"status": "holds"}
    example = example_of(subject, one.broken.sizes)
    return told | {"status": "fails", "why": one.broken.says, "example": example}


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


def kind_of(subject: Subject) -> str:
    """Return in words the kind of attention that a definition seems to be."""
    sizes = subject.fitted(FIRST)
    parts = dict(subject.build(sizes).named_children()) if subject.is_module else {}
    if any(FEED_FORWARD.fullmatch(name) for name in parts):
        return f"{'causal ' * subject.causal}block"
    words = ["causal"] * subject.causal
    if subject.is_module and subject.constructor_has("kv_heads"):
        words.append("grouped-query")
    elif sizes.heads > 1:
        words.append("multi-head")
    source = {"x": "self-attention", "x, context": "cross-attention", "q, k": "attention weights"}
    words.append(source.get(subject.given, "attention on q, k, v"))
    return " ".join(words)


# A module with such a part is a whole block.
FEED_FORWARD = re.compile(r"ff|ffn|mlp|ffwd|feed_?forward|linear1", re.I)


def roles_of(subject: Subject) -> dict[str, str]:
    """Return the inferred roles in words, by topic: `input`, `mask` and `tried`."""
    told = {"input": f"{subject.given} as ({subject.layout}, width)"}
    if subject.mask:
        told["mask"] = f"`{subject.mask_parameter}`, {subject.mask.meaning}, ({subject.mask.shape})"
    if subject.guesses:
        told["tried"] = ", ".join(f"`{n}` as {r}" for n, r in subject.guesses.items())
    return told


def place_of(subject: Definition, relations: dict[Relation, Broken | None]) -> tuple[int, str]:
    """Return the line of a failure, and the repaired line if one edit makes all relations hold.

    relations: those that apply, with what is broken. Lines are those of the file, 0 if neither a
    repair nor a known mistake shows one.
    """
    broken = [one for one in relations.values() if one]
    raising = [one.line for one in broken if one.line]
    if raising:
        return raising[0], ""
    causes = [cause for one in broken for cause in one.causes]
    of_causes = [word for cause in causes for word in cause.where]
    suspect = suspect_of(subject, of_causes or [word for one in broken for word in one.where])
    formulas = [one for one in relations if one.name.startswith(("equality", "formula"))]
    # Without a formula, an edit can make relations hold by leaving out the calculation.
    if formulas and (edit := repair(subject, relations, suspect)):
        return subject.line + edit.line - 1, edit.text.split("\n")[edit.line - 1].strip()
    is_known = bool(causes) and SPECIAL_CASE not in causes
    return (subject.line + suspect - 1 if is_known else 0), ""


ASSIGNED_TO_SELF = r"^\s*self\.\w+(, self\.\w+)*\s*=(?!=)"


def suspect_of(subject: Definition, words: Iterable[str]) -> int:
    """Return the first line of a definition with the first word that is found; 1 without any."""
    calls, starts = code_lines(subject.text)
    for word in words:
        pattern = re.escape(word).replace("=", r"\s*=(?!=)").replace("@", r"\s*@")
        pattern = r"(?<!/)/(?!/)" if word == "/" else pattern
        pattern = rf"(?<!\w){pattern}" if word[0].isalpha() else pattern
        pattern = ASSIGNED_TO_SELF if word == "self=" else pattern
        for number, line in (*calls.items(), *starts.items()):
            if re.search(pattern, line):
                return number
    return 1


def code_lines(text: str) -> tuple[dict[int, str], dict[int, str]]:
    """Return the lines of code by number: those outside `__init__`, and those inside."""
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
                    found[number] = lines[number - 1].partition("#")[0]
    return calls, starts


def repair(
    subject: Definition, relations: dict[Relation, Broken | None], suspect: int
) -> Edit | None:
    """Return an edit after which all relations hold, None if none is found in time.

    suspect: the line whose edits are tried first.
    """
    until = time.process_time() + SECONDS
    for edit in edits(subject.text, subject.name, suspect):
        if time.process_time() > until:
            break
        fixed = edited(subject, edit)
        if fixed and all_hold(fixed, relations):
            return edit
    return None


def edited(subject: Any, edit: Edit) -> Subject | None:
    """Return the subject with an edit of its definition, or None if that does not run."""
    function = subject.target.forward if subject.is_module else subject.target
    space: dict[str, Any] = dict(function.__globals__)
    space = types.ModuleType("edited").__dict__ | space
    try:
        exec(compile(edit.definition, "edited", "exec", dont_inherit=True), space)
    except Exception:
        return None
    return replace(subject, target=space[subject.name])


def all_hold(subject: Subject, relations: dict[Relation, Broken | None]) -> bool:
    """Return True if relations hold, at the sizes at which they were broken and at all others."""
    again = {type(one)(subject, explain=False): broken for one, broken in relations.items()}
    try:
        for relation, broken in again.items():
            if broken and relation.check(broken.sizes or relation.fitted(ONE)):
                return False
        return not any(relation.test() for relation in again)
    except Exception:  # also Skip: an edit must not make a relation meaningless
        return False
