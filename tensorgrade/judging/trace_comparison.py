"""Compare an attempt's trace on a public case with those of the solution, value by value.

A value that no right answer has is not wrong if a right value is computed from it. It only shows
another method.
"""

from functools import cached_property
from itertools import chain

import torch

from ..exchange.references import Seen
from ..exchange.traces import Stage, Trace
from .remarks import same
from .right_values import close, fills, right_values, tells

MOST_REACHED = 4
TURNS = {"T", "mT", "H", "t", "transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis"}
PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "mm", "bmm"}
COPIES = {"cat", "concat", "concatenate", "hstack", "vstack", "stack", "repeat", "tile", "expand"}


class Comparison:
    """A comparison of one attempt's trace on a case with the reference trace.

    Methods refer to a value by its index in `stages`. matches: for each value, the places in the
    reference trace with an equal value. passes: for each value, the result of `is_passed`.
    """

    def __init__(self, seen: Seen, trace: Trace, reference: Trace):
        self.case, self.expected, self.observed = seen
        self.trace, self.stages, self.right = trace, trace.stages, right_values(reference)
        self.matches = [self.found(stage) for stage in trace.stages]
        self.passes: list[bool] = []
        for at in range(len(trace.stages)):  # in order, because some pass if their inputs pass
            self.passes.append(self.is_passed(at))

    def found(self, stage: Stage) -> list[int]:
        """Return the places of a stage's value in the reference trace."""
        return self.right.equal(stage.value) if stage.value is not None else []

    def is_passed(self, at: int) -> bool:
        """Return True if a value is not wrong: right answers have it, or have it in another form.

        Other forms are, for example, a part, copies or a multiple of a right value.
        """
        stage, value = self.stages[at], self.stages[at].value
        if stage.line == 0 or value is None or not value.numel() or self.matches[at]:
            return True
        if self.right.has_part(value) or self.is_written_rightly(stage, value):
            return True
        if not tells(value):
            return False
        alike = [
            known
            for i in self.right.with_its_numbers(value)
            if (known := self.right.stages[i].value) is not None
        ]
        if alike and stage.operation in TURNS:  # a mistake would be on the line that uses it
            return True
        if alike and stage.operation in PRODUCTS:
            return False
        if alike:  # right numbers, but in wrong places if a right value of that shape exists
            return all(known.shape != value.shape for known in alike)
        copies = stage.operation in COPIES and all(self.passes[one] for one in stage.inputs)
        return (copies and self.right.has_copied(value)) or self.right.scaled(value)

    def is_written_rightly(self, stage: Stage, value: torch.Tensor) -> bool:
        """Return True if an assignment such as `x[i] = y` wrote right numbers into a value.

        The rest of the value may still be written later.
        """
        if stage.operation != "__setitem__" or not stage.inputs:
            return False
        before = self.stages[stage.inputs[0]].value
        if before is None:  # nothing was written before, so the other numbers are random
            written = self.stages[stage.inputs[-1]].value
            return written is not None and self.right.agrees_in(value, written.numel())
        places = value != before if before.shape == value.shape else before.new_zeros(0).bool()
        return bool(places.any()) and self.right.agrees_at(value, places)

    def counts(self, at: int) -> bool:
        """Return True if a value can be blamed for a wrong result.

        Uninitialized memory cannot, nor can a value that is not reported. A constant can only if an
        operation made different numbers equal, or if it is a single number with a name that right
        answers use.
        """
        stage = self.stages[at]
        filler = not stage.inputs and stage.operation.removeprefix("new_").startswith("empty")
        if stage.value is None or filler:
            return False
        if tells(stage.value) or self.is_flattened(stage, stage.value):
            return True
        return stage.value.numel() == 1 and not called(stage).isdisjoint(self.right.spread)

    def is_flattened(self, stage: Stage, value: torch.Tensor) -> bool:
        """Return True if an operation made all numbers of its input equal."""
        made = [known for at in stage.inputs if (known := self.stages[at].value) is not None]
        return (
            value.numel() > 1
            and value.is_floating_point()
            and not fills(stage)
            and any(other.shape == value.shape and tells(other) for other in made)
        )

    def is_filler(self, at: int) -> bool:
        """Return True if an operation such as `zeros` filled a value with one number."""
        stage = self.stages[at]
        return fills(stage) and stage.value is not None and not tells(stage.value)

    def is_unknown(self, at: int) -> bool:
        """Return True if a computed value cannot be judged.

        It may be constant, or it may not be reported, for example because it is complex or large.
        """
        stage = self.stages[at]
        small = not self.passes[at] and not self.counts(at)
        return bool(stage.line and stage.inputs) and (stage.value is None or small)

    def is_misplaced(self, at: int) -> bool:
        """Return True if a value has the numbers of a right value, in any places."""
        value = self.stages[at].value
        return value is not None and bool(self.right.with_its_numbers(value))

    def is_misfit(self, at: int) -> bool:
        """Return True if no right value has the shape of a value; ignore dimensions of size 1.

        Return False for values computed only from weights, because right answers may combine
        weights differently.
        """
        value, before = self.stages[at].value, self.ancestors(at)
        if value is None or tuple(value.squeeze().shape) in self.right.shapes:
            return False
        if self.is_filler(at) or any(map(self.is_filler, before)):
            return True
        given = [tensor for _, tensor in self.case.passed_tensors]
        values = (self.stages[one].value for one in before)
        return any(v is not None and same(v, one) for v in values for one in given)

    def names(self, at: int) -> list[str]:
        """Return the names of a value in right answers, the most specific first.

        A name that the attempt uses too comes before all others. Arguments and weights have no
        names here.
        """
        value = self.stages[at].value
        if value is None or any(same(value, given) for given in self.case.tensors.values()):
            return []
        found = {name for i in self.matches[at] for name in self.right.stages[i].names}
        own = called(self.stages[at])
        return sorted(found, key=lambda name: (name not in own, self.right.spread[name], name))

    def other_name(self, at: int) -> str:
        """Return the attempt's name of a right value, if right answers use it for another value.

        Return "" if there is no such name.
        """
        stage, names = self.stages[at], self.names(at)
        if not stage.line or not names:
            return ""
        called = ((name, self.meant(name)) for name in stage.names)
        same = [*names, *chain(*(self.names(before) for before in self.reshaped(at)))]
        return next(
            (n for n, words in called if words and not any(one.startswith(words) for one in same)),
            "",
        )

    def reshaped(self, at: int) -> list[int]:
        """Return those inputs of a value that hold the same numbers in the same order."""
        value = self.stages[at].value
        inputs = [(one, self.stages[one].value) for one in self.stages[at].inputs]
        return [
            one
            for one, other in inputs
            if value is not None
            and other is not None
            and value.numel() == other.numel() > 1
            and torch.equal(value.flatten(), other.flatten())
        ]

    def meant(self, name: str) -> str:
        """Return the right answers' name that a local name abbreviates or equals.

        For a name of one letter, return only that letter.

        A single letter counts if exactly one name of a single word begins with it. Return "" if no
        name fits.
        """
        words = name.replace("_", " ")
        if words in self.right.spread:
            return words
        alike = {one for one in self.right.spread if one[0] == name and " " not in one}
        return name if len(alike) == 1 else ""

    def ancestors(self, at: int) -> list[int]:
        """Return the places of all values from which a value was computed, in order."""
        found, left = set[int](), [at]
        while left:
            new = set(self.stages[left.pop()].inputs) - found
            found |= new
            left += new
        return sorted(found)

    def region(self, roots: list[int]) -> list[int]:
        """Return the roots, and the wrong values from which they were computed, in order.

        A wrong value counts only if all values between it and a root are wrong too.
        """
        found, left = set(roots), list(roots)
        while left:
            for at in self.stages[left.pop()].inputs:
                if at not in found and not self.passes[at]:
                    found.add(at)
                    left.append(at)
        return sorted(found)

    def first_lost(self, roots: list[int]) -> int | None:
        """Return the place of the first wrong value on the path to the roots, if there is one.

        Values that can be blamed (`counts`) are preferred, then computed ones.
        """
        region = [at for at in self.region(roots) if self.stages[at].line]
        region = [at for at in region if not self.passes[at]]
        told = [at for at in region if self.counts(at)]
        made = [at for at in region if self.stages[at].inputs]
        return next(iter(told or made or region), None)

    def last_of_line(self, lost: int) -> int:
        """Return the place of the last value that the same line computes from this one.

        Messages describe that one, because a line's intermediate values have no name.
        """
        line, last = self.stages[lost].line, lost
        for at in range(lost + 1, len(self.stages)):
            stage = self.stages[at]
            if stage.line == line and last in stage.inputs:
                last = at
        return last

    def reached(self, before: int) -> tuple[tuple[str, ...], int]:
        """Return the names of the right values before a place, and the line of the last of them."""
        passed = [
            at
            for at in range(before)
            if self.names(at) and self.stages[at].line and self.is_kept(at, before)
        ]
        names = dict.fromkeys(self.names(at)[0] for at in passed)
        upto = max((self.stages[at].line for at in passed), default=0)
        return tuple(names)[-MOST_REACHED:], upto

    def is_kept(self, at: int, before: int) -> bool:
        """Return True if a right value stays right to the end of its line, or up to `before`."""
        last = self.last_of_line(at)
        return last >= before or bool(self.names(last))

    @cached_property
    def asked(self) -> list[torch.Tensor]:
        """The expected results."""
        return [t for name, t in self.expected.tensors.items() if name.startswith("result")]

    def wrong_results(self) -> list[int]:
        """Return the places of the results that differ from the expected ones."""
        returned = self.trace.returned
        if len(returned) != len(self.asked):
            return list(returned)
        pairs = zip(returned, self.asked, strict=True)
        return [at for at, t in pairs if not self.is_right_result(at, t)]

    def is_right_result(self, at: int, expected: torch.Tensor) -> bool:
        value = self.stages[at].value
        return value is None or (
            value.shape == expected.shape and close(value.double(), expected.double())
        )


def called(stage: Stage) -> set[str]:
    """Return an attempt's names of a value, as words."""
    return {name.replace("_", " ") for name in stage.names}
