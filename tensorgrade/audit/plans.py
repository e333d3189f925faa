"""Ways to build and call a definition, found by trial."""

import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from .errors import CannotRun, line_raising, raised
from .roles import CALL, construction, parameters_of, role_of
from .subject import FIRST, Output, Subject, dependence, moved

LAYOUTS = ("batch, tokens", "tokens, batch", "tokens")
LAYOUTS_OF_FUNCTIONS = (
    "batch, heads, tokens",
    "batch, tokens, heads",
    "batch, tokens",
    "tokens",
    "heads, tokens",
)
SECONDS = 4.0  # of the processor, for trials of a definition that does not run
GUESSES = ("width", "heads", "dropout", "context", "d_out", "head_dim")


def prepared(
    target: Any,
    name: str,
    text: str,
    line: int,
    wishes: dict[str, str],
    is_right: Callable[[Subject], bool] = lambda subject: False,
) -> Subject:
    """Return a definition that runs: roles by name, the rest by trial. Raises CannotRun.

    is_right: says if results are right in a layout. A function may run in several of them, so
    that one is taken, and otherwise the first that runs.
    """
    subject = Subject(name, target, text, line, wishes=wishes)
    subject.call = call_roles(target)
    if not subject.is_module and "q" not in subject.given:
        raise CannotRun(
            "a function is audited if it takes queries, keys and values; this one takes "
            + (", ".join(subject.call) or "nothing")
        )
    tried: list[tuple[Exception, Subject]] = []
    ran: list[Subject] = []
    until = time.process_time() + SECONDS
    for plan in plans(subject):
        if tried and time.process_time() > until:
            break
        try:
            attempt(plan)
        except Exception as error:  # any code may raise anything
            tried.append((error, plan))
            continue
        if subject.is_module:
            return with_layout(plan)
        if is_right(plan):
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
    if not all(lines):
        furthest, plan = tried[lines.index(0)]
        ran = isinstance(furthest, CannotRun) and furthest.plan  # no result for each token
        return CannotRun(f"{ways}: {raised(furthest, target)}", plan=plan if ran else None)
    said = f"{ways}, and each raises an error: {raised(furthest, target)}"
    return CannotRun(said, max(lines), plan)


def needed_without_value(subject: Subject) -> str:
    """Return a parameter without a default for which a call passes None, or an empty text."""
    parameters = inspect.signature(subject.called).parameters
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


def plans(subject: Subject) -> Iterator[Subject]:
    """Yield ways to build and call a definition, the most ordinary first."""
    if not subject.is_module:
        subject.splits_heads = subject.has("heads")
        layouts = ("batch, tokens",) if subject.splits_heads else LAYOUTS_OF_FUNCTIONS
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


def attempt(subject: Subject) -> Output:
    """Run a definition once."""
    sizes = subject.fitted(FIRST)
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
    sizes = subject.fitted(FIRST)
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    with torch.no_grad():
        before = subject.run(made, inputs, sizes).value
        changed = {name: value.clone() for name, value in inputs.items()}
        for value in changed.values():
            # A norm would not show a constant that is added.
            if "heads" in subject.layout:
                value[..., : sizes.head_dim] = 1 - value[..., : sizes.head_dim]
            else:
                value[-1] = 1 - value[-1]
        after = subject.run(made, changed, sizes).value
    if "heads" in subject.layout:
        return moved(before[..., sizes.head_dim :], after[..., sizes.head_dim :])
    return moved(before[:-1], after[:-1])


def mixes_tokens(subject: Subject) -> bool:
    """Return True if some token changes the result of another one."""
    sizes = subject.fitted(FIRST)
    matrix = dependence(subject, sizes)
    return bool(matrix.fill_diagonal_(False).any())
