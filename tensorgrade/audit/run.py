"""Run an audit: the audited code is in a sandboxed child, or in this process if it is trusted."""

import re
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch

from ..attempts.lab import There
from ..attempts.maker import private_paths
from ..course import CourseError, Limits
from ..project import find_project
from ..sandbox.holes import must_hold
from ..sandbox.processes import Budget, ForkServer, site_folders
from .child import Bench
from .code import CannotRun, Code, Definition, Mistake, Opened, Raised, Stopped
from .parts import kind_named
from .relations import results_of
from .subject import Subject, dependence
from .trials import is_causal, subject_of, with_mask

LIMITS = Limits(memory_bytes=4 << 30, processor_seconds=300)
MOST_SECONDS, MOST_REPLY = 200.0, 64 << 20
IMPORT_ERRORS = ("ModuleNotFoundError", "ImportError")
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


@dataclass(frozen=True)
class Asked:
    """The file to audit, and how it is imported.

    module: its dotted name, empty for a file that is in no package. package: the folder of its
    topmost package, if it is in one. name: one definition, or empty for all.
    """

    path: Path
    module: str
    package: str
    name: str


def asked_for(target: str) -> Asked:
    """Return the file behind `FILE`, `FILE:NAME` or `MODULE:NAME`. Raises CourseError."""
    place, _, name = target.rpartition(":") if ":" in target[2:] else (target, "", "")
    path = Path(place)
    if path.is_dir():
        raise CourseError(f"{place} is a folder; name the Python files in it")
    if path.suffix != ".py" and not path.exists():
        # The files that a module may be in, found without importing anything.
        places = [Path(folder, *place.split(".")) for folder in (".", *sys.path)]
        every = (file for one in places for file in (one.with_suffix(".py"), one / "__init__.py"))
        path = next(filter(Path.is_file, every), path)
    if not path.is_file():
        raise CourseError(f"there is no file or module {place}")
    if path.suffix != ".py":
        raise CourseError(f"{path} is not a Python file")
    parents = path.absolute().parents
    folders = [*takewhile(lambda folder: (folder / "__init__.py").is_file(), parents)]
    for one in (path, *folders):  # a cloned folder may hold a link to any file of the user
        if one.is_symlink():
            raise CourseError(f"{one} is a link, which an audit does not follow; name its target")
    names = [one.name for one in reversed(folders)] + [path.stem] * (path.stem != "__init__")
    package = str(folders[-1].resolve()) if folders else ""
    return Asked(path.resolve(), ".".join(names) if folders else "", package, name)


def audits(targets: list[str], wishes: dict[str, Any], trust: bool = False) -> Iterator[dict]:
    """Yield the audits of each file's definitions. Raises CourseError.

    wishes: what the caller knows: the kind as `as`, the meaning of the mask as `mask`, and values
    of arguments by name as `arguments`. trust: run the code in this process, without a sandbox.
    """
    every = [asked_for(target) for target in targets]
    torch.set_num_threads(1)  # several are slower for small tensors
    with nullcontext() if trust else closing(sandbox(every)) as server:
        for asked in every:
            yield audit_of_file(asked, wishes, server)


def sandbox(every: list[Asked]) -> ForkServer:
    """Start a fork server whose children can read these files.

    Raises CourseError if these are more than the code may read, such as a course's hidden files.
    """
    try:
        private = private_paths(find_project().graders)
    except CourseError:  # there is no course here
        private = {}
    installed = site_folders()
    folders = [asked.package or str(asked.path) for asked in every]
    readable = [one for one in folders if not any(Path(one).is_relative_to(i) for i in installed)]
    server = ForkServer(LIMITS, readable=readable, program="audit.child")
    must_hold(server, private)
    return server


def opened(asked: Asked, text: str, server: ForkServer | None) -> tuple[Code, Opened]:
    """Load a file in a new process, or in this one. Raises Stopped or Raised."""
    code = Code(There(server.fork(Budget(MOST_SECONDS)), MOST_REPLY) if server else Bench())
    where = {"filename": str(asked.path), "module": asked.module, "package": asked.package}
    return code, code.ask(Opened, {"do": "open", "text": text, **where}, {})[0]


def audit_of_file(asked: Asked, wishes: dict[str, Any], server: ForkServer | None) -> dict:
    """Return the audits of one file's definitions. server: None runs the code in this process."""
    text = asked.path.read_text(encoding="utf-8", errors="replace")
    found: dict[str, Any] = {"file": str(asked.path), "audits": [], "problem": ""}
    try:
        code, file = opened(asked, text, server)
    except (Stopped, Raised) as error:
        said = str(error).replace("raises SyntaxError", "has a syntax error")
        return found | {"problem": said}
    wanted = dict.fromkeys(one.name for one in file.definitions if is_candidate(one, text))
    for name in [asked.name] if asked.name else wanted:
        found["audits"].append(audit_of_definition(code, file, name, text, wishes))
        if code.stopped:
            code.channel.close()
            with suppress(Stopped, Raised):
                code, file = opened(asked, text, server)
    code.channel.close()
    ran = [one for one in found["audits"] if one["status"] != "not run"]
    if ran and not asked.name:
        # Helper functions with a telling name are no reason to complain.
        classes = [one.name for one in file.definitions if one.is_class]
        found["audits"] = [one for one in found["audits"] if one in ran or one["name"] in classes]
    return found


