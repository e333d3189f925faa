"""What grader files are written with: steps, numbers, cases and checks, as data.

    case("values/5x3", load({"layer.weight": weights(4, 3)}), call(rows=normal(5, 3)))

Cases are drawn twice, for learners and for graders. Numbers are drawn in the order in which they
occur, and a drawing that occurs several times in a case is drawn once.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from random import Random
from typing import Any, NamedTuple

import torch

from ..course import Call, Check, CourseError
from ..exchange.cases import Case, Part, record
from ..project import Project
from ..runner.step import Step

__all__ = [
    *("call", "construct", "describe", "duplicate", "load", "mode", "moved", "part", "read"),
    *("restore", "computed", "normal", "weights", "case", "check", "it", "shown"),
]

PUBLIC_SEED = 7
SMALL = (2, 7)  # sizes for learners, who should be able to follow their own cases by eye


# --- steps ------------------------------------------------------------------------------------


def construct(name: str | None = None, /, **arguments: Any) -> Step:
    """Make an object of the named class, or of the exercise itself if there is no name.

    given: the class is one of the course's substitutes. seed, dtype: for its first weights. The
    rest are its arguments; `named={…}` holds those whose names are also names of settings.
    """
    return Step("construct", name or "", arguments={"dtype": "float64", "seed": 0} | arguments)


def call(target: str | Step | None = None, /, **arguments: Any) -> Step:
    """Call a function or an object: the object made last, or the exercise if there is none.

    gradient: compute gradients. watch: count operations. result: a name for the result.
    seed: set before the call; None continues with the random numbers of the previous call.
    path: call this part of the object. scattered: pass tensors that are not contiguous.
    no_grad: call inside `torch.no_grad()`. unkept: ignore the result.
    refilled: pass the tensor objects of the call with this result again, overwritten with the
    new numbers. constants: names of arguments that need no gradient.
    The rest are arguments of the call; `named={…}` holds those whose names are also names of
    settings, such as `gradient`.
    """
    given = {"seed": 0} | arguments
    if isinstance(target, Step):
        return Step("call", on=target, arguments=given)
    return Step("call", target or "", arguments=given)


def moved(**arguments: Any) -> Step:
    """Move the object made last to a second device and call it there: no tensor may stay behind.

    On the `meta` device nothing is computed or returned, so the step works on every machine.
    """
    return Step("move", arguments=arguments)


def load(values: dict, on: Step | None = None) -> Step:
    """Copy weights into an object by their names. on: the object, if not the one made last."""
    return Step("load", on=on, arguments={"weights": values})


def duplicate(of: Step | None = None) -> Step:
    """Make a deep copy of an object, or of the one made last if none is named."""
    return Step("duplicate", on=of)


def restore(source: Step) -> Step:
    """Load the saved state of another object into the object made last."""
    return Step("restore", arguments={"source": source})


def read(path: str, result: str = "", on: Step | None = None) -> Step:
    """Record the value at an object's dotted path (`vocabulary`, `layer.weight`) under a name."""
    return Step("read", on=on, arguments={"path": path, "result": result or path})


def mode(training: bool, on: Step | None = None) -> Step:
    """Switch an object to training mode, or to evaluation mode if `training` is False."""
    return Step("mode", on=on, arguments={"training": training})


def describe(
    result: str = "module", on: Step | None = None, state: bool = False, path: str = ""
) -> Step:
    """Record the names of an object's parameters, buffers and submodules, with shapes and types.

    state: record the values of its parameters too. path: describe this part of the object.
    """
    return Step("describe", on=on, arguments={"result": result, "state": state, "path": path})


def part(result: str, *path: int) -> Part:
    """Return the named result of an earlier call in the case, to be passed to a later call.

    path: indices into the result; `part("first", 1)` is the second element of a pair.
    """
    return Part(result, path)


