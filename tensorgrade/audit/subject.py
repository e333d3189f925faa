"""A definition that can be run at any drawn sizes: its layout, its masks and its cache by trial."""

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from traceback import walk_tb
from typing import Any

import torch
from torch import nn

from .roles import CALL, Sizes, construction, parameters_of, role_of

NOTHING = 1e-6  # a smaller change, relative to the output, is rounding
FIRST = Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2, tokens_of_context=7)
LAYOUTS = ("batch, tokens", "tokens, batch", "tokens")
LAYOUTS_OF_FUNCTIONS = (
    "batch, heads, tokens",
    "batch, tokens, heads",
    "batch, tokens",
    "tokens",
    "heads, tokens",
)
GUESSES = ("width", "heads", "dropout", "context", "d_out", "head_dim")
Mask = Callable[[torch.Tensor], torch.Tensor]


class CannotRun(Exception):
    """The definition could not be run; the text says what was tried.

    line: the line that raises an error for every input that was tried, 0 if there is none. plan:
    the way to call it that got furthest.
    """

    def __init__(self, said: str, line: int = 0, plan: "Subject | None" = None):
        super().__init__(said)
        self.line, self.plan = line, plan


@dataclass(frozen=True)
class Convention:
    """A way to pass a mask: the meaning of its entries and its shape."""

    meaning: str
    shape: str

    def of(self, visible: torch.Tensor) -> torch.Tensor:
        """Return the mask for (batch, queries, keys) booleans, True for visible."""
        shaped = {
            "batch, queries, keys": visible,
            "batch, 1, queries, keys": visible[:, None],
            "queries, keys": visible[0],
            "batch, keys": visible[:, 0],
            "batch, 1, 1, keys": visible[:, None, :1],
            "batch, 1, keys": visible[:, :1],
        }[self.shape]
        meanings: dict[str, Mask] = {
            "true-hides": lambda m: ~m,
            "true-shows": lambda m: m,
            "additive": lambda m: torch.zeros(m.shape, dtype=torch.float64).masked_fill(
                ~m, -torch.inf
            ),
            "one-shows": lambda m: m.double(),
            "one-hides": lambda m: (~m).double(),
        }
        return meanings[self.meaning](shaped)


MEANINGS = ("true-hides", "true-shows", "additive", "one-shows", "one-hides")
SHAPES = ("queries, keys", "batch, queries, keys", "batch, 1, queries, keys")
SHAPES_OF_KEYS = ("batch, keys", "batch, 1, 1, keys", "batch, 1, keys")


@dataclass
class Output:
    """A result: (batch, tokens, width), and the other parts that came back."""

    value: torch.Tensor
    weights: torch.Tensor | None = None
    cache: Any = None


