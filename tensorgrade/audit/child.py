"""The side of an audit that is beside the audited code: it answers requests, and judges nothing."""

import ast
import inspect
import re
import sys
import types
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn

from ..runner import serve as runner
from ..runner.case_runner import Reply
from ..runner.cases import standard_torch
from ..runner.errors import describe_error
from ..runner.instrumentation import describe_module
from ..runner.loading import load_module
from ..runner.names import parameters_of
from ..runner.steps import parts_of
from ..runner.syntax import is_text
from ..runner.wire import pack, receive, send, unpack
from .conventions import CONSTRUCTOR, NO_VALUE, is_configuration, role_of

warm_up = runner.warm_up  # the fork server calls this


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Answer requests until the other side closes the stream."""
    bench = Bench()
    while (message := receive(reader)) is not None:
        send(writer, pack(*bench.ask(*unpack(message))))


class Bench:
    """The code of one file, and a channel to it. Each request to run it makes its objects again.

    Modules next to the file, or to its package, can be imported if this process may read them.
    """

    def __init__(self) -> None:
        self.module, self.filename = types.ModuleType("audited"), ""
        self.given: dict[str, Any] = {}  # arguments by name

    def ask(self, asked: dict, tensors: dict[str, Tensor], seconds: float = 0.0) -> Reply:
        """Return the reply to a request, or the error that it raised, with its line.

        seconds: ignored, because this process has no time limit.
        """
        try:
            with warnings.catch_warnings(action="ignore"), standard_torch():
                return self.open(asked) if asked["do"] == "open" else self.run(asked, tensors)
        except (Exception, SystemExit) as error:
            return {"error": describe_error(error, self.filename)}, {}

    def close(self) -> None:
        """Do nothing: this process goes on."""

    def open(self, asked: dict) -> Reply:
        """Run a file; describe its definitions, and the errors of statements that failed."""
        text, name, self.filename = asked["text"], asked["module"], asked["filename"]
        self.given = asked["arguments"]
        body = ast.parse(text).body
        sys.path.insert(0, str(Path(asked["package"] or self.filename).parent))
        import_packages(name, asked["package"])
        found = {one.name: one for one in body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
        problems: list[dict] = []
        self.module = sys.modules.get(name, self.module)
        if not all(hasattr(self.module, one) for one in found):
            self.module, problems = load_module(name or "audited", text, self.filename)
        told = {n: described(one, text.split("\n"), self.module) for n, one in found.items()}
        return {"told": {"definitions": told, "problems": problems}}, {}

    def run(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Make a module, or take a function, and call it in order.

        The reply describes the module and each result, and has the tensors in them.
        """
        target: Any = getattr(self.module, asked["name"])
        told, sent = {}, {}
        if isinstance(target, type):
            made = self.make(target, asked["values"], asked["seed"])
            if asked["restored"]:  # by another module
                stored, made = made.state_dict(), self.make(target, asked["values"], 17)
                made.load_state_dict(stored)
            target, told = made, describe_module(made)
            sent = {f"weight.{n}": one.detach().clone() for n, one in made.named_parameters()}
        results: list[list[Any]] = []
        told["reached"] = []
        for number, call in enumerate(asked["calls"]):
            others = call["plain"]
            if call["after"] is not None:
                caches = [one for one in results[call["after"]][1:] if one is not None]
                if not caches:
                    raise ValueError("it returns no cache")
                others |= dict.fromkeys(call["caches"], caches[-1])
            reached, parts = called(target, call, under(tensors, f"{number}."), others)
            results.append(parts)
            told["reached"].append(reached)
            # Copies, because a later call may change them.
            found = {n: one for n, one in enumerate(parts) if isinstance(one, Tensor)}
            sent |= {f"{number}.{n}": one.detach().clone() for n, one in found.items()}
        return {"told": told}, sent

    def make(self, target: type, values: dict[str, Any], seed: int) -> nn.Module:
        """Make a module from values by role, and draw its weights.

        Every parameter is drawn, since zeros and ones would hide mistakes.
        """
        torch.default_generator.manual_seed(seed)
        made = target(**construction(target, values, self.given, self.module))
        if not isinstance(made, nn.Module):
            raise TypeError("the class makes no nn.Module")
        chance = torch.Generator().manual_seed(seed + 3)
        for value in filter(torch.is_floating_point, made.parameters()):
            drawn = torch.randn(value.shape, generator=chance)
            if value.dim() > 1:
                value.data.copy_(drawn * 1.5 / max(value[0].numel(), 1) ** 0.5)
            else:
                value.data.add_(0.3 * drawn)
        return made


