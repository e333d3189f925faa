"""Run audits and report them: the verdict first, each line of code as `file.py:12`.

The audited code is in a sandboxed child, or in this process if it is trusted.
"""

import re
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

import torch

from ..attempts.maker import private_paths
from ..course import CourseError, Limits
from ..exchange.text import printable
from ..project import find_project
from ..sandbox.holes import must_hold
from ..sandbox.processes import ForkServer
from .code import CannotRun, Code, Definition, File, Mistake, Opened, Raised, Stopped, file_of
from .formulas import kind_named
from .relations import PARTS, RELATIONS, result_of
from .subject import Subject, dependence, is_causal, subject_of, with_mask

LIMITS = Limits(memory_bytes=4 << 30, processor_seconds=300)
MOST = 400  # characters of a line of the report
IMPORT_ERRORS = ("ModuleNotFoundError", "ImportError")
ATTENTION_NAME = re.compile(r"(?<!fl)atten|attn|mha|(^|_)heads?$|sdpa|Head$", re.I)
SIGNS = re.compile(r"(?<!log_)softmax|scaled_dot|MultiheadAttention")
BLOCK_NAME = re.compile(r"Block|(En|De)coderLayer")
# Known mistakes by a pattern for an error's text: a name and a sentence.
KNOWN_ERRORS = {
    r"before Module.__init__\(\) call": ("super_init_not_called", "`super().__init__()` has to be called before the first layer is made."),
    r"'super' object needs an argument": ("super_without_brackets", "`super` lacks its brackets: `super().__init__()`."),
    r"'module' object is not callable": ("module_called", "A Python module is called like a function or class. Compare `nn.parameter`, a module, with `nn.Parameter`, a class."),
    r"object has no attribute '(\w+)'": ("attribute_never_set", "`{0}` is used, and nothing of that name is ever set."),
    r"local variable '(\w+)'|name '(\w+)' is not defined": ("used_before_assigned", "`{0}` is used before it has a value. Is it misspelled, or on a later line?"),
    r"unexpected keyword argument '(\w+)'|takes .* positional arguments? but": ("argument_too_many", "A call gets an argument that it does not take."),
    r"shapes cannot be multiplied|size mismatch, got|expected .* to have shape|Expected size for first two dimensions|[Ee]xpected .*matri": ("product_of_other_shapes", "The rows of the first factor are not as long as the columns of the second one. Is a transpose missing, or was a layer made for another width?"),
    r"The size of tensor a|must match the existing size|broadcast": ("shapes_do_not_match", "Two tensors are put together whose axes do not match. Compare their shapes, axis by axis."),
    r"view size is not compatible": ("view_of_a_transposed_tensor", "`view` needs entries that lie in order. After a transpose, use `reshape`."),
    r"only supports bool|expected .*BoolTensor|mask.*bool": ("mask_not_boolean", "A mask of booleans is needed. Convert it with `.bool()`."),
    r"'NoneType'|shapes: none\)": ("nothing_returned", "Something is None: a function without `return`, or an argument that was left out."),
    r"unsupported operand type|is not subscriptable|is not iterable|object is not callable|argument '\w+' .*must be|expected Tensor": ("value_of_another_type", "A value has another type than its use needs."),
}  # fmt: skip


def audits(targets: list[str], trust: bool = False, **known: Any) -> Iterator[dict]:
    """Yield the audits of each file's definitions. Raises CourseError.

    trust: run the code in this process, without a sandbox. known: see `file_of`.
    """
    files = [file_of(one, **known) for one in targets]
    torch.set_num_threads(1)  # several are slower for small tensors
    with nullcontext() if trust else closing(sandbox(files)) as server:
        for file in files:
            yield audit_of_file(file, server)


def sandbox(files: list[File]) -> ForkServer:
    """Start a fork server whose children can read these files.

    Raises CourseError if these are more than the code may read, such as a course's hidden files.
    """
    try:
        private = private_paths(find_project().graders)
    except CourseError:  # there is no course here
        private = {}
    readable = [one.package or one.filename for one in files]
    server = ForkServer(LIMITS, readable=readable, program="audit.child")
    must_hold(server, private)
    return server