@dataclass(eq=False)  # compared and hashed by identity
class Subject:
    """A class or function that does attention, and the way to build and call it.

    call: the role of each parameter of the call. equal: inputs must be as wide as outputs. square:
    there must be as many keys as queries. guesses: roles of constructor parameters, by trial.
    """

    name: str
    target: Any
    text: str
    line: int
    equal: bool = False
    double: bool = True
    guesses: dict[str, str] = field(default_factory=dict)
    call: dict[str, str] = field(default_factory=dict)
    layout: str = LAYOUTS[0]
    mask: Convention | None = None
    mask_parameter: str = ""
    causal: bool = False
    square: bool = False
    with_heads: bool = False
    knows_heads: bool | None = None
    wishes: dict[str, str] = field(default_factory=dict)

    @property
    def is_module(self) -> bool:
        """Return True if the definition is a class."""
        return inspect.isclass(self.target)

    @property
    def given(self) -> str:
        """Return the tensors that a call takes: `x`, `x, context` or `q, k, v`."""
        roles = set(self.call.values())
        if {"q", "k"} <= roles:
            return "q, k, v" if "v" in roles else "q, k"
        return "x, context" if "context" in roles else "x"

    def has(self, role: str) -> bool:
        """Return True if a parameter of the call has this role."""
        return role in self.call.values()

    def constructor_has(self, role: str) -> bool:
        """Return True if a parameter of the constructor, or of its configuration, has this role."""
        from .roles import CONSTRUCTOR

        names = [one.name for one in parameters_of(self.target)] if self.is_module else []
        roles = {self.guesses.get(name) or role_of(name, CONSTRUCTOR) for name in names}
        return role in roles

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return sizes that this definition can have: one head if it knows no heads, and so on."""
        if self.is_module:
            if self.knows_heads is None:
                self.knows_heads = self.finds_heads(sizes)
            if self.knows_heads:
                return sizes
            return replace(sizes, heads=1, head_dim=sizes.heads * sizes.head_dim, kv_heads=1)
        if "heads" in self.layout or self.with_heads:
            return sizes
        return replace(sizes, heads=1, kv_heads=1)

    def finds_heads(self, sizes: Sizes) -> bool:
        """Return True if a constructor is told the number of heads, or a part of it is."""
        if self.constructor_has("heads"):
            return True
        names = ("num_heads", "n_heads", "n_head", "heads", "h", "nhead", "num_attention_heads")
        parts = self.build(sizes).modules()
        return any(getattr(part, name, 1) == sizes.heads for part in parts for name in names)

    def build(self, sizes: Sizes, options: dict[str, Any] | None = None) -> Any:
        """Return a module with drawn weights, or the function. options: arguments by name."""
        if not self.is_module:
            return self.target
        torch.default_generator.manual_seed(sizes.seed)
        arguments = construction(self.target, sizes, self.equal, self.guesses)
        made = self.target(**(arguments | (options or {})))
        if not isinstance(made, nn.Module):
            raise TypeError("the class makes no nn.Module")
        draw_weights(made, sizes.seed)
        return made.double() if self.double else made

    def inputs(self, sizes: Sizes) -> dict[str, torch.Tensor]:
        """Return drawn inputs, each (batch, tokens, width)."""
        chance = torch.Generator().manual_seed(sizes.seed + 1)
        b, n, m = sizes.batch, sizes.tokens, sizes.tokens_of_context
        wide = sizes.value("width", self.equal) if self.is_module else sizes.width
        wide_context = sizes.value("d_context", self.equal) if self.is_module else wide
        keys = n if self.causal or self.square else m
        kv = wide
        if not self.is_module and self.has("kv_heads"):
            kv = sizes.kv_heads * sizes.head_dim
        shapes = {
            "x": {"x": (b, n, wide)},
            "x, context": {"x": (b, n, wide), "context": (b, m, wide_context)},
            "q, k, v": {"q": (b, n, wide), "k": (b, keys, kv), "v": (b, keys, kv)},
            "q, k": {"q": (b, n, wide), "k": (b, keys, kv)},
        }[self.given]
        made = {
            name: torch.randn(shape, generator=chance, dtype=torch.float64)
            for name, shape in shapes.items()
        }
        return made if self.double else {name: value.float() for name, value in made.items()}

    def run(
        self,
        made: Any,
        inputs: dict[str, torch.Tensor],
        sizes: Sizes,
        visible: torch.Tensor | None = None,
        training: bool = False,
        cache: Any = None,
        wishes: tuple[str, ...] = (),
        options: dict[str, Any] | None = None,
    ) -> Output:
        """Call the definition, always with the same seed, and return its result in one layout."""
        arguments: dict[str, Any] = {}
        for name, role in self.call.items():
            if role in inputs:
                arguments[name] = self.laid_out(inputs[role], sizes)
            elif role == "mask" and visible is not None and self.mask:
                arguments[name] = self.mask.of(visible)
            elif role == "padding" and visible is not None and self.mask:
                if name == self.mask_parameter:
                    arguments[name] = self.mask.of(visible)
            elif role in ("weights_wanted", "cache_wanted") and role in wishes:
                arguments[name] = True
            elif role == "cache" and cache is not None:
                arguments[name] = cache
            elif role == "causal" and self.causal:
                arguments[name] = True
            else:
                arguments |= self.of_required(name, role, inputs, sizes, training)
        arguments |= options or {}
        if visible is not None and self.mask_parameter in arguments and not self.double:
            value = arguments[self.mask_parameter]
            if value.is_floating_point():
                arguments[self.mask_parameter] = value.float()
        # torch.manual_seed would take milliseconds to look for other devices.
        torch.default_generator.manual_seed(sizes.seed + 2)
        if self.is_module:
            made.train(training)
        returned = made(**arguments) if self.by_name(arguments) else made(*arguments.values())
        return self.understood(returned, inputs, sizes)

    def by_name(self, arguments: dict[str, Any]) -> bool:
        """Return True if every argument can be passed by its name."""
        called = self.target.forward if self.is_module else self.target
        kinds = inspect.signature(called).parameters
        return not any(kinds[name].kind is inspect.Parameter.POSITIONAL_ONLY for name in arguments)

    def of_required(
        self, name: str, role: str, inputs: dict, sizes: Sizes, training: bool
    ) -> dict[str, Any]:
        """Return an argument for another parameter, if it needs one."""
        called = self.target.forward if self.is_module else self.target
        one = inspect.signature(called).parameters[name]
        optional = one.default is not inspect.Parameter.empty
        first = next(iter(inputs.values()))
        known: dict[str, Any] = {
            "positions": torch.arange(first.shape[1]),
            "start": 0,
            "block": 2,
            "heads": sizes.heads,
            "kv_heads": sizes.kv_heads,
            "mask": None,
            "padding": None,
            "cache": None,
            "dropout": sizes.dropout,
            "training": training,
        }
        if role == "training":
            return {name: training}
        if role == "dropout" and not self.is_module:
            return {} if one.default is None else {name: sizes.dropout}
        if role == "heads":
            return {name: sizes.heads}
        if optional:
            return {}
        if role in known:
            return {name: known[role]}
        raise CannotRun(f"nothing is known about the parameter `{name}` of the call")

    def laid_out(self, value: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        """Return (batch, tokens, width) in the layout that the definition takes."""
        if "heads" in self.layout:
            b, n, wide = value.shape
            heads = wide // sizes.head_dim
            value = value.reshape(b, n, heads, -1)
            if self.layout == "batch, tokens, heads":
                return value
            value = value.transpose(1, 2)
            return value[0] if self.layout == "heads, tokens" else value
        if self.layout == "tokens, batch":
            return value.transpose(0, 1)
        return value[0] if self.layout == "tokens" else value

    def canonical(self, value: torch.Tensor) -> torch.Tensor:
        """Return a result of this layout as (batch, tokens, width)."""
        if "heads" in self.layout:
            if self.layout == "heads, tokens":
                value = value[None]
            if self.layout != "batch, tokens, heads":
                value = value.transpose(1, 2)
            return value.flatten(2)
        if self.layout == "tokens, batch":
            return value.transpose(0, 1)
        return value[None] if self.layout == "tokens" else value

    def understood(self, returned: Any, inputs: dict, sizes: Sizes) -> Output:
        """Find the result, the weights and the cache in what came back. Raises CannotRun."""
        first = next(iter(inputs.values()))
        parts = [returned] if isinstance(returned, torch.Tensor) else list(parts_of(returned))
        keys = next((inputs[n].shape[1] for n in ("k", "context") if n in inputs), first.shape[1])
        b, n = (1 if self.layout in ("tokens", "heads, tokens") else first.shape[0]), first.shape[1]
        value = weights = cache = None
        for part in parts:
            if not isinstance(part, torch.Tensor):
                cache = cache if part is None else part
                continue
            shaped = self.shaped(part, b, n)
            if value is None and shaped is not None:
                value = shaped
            elif part.dim() >= 2 and part.shape[-2:] == (n, keys) and weights is None:
                weights = part
            elif cache is None:
                cache = part
        if value is None:
            shapes = ", ".join(str(tuple(p.shape)) for p in parts if isinstance(p, torch.Tensor))
            raise CannotRun(f"no result has {n} tokens (shapes: {shapes or 'none'})")
        return Output(value, weights, cache)

    def shaped(self, part: torch.Tensor, b: int, n: int) -> torch.Tensor | None:
        """Return a tensor as (batch, tokens, width) if its shape allows that."""
        wanted = {
            "batch, tokens": 3, "tokens, batch": 3, "tokens": 2,
            "batch, heads, tokens": 4, "batch, tokens, heads": 4, "heads, tokens": 3,
        }[self.layout]  # fmt: skip
        if part.dim() != wanted or not part.is_floating_point():
            return None
        value = self.canonical(part)
        return value if value.shape[:2] == (b, n) else None

    def batch_of(self, sizes: Sizes) -> Sizes:
        """Return the sizes with one batch entry if the layout has no batch."""
        alone = self.layout in ("tokens", "heads, tokens")
        return replace(sizes, batch=1) if alone else sizes


def parts_of(returned: Any) -> Iterator[Any]:
    """Yield the parts of a tuple, a list, a mapping or a dataclass."""
    if isinstance(returned, dict):
        yield from returned.values()
    elif isinstance(returned, (tuple, list)):
        yield from returned
    elif hasattr(returned, "__dataclass_fields__"):
        yield from vars(returned).values()


def draw_weights(module: nn.Module, seed: int) -> None:
    """Draw every parameter, since zeros and ones would hide mistakes."""
    chance = torch.Generator().manual_seed(seed + 3)
    with torch.no_grad():
        for value in module.parameters():
            if not value.is_floating_point():
                continue
            drawn = torch.randn(value.shape, generator=chance, dtype=torch.float64)
            if value.dim() > 1:
                drawn *= 1.5 / max(value.shape[-1], 1) ** 0.5
                value.copy_(drawn)
            else:
                value.add_(0.3 * drawn)


def call_roles(target: Any) -> dict[str, str]:
    """Return the role of each parameter of a function or of a class's `forward`."""
    is_class = inspect.isclass(target)
    found = parameters_of(target.forward if is_class else target)[1 if is_class else 0 :]
    roles = {one.name: role_of(one.name, CALL) for one in found}
    taken: set[str] = set()
    for one in found:
        role = roles[one.name]
        if role in taken and role in ("x", "q", "k", "v", "context", "mask", "cache"):
            roles[one.name] = role = "context" if role == "x" and "context" not in taken else ""
        taken.add(role)
    required = [one.name for one in found if one.default is inspect.Parameter.empty]
    tensors = {"q", "k", "v", "x", "context"}
    named = [name for name in required if roles[name] in tensors]
    if not {"q", "k", "v"} <= set(roles.values()) and len(required) >= 3 and not is_class:
        if [roles[name] for name in required[:3]] in ([""] * 3, ["x", "context", ""]):
            roles |= dict(zip(required[:3], "qkv", strict=True))
    elif not named and required:
        roles[required[0]] = "x"
    if "k" in roles.values() and "q" not in roles.values() and "x" in roles.values():
        roles = {name: "q" if role == "x" else role for name, role in roles.items()}
    if "q" in roles.values() and "k" not in roles.values():
        roles = {name: "x" if role == "q" else role for name, role in roles.items()}
        if "v" in roles.values() and "context" not in roles.values():
            roles = {name: "context" if role == "v" else role for name, role in roles.items()}
    return roles


