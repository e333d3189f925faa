"""The audit of one definition: what it is, its relations, the known mistakes, and the line."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Any

from .claims import FEED_FORWARD, part, run_of
from .code import Code, Definition, Raised, Stopped
from .formula import Cause
from .kinds import kind_named
from .relations import FORMULA, PART_DRAWS, Result, results_of
from .roles import snake
from .subject import FIRST, CannotRun, Subject, dependence
from .trials import is_causal, prepared, subject_of, with_mask

MOST_REQUESTS = 1500  # while edits are tried
ATTENTION_NAME = re.compile(r"(?<!fl)atten|attn|mha|(^|_)heads?$|sdpa|Head$", re.I)
SIGNS = re.compile(r"softmax|scaled_dot|MultiheadAttention")
BLOCK_NAME = re.compile(r"Block|(En|De)coderLayer")
# Known mistakes by a pattern for an error's text: a name and a sentence.
KNOWN_ERRORS = {
    r"before Module.__init__\(\) call": ("super_init_not_called", "`super().__init__()` has to be called before the first layer is made."),
    r"'super' object needs an argument": ("super_without_brackets", "`super` lacks its brackets: `super().__init__()`."),
    r"'module' object is not callable": ("module_called", "A Python module is called like a function or class. Compare `nn.parameter`, a module, with `nn.Parameter`, a class."),
    r"object has no attribute '(\w+)'": ("attribute_never_set", "`{0}` is used, and nothing of that name is ever set."),
    r"local variable '(\w+)'|name '(\w+)' is not defined": ("used_before_assigned", "`{0}` is used before it has a value. Is it misspelled, or on a later line?"),
    r"missing \d+ required positional argument|expected at least \d+ argument": ("argument_missing", "A call lacks an argument."),
    r"unexpected keyword argument '(\w+)'|takes .* positional arguments? but": ("argument_too_many", "A call gets an argument that it does not take."),
    r"shapes cannot be multiplied|size mismatch, got|expected .* to have shape|Expected size for first two dimensions|[Ee]xpected .*matri": ("product_of_other_shapes", "The rows of the first factor are not as long as the columns of the second one. Is a transpose missing, or was a layer made for another width?"),
    r"The size of tensor a|must match the existing size|broadcast": ("shapes_do_not_match", "Two tensors are put together whose axes do not match. Compare their shapes, axis by axis."),
    r"is invalid for input of size": ("shape_of_another_size", "A new shape has room for another number of entries."),
    r"view size is not compatible": ("view_of_a_transposed_tensor", "`view` needs entries that lie in order. After a transpose, use `reshape`."),
    r"only supports bool|expected .*BoolTensor|mask.*bool": ("mask_not_boolean", "A mask of booleans is needed. Convert it with `.bool()`."),
    r"Dimension out of range": ("axis_out_of_range", "A tensor has fewer axes than the number says."),
    r"'NoneType'|shapes: none\)": ("nothing_returned", "Something is None: a function without `return`, or an argument that was left out."),
    r"unsupported operand type|is not subscriptable|is not iterable|object is not callable|must be Tensor, not|expected Tensor|must be tuple": ("value_of_another_type", "A value has another type than its use needs."),
    r"no result has \d+ tokens": ("result_of_another_shape", "The result has another shape than one row of numbers for each token."),
}  # fmt: skip


def is_candidate(one: Definition, text: str) -> bool:
    """Return True if a definition may be attention or a part of it, by its name or its code."""
    if kind_named(one.name):
        return one.has_forward or not one.is_class
    if not one.is_class:
        return bool(ATTENTION_NAME.search(one.name)) and one.takes >= 3
    aliases = re.findall(r"scaled_dot_product_attention as (\w+)", text)
    has_signs = any(SIGNS.search(name) or name in aliases for name in one.names)
    named = ATTENTION_NAME.search(one.name) or BLOCK_NAME.search(one.name)
    return one.has_forward and (bool(named) or has_signs)


def audit(code: Code, one: Definition, text: str, wishes: dict[str, str], given: dict) -> dict:
    """Return the audit of one definition, in a form for JSON. Raises Stopped.

    text: of the file. wishes: facts from the caller: the kind as `as`, and the meaning of the mask
    as `mask`. given: arguments by name.
    """
    told: dict[str, Any] = {"name": one.name, "line": one.line}
    lines = text.split("\n")
    wished = wishes.get("as", "")
    is_part = wished or not (one.is_class and ATTENTION_NAME.search(one.name))
    kind = kind_named(wished or one.name) if is_part else None
    try:
        own = {number: lines[number - 1] for number in one.lines if number <= len(lines)}
        subject = prepared(subject_of(code, one, own, given, kind))
        if not kind:
            subject = attention_of(subject, wishes)
        told |= {"kind": kind_of(subject), "roles": roles_of(subject)} | verdict(subject)
    except (CannotRun, Raised) as error:
        told |= not_run(str(error), error.line)
    except Stopped:
        raise
    except Exception as error:  # results may have any form
        told |= not_run(f"its results cannot be judged ({type(error).__name__}: {error})", 0)
    if at := told["at"]:
        at["code"] = "".join(lines[at["line"] - 1 : at["line"]]).strip()
    return told


def not_run(why: str, line: int) -> dict:
    """Return the audit of a definition that could not be run. line: the one that raises."""
    at = {"line": line, "fix": ""} if line else {}
    return {"status": "not run", "why": why, "mistakes": known_errors(why, line), "at": at}


def known_errors(text: str, line: int) -> list[dict]:
    """Return the known mistake that an error's text shows, in a list that is empty otherwise."""
    for pattern, (name, says) in KNOWN_ERRORS.items():
        if found := re.search(pattern, text):
            sentence = says.format(*filter(None, found.groups()))
            return [{"name": name, "says": sentence, "line": line}]
    return []


