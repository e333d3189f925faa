"""The side of an audit that is beside the audited code: it answers requests, and judges nothing."""

import ast
import inspect
import sys
import types
import warnings
from contextlib import suppress
from copy import deepcopy
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from keyword import iskeyword
from pathlib import Path
from token import NAME
from tokenize import generate_tokens
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn

from ..runner import serve as runner
from ..runner.case_runner import Reply
from ..runner.edits import edits
from ..runner.errors import describe_error
from ..runner.loading import load_module
from ..runner.syntax import is_text
from ..runner.torch_state import standard_torch
from ..runner.values import unpack as value_of
from ..runner.wire import pack, receive, send, unpack
from .roles import Sizes, construction

MOST_OBJECTS = 24  # modules and caches that are kept for later requests
HEADS = ("num_heads", "n_heads", "n_head", "heads", "h", "nhead", "num_attention_heads")


def warm_up() -> None:
    """Import and use once what is slow the first time; the fork server calls this."""
    runner.warm_up()


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Answer requests until the other side closes the stream."""
    bench = Bench()
    while (message := receive(reader)) is not None:
        send(writer, pack(*bench.answer(*unpack(message))))


class Bench:
    """The code of one file, and the objects that were made with it."""

    def __init__(self) -> None:
        self.module, self.text, self.filename = types.ModuleType("audited"), "", ""
        self.objects: dict[str, Any] = {}
        self.count = 0

    def answer(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Return the reply to a request, or the error that it raised, with its line."""
        verb = getattr(self, asked["do"])
        try:
            with warnings.catch_warnings(action="ignore"), standard_torch():
                return verb(asked, tensors)
        except (Exception, SystemExit) as error:
            return {"error": told_of(describe_error(error, self.filename))}, {}

    def look(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Describe the top-level definitions of a text. Nothing of it runs."""
        self.text, self.filename = asked["text"], asked["filename"]
        body = ast.parse(self.text).body
        words = [
            (token.start[0], token.string)
            for token in generate_tokens(StringIO(self.text).readline)
            if token.type == NAME and not iskeyword(token.string)
        ]
        kinds = (ast.FunctionDef, ast.ClassDef)
        return {"told": [described(one, words) for one in body if isinstance(one, kinds)]}, {}

    def load(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Run the file; return the names and the error of each statement that failed."""
        open_packages(asked["module"], asked["package"])
        if known := sys.modules.get(asked["module"]):
            self.module = known
            return {"told": []}, {}
        name = asked["module"] or "audited"
        self.module, problems = load_module(name, self.text, self.filename)
        return {"told": [[one["names"], told_of(one["error"])] for one in problems]}, {}

    def sign(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Return the parameters of a definition: those that make a module, and those of a call."""
        target = getattr(self.module, asked["name"])
        is_module = isinstance(target, type)
        makes = parameters(target) if is_module else []
        takes = parameters(target.forward)[1:] if is_module else parameters(target)
        return {"told": [is_module, makes, takes]}, {}

    def make(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Make a module, draw its weights or take those that are sent, and describe it."""
        target, sizes = getattr(self.module, asked["name"]), Sizes(**asked["sizes"])
        torch.default_generator.manual_seed(sizes.seed)
        made = target(**construction(target, sizes, asked, self.module))
        if not isinstance(made, nn.Module):
            raise TypeError("the class makes no nn.Module")
        seeded = torch.default_generator.initial_seed() == sizes.seed
        draw_weights(made, sizes.seed)
        made = made.double() if asked["double"] else made
        made = deepcopy(made) if asked["copied"] else made
        if tensors:
            made.load_state_dict(tensors)
        numbers = {vars(part).get(name) for part in made.modules() for name in HEADS}
        eps = getattr(made, "eps", getattr(made, "variance_epsilon", None))
        told = {
            "handle": self.keep(made),
            "parameters": [name for name, _ in made.named_parameters()],
            "kinds": {name: type(part).__name__ for name, part in made.named_modules()},
            "heads": [number for number in numbers if type(number) is int],
            "plain": plain_tensors(made),
            "eps": eps if isinstance(eps, float) else 0.0,
            "seeded": seeded,
        }
        state = made.state_dict().items()
        return {"told": told}, {name: one for name, one in state if isinstance(one, Tensor)}

    def call(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Call a function, a module or a part of one; return the parts of what it returns.

        Return also the arguments, which the call may have changed, and, if there is a direction for
        a part, the gradients.
        """
        target: Any = getattr(self.module, asked["name"], None)
        weights: dict[str, Tensor] = {}
        if asked["of"]:
            self.objects[asked["of"]].train(asked["training"])
            target = self.objects[asked["of"]].get_submodule(asked["path"])
            weights = {f"weight.{name}": one for name, one in target.named_parameters()}
        way = tensors.pop("way", None)
        torch.default_generator.manual_seed(asked["seed"])
        passed = {name: one.detach().clone() for name, one in tensors.items()}
        leaves = {name: one for name, one in passed.items() if one.is_floating_point()}
        with torch.set_grad_enabled(way is not None):
            if way is not None:
                passed |= {name: one.requires_grad_().clone() for name, one in leaves.items()}
            values = {
                name: value_of(tree, passed.__getitem__, self.held)
                for name, tree in asked["arguments"].items()
            }
            parts = parts_of(target(*values.values()) if asked["by_place"] else target(**values))
        results = {f"part.{n}": one for n, one in enumerate(parts) if isinstance(one, Tensor)}
        told = {
            "parts": [kind_of(part) for part in parts],
            "handle": self.keep(parts) if asked["keep"] else "",
        }
        if way is None:
            return {"told": told}, results | {f"input.{name}": one for name, one in passed.items()}
        return {"told": told}, gradients(results[asked["part"]], way, leaves | weights)

    def edit(self, asked: dict, tensors: dict[str, Tensor]) -> Reply:
        """Make a small edit of a definition, under another name; line 0 if none is left."""
        found = edits(self.text, asked["name"], asked["line"], asked["index"], 1)
        if not found:
            return {"told": [0, ""]}, {}
        space = types.ModuleType("edited").__dict__ | vars(self.module)
        exec(compile(found[0].definition, "edited", "exec", dont_inherit=True), space)
        setattr(self.module, asked["edited"], space[asked["name"]])
        code = found[0].text.split("\n")[found[0].line - 1].strip()
        return {"told": [found[0].line, code]}, {}

    def keep(self, value: Any) -> str:
        """Keep an object for later requests, and return its handle."""
        self.count += 1
        self.objects[str(self.count)] = value
        while len(self.objects) > MOST_OBJECTS:
            self.objects.pop(next(iter(self.objects)))
        return str(self.count)

    def held(self, handle: str) -> Any:
        """Return an object by its handle, or a part of a result as `handle.part`."""
        name, _, part = handle.partition(".")
        return self.objects[name][int(part)] if part else self.objects[name]


def told_of(error: dict) -> list:
    """Return the type, the text and the line of an error."""
    return [error["type"], error["text"], error["line"]]


def described(node: ast.FunctionDef | ast.ClassDef, words: list[tuple[int, str]]) -> dict:
    """Describe one definition of a text. words: all names in it, each with its line."""
    functions = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
    functions.sort(key=lambda one: one.name == "__init__")
    code = [one for function in functions for one in function.body if not is_text(one)]
    lines = (n for one in code for n in range(one.lineno, (one.end_lineno or 0) + 1))
    last = node.end_lineno or 0
    return {
        "name": node.name,
        "line": node.lineno,
        "is_class": isinstance(node, ast.ClassDef),
        "has_forward": any(getattr(one, "name", "") == "forward" for one in node.body),
        "takes": len(node.args.args) if isinstance(node, ast.FunctionDef) else 0,
        "names": sorted({word for line, word in words if node.lineno <= line <= last}),
        "lines": [*dict.fromkeys(lines)],
    }


def open_packages(module: str, folder: str) -> None:
    """Import the packages around a module, the topmost one from its folder.

    One whose own code fails stays there without its names, so that relative imports work.
    """
    names = module.split(".")[:-1] if folder else []
    for depth in range(len(names)):
        name, place = ".".join(names[: depth + 1]), Path(folder, *names[1 : depth + 1])
        if name not in sys.modules:
            spec = spec_from_file_location(
                name, place / "__init__.py", submodule_search_locations=[str(place)]
            )
            assert spec and spec.loader, "an __init__.py is a file of Python"
            sys.modules[name] = package = module_from_spec(spec)
            with suppress(Exception, SystemExit):
                spec.loader.exec_module(package)


def parameters(function: Any) -> list[tuple[str, str, str]]:
    """Return the name, the kind and the default of each parameter; an empty text for no default."""
    return [
        (name, one.kind.name, "" if one.default is one.empty else repr(one.default)[:80])
        for name, one in inspect.signature(function).parameters.items()
    ]


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


def parts_of(returned: Any) -> list:
    """Return the parts of a tuple, a list, a mapping or a dataclass; one part for a tensor."""
    if isinstance(returned, Tensor):
        return [returned]
    if isinstance(returned, dict):
        return list(returned.values())
    if isinstance(returned, (tuple, list)):
        return list(returned)
    is_record = hasattr(returned, "__dataclass_fields__")
    return [*vars(returned).values()] if is_record else [returned]


def kind_of(part: Any) -> str:
    """Return `tensor`, `nothing` for None, or `object`."""
    return "tensor" if isinstance(part, Tensor) else "nothing" if part is None else "object"


def gradients(result: Tensor, way: Tensor, leaves: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the gradients of a result in a direction, by leaf; none without one."""
    every = {name: one for name, one in leaves.items() if one.requires_grad}
    if not result.requires_grad:
        return {}
    made = torch.autograd.grad(result, [*every.values()], way, allow_unused=True)
    return {name: one for name, one in zip(every, made, strict=True) if one is not None}