def prepared(
    target: Any,
    name: str,
    text: str,
    line: int,
    wishes: dict[str, str],
    is_right: Callable[["Subject"], bool] = lambda subject: False,
) -> Subject:
    """Return a definition that runs: roles by name, the rest by trial. Raises CannotRun.

    is_right: says if results are right in a layout. A function may run in several of them, so
    that one is taken, and otherwise the first that runs.
    """
    subject = Subject(name, target, text, line, wishes=wishes)
    subject.call = call_roles(target)
    if not subject.is_module and "q" not in subject.given:
        raise CannotRun("a function of attention takes queries, keys and values")
    tried: list[tuple[Exception, Subject]] = []
    ran: list[Subject] = []
    for plan in plans(subject):
        try:
            out = attempt(plan, FIRST)
        except Exception as error:  # any code may raise anything
            tried.append((error, plan))
            continue
        if out and subject.is_module:
            return with_layout(plan)
        if out and is_right(plan):
            return plan
        ran.append(plan)
    if ran:
        return with_layout(ran[0])
    raise why_not_run(tried, target)


def why_not_run(tried: list[tuple[Exception, Subject]], target: Any) -> CannotRun:
    """Return what is said about a definition if every call that was tried raises an error.

    Of several errors, the one on the last line counts: a call with wrong inputs fails earlier.
    """
    if not tried:
        return CannotRun("it takes no tensors that could be drawn")
    lines = [line_raising(error, target) for error, _ in tried]
    furthest, plan = tried[max(range(len(tried)), key=lines.__getitem__)]
    if takes_anything(target):
        return CannotRun(f"nothing is known about its `*` arguments; {raised(furthest, target)}")
    if needed := needed_without_value(plan):
        return CannotRun(f"a call needs `{needed}`, and an audit has no value for it")
    ways = f"{len(tried)} combinations of arguments and layouts were tried"
    if not all(lines):  # some call ran, and gave no result for each token
        furthest = tried[lines.index(0)][0]
        return CannotRun(f"{ways}: {raised(furthest, target)}")
    said = f"{ways}, and each raises an error: {raised(furthest, target)}"
    return CannotRun(said, max(lines), plan)