def attention_of(subject: Subject, wishes: dict[str, str]) -> Subject:
    """Return attention or a block with its mask, causal or not. Raises CannotRun."""
    wished = wishes.get("as", "")
    causal = "causal" in wished if wished else is_causal(subject)
    subject = with_mask(replace(subject, causal=causal), wishes.get("mask", ""))
    is_self = ATTENTION_NAME.search(subject.name) and subject.tensors == "x"
    if is_self and not dependence(subject, subject.fitted(FIRST)).fill_diagonal_(False).any():
        raise CannotRun("no result depends on another token, so this is no attention")
    return subject


def roles_of(subject: Subject) -> dict[str, str]:
    """Return what an audit found out about a definition, by topic."""
    if subject.kind:
        run = run_of(subject, PART_DRAWS[0])
        followed = (name for name, form in part(subject)[0].items() if run.agrees(form))
        convention = next(followed, "")
        return {"convention": convention} if convention else {}
    roles = {"input": f"{subject.tensors} as ({subject.layout}, width)"}
    if subject.mask:
        roles["mask"] = f"`{subject.mask_parameter}`, {subject.mask[0]}, ({subject.mask[1]})"
    if subject.guesses:
        roles["tried"] = ", ".join(f"`{name}` as {role}" for name, role in subject.guesses.items())
    return roles


def kind_of(subject: Subject) -> str:
    """Return in words the kind of attention, or of a part, that a definition seems to be."""
    if subject.kind:
        return subject.kind.name
    made = subject.build(subject.fitted(FIRST))
    parts = [name for name in made.kinds if "." not in name] if made else []
    if any(re.fullmatch(f"{FEED_FORWARD}|linear1", snake(name)) for name in parts):
        return f"{'causal ' * subject.causal}block"
    words = ["causal"] * subject.causal
    if subject.constructor_has("kv_heads"):
        words.append("grouped-query")
    elif subject.fitted(FIRST).heads > 1:
        words.append("multi-head")
    source = {"x": "self-attention", "x, context": "cross-attention", "q, k": "attention weights"}
    return " ".join([*words, source.get(subject.tensors, "attention on q, k, v")])


