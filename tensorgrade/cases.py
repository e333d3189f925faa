"""Cases: what an attempt is asked to do, written as calls and recorded as data.

A case is written once, as a function of an attempt and a source of seeded numbers:

    def short_sequence(attempt, draw):
        module = attempt.construct("CausalAttention", d_in=3, d_out=4, context_length=9, dropout=0.0)
        module.load({"W_query.weight": draw.weights(4, 3)})
        module.call(x=draw.normal(2, 5, 3))

`record` turns it into steps and tensors. The same steps then run on the solution (the
reference), on every mistake (its fingerprint) and on every learner's attempt.
"""

from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class Case:
    """Seeded inputs and weights, and the steps to take with them.

    name: `group/which`; tests ask for groups. shown: learners see its values.
    signature: how mistakes are told apart on it: by `values`, or by how `dropout` behaves.
    """

    exercise: str
    name: str
    steps: tuple[dict, ...]
    tensors: dict[str, torch.Tensor] = field(repr=False)
    shown: bool = False
    signature: str = "values"

    @property
    def group(self) -> str:
        """`values` for `values/3`."""
        return self.name.split("/")[0]

    @property
    def id(self) -> str:
        """Unlike any other case's of the chapter."""
        return f"{self.exercise}:{self.name}"


class Draw:
    """Seeded numbers for cases. float64 unless asked otherwise; the same on every platform.

    >>> Draw(1).normal(2).shape, Draw(1).weights(3, 2).abs().min() > 0.5
    (torch.Size([2]), tensor(True))
    """

    def __init__(self, seed: int, dtype: torch.dtype = torch.float64):
        self.generator, self.dtype = torch.Generator().manual_seed(seed), dtype

    def normal(self, *shape: int) -> torch.Tensor:
        """Standard normal numbers."""
        drawn = torch.randn(*shape, generator=self.generator, dtype=torch.float64)
        return drawn.to(self.dtype)

    def weights(self, *shape: int) -> torch.Tensor:
        """Numbers of about ±0.8: none near zero, so that every wrong scale shows."""
        size = 0.6 + 0.4 * torch.rand(*shape, generator=self.generator, dtype=torch.float64)
        signs = torch.rand(*shape, generator=self.generator, dtype=torch.float64) < 0.5
        return torch.where(signs, -size, size).to(self.dtype)


class Recorder:
    """Stands where an attempt will stand, and writes down what it is asked."""

    def __init__(self):
        self.steps, self.tensors = [], {}

    def construct(self, name: str, *, given=False, seed=0, dtype="float64", **arguments):
        """Make an object of a class of the attempt (or of the stand-ins, where `given`)."""
        handle = f"object{sum(step['verb'] == 'construct' for step in self.steps)}"
        self.step("construct", arguments, name=name, given=given, seed=seed, dtype=dtype, handle=handle)
        return RecordedObject(self, handle)

    def call(self, name: str, *, gradient=None, watch=False, seed=0, result="result", **arguments):
        """Call a function of the attempt.

        gradient: asks for gradients, one tensor for each result that is a part of a tuple.
        watch: counts operations.
        """
        self.record_call({"name": name}, arguments, gradient, watch, seed, result)

    def record_call(self, target, arguments, gradient, watch, seed, result):
        if isinstance(gradient, tuple):
            gradient = [self.tensor(f"{result}.gradient.{n}", g) for n, g in enumerate(gradient)]
        elif gradient is not None:
            gradient = [self.tensor(f"{result}.gradient", gradient)]
        self.step("call", arguments, **target, gradient=gradient, watch=watch, seed=seed, handle=result)

    def step(self, verb: str, arguments: dict, *, handle: str, **settings) -> None:
        at = len(self.steps)
        spelled = {k: self.spell(f"{at}.{k}", v) for k, v in arguments.items()}
        self.steps.append({"verb": verb, "as": handle, "arguments": spelled, **settings})

    def spell(self, key: str, value):
        """How an argument is written in a step: tensors and objects by name."""
        if isinstance(value, torch.Tensor):
            return {"tensor": self.tensor(key, value)}
        return {"object": value.handle} if isinstance(value, RecordedObject) else value

    def tensor(self, key: str, value: torch.Tensor) -> str:
        self.tensors[key] = value
        return key


class RecordedObject:
    """A handle on an object that will live on the learner's side."""

    def __init__(self, recorder: Recorder, handle: str):
        self.recorder, self.handle = recorder, handle

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Copy weights in by their names."""
        keys = {k: self.recorder.tensor(f"{self.handle}.{k}", v) for k, v in weights.items()}
        self.recorder.steps.append({"verb": "load", "on": self.handle, "weights": keys})

    def mode(self, training: bool) -> None:
        """Switch between training and evaluation."""
        self.recorder.steps.append({"verb": "mode", "on": self.handle, "training": training})

    def describe(self, result="module", state=False, path="") -> None:
        """Ask what the object is made of; with `state`, its parameters' values too."""
        self.recorder.steps.append(
            {"verb": "describe", "on": self.handle, "as": result, "state": state, "path": path}
        )

    def call(self, *, gradient=None, watch=False, seed=0, result="result", path="", **arguments):
        """Call the object, or the part of it at a dotted `path`."""
        target = {"on": self.handle, "path": path}
        self.recorder.record_call(target, arguments, gradient, watch, seed, result)


def record(exercise: str, name: str, write, seed: int, dtype=torch.float64, **settings) -> Case:
    """The case that `write(attempt, draw)` writes.

    Its numbers depend on the seed, the exercise and the case's name, and on no other case.
    """
    recorder = Recorder()
    write(recorder, Draw(seed_for(seed, exercise, name), dtype))
    return Case(exercise, name, tuple(recorder.steps), recorder.tensors, **settings)


def seed_for(*parts) -> int:
    """A seed out of several words: FNV-1a, since Python's own hash differs from run to run."""
    value = 0xCBF29CE484222325
    for byte in "/".join(map(str, parts)).encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value >> 1


def spoken(case: Case) -> str:
    """What a case calls, in one line, with shapes.

    >>> spoken(record("softmax", "a/1", lambda a, d: a.call("softmax", x=d.normal(2, 3), dim=1), 1))
    'softmax(x: 2×3, dim=1)'
    """
    return ", then ".join(
        sentence for step in case.steps if (sentence := spoken_step(case, step)) is not None
    )


def spoken_step(case: Case, step: dict) -> str | None:
    if step["verb"] == "mode":
        return ".train()" if step["training"] else ".eval()"
    if step["verb"] not in ("construct", "call"):
        return None
    arguments = ", ".join(f"{k}{spoken_value(case, v)}" for k, v in step["arguments"].items())
    name = step.get("name") or ("." + step["path"] if step.get("path") else "its forward")
    return f"{name}({arguments})"


def spoken_value(case: Case, value) -> str:
    if isinstance(value, dict) and "tensor" in value:
        return ": " + spoken_shape(case.tensors[value["tensor"]].shape)
    return "" if isinstance(value, dict) else f"={value}"


def spoken_shape(shape) -> str:
    """`2×6×3`; `(4,)` for a vector, since a bare 4 reads like a number; or `a single number`.

    >>> spoken_shape((2, 3)), spoken_shape((4,)), spoken_shape(())
    ('2×3', '(4,)', 'a single number')
    """
    if len(shape) == 1:
        return f"({shape[0]},)"
    return "×".join(map(str, shape)) if len(shape) else "a single number"
