"""Answers the trusted side's requests over a stream: first `load`, then a `run` for each case.

Of files that are still to be read, `load` first answers with the text that it found in them,
before a line of it has run, and then with what came of loading it. `read`, `parts`, `spans`,
`shapes` and `changes` run nothing. `mend` runs a case on small edits of what was loaded;
`parameters` says what that takes.
"""

import ast
import dis
import inspect
import os
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from difflib import get_close_matches
from io import StringIO
from typing import Any, BinaryIO

import torch

from .binding import parameters_of
from .case_runner import CaseRunner
from .changes import changes, definition_alone
from .edits import Edit, edits, holds
from .errors import OutOfTime, describe_error
from .loading import load_module, misspelt_in, read_from_outside
from .messages import BESIDE, pack, receive, send, unpack
from .names import meant
from .reading import foreign_names, parts, shapes, source_in, source_that_counts, spans
from .source import UNPARSABLE, Source, Unreadable
from .torch_state import standard_torch
from .verbs import decode

SECONDS_OF_A_TRY = 0.2
SECONDS_OF_LOOKING = 2


def main() -> None:
    """Answer over the standard streams, after an empty message that says that all is imported.

    For systems that cannot fork. What learner code prints goes nowhere.
    """
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    torch.set_num_threads(1)
    send(writer, b"")
    serve(reader, writer)


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Answer requests until the other side closes the stream."""
    while (message := receive(reader)) is not None:
        request, tensors = unpack(message)
        if request["do"] == "parts":
            send(writer, pack({"parts": parts(request["text"])}))
        elif request["do"] == "spans":
            send(writer, pack({"spans": spans(request["text"])}))
        elif request["do"] == "names":
            send(writer, pack({"names": foreign_names(request["text"], request["exercises"])}))
        elif request["do"] == "changes":
            send(writer, pack({"changes": changes(request["text"], request["bugs"])}))
        elif request["do"] == "shapes":
            send(writer, pack({"parts": shapes(request["text"])}))
        elif request["do"] in ("read", "load"):
            found = read(request, tensors, lambda reply: send(writer, pack(reply)))
            if found is not None and request["do"] == "load":
                source, most = found, request.get("seconds", 0.0)
                case_runner, reply = load(request, source, tensors)
                send(writer, pack(reply))
        elif request["do"] == "parameters":
            send(writer, pack({"parameters": case_runner.own_parameters()}))
        elif request["do"] == "mend":
            send(writer, mend(case_runner, source, request, tensors))
        else:
            send(writer, run_in_time(case_runner, request, tensors, most))


def read(
    request: dict, tensors: dict[str, torch.Tensor], tell: Callable[[dict], None]
) -> Source | None:
    """The text to load, which the request holds or the files in it; None where there is none.

    tell: is given what was found in the files, where its statements stand and in how many parts it
    differs from code that learners were given to mend, or the reason why nothing was found.
    """
    if request["source"] is not None:
        return Source(**request["source"])
    content, script = (
        tensors[name].numpy().tobytes() if name in tensors else b""
        for name in ("content", "script")
    )
    try:
        if script:
            found = source_that_counts(content, request["filename"], script, request["exercises"])
        else:
            found = source_in(content, request["filename"])
    except Unreadable as error:
        tell({"reason": str(error)})
        return None
    more = looked_at(found.text, request["exercises"]) if request["do"] == "load" else {}
    tell({"source": asdict(found), **more})
    return found


def looked_at(text: str, exercises: dict[str, str]) -> dict[str, Any]:
    """What is told of a text before a line of it has run.

    exercises: the code that learners are given to mend, by name.
    """
    given = {name: code for name, code in exercises.items() if code}
    counted = in_time(lambda: changes(text, given), {})
    names = in_time(lambda: foreign_names(text, exercises), {})
    return {"changes": counted, "spans": in_time(lambda: spans(text), []), "names": names}


def in_time(look: Callable[[], Any], nothing: Any) -> Any:
    """What a look at a text comes to; nothing where it takes long, or the text is too deep."""
    try:
        with seconds(SECONDS_OF_LOOKING):
            return look()
    except (OutOfTime, *UNPARSABLE):
        return nothing


def load(
    request: dict, source: Source, tensors: dict[str, torch.Tensor]
) -> tuple[CaseRunner, dict]:
    """Load the learner's text beside the stand-ins; say which names it defines and what failed.

    tensors: those of the message; weights that were handed in beside the text are among them.
    """
    given = install_given(request["given"])
    misspelt, alone = misspelt_in(source.text, request["exercises"]), None
    if request["alone"]:
        name, code = request["alone"]
        alone = definition_alone(source.text, name, code, misspelt.get(name, name))
    with standard_torch():  # what the file switches at its top is put back
        module, problems = load_module(
            request["name"],
            source.text,
            source.filename,
            request["definitions_only"],
            misspelt,
            alone,
        )
    names, outside = defined_names(module), read_from_outside(module)
    calls = {name: called_by(module, name) for name in request["exercises"] if name in names}
    for name in request["rebind"]:
        put_in_place(module, name, given[name], request["assigned"].get(name, {}))
    beside = weights_in(tensors)
    case_runner = CaseRunner(
        module,
        given,
        request["device"],
        misspelt,
        beside,
        request["parameters"],
        request["assigned"],
    )
    told = {"names": names[:500], "problems": problems[:100], "calls": calls, "outside": outside}
    return case_runner, told


def weights_in(tensors: dict[str, torch.Tensor]) -> dict[str, dict[str, torch.Tensor]]:
    """By the names of files that were handed in beside the text: their tensors, by name."""
    found: dict[str, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith(BESIDE):
            file, _, name = key.removeprefix(BESIDE).partition("|")
            found.setdefault(file, {})[name] = tensor
    return found


def defined_names(module: types.ModuleType) -> list[str]:
    """Functions and classes that the learner's file itself defines."""
    own = {
        k: v for k, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__
    }
    return sorted(name for name, value in own.items() if callable(value))


