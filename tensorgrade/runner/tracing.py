"""Record what happens inside a call: intermediate values, shapes, changed inputs, printed lines.

The records are claims, because learner code runs in the same process. They are used in messages and
decide no points.
"""

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .instrumentation import Snapshot
from .values import MOST_TEXT, is_tensor

MOST, MOST_ENTRIES, MOST_TOGETHER = 120, 4096, 1 << 16
MOST_LINES = 8  # of nested calls
MOST_SHAPES, MOST_LOOKS = 60, 100  # of one call; looks at watched values are slow
MOST_PRINTED, LONGEST_PRINTED = 12, 200  # lines, and characters of a line
ASSIGNED = {f"__i{name}__" for name in "add sub mul truediv floordiv matmul pow and or".split()}


class Recorder(TorchFunctionMode):
    """A recorder of intermediate values in the definitions of one file.

    steps: [lines, operation, inputs, names] of each value. `lines` are the running lines of the
        file, the innermost first; empty for a value from elsewhere. `inputs` are indices in this
        list. `names` are local names of the value.
    values: a copy of each value at that time. It is None if the value is too large, or if nothing
        has been written to it yet. A value that is changed in place is recorded as a new one,
        computed from the old one.
    last: the line of the last return.
    raised: the lines through which an error passed.
    failure: the error of an operation, and the indices of its inputs.
    """

    def __init__(self, filename: str):
        super().__init__()
        self.filename = filename
        self.steps: list[list] = []
        self.values: list[torch.Tensor | None] = []
        # The tensors are kept alive, so that no other object gets the same id().
        self.known: dict[int, tuple[torch.Tensor, int, int]] = {}
        self.entries = 0
        self.unwritten: set[int | None] = set()  # the memory of tensors created by `torch.empty`
        self.last = 0
        self.raised: list[int] = []
        self.failure: tuple[BaseException | None, list[int]] = (None, [])
        self.shapes: list[list] = []
        self.changed_at: dict[str, int] = {}
        self.watched: Mapping[str, Snapshot] = {}
        self.looks = 0  # at watched values, in this call

    @contextmanager
    def during(self, facts: dict[str, Any], watched: Mapping[str, Snapshot]) -> Iterator[None]:
        """Record the code inside, and add to the facts what only this call shows.

        `trace`: [line, name, sizes] for tensors that a function of the file binds to local names or
        returns. Integers give [line, name, number], because the number helps to explain a shape.
        `changed_at`: for each watched value, the line after which it was first changed. In nested
        calls it is the inner line. `said`: the first printed lines, even if the code fails.
        """
        facts["trace"], facts["changed_at"] = self.shapes, self.changed_at = [], {}
        self.watched, self.looks = watched, 0
        before, printed = sys.gettrace(), StringIO()
        sys.settrace(self.enter)
        try:
            with self, redirect_stdout(printed):
                yield
        finally:
            sys.settrace(before)
            lines = printed.getvalue()[: MOST_TEXT + 1].splitlines()
            facts["said"] = [line[:LONGEST_PRINTED] for line in lines[: MOST_PRINTED + 1]]

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        walked = traceback.walk_tb(exception[2])
        lines = [line for frame, line in walked if frame.f_code.co_filename == self.filename]
        self.raised = lines[::-1][:MOST_LINES]
        if self.failure[0] is not exception[1]:  # an earlier error, which was caught
            self.failure = (None, [])

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = name_of(func)
        given = list(tensors_in((*args, *kwargs.values())))
        inputs = [] if self.full else [self.place_of(tensor) for tensor in given]
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            self.failure = (error, inputs)
            raise
        if self.full:
            return out
        lines = self.lines()
        made = list(tensors_in([out]))
        if given and changes_its_input(name):
            made = given[:1]
        for tensor in made:
            self.note_memory(name, tensor)
            if not self.is_known(tensor):
                self.add(tensor, lines, name, inputs)
        return out

    def note_memory(self, name: str, tensor: torch.Tensor) -> None:
        """Record memory that has not been written to, because its content is arbitrary."""
        if name.removeprefix("new_").startswith("empty"):
            self.unwritten |= {memory_of(tensor)}
        elif version_of(tensor):
            self.unwritten -= {memory_of(tensor)}

    @property
    def full(self) -> bool:
        return len(self.steps) >= MOST

    def is_known(self, tensor: torch.Tensor) -> bool:
        """Return True if the current value of a tensor is recorded."""
        known = self.known.get(id(tensor))
        return known is not None and known[1] == version_of(tensor)

    def place_of(self, tensor: torch.Tensor) -> int:
        """Return the index of a value; record it first if it is from elsewhere or has changed."""
        if not self.is_known(tensor):
            before = self.known.get(id(tensor))
            lines, name = (self.lines(), "changed") if before else ([], "given")
            self.add(tensor, lines, name, [before[2]] if before else [])
        return self.known[id(tensor)][2]

    def add(self, tensor: torch.Tensor, lines: list[int], name: str, inputs: list[int]) -> None:
        """Record a value of an operation `name`, with its running lines and its inputs."""
        self.known[id(tensor)] = (tensor, version_of(tensor), len(self.steps))
        self.steps.append([lines, name, inputs, []])
        plain = not tensor.is_complex() and memory_of(tensor) not in (None, *self.unwritten)
        small = plain and tensor.numel() <= min(MOST_ENTRIES, MOST_TOGETHER - self.entries)
        self.entries += tensor.numel() if small else 0
        self.values.append(tensor.detach().cpu().clone() if small else None)

    def lines(self) -> list[int]:
        """Return the running lines of the learner's file, the innermost first."""
        frame: FrameType | None = sys._getframe(1)
        found: list[int] = []
        while frame is not None and len(found) < MOST_LINES:
            if frame.f_code.co_filename == self.filename:
                found.append(frame.f_lineno)
            frame = frame.f_back
        return found

    def enter(self, frame: FrameType, event: str, argument: Any) -> Callable | None:
        """Trace a function only if it is in the learner's file."""
        if frame.f_code.co_filename != self.filename:
            return None
        known: dict[str, object] = {}
        line = frame.f_lineno

        def follow(frame: FrameType, event: str, argument: Any) -> Callable:
            # A line is reported before it runs, so a new value comes from the previous line.
            nonlocal line
            with torch._C.DisableTorchFunction():  # looking at values is no use of them
                self.look(frame, known, line)
                line = frame.f_lineno
                if event == "return" and is_tensor(argument):
                    self.add_shape(line, "return", list(argument.shape))
            return follow

        return follow

    def look(self, frame: FrameType, known: dict[str, object], line: int) -> None:
        """Record what a line has done: names and shapes of values, and changes of watched ones."""
        self.last = line
        for name, value in list(frame.f_locals.items()):
            if is_tensor(value):
                self.add_name(name, value)
                if known.get(name) != (id(value), value.shape):
                    known[name] = (id(value), value.shape)
                    self.add_shape(line, name, list(value.shape))
            elif type(value) is int and known.get(name) != value:
                known[name] = value
                self.add_shape(line, name, value)
        left = [name for name in self.watched if name not in self.changed_at]
        self.looks += len(left)
        if self.looks <= MOST_LOOKS:
            self.changed_at |= {name: line for name in left if self.watched[name].changed()}

    def add_name(self, name: str, tensor: torch.Tensor) -> None:
        """Add a local name to a recorded value."""
        if self.is_known(tensor):
            names = self.steps[self.known[id(tensor)][2]][3]
            if name not in names and len(names) < 4:
                names.append(name)

    def add_shape(self, line: int, name: str, size: list[int] | int) -> None:
        """Add a shape or a number, unless there are too many."""
        if len(self.shapes) < MOST_SHAPES:
            self.shapes.append([line, name, size])

    def told(self, returned: object) -> dict:
        """Return the recorded steps and the returned values of a call, as JSON."""
        back = [self.place_of(tensor) for tensor in tensors_in([returned]) if not self.full]
        told = {"steps": self.steps, "returned": back, "last": self.last}
        return told | {"raised": self.raised, "failed": self.failure[1], "cut": self.full}

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the values, by their names in messages."""
        return {f"stage.{at}": v for at, v in enumerate(self.values) if v is not None}


def name_of(func: Any) -> str:
    """Return the name of an operation: `matmul`, `exp`, or `T` for the property."""
    name = getattr(func, "__name__", "?")
    owner = getattr(func, "__self__", None)
    return getattr(owner, "__name__", name) if name == "__get__" else name


def memory_of(tensor: torch.Tensor) -> int | None:
    """Return the address of a tensor's numbers, which views share; None if it has none.

    Sparse tensors, tensors on the meta device and rows inside vmap have none.
    """
    try:
        return None if tensor.is_meta else tensor.untyped_storage().data_ptr()
    except NotImplementedError:
        return None


def version_of(tensor: torch.Tensor) -> int:
    """Return the number of in-place writes to a tensor; torch does not count in inference mode."""
    return 0 if tensor.is_inference() else tensor._version


def changes_its_input(name: str) -> bool:
    """Return True if an operation of this name writes into its first argument."""
    plain = name.endswith("_") and not name.endswith("__")
    return plain or name == "__setitem__" or name in ASSIGNED


def tensors_in(values: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """Yield the tensors among values, and in lists, tuples and dicts among them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif depth and isinstance(value, (list, tuple)):
            yield from tensors_in(value, depth - 1)
        elif depth and isinstance(value, dict):
            yield from tensors_in(value.values(), depth - 1)
