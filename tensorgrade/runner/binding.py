"""Pass arguments to a learner's own parameters, by position unless assigned otherwise."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

Parameters = Mapping[str, inspect.Parameter]
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = inspect.Parameter.KEYWORD_ONLY
REST, NAMED_REST = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def parameters_of(function: Callable) -> Parameters:
    """Return the parameters of a function, a class or a module; nothing if Python cannot tell.

    A call of a module runs its `forward`.
    """
    code = function.forward if isinstance(function, nn.Module) else function
    try:
        return inspect.signature(code).parameters
    except (TypeError, ValueError):
        return {}


def bound(
    function: Callable,
    parameters: Parameters,
    assigned: Mapping[str, str],
    arguments: Mapping[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the named arguments of a call.

    assigned: the learner's parameter for each of the stub's. arguments: by the stub's names, in the
    stub's order.
    Raises TypeError if no parameter can take one of them.
    """
    values = {assigned[name]: value for name, value in arguments.items() if name in assigned}
    rest = {name: value for name, value in arguments.items() if name not in assigned}
    first = []
    for name, parameter in parameters.items():
        if parameter.kind not in POSITIONAL or name not in values:
            break
        first.append(values.pop(name))
    # A module class without an `__init__` has torch's own, whose `*args` accept nothing.
    bare = inspect.isclass(function) and function.__init__ is nn.Module.__init__
    if rest and takes(parameters, REST) and not bare:
        return [*first, *rest.values()], values
    if rest and not takes(parameters, NAMED_REST):
        raise TypeError(lacking(function, list(rest)))
    return first, values | rest


def takes(parameters: Parameters, kind: Any) -> bool:
    """Return True if there is a parameter of a kind, such as `*arguments`."""
    return any(parameter.kind == kind for parameter in parameters.values())


def lacking(function: Callable, names: list[str]) -> str:
    """Return a message that names all parameters that a function or constructor lacks.

    >>> lacking(dict, ["size", "width"])
    "__init__() has no parameters 'size' and 'width'"
    """
    called = "__init__" if inspect.isclass(function) else getattr(function, "__name__", "it")
    *first, last = [f"'{name}'" for name in names]
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{called}() has no parameter{'s' * bool(first)} {listed}"
