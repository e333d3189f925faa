"""The side of an audit that is beside the audited code: it answers requests, and judges nothing."""

import ast
import sys
import types
import warnings
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn

from ..runner import serve as runner
from ..runner.case_runner import Reply
from ..runner.cases import standard_torch
from ..runner.errors import describe_error
from ..runner.loading import load_module
from ..runner.syntax import is_text
from ..runner.values import unpack as value_of
from ..runner.wire import pack, receive, send, unpack
from .roles import Sizes, construction, parameters_of

HEADS = ("num_heads", "n_heads", "n_head", "heads", "h", "nhead", "num_attention_heads")


def warm_up() -> None:
    """Import and use once what is slow the first time; the fork server calls this."""
    runner.warm_up()


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Answer requests until the other side closes the stream."""
    bench = Bench()
    while (message := receive(reader)) is not None:
        send(writer, pack(*bench.ask(*unpack(message))))


class Bench:
    """The code of one file, and a channel to it. Each request to run it makes its objects again."""

    def __init__(self) -> None:
        self.module, self.filename = types.ModuleType("audited"), ""

    def ask(self, asked: dict, tensors: dict[str, Tensor], seconds: float = 0.0) -> Reply:
        """Return the reply to a request, or the error that it raised, with its line.

        seconds: ignored, because this process has no time limit.
        """
        verb = {"open": self.open, "run": self.run}[asked["do"]]
        try:
            with warnings.catch_warnings(action="ignore"), standard_torch():
                return verb(asked, tensors)
        except (Exception, SystemExit) as error:
            return {"error": told_of(describe_error(error, self.filename))}, {}

    def close(self) -> None:
        """Do nothing: this process goes on."""

    def open(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Run a file; describe its definitions, and the errors of statements that failed."""
        text, self.filename = asked["text"], asked["filename"]
        body = ast.parse(text).body
        open_packages(asked["module"], asked["package"])
        definitions = [one for one in body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
        problems: list[dict] = []
        name = asked["module"] or "audited"
        known = sys.modules.get(name) if asked["module"] else None
        if known and all(hasattr(known, one.name) for one in definitions):
            self.module = known
        else:
            self.module, problems = load_module(name, text, self.filename)
        told = {
            "definitions": [described(one, self.module) for one in definitions],
            "problems": [[one["names"], told_of(one["error"])] for one in problems],
        }
        return {"told": told}, {}

    def run(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Make a module, or take a function, and call it in order.

        The reply describes the module and each result, and has the tensors in them.
        """
        target: Any = getattr(self.module, asked["name"])
        told: dict[str, Any] = {"made": None, "calls": []}
        sent: dict[str, Tensor] = {}
        if isinstance(target, type):
            target, told["made"] = make(target, asked, under(tensors, "state."), self.module)
            sent = {f"state.{name}": one for name, one in target.state_dict().items()}
            sent = {name: one.clone() for name, one in sent.items() if isinstance(one, Tensor)}
        results: list[list[Any]] = []
        for number, call in enumerate(asked["calls"]):
            parts, changed, found = called(target, call, under(tensors, f"{number}."), results)
            results.append(parts)
            told["calls"].append([[*map(kind_of, parts)], changed])
            # Copies, because a later call may change them.
            sent |= {f"{number}.{name}": one.detach().clone() for name, one in found.items()}
        return {"told": told}, sent


def under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names start with a prefix, without it."""
    return {n.removeprefix(prefix): one for n, one in tensors.items() if n.startswith(prefix)}


def make(
    target: type, asked: dict, state: dict[str, Tensor], module: types.ModuleType
) -> tuple[nn.Module, dict]:
    """Make a module, draw its weights or take those of a state, and describe it."""
    sizes = Sizes(**asked["sizes"])
    torch.default_generator.manual_seed(sizes.seed)
    made = target(**construction(target, sizes, asked, module))
    if not isinstance(made, nn.Module):
        raise TypeError("the class makes no nn.Module")
    draw_weights(made, sizes.seed)
    made = made.double() if asked["double"] else made
    if state:
        made.load_state_dict(state)
    numbers = {vars(part).get(name) for part in made.modules() for name in HEADS}
    return made, {
        "parameters": [name for name, _ in made.named_parameters()],
        "kinds": {name: type(part).__name__ for name, part in made.named_modules()},
        "heads": [number for number in numbers if type(number) is int],
        "plain": plain_tensors(made),
    }


def draw_weights(module: nn.Module, seed: int) -> None:
    """Draw every parameter, since zeros and ones would hide mistakes."""
    chance = torch.Generator().manual_seed(seed + 3)
    with torch.no_grad():
        for value in module.parameters():
            if value.is_floating_point():
                drawn = torch.randn(value.shape, generator=chance, dtype=torch.float64)
                if value.dim() > 1:
                    value.copy_(drawn * 1.5 / max(value[0].numel(), 1) ** 0.5)
                else:
                    value.add_(0.3 * drawn)


def plain_tensors(module: nn.Module) -> str:
    """Return the name of a plain tensor, or of a plain list of tensors or modules, in a module."""
    for part in module.modules():
        for name, value in vars(part).items():
            items = value if isinstance(value, (list, tuple)) else [value]
            if not name.startswith("_") and any(isinstance(i, (Tensor, nn.Module)) for i in items):
                return name
    return ""


def called(
    target: Any, call: dict, tensors: dict[str, Tensor], results: list[list[Any]]
) -> tuple[list[Any], list[str], dict[str, Tensor]]:
    """Call a function or a module.

    results: the parts of earlier calls, which an argument may be. Return the parts of the result,
    the names of the arguments that the call changed, and tensors: the parts as `part.0`, and slopes
    if they are wanted.
    """

    def held(place: str) -> Any:
        number, part = map(int, place.split("."))
        return results[number][part]

    passed = {name: one.detach().clone() for name, one in tensors.items()}
    leaves = {name: one for name, one in passed.items() if one.is_floating_point()}
    if call["slopes"]:  # a clone of a leaf can be changed in place
        passed |= {name: one.requires_grad_().clone() for name, one in leaves.items()}
    if isinstance(target, nn.Module):
        target.train(call["training"])
        leaves |= {f"weight.{name}": one for name, one in target.named_parameters()}
    torch.default_generator.manual_seed(call["seed"])
    trees = call["arguments"].items()
    values = {name: value_of(tree, passed.__getitem__, held) for name, tree in trees}
    with torch.set_grad_enabled(call["slopes"]):
        parts = parts_of(target(**values))
    changed = [name for name, one in passed.items() if not torch.equal(one, tensors[name])]
    found = {f"part.{n}": one for n, one in enumerate(parts) if isinstance(one, Tensor)}
    return parts, changed, found | (slopes([*found.values()], leaves) if call["slopes"] else {})


def slopes(results: list[Tensor], leaves: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the total of results with drawn factors, and its gradients as `gradient.NAME`."""
    chance, total = torch.Generator().manual_seed(1), torch.zeros(())
    for one in results:
        if one.is_floating_point() and one.isfinite().all():
            factors = torch.randn(one.shape, generator=chance, dtype=torch.float64)
            total = total + (factors.to(one) * one).sum()
    found = {"total": total}
    every = {name: one for name, one in leaves.items() if one.requires_grad}
    if total.requires_grad:
        made = torch.autograd.grad(total, [*every.values()], allow_unused=True)
        pairs = zip(every, made, strict=True)
        found |= {f"gradient.{name}": one for name, one in pairs if one is not None}
    return found


def parts_of(returned: Any) -> list:
    """Return the parts of a tuple, a list, a mapping or a dataclass; one part for a tensor."""
    if isinstance(returned, dict):
        return list(returned.values())
    if isinstance(returned, (tuple, list)):
        return list(returned)
    is_record = hasattr(returned, "__dataclass_fields__")
    return [*vars(returned).values()] if is_record else [returned]


def kind_of(part: Any) -> str:
    """Return `tensor`, `nothing` for None, or `object`."""
    return "tensor" if isinstance(part, Tensor) else "nothing" if part is None else "object"


def told_of(error: dict) -> list:
    """Return the type, the text and the line of an error."""
    return [error["type"], error["text"], error["line"]]


def described(node: ast.FunctionDef | ast.ClassDef, module: types.ModuleType) -> dict:
    """Describe one definition of a text, and its parameters in the module made from it."""
    every = [*ast.walk(node)]
    functions = [one for one in every if isinstance(one, ast.FunctionDef)]
    functions.sort(key=lambda one: one.name == "__init__")
    code = [one for function in functions for one in function.body if not is_text(one)]
    lines = (n for one in code for n in range(one.lineno, (one.end_lineno or 0) + 1))
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
        "lines": [*dict.fromkeys(lines)],
        "makes": parameters(target) if is_class else {},
        "takes": {name: one for name, one in takes.items() if name != "self" or not is_class},
    }


def parameters(function: Any) -> dict[str, str]:
    """Return the default of each named parameter, as code; an empty text for none."""
    every = parameters_of(function)
    return {p.name: "" if p.default is p.empty else repr(p.default)[:80] for p in every}


def open_packages(module: str, folder: str) -> None:
    """Import the packages around a module, and itself if it is one, the topmost from its folder.

    One whose own code fails stays there without its names, so that relative imports work.
    """
    names = module.split(".") if folder else []
    for depth in range(len(names)):
        name, place = ".".join(names[: depth + 1]), Path(folder, *names[1 : depth + 1])
        if name not in sys.modules and (place / "__init__.py").is_file():
            spec = spec_from_file_location(
                name, place / "__init__.py", submodule_search_locations=[str(place)]
            )
            assert spec and spec.loader, "an __init__.py is a file of Python"
            sys.modules[name] = package = module_from_spec(spec)
            with suppress(Exception, SystemExit):
                spec.loader.exec_module(package)
