"""References: cases with the solution's results, stored in one file for each exercise and side.

The file also holds inputs and weights. The outputs were computed from these, and the random
numbers of another platform may differ.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..runner.step import Step
from ..runner.wire import plain
from .cases import Case
from .observation import CaughtError, Observation, Outcome
from .stored import DAMAGES, PART, damaged, packed_part, read_tensors, stored_path, unpacked_part
from .traces import Stage, Trace, with_stages


class Seen(NamedTuple):
    """A case, the solution's result on it, and the attempt's result."""

    case: Case
    expected: Observation
    observed: Observation


TRACES = "ways|"  # prefix for the rows of traced values


def packed_traces(traces: Mapping[str, Trace]) -> dict[str, torch.Tensor]:
    """Return reference traces in stored form: a part, and their values, flattened, by dtype.

    The part has for each case its stages, the returned ones, and the place of each stage's value: a
    row, the index of its first number, and the shape.
    """
    rows: dict[str, list[torch.Tensor]] = {}
    ends = Counter[str]()

    def place(value: torch.Tensor) -> list:
        value = plain(value.float() if value.is_floating_point() else value)
        row = str(value.dtype).removeprefix("torch.")
        rows.setdefault(row, []).append(value.flatten())
        ends[row] += value.numel()
        return [row, ends[row] - value.numel(), list(value.shape)]

    def told(trace: Trace) -> list:
        values = ((at, stage.value) for at, stage in enumerate(trace.stages))
        places = {str(at): place(value) for at, value in values if value is not None}
        # The lines and operations are left out: they would reveal an accepted solution.
        stages = [[list(stage.inputs), list(stage.names)] for stage in trace.stages]
        return [[stages, list(trace.returned)], places]

    packed = packed_part({case: told(trace) for case, trace in traces.items()})
    joined = {f"{TRACES}{row}": torch.cat(values) for row, values in rows.items()}
    return joined | {f"{PART}traces": packed}


def unpacked_traces(tensors: dict[str, torch.Tensor]) -> dict[str, Trace]:
    """Return the reference traces in a file's tensors, by the cases' ids."""
    found = {}
    for case, ((stages, returned), places) in unpacked_part(tensors[f"{PART}traces"]).items():
        values = {
            at: tensors[f"{TRACES}{row}"][start : start + prod(shape)].view(shape)
            for at, (row, start, shape) in places.items()
        }
        read = (
            Stage(0, "", tuple(inputs), tuple(names), values.get(str(at)))
            for at, (inputs, names) in enumerate(stages)
        )
        found[case] = Trace(tuple(read), tuple(returned))
    return found


SETTINGS = ("shown", "signature", "rate", "parts")  # fields of a Case


@dataclass(frozen=True)
class References:
    """Cases of a chapter, each with the solution's observation.

    hidden: True if learners may never see the expected values.
    traces: by case id, the solution's traces of some cases; never those of hidden cases.
    bugs: by exercise, the code of a find-the-bug exercise, as a module of its own. unfixed: by
    find-the-bug exercise, the titles of the checks that its given code fails.
    """

    chapter: str
    hidden: bool
    entries: tuple[tuple[Case, Observation], ...]
    traces: Mapping[str, Trace] = field(default_factory=dict)
    bugs: dict[str, str] = field(default_factory=dict)
    unfixed: dict[str, list[str]] = field(default_factory=dict)

    def of(self, exercise: str) -> list[tuple[Case, Observation]]:
        """Return the cases of one exercise, in the order in which they were written."""
        return [(case, seen) for case, seen in self.entries if case.exercise == exercise]

    def asked_by_name(self, exercise: str) -> set[str]:
        """Return the names of the learner's file that an exercise's cases construct or call."""
        steps = [step for case, _ in self.of(exercise) for step in case.steps if step.name]
        return {s.name for s in steps if not s.options.get("given")}

    @cached_property
    def traced_cases(self) -> list[tuple[Case, Observation]]:
        """Return the cases with reference traces, changed so that they trace the attempt too.

        The result is cached, because requests are packed once for each Case object.
        """
        return [(with_stages(case), seen) for case, seen in self.entries if case.id in self.traces]


def stored_form(references: References) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return the parts and the tensors that store an exercise's references."""
    tensors: dict[str, torch.Tensor] = {}
    index = []
    for case, expected in references.entries:
        for kind, named in (("in", case.tensors), ("out", expected.tensors)):
            tensors |= {f"{case.id}|{kind}|{name}": plain(t) for name, t in named.items()}
        # Of an expected error, only the kind is stored.
        error = expected.error and {"type": expected.error.type, "verb": expected.error.verb}
        told = {"values": expected.values, "facts": expected.facts, "error": error}
        index.append(case_to_json(case) | {"expected": told})
    about = {"hidden": references.hidden, "bugs": references.bugs, "unfixed": references.unfixed}
    return {"cases": index, "about": about}, tensors | packed_traces(references.traces)


def load_references(folder: Path, chapter: str, exercises: Iterable[str]) -> References:
    """Return the stored references of a chapter's exercises. folder: `graders/` or `exercises/`.

    Raises CourseError if a file is missing or damaged.
    """
    entries: tuple[tuple[Case, Observation], ...] = ()
    traces: dict[str, Trace] = {}
    bugs: dict[str, str] = {}
    unfixed: dict[str, list[str]] = {}
    hidden = []
    for name in exercises:
        path = stored_path(folder, chapter, name)
        tensors = read_tensors(path)
        try:
            entries += entries_in(tensors)
            traces |= unpacked_traces(tensors)
            about = unpacked_part(tensors[f"{PART}about"])
            bugs |= about["bugs"]
            unfixed |= about["unfixed"]
            hidden.append(about["hidden"])
        except DAMAGES:
            raise damaged(path) from None
    return References(chapter, all(hidden), entries, traces, bugs, unfixed)


def entries_in(tensors: dict[str, torch.Tensor]) -> tuple[tuple[Case, Observation], ...]:
    """Return the cases in a file's tensors, with the solution's observations."""
    groups: dict[tuple[str, str], dict] = {}
    for key, tensor in tensors.items():
        if not key.startswith((TRACES, PART)):
            case_id, kind, name = key.split("|", 2)
            groups.setdefault((case_id, kind), {})[name] = tensor
    return tuple(entry_from_json(data, groups) for data in unpacked_part(tensors[f"{PART}cases"]))


def case_to_json(case: Case) -> dict:
    return {
        "exercise": case.exercise,
        "name": case.name,
        "steps": [step.encode() for step in case.steps],
        **{name: getattr(case, name) for name in SETTINGS},
    }


def entry_from_json(data: dict, groups: dict) -> tuple[Case, Observation]:
    case_id = f"{data['exercise']}:{data['name']}"
    case = Case(
        data["exercise"],
        data["name"],
        tuple(Step(**one) for one in data["steps"]),
        groups.get((case_id, "in"), {}),
        **{name: data[name] for name in SETTINGS if name in data},
    )
    told, kind = data["expected"], data["expected"]["error"]
    error = kind and CaughtError(kind["type"], kinds=(kind["type"],), verb=kind["verb"])
    results = groups.get((case_id, "out"), {})
    return case, Observation(Outcome.ANSWERED, results, told["values"], told["facts"], error)