def needed_without_value(subject: Subject) -> str:
    """Return a parameter without a default for which a call passes None, or an empty text."""
    called = subject.target.forward if subject.is_module else subject.target
    parameters = inspect.signature(called).parameters
    return next(
        (
            name
            for name, role in subject.call.items()
            if role in ("mask", "padding", "cache")
            and parameters[name].default is inspect.Parameter.empty
        ),
        "",
    )


def takes_anything(target: Any) -> bool:
    """Return True if the signature of a class or function names none of its arguments."""
    signature = inspect.signature(target)
    return bool(signature.parameters) and not parameters_of(target)


def raised(error: Exception, target: Any) -> str:
    """Return an error in words, with the line of the audited file that raised it."""
    line = line_raising(error, target)
    return f"line {line} raises {error_text(error)}" if line else error_text(error)


def error_text(error: Exception) -> str:
    """Return the type of an error and the first line of its message."""
    if isinstance(error, CannotRun):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"


def line_raising(error: Exception, target: Any) -> int:
    """Return the last line of the audited file that an error passed, 0 if it passed none."""
    called = target.forward if inspect.isclass(target) and hasattr(target, "forward") else target
    path = getattr(getattr(called, "__code__", None), "co_filename", "")
    passed = [
        line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == path
    ]
    return passed[-1] if passed else 0