# --- numbers ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawing:
    """A tensor that is drawn when its case is recorded. It supports arithmetic with numbers.

    >>> Draw(1).value(0 * normal(2) + 3)
    tensor([3., 3.], dtype=torch.float64)
    """

    make: Callable[["Draw"], torch.Tensor]

    def __add__(self, number: float | torch.Tensor) -> "Drawing":
        return computed(lambda drawn: drawn + number, self)

    def __sub__(self, number: float | torch.Tensor) -> "Drawing":
        return computed(lambda drawn: drawn - number, self)

    def __mul__(self, factor: float | torch.Tensor) -> "Drawing":
        return computed(lambda drawn: drawn * factor, self)

    def __neg__(self) -> "Drawing":
        return computed(torch.neg, self)

    __radd__, __rmul__ = __add__, __mul__


class Draw:
    """Seeded numbers for one case: float64 by default, and the same on every platform."""

    def __init__(self, seed: int, dtype: torch.dtype = torch.float64):
        self.generator, self.dtype = torch.Generator().manual_seed(seed), dtype
        self.made: dict[Drawing, torch.Tensor] = {}

    def random(self, function: Callable[..., torch.Tensor], shape: tuple) -> torch.Tensor:
        """Return the next numbers of a torch function, in float64. shape: sizes, or one tuple."""
        size = shape[0] if len(shape) == 1 else shape
        return function(size, generator=self.generator, dtype=torch.float64)

    def value(self, value: Any) -> Any:
        """Return the value with its drawings made, also inside lists, tuples and dicts."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.value, value))
        if isinstance(value, dict):
            return {key: self.value(part) for key, part in value.items()}
        if not isinstance(value, Drawing):
            return value
        if value not in self.made:
            self.made[value] = value.make(self)
        return self.made[value]


def normal(*shape: int) -> Drawing:
    """Return standard normal numbers of this shape."""
    return Drawing(lambda draw: draw.random(torch.randn, shape).to(draw.dtype))


def weights(*shape: int) -> Drawing:
    """Return random numbers from 0.6 to 1.0 with random signs, so that every wrong scale shows."""

    def make(draw: Draw) -> torch.Tensor:
        size = 0.6 + 0.4 * draw.random(torch.rand, shape)
        return torch.where(draw.random(torch.rand, shape) < 0.5, -size, size).to(draw.dtype)

    return Drawing(make)


def computed(function: Callable, *values: Any) -> Drawing:
    """Return a drawing that applies a function to drawings and other values."""
    return Drawing(lambda draw: function(*map(draw.value, values)))


def seed_for(master: int, *purpose: str | int) -> int:
    """Return a seed of 63 bits for one purpose; it reveals neither master nor other seeds.

    This holds only if master cannot be guessed. The hash is public, so the key is the only secret.

    >>> seed_for(1, "mean", "a/1") == seed_for(1, "mean/a", "1")
    False
    """
    key = blake2b(str(master).encode()).digest()
    digest = blake2b(json.dumps(purpose).encode(), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "big") >> 1


class Sizes:
    """Sizes and chance for the cases of an exercise: graders draw other sizes than learners.

    An instance is the argument of `cases(draw)` in a grader file.
    """

    def __init__(self, exercise: str, hidden: bool = False, seed: int = PUBLIC_SEED):
        self.exercise, self.hidden, self.seed = exercise, hidden, seed
        self.sizes = Random(seed_for(seed, "sizes", exercise))

    def __call__(self, *ranges: tuple[int, int]) -> list[int]:
        """Return a size from each range (from, up to), all different; for learners, from SMALL.

        Raise CourseError if the ranges have no such sizes.
        """
        for _ in range(100):
            found: list[int] = []
            for low, high in ranges if self.hidden else [SMALL] * len(ranges):
                left = [size for size in range(low, high + 1) if size not in found]
                found += [self.sizes.choice(left)] if left else []
            if len(found) == len(ranges):
                return found
        raise CourseError(f"draw{ranges}: no sizes from these ranges are all different")

    def chance(self, *purpose: str) -> Random:
        """Return a random generator for words, rates and everything else that is no tensor.

        Its numbers reveal nothing about those for another purpose.
        """
        return Random(seed_for(self.seed, "chance", self.exercise, *purpose))


# --- cases and checks -------------------------------------------------------------------------


class WrittenCase(NamedTuple):
    """A case before its numbers, of this dtype, are drawn. settings: the other fields of `Case`."""

    name: str
    steps: tuple[Step, ...]
    dtype: torch.dtype
    settings: dict[str, Any]

    def recorded(self, exercise: str, seed: int, hidden: bool = False) -> Case:
        """Return the case with its numbers drawn.

        They depend only on the seed, the exercise and the case's name. On a hidden case, so do the
        seeds that its steps set.
        """
        purpose = (seed, exercise, self.name)
        draw = Draw(seed_for(*purpose), self.dtype)
        own_seed = partial(seed_for, *purpose, "seed") if hidden else int
        return record(exercise, self.name, self.steps, draw.value, own_seed, **self.settings)


def case(
    name: str, *steps: Step, dtype: torch.dtype = torch.float64, **settings: Any
) -> WrittenCase:
    """Return a case with the steps to take. Tests ask for it by its name, `group/which`.

    settings: other fields of `tensorgrade.exchange.cases.Case`, such as `signature`.
    """
    return WrittenCase(name, steps, dtype, settings)


def shown(name: str, *steps: Step, **settings: Any) -> WrittenCase:
    """Return a case that learners see in full, in float32. Graders do not use it."""
    return case(name, *steps, dtype=torch.float32, shown=True, **settings)


@lru_cache(maxsize=256)
def cases_of(project: Project, chapter: str, exercise: str, hidden: bool) -> list[Case]:
    """Return the cases in an exercise's grader file, for graders or for learners.

    A find-the-bug exercise has those of another one.
    """
    seed = (project.course.seed if hidden else None) or PUBLIC_SEED
    written = project.grader(chapter, exercise).cases(Sizes(exercise, hidden, seed))
    kept = [one for one in written if not (hidden and one.settings.get("shown"))]
    cases = [one.recorded(exercise, seed, hidden) for one in kept]
    like = project.course.chapter(chapter).exercise(exercise).like
    return [renamed(one, like, exercise) for one in cases] if like else cases


def renamed(case: Case, old: str, new: str) -> Case:
    """Return a case whose steps name another definition."""
    steps = (replace(one, name=new) if one.name == old else one for one in case.steps)
    return replace(case, steps=tuple(steps))


def check(points: float, says: str, *calls: Call) -> Check:
    """Return a check of the exercise: its points, the sentence for learners, and what must hold.

    A check that is worth 0 points is for learners only; their exercise is done only when it passes.

        check(2.5, "It runs along the `dim` that is passed in.", it.agrees("dim"))

    Raise CourseError if a value cannot be part of a check.
    """
    if isinstance(points, bool) or not isinstance(points, int | float) or not points >= 0:
        raise CourseError(f"a check is worth {points!r} points; give it a number, 0 or more")
    if not isinstance(says, str) or not says.strip():
        raise CourseError("a check has no sentence, the line that learners read")
    if not calls or not all(isinstance(one, Call) for one in calls):
        raise CourseError(f'{says!r} checks nothing; write what must hold, as it.agrees("values")')
    try:
        json.dumps([[one.arguments, one.settings] for one in calls])
    except TypeError as error:
        raise CourseError(f"{says!r} has an argument that JSON cannot hold: {error}") from None
    return Check(points, says, calls, sys._getframe(1).f_lineno)


class It:
    """The exercise in a check. It records calls by name: `it.agrees("values")`."""

    def __getattr__(self, name: str) -> Callable[..., Call]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **settings: Call(name, arguments, settings)


it = It()
"""The exercise that a check judges: `it.agrees("values")` is a call on it."""
