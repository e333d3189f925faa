"""Answer the trusted side's requests over a stream: `look` runs no learner code, `run` does."""

import inspect
import os
import pdb
import signal
import socket
import sys
import time
import types
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass, replace
from functools import wraps
from io import StringIO
from typing import Any, BinaryIO

import torch

from .case_runner import CaseRunner, Reply
from .cases import run_case, standard_torch
from .errors import OutOfTime, describe_error
from .facts import (
    changes,
    definition_alone,
    early_returns,
    foreign_names,
    idle_lines,
    spans,
)
from .instrumentation import OperationCounter
from .loading import called_by, defined_names, load_module, read_from_outside
from .names import Assignment, argument_ways, parameters_of
from .reading import source_in, source_that_counts
from .source import UNPARSABLE, Source, Unreadable
from .step import Step
from .tracing import Recorder
from .wire import pack, receive, send, unpack

SPENT, WAITED = "", "waited"  # the text of an OutOfTime that processor time or the clock raised
MOST_WARNINGS, LONGEST_WARNING = 20, 200
SECONDS_OF_LOOKING = 2


def main(port: int) -> None:
    """Connect to this port when all imports are done, and serve; for systems that cannot fork."""
    warm_up()
    with socket.create_connection(("127.0.0.1", port)) as stream:
        serve(stream.makefile("rb"), stream.makefile("wb"))


def warm_up() -> None:
    """Import and use once all code that is slow the first time, with one thread only.

    A child forked after a multi-threaded operation hangs forever in its own first one, and a
    locked-in child can start no thread, so learner code cannot ask for more of them. Gradients are
    not computed here if GPUs are visible, because torch uses a thread for each GPU.
    """
    import torch._dynamo  # slow, and imported by optimizers and the `meta` device

    torch.set_num_threads(1)
    for name in ("set_num_threads", "set_num_interop_threads"):
        setattr(torch, name, lambda count: None)
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(1, 3, 8, requires_grad=True)
    y = layer(x, x, x)[0]
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        torch.autograd.grad(y.sum(), [x])
    torch.einsum("bij,bjk->bik", x, torch.ones(1, 8, 2))
    torch.nn.functional.scaled_dot_product_attention(x, x, x)
    torch.nn.functional.dropout(torch.softmax(x, -1), 0.5)
    with OperationCounter(), Recorder("no file"):
        x @ x.mT
    unpack(pack({}, {"x": x}))


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Answer requests until the other side closes the stream."""
    sys.breakpointhook = pdb.set_trace = lambda *_, **__: None  # this process has no terminal
    session = None
    while (message := receive(reader)) is not None:
        reply, session = answer(*unpack(message), session)
        send(writer, pack(*reply))


@dataclass(frozen=True)
class Session:
    """A program that is loaded.

    limits: the seconds of processor time that a case may take, those by the clock, and the bytes of
        a tensor in a reply. modules: those that loading it made importable, by name.
    """

    runner: CaseRunner
    source: Source
    limits: tuple[float, float, float]
    modules: tuple[str, ...]


def answer(
    asked: dict, tensors: dict[str, torch.Tensor], session: Session | None
) -> tuple[Reply, Session | None]:
    """Return the reply to a request, and the session for the next one.

    `look` reads a learner's files and runs nothing. `run` loads a program if it holds one, and else
    runs a case on the program that is loaded, or on variants of it.
    """
    if asked["do"] == "look":
        return (look(asked, tensors), {}), session
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if "program" in asked:
            for name in session.modules if session else ():  # the next program must not find them
                sys.modules.pop(name, None)
            session, told = load(asked)
            reply: Reply = {"loaded": told}, {}
        elif session is None:
            raise ValueError("the first request to run holds a program")
        elif "names" in asked or "definitions" in asked:
            reply = try_variants(session, asked, tensors)
        else:
            reply = run_in_time(session, asked, tensors)
    reply[0]["warned"] = warnings_in(session.source.filename, caught)
    return reply, session


def warnings_in(filename: str, caught: list[warnings.WarningMessage]) -> list[tuple[int, str]]:
    """Return (line, first sentence) of the warnings about a file's own lines."""
    own = [(one.lineno, str(one.message).strip()) for one in caught if one.filename == filename]
    sentences = ((line, text.partition(". ")[0].partition("\n")[0]) for line, text in own)
    told = ((line, text.rstrip(".")[:LONGEST_WARNING]) for line, text in sentences)
    return list(dict.fromkeys(told))[:MOST_WARNINGS]