def audit_of_definition(
    code: Code, file: Opened, name: str, text: str, wishes: dict[str, Any]
) -> dict:
    """Return the audit of one definition, or why it could not be run, in a form for JSON."""
    one = {one.name: one for one in file.definitions}.get(name)  # the last of that name
    told: dict[str, Any] = {"name": name, "line": one.line if one else 1}
    failed = [error for names, error in file.problems if name in names]
    imports = [error for _, error in file.problems if error[0] in IMPORT_ERRORS]
    try:
        if failed:
            raise CannotRun(f"loading it raises {failed[0][0]}: {failed[0][1]}")
        if not one:
            raise CannotRun(f"the file defines no `{name}`")
        subject = understood(code, one, wishes)
        told |= described(subject) | verdict(subject)
    except (CannotRun, Stopped) as error:
        told |= not_run(str(error), getattr(error, "line", 0))
    except Exception as error:  # results may have any form
        told |= not_run(f"its results cannot be judged ({type(error).__name__}: {error})", 0)
    if told["status"] == "not run" and imports:
        # In the sandbox, a file that is in no package can import nothing next to it.
        said = "; ".join(f"line {line}: {text}" for _, text, line in imports)
        told |= not_run(f"an import of the file failed ({said}; --trust allows it)", 0)
    if told["at"]:
        line = told["at"]["line"]
        told["at"]["code"] = "".join(text.split("\n")[line - 1 : line]).strip()
    return told


def is_candidate(one: Definition, text: str) -> bool:
    """Return True if a definition may be attention or a part of it, by its name or its code."""
    if kind_named(one.name):
        return one.has_forward or not one.is_class
    if not one.is_class:
        return bool(ATTENTION_NAME.search(one.name)) and len(one.takes) >= 3
    aliases = re.findall(r"scaled_dot_product_attention as (\w+)", text)
    has_signs = any(SIGNS.search(name) or name in aliases for name in one.names)
    named = ATTENTION_NAME.search(one.name) or BLOCK_NAME.search(one.name)
    return one.has_forward and (bool(named) or has_signs)


def understood(code: Code, one: Definition, wishes: dict[str, Any]) -> Subject:
    """Return a definition with its kind, its mask, and causal or not. Raises CannotRun or Stopped."""
    wished, by_name = wishes.get("as", ""), ATTENTION_NAME.search(one.name)
    kind = kind_named(wished or one.name) if wished or not (one.is_class and by_name) else None
    subject = subject_of(code, one, wishes.get("arguments", {}), kind)
    if kind:
        return subject
    causal = "causal" in wished if wished else is_causal(subject)
    subject = with_mask(replace(subject, causal=causal), wishes.get("mask", ""))
    others = dependence(subject, subject.first).fill_diagonal_(False)
    if by_name and subject.tensors == "x" and not others.any():
        raise CannotRun("no result depends on another token, so this is no attention")
    return subject


def not_run(why: str, line: int) -> dict:
    """Return the audit of a definition that could not be run, with a known mistake if one shows.

    line: the one that raises, 0 for none.
    """
    told: dict[str, Any] = {"status": "not run", "why": why, "mistakes": []}
    for pattern, (name, says) in KNOWN_ERRORS.items():
        if not told["mistakes"] and (found := re.search(pattern, why)):
            says = says.format(*filter(None, found.groups()))
            told["mistakes"] = [{"name": name, "says": says, "line": line}]
    return told | {"at": {"line": line} if line else {}}


def described(subject: Subject) -> dict[str, Any]:
    """Return in words what a definition was taken for: its kind, its input and its mask."""
    if subject.kind:
        return {"kind": subject.kind.name, "roles": {}}
    source = {"x": "self-attention", "x, context": "cross-attention", "q, k": "attention weights"}
    words = ["causal"] * subject.causal + ["multi-head"] * (subject.first.heads > 1)
    kind = " ".join([*words, source.get(subject.tensors, "attention on q, k, v")])
    roles = {"input": f"{subject.tensors} as ({subject.layout}, width)"}
    if subject.mask[1]:
        roles["mask"] = "`{}`, {}, ({})".format(*subject.mask)
    return {"kind": kind, "roles": roles}


def verdict(subject: Subject) -> dict:
    """Return the status, the relations, and the known mistakes and the line of a failure."""
    found = results_of(subject)
    told: dict[str, Any] = {"relations": [one for one, _ in found], "mistakes": [], "at": {}}
    failures = [mistake for _, mistake in found if mistake]
    if not failures:
        return told | {"status": "holds"}
    known = {one.name: one for one in failures if one.name}.values()
    mistakes = [{"name": m.name, "says": m.says, "line": line_of(subject, [m])} for m in known]
    shown = [one for one in failures if one.name or one.line]  # a wrong line is worse than none
    at = {"line": line_of(subject, shown)} if shown else {}
    return told | {"status": "fails", "mistakes": mistakes, "at": at}


def line_of(subject: Subject, mistakes: list[Mistake]) -> int:
    """Return the line that raises an error, otherwise the first with the first word that is found.

    The definition's own line if there is none.
    """
    if raising := [one.line for one in mistakes if one.line]:
        return raising[0]
    for word in " ".join(one.where for one in mistakes).split():
        pattern = re.escape(word).replace("=", r"\s*=(?!=)").replace("@", r"\s*@")
        pattern = {"/": r"(?<!/)/(?!/)", "self=": r"^\s*self\.\w+(, self\.\w+)*\s*=(?!=)"}.get(
            word, rf"(?<!\w){pattern}" if word[0].isalpha() else pattern
        )
        for number, line in subject.definition.lines:
            if re.search(pattern, line.partition("#")[0]):
                return number
    return subject.definition.line