def called_by(module: types.ModuleType, name: str) -> list[str]:
    """The names of the file's own definitions that one of them speaks of, however indirectly."""
    own, found, left = set(defined_names(module)), set[str](), [name]
    while left:
        spoken = names_spoken(vars(module)[left.pop()], own)
        left += spoken - found
        found |= spoken
    return sorted(found - {name})[:100]


def names_spoken(value: object, own: set[str]) -> set[str]:
    """Those of some global names in the code of a function, or of the functions of a class.

    What is reached through a dot is another's: `torch.mean` says nothing of a `mean` of one's own.
    """
    parts = list(vars(value).values()) if inspect.isclass(value) else [value]
    left = [code for part in parts if (code := getattr(part, "__code__", None))]
    names: set[str] = set()
    while left:
        code = left.pop()
        left += [inner for inner in code.co_consts if inspect.iscode(inner)]
        if not own.isdisjoint(code.co_names):  # attributes are among them: only then look closer
            said = dis.get_instructions(code)
            names |= {one.argval for one in said if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names & own


def put_in_place(
    module: types.ModuleType, name: str, stand_in: object, assigned: Mapping[str, str]
) -> None:
    """Bind a stand-in to its name, and to a misspelling of it where the name itself is missing.

    A learner may have pasted an own copy of what the stand-in stands for, under either. assigned:
    that one's parameter for each of the stub's, where that is not the one at its place.
    """
    if inspect.isclass(stand_in):
        stand_in = understanding(stand_in, vars(module).get(name), assigned)
    if name not in vars(module):
        close = get_close_matches(name, defined_names(module), 1, 0.9)
        vars(module).update(dict.fromkeys(close, stand_in))
    vars(module)[name] = stand_in


def understanding(stand_in: type, own: object, assigned: Mapping[str, str]) -> type:
    """A stand-in that takes its arguments as a learner's own class does, too.

    own: that class, if there is one. Its names stand for those at the same places, unless they are
    assigned otherwise.
    """
    parameters = list(inspect.signature(stand_in).parameters)
    places = list(parameters_of(own)) if inspect.isclass(own) else []
    in_place = dict(zip(parameters, places, strict=False))
    asked = {there: name for name, there in (assigned or in_place).items()}
    start = inspect.getattr_static(stand_in, "__init__")

    def __init__(self: object, *values: object, **named: object) -> None:
        if assigned:  # so what comes by position comes in the learner's order
            named, values = dict(zip(places, values, strict=False)) | named, ()
        known = {n: asked[n] for n in named if n in asked and (assigned or n not in parameters)}
        used = {*named, *known.values()}
        left = [name for name in parameters[len(values) :] if name not in used]
        strange = [name for name in named if name not in parameters and name not in known]
        renamed = known | {there: name for name, there in meant(left, strange).items()}
        start(self, *values, **{renamed.get(name, name): value for name, value in named.items()})

    members = {"__init__": __init__, "__doc__": stand_in.__doc__, "__module__": stand_in.__module__}
    return type(stand_in.__name__, (stand_in,), members)


def install_given(given: dict[str, str]) -> dict:
    """Make importable modules of the stand-ins' sources; returns all their names."""
    names: dict[str, Any] = {}
    for module_name, source in given.items():
        module = types.ModuleType(module_name)
        exec(compile(source, f"{module_name} (given)", "exec"), module.__dict__)
        sys.modules[module_name] = module
        names |= {k: v for k, v in vars(module).items() if not k.startswith("__")}
    return names


def run(case_runner: CaseRunner, case: dict, tensors: dict) -> bytes:
    """One case's reply, under the id that it was asked with."""
    header, results = case_runner.run_case([*map(decode, case["steps"])], tensors)
    return pack({"id": case["id"], **header}, results)


def run_in_time(case_runner: CaseRunner, case: dict, tensors: dict, most: float) -> bytes:
    """The same, or at which line the call was when so many seconds were over.

    Learner code can prevent that; then the clock on the other side ends it.
    """
    try:
        with seconds(most):
            return run(case_runner, case, tensors)
    except OutOfTime as late:
        told = describe_error(late, str(case_runner.module.__file__))
        error = told | {"verb": "", "missing": None}
        return pack({"id": case["id"], "values": {}, "facts": {}, "error": error}, {})


def mend(case_runner: CaseRunner, source: Source, request: dict, tensors: dict) -> bytes:
    """What some small edits of a definition give on a case, as long as there is time.

    The pointed line's edits come first. One that takes long itself, or ends in an error, is
    not told of.
    """
    until = time.monotonic() + request["seconds"]
    tries: list[dict] = []
    results: dict[str, torch.Tensor] = {}
    own = case_runner.misspelt.get(request["name"], request["name"])
    steps = [*map(decode, request["steps"])]
    for edit in edits(source.text, own, request["line"], request["first"], request["most"]):
        if time.monotonic() > until:
            break
        module = edited(case_runner, edit, source.filename)
        if module is None:
            continue
        try:
            with seconds(SECONDS_OF_A_TRY), silenced():
                header, found = case_runner.on(module).run_case(steps, tensors)
        except OutOfTime:
            continue
        if header["error"] is None:
            results |= {f"{len(tries)}|{name}": tensor for name, tensor in found.items()}
            told = {"line": edit.line, "idea": edit.idea, "text": edit.text}
            tries.append(told | header)
    return pack({"id": request["id"], "tries": tries}, results)


def edited(case_runner: CaseRunner, edit: Edit, filename: str) -> types.ModuleType | None:
    """The module with one of its definitions as an edit has it; None where that fails."""
    new = types.ModuleType(case_runner.module.__name__)
    new.__dict__.update(vars(case_runner.module))
    try:
        for node in ast.parse(edit.definition).body:
            if holds(node, edit.line):
                exec(compile(ast.Module([node], []), filename, "exec"), new.__dict__)
        for name, own in case_runner.misspelt.items():
            if own in vars(new):  # what failed to load is there under neither name
                vars(new)[name] = vars(new)[own]
    except Exception:
        return None
    return new


@contextmanager
def seconds(most: float) -> Iterator[None]:
    """Raise OutOfTime in what is run inside, when that takes longer; where there are no alarms, do
    nothing.

    The clock of a case, on the other side, can only end this process, and what it knows with it.
    """
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, left)  # a clock that ran before, as that of a test


@contextmanager
def silenced() -> Iterator[None]:
    """What is printed or warned of inside goes nowhere."""
    with warnings.catch_warnings(action="ignore"), redirect_stdout(StringIO()):
        yield