def look(asked: dict, tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Return the text in a learner's files and the facts about it, or the reason for no text."""
    content, script = (
        tensors[name].numpy().tobytes() if name in tensors else b""
        for name in ("content", "script")
    )
    try:
        if asked["source"] is not None:
            found = Source(**asked["source"])
        elif script:
            found = source_that_counts(content, asked["filename"], script, asked["exercises"])
        else:
            found = source_in(content, asked["filename"])
    except Unreadable as error:
        return {"reason": str(error)}
    return {"source": asdict(found), **looked_at(found.text, asked["exercises"])}


def looked_at(text: str, exercises: dict[str, str]) -> dict[str, Any]:
    """Return the facts that are reported about a text before it runs, those that take longest last.

    They stop if they take too much processor time. Elapsed time does not count, because it depends
    on other programs, and a find-the-bug answer without facts earns nothing.

    exercises: by name, the given code of a find-the-bug exercise.
    """
    given = {name: code for name, code in exercises.items() if code}
    facts: dict[str, Any] = {}
    with suppress(OutOfTime, *UNPARSABLE), seconds(SECONDS_OF_LOOKING, processor=True):
        facts["spans"] = spans(text)
        facts["idle"] = idle_lines(text)
        facts["early"] = early_returns(text)
        facts["names"] = foreign_names(text, exercises)
        facts["changes"] = changes(text, given)
    return facts


def load(asked: dict) -> tuple[Session, dict]:
    """Load a program; return the session, and the names and problems of the learner's text."""
    program = asked["program"]
    source, exercises = Source(**program["source"]), program["exercises"]
    given = install_given(program["given"])
    alone = definition_alone(source.text, *program["alone"]) if program["alone"] else None
    with standard_torch():  # undo settings that the file changes at its top
        module, problems = load_module(
            program["chapter"],
            source.text,
            source.filename,
            program["definitions_only"],
            alone,
        )
    names, outside = defined_names(module), read_from_outside(module)
    calls = {name: called_by(module, name) for name in exercises if name in names}
    assigned = Assignment(**program["assigned"])
    for name in program["rebind"]:
        own = vars(module).get(name)
        names_given = assigned.arguments.get(name, {})
        vars(module)[name] = accepting_own_names(given[name], own, names_given)
    runner = CaseRunner(module, given, asked["device"], program["parameters"], assigned)
    told = {"names": names[:500], "problems": problems[:100], "calls": calls, "outside": outside}
    told["parameters"] = runner.own_parameters()
    modules = (program["chapter"], *program["given"])
    return Session(runner, source, asked["limits"], modules), told


def accepting_own_names(stand_in: Any, own: object, assigned: Mapping[str, str]) -> Any:
    """Return a substitute that takes arguments as a learner's definition of that name does.

    own: the learner's class or function, if there is one. assigned: its parameter for each of the
    substitute's, if that is decided.
    """
    parameters = parameters_of(own) if callable(own) else {}
    asked = list(inspect.signature(stand_in).parameters)
    names = assigned or argument_ways(asked, parameters)[0]
    in_stub = {there: name for name, there in names.items()}

    def by_name(values: tuple, named: dict) -> dict:
        values_by_name = dict(zip(parameters or asked, values, strict=False)) | named
        return {in_stub.get(name, name): value for name, value in values_by_name.items()}

    if not inspect.isclass(stand_in):
        return wraps(stand_in)(lambda *values, **named: stand_in(**by_name(values, named)))
    start = inspect.getattr_static(stand_in, "__init__")

    def __init__(self: object, *values: object, **named: object) -> None:
        start(self, **by_name(values, named))

    members = {"__init__": __init__, "__doc__": stand_in.__doc__, "__module__": stand_in.__module__}
    return type(stand_in.__name__, (stand_in,), members)


def install_given(given: dict[str, str]) -> dict:
    """Create importable modules from the substitutes' sources; return all their names."""
    names: dict[str, Any] = {}
    for module_name, source in given.items():
        module = types.ModuleType(module_name)
        exec(compile(source, f"{module_name} (given)", "exec"), module.__dict__)
        sys.modules[module_name] = module
        names |= {k: v for k, v in vars(module).items() if not k.startswith("__")}
    return names


def run(
    runner: CaseRunner, case: dict, tensors: dict[str, torch.Tensor], most_bytes: float
) -> Reply:
    """Run one case and return its reply, with the number of the request.

    The other side refuses larger replies, so of a larger tensor only the shape is reported.
    """
    header, results = run_case(runner, [Step(**one) for one in case["steps"]], tensors)
    for name in [name for name, tensor in results.items() if tensor.nbytes > most_bytes]:
        sizes = "×".join(map(str, results.pop(name).shape))
        header["values"][name] = {"type": f"huge {sizes} tensor", "json": None}
    return {"id": case["id"], **header}, results


def run_in_time(session: Session, case: dict, tensors: dict[str, torch.Tensor]) -> Reply:
    """Run one case; if it takes too long, reply with the line it had reached.

    Learner code can prevent both limits. Then the clock on the other side ends the process.
    """
    begun = time.process_time()
    most, longest, most_bytes = session.limits
    try:
        with seconds(most, processor=True), seconds(longest):
            return run(session.runner, case, tensors, most_bytes)
    except OutOfTime as late:
        told = describe_error(late, session.source.filename)
        told["text"] = SPENT if time.process_time() - begun > most / 2 else WAITED
        error = told | {"verb": "", "missing": None}
        return {"id": case["id"], "values": {}, "facts": {}, "error": error}, {}


def try_variants(session: Session, asked: dict, tensors: dict[str, torch.Tensor]) -> Reply:
    """Run a case with each variant of a program, as long as there is time."""
    steps = [Step(**one) for one in asked["steps"]]
    tries: list[dict] = []
    results: dict[str, torch.Tensor] = {}
    with suppress(OutOfTime), seconds(asked["seconds"], processor=True), silenced():
        for runner in variants(session, asked):
            header, found = run_case(runner, steps, tensors)
            results |= {f"{len(tries)}|{name}": tensor for name, tensor in found.items()}
            tries.append(header)
    return {"id": asked["id"], "tries": tries}, results


def variants(session: Session, asked: dict) -> Iterator[CaseRunner]:
    """Yield the program with each assignment of names, and with each text of a definition."""
    for names in asked.get("names", ()):
        yield replace(session.runner, assigned=Assignment(**names), deciding=True)
    for code in asked.get("definitions", ()):
        module = types.ModuleType(session.runner.module.__name__)
        module.__dict__.update(vars(session.runner.module))
        with suppress(Exception):  # otherwise the program's own definition stays
            exec(compile(code, session.source.filename, "exec"), module.__dict__)
        yield replace(session.runner, module=module)


@contextmanager
def seconds(most: float, processor: bool = False) -> Iterator[None]:
    """Raise OutOfTime in the code inside if it takes longer; 0 and systems without alarms: never.

    The trusted side limits the time of a case too, but it can only end this process, which loses
    its results. processor: count this process's processor time instead of elapsed time.
    """
    if not most or not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise OutOfTime

    timer = signal.ITIMER_PROF if processor else signal.ITIMER_REAL
    alarm = signal.SIGPROF if processor else signal.SIGALRM
    before = signal.signal(alarm, ring)
    left, _ = signal.setitimer(timer, most)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(alarm, before)
        signal.setitimer(timer, left)  # a clock that ran before, such as a test's


@contextmanager
def silenced() -> Iterator[None]:
    """Discard output and warnings of the code inside."""
    with warnings.catch_warnings(action="ignore"), redirect_stdout(StringIO()):
        yield