def plans(subject: Subject) -> Iterator[Subject]:
    """Yield ways to build and call a definition, the most ordinary first."""
    if not subject.is_module:
        subject.with_heads = subject.has("heads")
        layouts = ("batch, tokens",) if subject.with_heads else LAYOUTS_OF_FUNCTIONS
        if subject.has("block"):
            layouts = ("tokens", *layouts)
        for layout, square, double in product(layouts, (False, True), (True, False)):
            yield replace(subject, layout=layout, square=square, double=double)
        return
    unknown: list[str] = []
    for _ in range(4):
        try:
            construction(subject.target, FIRST, False, dict.fromkeys(unknown, "width"))
        except KeyError as error:
            unknown.append(error.args[0])
        except Exception:
            break
    for roles in product(GUESSES, repeat=min(len(unknown), 3)):
        guesses = dict(zip(unknown, roles, strict=False))
        for equal, layout, double in product((False, True), LAYOUTS, (True, False)):
            if layout == "tokens, batch" and not equal and unknown:
                continue
            yield replace(subject, equal=equal, layout=layout, double=double, guesses=guesses)


def attempt(subject: Subject, sizes: Sizes) -> Output:
    """Run a definition once."""
    sizes = subject.batch_of(subject.fitted(sizes))
    with torch.no_grad():
        return subject.run(subject.build(sizes), subject.inputs(sizes), sizes)


