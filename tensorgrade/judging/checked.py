"""An exercise as checks see it: its cases, its results, and the method to fail a check.

Checks are functions whose first parameter is this exercise (the folder checks/). Each passes or
raises Wrong, and can be called like a method: `exercise.agrees("values")`.
"""

from collections.abc import Callable
from functools import partial
from typing import NoReturn

import torch

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..exchange.references import Seen
from ..recognition.imprints import equals_an_input
from .comparison import (
    Disagreement,
    ValueJudge,
    disagreement,
    problem_of,
    returns_argument,
    side_by_side,
    where_they_differ,
)
from .diagnosis import OF_GRADIENT, Diagnosis, Kind, Observations, Wrong
from .errors import JudgedAttempt, read_outside, why_it_ended, why_it_raised
from .names import is_within, own_weight, result_name
from .problems import came_instead, came_otherwise, lost_weights, result_problem, what_came
from .remarks import nearly_right, remarks


class CheckedExercise:
    """One exercise of an attempt, with the methods that checks use.

    attempt: the attempt that the exercise belongs to. seen: the results of each of its cases.
    """

    attempt: JudgedAttempt
    name: str
    seen: list[Seen]

    def group(self, group: str) -> list[Seen]:
        """Return the cases of a group, each with the expected and the observed results."""
        entries = [entry for entry in self.seen if entry.case.group == group]
        assert entries, f"{self.name} has no cases in the group {group!r}"
        return entries

    def answered(self, group: str) -> list[Seen]:
        """Return the cases of a group. Raises Wrong if one has an error or no result."""
        for case, _, observed in self.group(group):
            self.check_finished(case, observed)
            if observed.error:
                raise Wrong(why_it_raised(self.attempt, self.name, case, observed.error))
        return self.group(group)

    def check_finished(self, case: Case, observed: Observation) -> None:
        """Check that a case has a result or an error. Raises Wrong if it has neither."""
        if observed.status != Outcome.ANSWERED:
            raise Wrong(why_it_ended(self.attempt, case, observed))

    def check_computed(self, case: Case, expected: Observation, observed: Observation) -> None:
        """Check that a call returns neither its input nor a constant, unless the reference does.

        Code that does nothing would pass, for example, a check for unchanged inputs. It must not.
        """
        for name in expected.tensors:
            if name.startswith("gradient.") or is_within(name):
                continue
            result = self.result(case, name, expected, observed)
            if is_handed_back(case, result) and not is_handed_back(case, expected.tensors[name]):
                said = f"{result_name(name, case, self.seen)} is just what was passed in"
                self.wrong("values", said, case=case, actual=result)
            if is_constant(result) and not is_constant(expected.tensors[name]):
                self.compare(case, name, expected.tensors[name], observed)
        judge = ValueJudge(expected, observed, self.attempt.tolerances)
        for name in expected.values:
            want, got = expected.value(name), observed.value(name)
            if not judge.same_type(want, got):
                self.compare_value(case, name, expected, observed, strict=False)
            if returns_argument(case, got) and not returns_argument(case, want):
                said = f"{result_name(name, case, self.seen)} is just what was passed in"
                self.wrong("values", said, case=case)

    def result(
        self, case: Case, name: str, expected: Observation, observed: Observation
    ) -> torch.Tensor:
        """Return one result. Raises Wrong if its shape differs from the reference."""
        actual, reference = observed.tensors.get(name), expected.tensors[name]
        if actual is not None and actual.shape == reference.shape:
            return actual
        kind = "absent" if actual is None else "shape"
        problem = result_problem(kind, name, case, reference, observed, self.seen)
        self.wrong(kind, problem, case=case, actual=actual, expected=reference)

    def compare(self, case: Case, name: str, expected: torch.Tensor, observed: Observation) -> None:
        """Compare one result with the reference. Raises Wrong if they disagree."""
        actual = observed.tensors.get(name)
        gap = disagreement(actual, expected, self.attempt.tolerances)
        if gap is None:
            return
        if lost := lost_weights(case, observed):
            self.wrong("fact", lost, case=case)
        whole, _, weight = name.partition(".")
        if actual is None and whole == "gradient" and is_no_parameter(weight, self.seen):
            problem = (
                f"`{own_weight(weight, self.seen)}` is a plain tensor, not an nn.Parameter: an "
                "optimizer does not find it, so it never learns"
            )
            self.wrong("absent", problem, case=case, expected=expected)
        wrong_values = OF_GRADIENT if whole == "gradient" else "not_the_values"
        self.wrong(
            gap.kind,
            result_problem(gap.kind, name, case, expected, observed, self.seen),
            wrong_values if gap.kind == "values" else "",
            case=case,
            actual=actual,
            expected=None if actual is None and came_otherwise(name, observed) else expected,
            differs=gap.differs,
            observe=partial(observations, case, gap, expected, actual),
        )

    def compare_value(
        self, case: Case, name: str, expected: Observation, observed: Observation, strict: bool
    ) -> None:
        """Compare a value that is not a tensor with the reference. Raises Wrong if they disagree.

        strict: see `agrees`.
        """
        gap = ValueJudge(expected, observed, self.attempt.tolerances, strict).gap(name)
        if gap is None:
            return
        if not gap.place and observed.value(name) is None:
            came = came_instead(result_name(name, case, self.seen), what_came(observed, name))
            self.wrong("values", came, case=case, texts=side_by_side(gap))
        if gap.tensors:
            self.compare(
                case, gap.expected["tensor"], expected.tensors[gap.expected["tensor"]], observed
            )
        what = f"`{name + gap.place}`" if gap.place else result_name(name, case, self.seen)
        self.wrong("values", problem_of(gap, what), case=case, texts=side_by_side(gap))

    def wrong(
        self,
        kind: str,
        problem: str,
        id: str = "",
        *,
        case: Case,
        about: str = "",
        actual: torch.Tensor | None = None,
        expected: torch.Tensor | None = None,
        differs: torch.Tensor | None = None,
        texts: tuple[str, str] | None = None,
        forbidden: frozenset[str] = frozenset(),
        observe: Callable[[], Observations] = Observations,
    ) -> NoReturn:
        """Raise Wrong, with the expected values only if the case is public.

        kind: a value of Kind. problem: a clause. id, about, forbidden: see Diagnosis. differs: a
        mask of the wrong places. texts: see Diagnosis. observe: returns remarks on the
        result; called only if a message needs them.
        """
        outside = read_outside(self.attempt.loaded, self.name, case)
        if self.attempt.references.hidden:
            expected = differs = texts = None
        told = Diagnosis(
            Kind(kind),
            problem,
            id,
            case.name,
            actual,
            about=about,
            forbidden=forbidden,
            observe=lambda: observe().after(outside),
            expected=expected,
            differs=differs,
            texts=texts,
        )
        raise Wrong(told)