def under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names start with a prefix, without it."""
    return {n.removeprefix(prefix): one for n, one in tensors.items() if n.startswith(prefix)}


class Configuration(dict):
    """A configuration that answers by name, as an attribute and as an item, by the name's role."""

    def __missing__(self, name: str) -> Any:
        role = role_of(name, CONSTRUCTOR)
        if role not in self:
            raise KeyError(f"nothing is known about `{name}` of the configuration")
        return self[role]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(*error.args) from None

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value for a name, or the default."""
        return getattr(self, name, default)


def construction(
    target: Any, values: dict[str, Any], given: dict[str, Any], module: types.ModuleType
) -> dict[str, Any]:
    """Return arguments for a constructor, by the roles of its parameters.

    values: by role. given: by name. module: where configurations are looked up. Raises ValueError.
    """
    arguments: dict[str, Any] = {}
    for one in named_parameters(target):
        role, needed = role_of(one.name, CONSTRUCTOR), one.default is one.empty
        is_no_option = role in ("bias", "causal") and not isinstance(one.default, bool)
        if (needed or one.default is None) and is_configuration(one.name):
            known = given.get(one.name, {})
            arguments[one.name] = configuration(one.annotation, values, known, module)
        elif one.name in given:
            arguments[one.name] = given[one.name]
        elif role in values and (needed or not is_no_option):
            arguments[one.name] = values[role]
        elif needed:
            raise ValueError(f"making it needs `{one.name}`, {NO_VALUE}")
    return arguments


def configuration(
    annotation: Any, values: dict[str, Any], given: dict[str, Any], module: types.ModuleType
) -> Any:
    """Return a configuration: of the annotated class, or one that answers by name.

    Of names that say nothing, it knows the defaults in the module's classes of configurations.
    """
    kind = vars(module).get(annotation) if isinstance(annotation, str) else annotation
    if not isinstance(kind, type) or kind in (inspect.Parameter.empty, dict, object):
        named = [one for n, one in vars(module).items() if re.search("(config|args)$", n, re.I)]
        every = [p for one in named if isinstance(one, type) for p in named_parameters(one)]
        unclear = [p for p in every if not role_of(p.name, CONSTRUCTOR)]
        defaults = {p.name: p.default for p in unclear if p.default is not p.empty}
        return Configuration(values | defaults | {"_attn_implementation": "eager"} | given)
    made = kind(**construction(kind, values, given, module))
    if hasattr(made, "_attn_implementation"):
        made._attn_implementation = "eager"
    return made


def named_parameters(function: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function or a class's constructor that have a name."""
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one for one in parameters_of(function).values() if one.kind not in starred]


def called(
    target: Any, call: dict, tensors: dict[str, Tensor], others: dict[str, Any]
) -> tuple[list[str], list[Any]]:
    """Call a function or a module; return what gradients reach, and the parts of the result.

    tensors, others: arguments by name.
    """
    passed = {name: one.detach().clone() for name, one in tensors.items()}
    leaves = {name: one for name, one in passed.items() if one.is_floating_point()}
    if call["gradients"]:  # a clone of a leaf can be changed in place
        passed |= {name: one.requires_grad_().clone() for name, one in leaves.items()}
    if isinstance(target, nn.Module):
        target.train(call["training"])
        leaves |= {f"weight.{n}": one for n, one in target.named_parameters() if one.requires_grad}
    torch.default_generator.manual_seed(call["seed"])
    with torch.set_grad_enabled(call["gradients"]):
        parts = [*parts_of(target(**passed, **others))]
    return reached_by(parts, leaves), parts


def reached_by(parts: list[Any], leaves: dict[str, Tensor]) -> list[str]:
    """Return the leaves with a gradient that is not 0, of drawn gradients of the results."""
    chance = torch.Generator().manual_seed(1)
    outputs = [p for p in parts if isinstance(p, Tensor) and p.requires_grad and p.isfinite().all()]
    if not (outputs and leaves):
        return []
    drawn = [torch.randn(one.shape, generator=chance).to(one) for one in outputs]
    found = torch.autograd.grad(outputs, [*leaves.values()], drawn, allow_unused=True)
    return [n for n, one in zip(leaves, found, strict=True) if one is not None and one.any()]


def described(
    node: ast.FunctionDef | ast.ClassDef, lines: list[str], module: types.ModuleType
) -> dict[str, Any]:
    """Describe one definition of a file's lines, and its parameters in the module made from it."""
    every = [*ast.walk(node)]
    functions = [one for one in every if isinstance(one, ast.FunctionDef)]
    functions.sort(key=lambda one: one.name == "__init__")
    code = [one for function in functions for one in function.body if not is_text(one)]
    numbers = (n for one in code for n in range(one.lineno, (one.end_lineno or 0) + 1))
    names = {getattr(one, field, None) for one in every for field in ("id", "attr", "arg", "name")}
    target = getattr(module, node.name, None)
    is_class = isinstance(node, ast.ClassDef)
    takes = parameters(getattr(target, "forward", None) if is_class else target)
    return {
        "name": node.name,
        "line": node.lineno,
        "is_class": is_class,
        "has_forward": any(getattr(one, "name", "") == "forward" for one in node.body),
        "names": sorted(name for name in names if isinstance(name, str)),
        "lines": [(n, lines[n - 1]) for n in dict.fromkeys(numbers) if n <= len(lines)],
        "makes": parameters(target) if is_class else {},
        "takes": {name: one for name, one in takes.items() if name != "self" or not is_class},
    }


def parameters(function: Any) -> dict[str, str]:
    """Return the default of each named parameter, as code; an empty text for none."""
    every = named_parameters(function)
    return {p.name: "" if p.default is p.empty else repr(p.default)[:80] for p in every}


def import_packages(module: str, folder: str) -> None:
    """Import a module and the packages around it, the topmost from its folder.

    One whose own code fails stays there without its names, so that relative imports work.
    """
    names = module.split(".") if folder else []
    for depth in range(len(names)):
        name = ".".join(names[: depth + 1])
        try:
            import_module(name)
        except (Exception, SystemExit):
            sys.modules[name] = package = types.ModuleType(name)
            package.__path__ = [str(Path(folder, *names[1 : depth + 1]))]
