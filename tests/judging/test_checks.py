"""The registry of checks, and results that came in another form."""

import inspect
from importlib import import_module
from pkgutil import iter_modules

from tensorgrade.judging import checks
from tensorgrade.judging.checks import ENGINE_CHECKS


def test_each_public_function_of_the_checks_is_registered_under_its_own_name():
    names = [f"{checks.__name__}.{one.name}" for one in iter_modules(checks.__path__)]
    public = [
        function
        for module in map(import_module, names)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]
    assert len(public) == len(ENGINE_CHECKS)
    assert {function.__name__: function for function in public} == ENGINE_CHECKS
    first = {next(iter(inspect.signature(function).parameters)) for function in public}
    assert first == {"exercise"} and all(map(inspect.getdoc, public))