def observations(
    case: Case, gap: Disagreement, expected: torch.Tensor, actual: torch.Tensor | None
) -> Observations:
    """Return remarks on a result that disagrees with the reference, and where it does."""
    said = remarks(case, actual, expected)
    # A nearly right result differs everywhere, so places that are equal by chance show nothing.
    near = actual is None or nearly_right(actual, expected) in said
    if near or gap.differs is None or gap.kind == "nan":
        return Observations(said)
    found, count = where_they_differ(gap.differs)
    if found and actual is not None and not actual[gap.differs].any():
        found += ": there your result is 0, as if it were never written"
    return Observations(said, found, count)


def is_handed_back(case: Case, result: torch.Tensor) -> bool:
    """Return True if a result equals a tensor of the case, both of floats or both of integers.

    For example, a loss of 0.0 may equal a target's integer id, but it is no copy of it.
    """
    floating, tensors = result.is_floating_point(), case.tensors.values()
    return equals_an_input((t for t in tensors if t.is_floating_point() == floating), result)


def is_constant(result: torch.Tensor) -> bool:
    """Return True if all numbers of a tensor are the same."""
    return bool((result == result.flatten()[:1]).all())


def is_no_parameter(weight: str, seen: list[Seen]) -> bool:
    """Return True if, in any case, a module has a weight as a plain tensor, not a parameter."""
    return any(
        weight in observed.fact(name, "attributes", default=[])
        for _, _, observed in seen
        for name in observed.facts
    )