def verdict(subject: Subject) -> dict:
    """Return the status, the relations, and the known mistakes and the line of a failure."""
    found = results_of(subject)
    told = {"relations": [told_of(one, subject) for one in found]}
    broken = [one for one in found if one.broken]
    if not broken:
        return told | {"status": "holds", "mistakes": [], "at": {}}
    causes = {one.cause.name: one.cause for one in broken if one.cause}
    line, fix = place_of(subject, found, [*causes.values()])
    mistakes = [
        {
            "name": cause.name,
            "says": cause.sentence,
            "line": line if len(causes) == 1 else suspect_of(subject, [cause.where]),
        }
        for cause in causes.values()
    ]
    at = {"line": line, "fix": fix} if line else {}
    return told | {"status": "fails", "mistakes": mistakes, "at": at}


def told_of(one: Result, subject: Subject) -> dict:
    """Return the outcome of one relation, in a form for JSON."""
    relation = one.relation
    told = {"name": relation.name, "sentence": relation.sentence, "source": relation.source}
    if one.broken is None or one.sizes is None:
        return told | {"status": "skipped" if one.skipped else "holds", "why": one.skipped}
    inputs = subject.inputs(one.sizes).items()
    drawn = ", ".join(f"{name} {tuple(getattr(v, 'shape', [v]))}" for name, v in inputs)
    if not subject.kind:
        drawn += f", {one.sizes.heads} head{'s' * (one.sizes.heads != 1)}"
        drawn += f", dropout={one.sizes.dropout}" if one.sizes.dropout else ""
    example = f"{drawn}, seed {one.sizes.seed}"
    return told | {"status": "fails", "why": one.broken.says, "example": example}


def place_of(subject: Subject, found: list[Result], causes: list[Cause]) -> tuple[int, str]:
    """Return the line of a failure, and the repaired line if one edit makes all relations hold.

    The line is 0 if neither an error, a repair nor a known mistake shows one.
    """
    broken = [one.broken for one in found if one.broken]
    if raising := [one.line for one in broken if one.line]:
        return raising[0], ""
    words = [cause.where for cause in causes] or [one.where for one in broken]
    suspect = suspect_of(subject, words)
    # Without a formula, an edit can make relations hold by leaving out the calculation.
    has_formula = any(one.relation.name == FORMULA and not one.skipped for one in found)
    line, code = repair(subject, found, suspect) if has_formula else (0, "")
    if line:
        return line, code
    is_known = bool(causes) and all(cause.name != "special_case" for cause in causes)
    return (suspect if is_known else 0), ""


def suspect_of(subject: Subject, words: Iterable[str]) -> int:
    """Return the first line of a definition's code with the first word that is found.

    The definition's own line if there is none.
    """
    for word in " ".join(words).split():
        pattern = re.escape(word).replace("=", r"\s*=(?!=)").replace("@", r"\s*@")
        pattern = {"/": r"(?<!/)/(?!/)", "self=": r"^\s*self\.\w+(, self\.\w+)*\s*=(?!=)"}.get(
            word, rf"(?<!\w){pattern}" if word[0].isalpha() else pattern
        )
        for number, line in subject.lines.items():
            if re.search(pattern, line.partition("#")[0]):
                return number
    return subject.definition.line


def repair(subject: Subject, found: list[Result], suspect: int) -> tuple[int, str]:
    """Return the line and code of an edit after which all relations hold; line 0 for none."""
    edited = replace(subject, name=f"{subject.name} edited")
    asked = {"name": subject.name, "edited": edited.name, "line": suspect}
    tokens = max(one.sizes.tokens for one in found if one.sizes)
    until = subject.code.requests + MOST_REQUESTS // (1 + tokens // 20)
    for index in count():
        if subject.code.requests > until or subject.code.stopped:
            break
        try:
            (line, code), _ = subject.code.ask(tuple[int, str], "edit", index=index, **asked)
        except Raised:
            continue
        if not line or all_hold(edited, found):
            return line, code
    return 0, ""


def all_hold(subject: Subject, found: list[Result]) -> bool:
    """Return True if all relations hold that apply to the code before an edit."""
    applied = [one for one in found if not one.skipped]
    applied.sort(key=lambda one: one.broken is None)
    every = [(one.relation, sizes) for one in applied for sizes in one.relation.draws]
    try:
        return not any(relation.checked(subject, sizes) for relation, sizes in every)
    except Exception:  # also Skip: an edit must not make a relation meaningless
        return False
