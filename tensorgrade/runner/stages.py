"""The values that a call passes through: what each operation made, from what, and on which line.

Claims, like all that is seen from beside learner code: they word messages and carry no points.
"""

import sys
import traceback
from collections.abc import Iterator
from sys import getrefcount
from types import FrameType
from typing import Any, Self

import torch
from torch.overrides import TorchFunctionMode

from .watching import ShapeTrace

MOST, MOST_ENTRIES, MOST_TOGETHER = 120, 4096, 1 << 16
MOST_LINES = 8  # of calls within calls
OURS = 3  # references to a value that only a recorder knows, while it looks at it
NAMES = {*dir(torch), *dir(torch.Tensor)}
EMPTY = {name for name in NAMES if name.removeprefix("new_").startswith("empty")}
ASSIGNED = {f"__i{name}__" for name in "add sub mul truediv floordiv matmul pow and or".split()}


class StageRecorder(TorchFunctionMode):
    """Use as a context around calls of what one file defines.

    steps: [lines, operation, inputs, names] of each value; lines are those of the file that were
    running, the innermost first (none for a value from elsewhere), inputs are places in this list,
    names are the local names that the value was bound to. values: the values, as they were just
    then; None for one that is too large, or that nothing was written to yet. A value that is
    changed in place is a new one, made from the old one. raised: the lines that an error came
    through. failure: an operation's error, and what went into it. used: what went into any.
    """

    def __init__(self, filename: str):
        super().__init__()
        self.filename = filename
        self.steps: list[list] = []
        self.values: list[torch.Tensor | None] = []
        # The tensors are kept: while one lives, no other has its id().
        self.known: dict[int, tuple[torch.Tensor, int, int]] = {}
        self.entries = 0
        self.unwritten: set[int | None] = set()  # the memory of tensors that `torch.empty` made
        self.used: set[int] = set()
        self.aside = False  # somebody is looking at values, and does nothing with them
        self.raised: list[int] = []
        self.failure: tuple[BaseException | None, list[int]] = (None, [])
        self.names = NameTrace(filename, self)

    def __enter__(self) -> Self:
        self.names.__enter__()
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self.names.__exit__(*exception)
        walked = traceback.walk_tb(exception[2])
        lines = [line for frame, line in walked if frame.f_code.co_filename == self.filename]
        self.raised = lines[::-1][:MOST_LINES]
        if self.failure[0] is not exception[1]:  # an earlier one, which was caught
            self.failure = (None, [])

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.aside:
            return func(*args, **kwargs)
        name = name_of(func)
        given = list(tensors_in((*args, *kwargs.values())))
        inputs = [] if self.full else [self.place_of(tensor) for tensor in given]
        self.used.update(inputs)
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
        self.note_memory(name, made)
        for tensor in made:
            if not self.is_known(tensor):
                self.add(tensor, lines, name, inputs)
        return out

    def note_memory(self, name: str, made: list[torch.Tensor]) -> None:
        """Remember memory that nothing was written to: what stands there is chance."""
        for tensor in made:
            if name in EMPTY:
                self.unwritten |= {memory_of(tensor)}
            elif version_of(tensor):
                self.unwritten -= {memory_of(tensor)}

    @property
    def full(self) -> bool:
        return len(self.steps) >= MOST

    def is_known(self, tensor: torch.Tensor) -> bool:
        """Whether just this value of a tensor has a place."""
        known = self.known.get(id(tensor))
        return known is not None and known[1] == version_of(tensor)

    def place_of(self, tensor: torch.Tensor) -> int:
        """Where a value stands; one that comes from elsewhere, or has changed, is put there."""
        if not self.is_known(tensor):
            before = self.known.get(id(tensor))
            lines, name = (self.lines(), "changed") if before else ([], "given")
            self.add(tensor, lines, name, [before[2]] if before else [])
        return self.known[id(tensor)][2]

    def add(self, tensor: torch.Tensor, lines: list[int], name: str, inputs: list[int]) -> None:
        """One more value."""
        self.known[id(tensor)] = (tensor, version_of(tensor), len(self.steps))
        self.steps.append([lines, name, inputs, []])
        plain = not tensor.is_complex() and memory_of(tensor) not in (None, *self.unwritten)
        small = plain and tensor.numel() <= min(MOST_ENTRIES, MOST_TOGETHER - self.entries)
        self.entries += tensor.numel() if small else 0
        self.values.append(tensor.detach().cpu().clone() if small else None)

    def lines(self) -> list[int]:
        """The lines of the learner's file that are running, the innermost first."""
        frame: FrameType | None = sys._getframe(1)
        found: list[int] = []
        while frame is not None and len(found) < MOST_LINES:
            if frame.f_code.co_filename == self.filename:
                found.append(frame.f_lineno)
            frame = frame.f_back
        return found

    def told(self, returned: object) -> dict:
        """What a call passed through and which of it came back, as JSON."""
        back = [self.place_of(tensor) for tensor in tensors_in([returned]) if not self.full]
        told = {"steps": self.steps, "returned": back, "last": self.names.last}
        told |= {"raised": self.raised, "failed": self.failure[1], "cut": self.full}
        return told | {"unused": sorted(self.unused() - {*back})}

    def unused(self) -> set[int]:
        """The places of new values that nothing was done with, and that nobody keeps.

        Of a way that is cut nobody knows.
        """
        if self.full:
            return set()
        kept = {at for tensor, _, at in self.known.values() if getrefcount(tensor) > OURS}
        made = {at for at, step in enumerate(self.steps) if not changes_its_input(step[1])}
        return made - kept - self.used

    def tensors(self) -> dict[str, torch.Tensor]:
        """The values by the names under which they are sent."""
        return {f"stage.{at}": v for at, v in enumerate(self.values) if v is not None}