def audit_of_file(file: File, server: ForkServer | None) -> dict:
    """Return the audits of one file's definitions. server: None runs the code in this process."""
    code, audits = Code(file, server), list[dict]()
    found: dict[str, Any] = {"file": file.place, "audits": audits, "problem": ""}
    try:
        opened = code.open()
        definitions = opened.definitions.items()
        wanted = [name for name, one in definitions if is_candidate(one, file.text)]
        for name in [file.name] if file.name else wanted:
            if not code.channel:  # it stopped
                code.open()
            audits.append(audit_of_definition(code, opened, name))
    except (Stopped, Raised) as error:
        found["problem"] = str(error).replace("raises SyntaxError", "has a syntax error")
    code.close()
    ran = [one for one in audits if one["status"] != "not run"]
    if ran and not file.name:
        # Helper functions with a telling name are no reason to complain.
        there = opened.definitions
        found["audits"] = [one for one in audits if one in ran or there[one["name"]].is_class]
    return found


def audit_of_definition(code: Code, file: Opened, name: str) -> dict:
    """Return the audit of one definition, or why it could not be run, in a form for JSON."""
    one = file.definitions.get(name)
    told: dict[str, Any] = {"name": name, "line": one.line if one else 1}
    failed = [one.error for one in file.problems if name in one.names]
    imports = [one.error for one in file.problems if one.error.type in IMPORT_ERRORS]
    try:
        if failed:
            raise CannotRun(f"loading it raises {failed[0].type}: {failed[0].text}")
        if not one:
            raise CannotRun(f"the file defines no `{name}`")
        subject = understood(code, one)
        found = [result_of(subject, name) for name in (PARTS if subject.kind else RELATIONS)]
        mistakes = [mistake for _, mistake in found if mistake]
        told |= {"status": "fails" if mistakes else "holds", "taken_for": described(subject)}
        told["relations"] = [result for result, _ in found]
        shown = dict.fromkeys(m for m in mistakes if m.name or m.line)
        mistakes = [replace(one, line=line_of(subject.definition, one)) for one in shown]
    except Exception as error:  # results may have any form
        why, line = str(error), getattr(error, "line", 0)
        if not isinstance(error, (CannotRun, Stopped)):
            why = f"its results cannot be judged ({type(error).__name__}: {why})"
        if imports:  # in the sandbox, a file that is in no package can import nothing next to it
            said = "; ".join(f"line {one.line}: {one.text}" for one in imports)
            why, line = f"an import of the file failed ({said}; --trust allows it)", 0
        told |= {"status": "not run", "why": why}
        mistakes = known_errors(why, line)
    text = code.file.text.split("\n")
    told["mistakes"] = [
        {"name": one.name, "says": one.says, "line": one.line}
        | {"code": "".join(text[one.line - 1 : one.line]).strip()}
        for one in mistakes
    ]
    return told


def is_candidate(one: Definition, text: str) -> bool:
    """Return True if a definition may be attention or a part of it, by its name or its code."""
    if kind_named(one.name):
        return one.has_forward or not one.is_class
    if not one.is_class:
        return bool(ATTENTION_NAME.search(one.name)) and len(one.takes) >= 3
    named = ATTENTION_NAME.search(one.name) or BLOCK_NAME.search(one.name)
    aliases = re.findall(r"scaled_dot_product_attention as (\w+)", text)
    has_signs = any(SIGNS.search(name) or name in aliases for name in one.names)
    return one.has_forward and bool(named or has_signs)


def understood(code: Code, one: Definition) -> Subject:
    """Return a definition with its kind, its mask, and causal or not. Raises CannotRun or Stopped."""
    wished, by_name = code.file.kind, ATTENTION_NAME.search(one.name)
    kind = kind_named(wished or one.name) if wished or not (one.is_class and by_name) else None
    subject = subject_of(code, one, kind)
    if kind:
        return subject
    causal = "causal" in wished if wished else is_causal(subject)
    subject = with_mask(replace(subject, causal=causal))
    others = dependence(subject, subject.fitted()).fill_diagonal_(False)
    if by_name and subject.tensors == "x" and not others.any():
        raise CannotRun("no result depends on another token, so this is no attention")
    return subject


def described(subject: Subject) -> str:
    """Return in words what a definition was taken for: its kind, its input and its mask."""
    if subject.kind:
        return subject.kind.name
    source = {"x": "self-attention", "x, context": "cross-attention", "q, k": "attention weights"}
    words = ["causal"] * subject.causal + ["multi-head"] * (subject.fitted().heads > 1)
    kind = " ".join([*words, source.get(subject.tensors, "attention on q, k, v")])
    mask = "; mask `{}`, {}, ({})".format(*subject.mask) if subject.mask[1] else ""
    return f"{kind}: input {subject.tensors} as ({subject.layout}, width){mask}"