def with_layout(subject: Subject) -> Subject:
    """Return the subject with the layout in which only tokens of one sequence are mixed.

    A module that takes (tokens, batch) runs with (batch, tokens) too, but mixes the wrong axis.
    """
    if subject.layout not in ("batch, tokens", "batch, heads, tokens"):
        return subject
    turned = {"batch, tokens": "tokens, batch", "batch, heads, tokens": "batch, tokens, heads"}
    other = replace(subject, layout=turned[subject.layout])
    try:
        if mixes_others(subject) and not mixes_others(other) and mixes_tokens(other):
            return other
    except Exception:
        return subject
    return subject


def mixes_others(subject: Subject) -> bool:
    """Return True if another batch entry, or another head of a function, changes a result."""
    sizes = subject.batch_of(subject.fitted(FIRST))
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    with torch.no_grad():
        before = subject.run(made, inputs, sizes).value
        changed = {name: value.clone() for name, value in inputs.items()}
        for value in changed.values():
            if "heads" in subject.layout:
                value[..., : sizes.head_dim] += 1
            else:
                value[-1] += 1
        after = subject.run(made, changed, sizes).value
    if "heads" in subject.layout:
        return moved(before[..., sizes.head_dim :], after[..., sizes.head_dim :])
    return moved(before[:-1], after[:-1])


def mixes_tokens(subject: Subject) -> bool:
    """Return True if some token changes the result of another one."""
    sizes = subject.batch_of(subject.fitted(FIRST))
    matrix = dependence(subject, sizes)
    return bool(matrix.fill_diagonal_(False).any())


def moved(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Return True if two results differ by more than rounding."""
    near = (before - after).abs() <= NOTHING * scale_of(before)
    return not bool((near | (before == after) | before.isnan() & after.isnan()).all())


def scale_of(value: torch.Tensor) -> float:
    """Return the size of a tensor's entries, to compare differences with."""
    finite = value[value.isfinite()]
    return max(float(finite.abs().mean()), 1e-3) if finite.numel() else 1e-3


def dependence(subject: Subject, sizes: Sizes, **how: Any) -> torch.Tensor:
    """Return a (tokens, keys) table: True if a result depends on that key's token."""
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    keys = next(n for n in ("context", "k", "x") if n in inputs)
    both = [n for n in (keys, "v") if n in inputs]
    rows = []
    with torch.no_grad():
        before = subject.run(made, inputs, sizes, **how).value
        for place in range(inputs[keys].shape[1]):
            changed = dict(inputs)
            for name in both:
                changed[name] = inputs[name].clone()
                changed[name][:, place] = 1 - inputs[name][:, place]
            after = subject.run(made, changed, sizes, **how).value
            difference = (before - after).abs().amax(dim=(0, 2))
            rows.append(~(difference <= NOTHING * scale_of(before)))
    return torch.stack(rows, dim=1)


def attributes_read(text: str) -> set[str]:
    """Return the names, attributes and keywords of a definition's code, without its docstrings."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, (ast.arg, ast.keyword)) and node.arg:
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found