class NameTrace(ShapeTrace):
    """Tells a recorder which local names its values get. last: the line of the last return."""

    def __init__(self, filename: str, recorder: StageRecorder):
        super().__init__(filename)
        self.recorder, self.last = recorder, 0

    def note_return(self, returned: object, line: int) -> None:
        """Nothing: whoever asks a tensor for its shape does something with it."""

    def note(self, frame: FrameType, known: dict, line: int) -> None:
        self.last = line
        self.recorder.aside = True
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, torch.Tensor) and self.recorder.is_known(value):
                names = self.recorder.steps[self.recorder.known[id(value)][2]][3]
                if name not in names and len(names) < 4:
                    names.append(name)
        self.recorder.aside = False


def name_of(func: Any) -> str:
    """What an operation is called: `matmul`, `exp`, `T` for the property."""
    name = getattr(func, "__name__", "?")
    owner = getattr(func, "__self__", None)
    return getattr(owner, "__name__", name) if name == "__get__" else name


def memory_of(tensor: torch.Tensor) -> int | None:
    """Where a tensor's numbers lie; views lie where their base does. None where it has none.

    That is so of sparse ones, of those on the meta device, and of the rows that vmap passes.
    """
    try:
        return None if tensor.is_meta else tensor.untyped_storage().data_ptr()
    except NotImplementedError:
        return None


def version_of(tensor: torch.Tensor) -> int:
    """How often a tensor was written to in place; torch does not count it in inference mode."""
    return 0 if tensor.is_inference() else tensor._version


def changes_its_input(name: str) -> bool:
    """Whether an operation of that name writes into its first argument."""
    plain = name.endswith("_") and not name.endswith("__")
    return plain or name == "__setitem__" or name in ASSIGNED


def tensors_in(values: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """The tensors among values, and in lists and tuples in them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif depth and isinstance(value, (list, tuple)):
            yield from tensors_in(value, depth - 1)
        elif depth and isinstance(value, dict):
            yield from tensors_in(value.values(), depth - 1)