def known_errors(why: str, line: int) -> list[Mistake]:
    """Return a known mistake with a line if an error shows it, or the line alone if there is one."""
    for pattern, (name, says) in KNOWN_ERRORS.items():
        if found := re.search(pattern, why):
            return [Mistake(says.format(*filter(None, found.groups())), name, line=line)]
    return [Mistake(why, line=line)] if line else []


def line_of(definition: Definition, mistake: Mistake) -> int:
    """Return the line that raises an error, otherwise the first with the first word that is found.

    The definition's own line if there is none.
    """
    if mistake.line:
        return mistake.line
    for word in mistake.where.split():
        pattern = re.escape(word).replace("=", r"\s*=(?!=)").replace("@", r"\s*@")
        pattern = {"/": r"(?<!/)/(?!/)", "self=": r"^\s*self\.\w+(, self\.\w+)*\s*=(?!=)"}.get(
            word, rf"(?<!\w){pattern}" if word[0].isalpha() else pattern
        )
        for number, line in definition.lines:
            if re.search(pattern, line.partition("#")[0]):
                return number
    return definition.line


def status_of(found: dict) -> int:
    """Return the exit status: 1 if a relation fails, 2 if nothing could be run, otherwise 0."""
    states = [one["status"] for one in found["audits"]]
    if "fails" in states:
        return 1
    return 0 if "holds" in states and not found["problem"] else 2


def report(found: dict, brief: bool = False) -> str:
    """Return the report on a file as text.

    brief: a definition that could not be run has one line, and a file without attention none.
    """
    path = found["file"]
    parts = [[*lines_of(one, path)] for one in found["audits"]]
    if brief:
        parts = [[": ".join(p[:2])] if "could not be run" in p[0] else p for p in parts]
    if found["problem"]:
        parts.append([f"{path} could not be run: {found['problem']}."])
    elif not parts and not brief:
        said = f"{path} has no class or function that looks like attention. If one is, name it: "
        parts.append([f"{said}tensorgrade audit {path}:NAME"])
    return "\n\n".join("\n".join(map(one_line, lines)) for lines in parts)


def one_line(text: str) -> str:
    """Return a text as one printable line, since audited code chooses parts of it.

    >>> one_line("a\\x1b[31mb\\n::error::c")
    'a?[31mb?::error::c'
    """
    return printable(text.replace("\n", "\0").replace("\t", "\0"), MOST)


def lines_of(audit: dict, path: str) -> Iterator[str]:
    """Yield the lines on one definition."""
    place = f"{path}:{audit['line']} {audit['name']}"
    if audit["status"] == "not run":
        yield f"{place}: could not be run"
        yield f"  {audit['why'][:1].upper()}{audit['why'][1:].rstrip('.')}."
        yield from causes(audit, path, "What the error means")
        return
    failing, holding, skipped = (
        [one for one in audit["relations"] if one["status"] == status]
        for status in ("fails", "holds", "skipped")
    )
    if failing:
        yield f"{place}: WRONG, {len(failing)} of {len(failing) + len(holding)} relations fail"
    else:
        yield f"{place}: no mistake found, {len(holding)} relations hold"
    yield f"  Taken for {audit['taken_for']}"
    yield from causes(audit, path, "Known mistake")
    said = [one["says"] for one in audit["mistakes"]]
    for one in failing:
        yield f"  ✗ {one['name']}" + ("" if one["why"] in said else f": {one['why']}")
    if holding:
        yield f"  ✓ {', '.join(one['name'] for one in holding)}"
    for one in skipped:
        if "formula" in one["name"]:
            yield f"  – Not tested: {one['name']}, because {one['why']}"


def causes(audit: dict, path: str, lead: str) -> Iterator[str]:
    """Yield the known mistakes, each with its line, and the lines that raise errors."""
    for one in audit["mistakes"]:
        if one["name"]:
            yield f"  {lead}: {one['says']}"
        if one["line"]:
            yield f"  Look at {path}:{one['line']}    {one['code']}"


def annotations(found: dict) -> Iterator[str]:
    """Yield commands with which a GitHub workflow marks lines."""
    for audit in found["audits"]:
        failing = [one for one in audit.get("relations", ()) if one["status"] == "fails"]
        if failing:
            said = " ".join(dict.fromkeys(one["why"] for one in failing))
            title = f"{audit['name']}: {failing[0]['name']}".replace(",", " ").replace(":", " ")
            line = next((one["line"] for one in audit["mistakes"]), audit["line"])
            told = f"::error file={found['file']},line={line},title={title}::{said}"
            yield one_line(told.replace("%", "%25"))
