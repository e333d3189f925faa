"""The checks that a test can make on one exercise of an attempt. Each raises Wrong or passes.

def test_values(attempt):
    \"\"\"Every row is divided by its sum.\"\"\"
    attempt.normalise.agrees("values")
"""

import re
from collections.abc import Collection, Iterable
from itertools import filterfalse
from typing import NoReturn

import torch
from torch import nn

from ..exchange.cases import Case, passed_as, spoken, spoken_shape
from ..exchange.observation import REFUSALS, Observation, Outcome, strings
from ..exchange.references import Seen
from ..exchange.values import kind, plain
from ..exchange.values import shown as value_shown
from ..recognition import dropout
from ..recognition.imprints import echoed, results_in
from ..recognition.operations import arithmetic, grows
from ..recognition.singletons import is_squeezed
from ..runner.second_device import TwoDevices
from .agreement import Disagreement, disagreement, where_nan, where_they_differ
from .diagnosis import (
    NO_WAY_BACK,
    NOT_THE_VALUES,
    OF_A_GRADIENT,
    Diagnosis,
    Kind,
    PublicDiagnosis,
    Wrong,
)
from .judged import JudgedAttempt
from .remarks import remarks
from .unanswered import lost_weights, read_outside, why_it_ended, why_it_raised
from .value_agreement import (
    ValueJudge,
    hands_back,
    said_in_public,
    said_in_secret,
    side_by_side,
)
from .where_right import right_and_wrong, where_right


class Checks:
    """Mixed into an exercise's attempt. A course adds checks of its own (judging/course_checks.py).

    attempt: the attempt that the exercise is a part of. seen: what each of its cases gave.
    """

    attempt: JudgedAttempt
    name: str
    seen: list[Seen]

    def group(self, group: str) -> list[Seen]:
        """The cases of a group, each with what is expected and what was seen."""
        entries = [entry for entry in self.seen if entry.case.group == group]
        assert entries, f"{self.name} has no cases in the group {group!r}"
        return entries

    def answered(self, group: str) -> list[Seen]:
        """The cases of a group. Raises Wrong where one got no answer, or an error instead."""
        for case, _, observed in self.group(group):
            self.came_back(case, observed)
            if observed.error:
                raise Wrong(why_it_raised(self.attempt, self.name, case, observed.error))
        return self.group(group)

    def came_back(self, case: Case, observed: Observation) -> None:
        """A case got an answer, be it an error. Raises Wrong where it got none."""
        if observed.status != Outcome.ANSWERED:
            raise Wrong(why_it_ended(self.attempt, case, observed))

    def agrees(self, group: str, only: str = "", strict: bool = False) -> None:
        """Every result of every case in the group agrees with the reference.

        only: judge results whose name starts so (`gradient` for gradients alone). strict: types
        count, so that a tuple is no list and an OrderedDict no dict.
        """
        for case, expected, observed in self.answered(group):
            for name in sorted(expected.tensors):
                if name.startswith(only) and not is_within(name):
                    self.compare(case, name, expected.tensors[name], observed)
            for name in expected.values:
                if name.startswith(only):
                    self.compare_value(case, name, expected, observed, strict)
            if strict:
                self.has_types(case, expected, observed)
        if not only:
            self.gives_no_more(group)

    def gives_no_more(self, group: str) -> None:
        """No more results come back than the reference gives: unpacking them would fail."""
        for case, expected, observed in self.answered(group):
            if "result" in expected.values:
                continue  # one value, which is compared as a whole
            most, got = (
                sum(name.startswith("result.") for name in (*seen.tensors, *seen.values))
                for seen in (expected, observed)
            )
            if got > most:
                self.wrong("values", f"{got} results come back; {most} are asked for", case=case)

    def compare_value(
        self, case: Case, name: str, expected: Observation, observed: Observation, strict: bool
    ) -> None:
        """A value that is no tensor against the reference. Raises Wrong where they disagree."""
        gap = ValueJudge(expected, observed, self.attempt.tolerances, strict).gap(name)
        if gap is None:
            return
        if not gap.steps and observed.value(name) is None:
            problem = f"{spoken_result(name, case)} is {shown(observed, name)}"
            self.wrong("values", problem, case=case, texts=side_by_side(gap))
        if gap.tensors:
            self.compare(
                case, gap.expected["tensor"], expected.tensors[gap.expected["tensor"]], observed
            )
        hidden = self.attempt.references.hidden
        what = f"`{name}{gap.place}`" if gap.place else spoken_result(name, case)
        problem = said_in_secret(gap, what) if hidden else said_in_public(gap, what)
        texts = side_by_side(gap)
        self.wrong("values", problem, case=case, where=self.right_in, texts=texts)

    def has_types(self, case: Case, expected: Observation, observed: Observation) -> None:
        """Tensors come in a list where a list is asked for, in a tuple where that is."""
        for name, facts in expected.facts.items():
            got = observed.facts.get(name, {}).get("type")
            if f"{name}.0" in expected.tensors and got != facts.get("type"):
                problem = f"{spoken_result(name, case)} is a {got}; a {facts['type']} is asked for"
                self.wrong("values", problem, case=case)

    def compare(self, case: Case, name: str, expected: torch.Tensor, observed: Observation) -> None:
        """One result against the reference. Raises Wrong where they disagree."""
        actual = observed.tensors.get(name)
        gap = disagreement(actual, expected, self.attempt.tolerances)
        if gap is None:
            return
        if lost := lost_weights(case, observed):
            self.wrong("fact", lost, case=case)
        whole, _, weight = name.partition(".")
        if actual is None and whole == "gradient" and is_no_parameter(weight, self.seen):
            self.wrong("absent", NO_PARAMETER.format(weight), case=case, expected=expected)
        self.wrong(
            gap.kind,
            describe(gap.kind, name, case, expected, observed),
            case=case,
            where="" if gap.differs is None else self.right_in or places(gap, actual),
            actual=actual,
            expected=None if actual is None and came_otherwise(name, observed) else expected,
            differs=gap.differs,
            remarks=self._mixed_up(case, name, actual)
            or remarks(case, actual, expected, self.attempt.references.hidden),
        )

    def _mixed_up(self, case: Case, name: str, actual: torch.Tensor | None) -> tuple[str, ...]:
        """A sentence about a result that is another one of the case; on public cases alone."""
        if self.attempt.references.hidden or actual is None or actual.unique().numel() < 2:
            return ()
        right = next(seen.expected.tensors for seen in self.seen if seen.case.id == case.id)
        whole = name.partition(".")[0]
        meant = (
            other
            for other in sorted(right, key=lambda other: other.partition(".")[0] != whole)
            if other != name and not disagreement(actual, right[other], self.attempt.tolerances)
        )
        return tuple(f"it is what {spoken_result(other, case)} should be" for other in meant)[:1]

    @property
    def _insides(self) -> set[str]:
        """The names of parameters inside a stand-in for what another chapter writes.

        Learners have never seen them.
        """
        found: set[str] = set()
        for facts in (facts for seen in self.seen for facts in seen.expected.facts.values()):
            kinds = facts.get("modules", {}).items()
            strangers = [f"{part}." for part, kind in kinds if self._is_of_elsewhere(kind)]
            for name in facts.get("parameters", {}):
                found |= {name.removeprefix(part) for part in strangers if name.startswith(part)}
        return found

    def _is_of_elsewhere(self, kind: str) -> bool:
        """Whether a class is neither torch's nor written in this chapter."""
        own = {exercise.name for exercise in self.attempt.chapter.exercises}
        return kind not in own and not hasattr(nn, kind)

    @property
    def right_in(self) -> str:
        """In which cases the values are right, in a sentence; empty where there is no pattern."""
        return where_right(*right_and_wrong(self.seen, self.attempt.tolerances))

    def keeps_inputs(self, *groups: str, objects: bool = False) -> None:
        """No call of these groups changed what it was given, at any depth, and each gave a result.

        objects: nor the object that was called, nor one that was passed in.
        """
        for case, expected, observed in (
            entry for group in groups for entry in self.answered(group)
        ):
            self.something_came_back(case, expected, observed)
            for name in observed.facts:
                if changed := strings(observed.fact(name, "changed", default=[])):
                    said = CHANGED.format(changed[0])
                    self.wrong("fact", said, case=case, changes=changed[0])
                altered = strings(observed.fact(name, "altered", default=[]))
                if objects and altered:
                    said = ALTERED.format(altered[0])
                    self.wrong("fact", said, case=case, changes=altered[0])

    def something_came_back(self, case: Case, expected: Observation, observed: Observation) -> None:
        """Doing nothing changes no input either, and earns nothing. Raises Wrong."""
        for name in expected.tensors:
            if name.startswith("gradient.") or is_within(name):
                continue
            result = self.result(case, name, expected, observed)
            if echoed(case, result) and not echoed(case, expected.tensors[name]):
                said = f"{spoken_result(name, case)} is what was passed in"
                self.wrong("values", said, case=case, actual=result)
        judge = ValueJudge(expected, observed, self.attempt.tolerances)
        for name in expected.values:
            want, got = expected.value(name), observed.value(name)
            if not judge.same_type(want, got):
                self.compare_value(case, name, expected, observed, strict=False)
            if hands_back(case, got) and not hands_back(case, want):
                self.wrong(
                    "values", f"{spoken_result(name, case)} is what was passed in", case=case
                )

    def gives_the_same(self, group: str) -> None:
        """In every case of the group the results that have names of their own equal `result`.

        However inputs lie in memory, through a copy of a module or with what another one saved:
        the numbers are the same. Whether they are right is for other checks.
        """
        for case, expected, observed in self.answered(group):
            self.something_came_back(case, expected, observed)
            for name in filterfalse(is_within, expected.tensors):
                other = self.result(case, name, expected, observed)
                partner = ".".join(["result", *name.split(".")[1:]])
                first = self.result(case, partner, expected, observed)
                if gap := disagreement(other, first, self.attempt.tolerances):
                    self.wrong(gap.kind, not_the_same(name, case), case=case, actual=other)
            judge = ValueJudge(observed, observed, self.attempt.tolerances)
            for name in expected.values:
                pair = observed.value("result"), observed.value(name)
                if judge.between(*pair, pair):
                    self.wrong("values", not_the_same(name, case), case=case)

    def starts_alive(self, group: str, module: str = "module") -> None:
        """New weights differ from one another, and after another seed, where the reference's do.

        Biases may start at zero.
        """
        starts: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}  # the reference's, and the first
        for case, expected, observed in self.answered(group):
            for name, reference in expected.tensors.items():
                start = self.result(case, name, expected, observed)
                if name.endswith(".bias") or is_one_number(reference):
                    continue
                said = f"`{name.removeprefix(module + '.')}` starts with"
                if not start.isfinite().all() or is_one_number(start):
                    said = f"{said} one number everywhere; new weights are drawn at random"
                    self.wrong("values", said, case=case)
                other, before = starts.setdefault(name, (reference, start))
                if torch.equal(before, start) and not torch.equal(other, reference):
                    said = f"{said} the same numbers after every seed, so a seed is set inside"
                    self.wrong("values", said, case=case)

    def keeps_dtype(self, group: str) -> None:
        """Results, and all parts of them, have the dtype of the reference."""
        for case, expected, observed in self.answered(group):
            for name in results_in(expected):
                want = expected.tensors[name].dtype
                got = self.result(case, name, expected, observed).dtype
                if got != want:
                    said = f"{spoken_result(name, case)} is {got}; {want} is asked for"
                    self.wrong("fact", said, case=case)

    def avoids(self, group: str, calls: set[str], problem: str) -> None:
        """None of these calls was made in a watched call."""
        for case, _, observed in self.answered(group):
            if observed.uses(calls):
                self.wrong("fact", problem, case=case)

    def names_none(self, names: Collection[str], problem: str, share: float) -> None:
        """The text names none of these. If it does, so large a share of the exercise is lost.

        The text is parsed before a line of it runs, so no code can hide what it names.
        """
        if set(names) & set(self.attempt.names.get(self.name, ())):
            raise Wrong(Diagnosis(Kind.FACT, problem, share=share))

    def does_not_grow(self, group: str, problem: str) -> None:
        """The call named `many` needs no more operations than the one named `few`.

        Both must have come to numbers of the right shape: what computes nothing has no loop either.
        """
        for case, expected, observed in self.answered(group):
            results = {
                name: self.result(case, name, expected, observed) for name in expected.tensors
            }
            if nan := [name for name, result in results.items() if result.isnan().any()]:
                self.wrong("nan", f"{spoken_result(nan[0], case)} contains NaN", case=case)
            few, many = (observed.fact(r, "operations", default={}) for r in ("few", "many"))
            if grows(few, many) or not arithmetic(few):
                counts = f" ({arithmetic(few)} operations became {arithmetic(many)})"
                self.wrong("fact", problem + counts, case=case)

    def has_parameters(self, group: str, module: str = "module") -> None:
        """Exactly the parameters of the reference: names, shapes, and that they can learn."""
        for case, expected, observed in self.answered(group):
            want = expected.facts[module]["parameters"]
            got = observed.fact(module, "parameters", default={})
            if problem := parameters_differ(want, got):
                self.wrong("fact", problem, case=case)

    def has_buffer(self, group: str, name: str) -> None:
        """A tensor of that name is a buffer: no parameter and no plain attribute."""
        for case, expected, observed in self.answered(group):
            place = observed.home("module", name)
            if place != "buffers":
                self.wrong("fact", NO_BUFFER[place].format(name), case=case)
            want = expected.facts["module"]["buffers"][name][0]
            got = next(iter(observed.fact("module", "buffers", name, default=[])), None)
            # (1, n, n) serves as well as (n, n).
            if not isinstance(got, list) or got[-len(want) :] != want:
                shapes = told_shape(got), told_shape(want)
                problem = "the buffer `{}` has shape {}; {} is asked for".format(name, *shapes)
                self.wrong("fact", problem, case=case)

    def moves_as_a_whole(self, group: str) -> None:
        """On a second device nothing meets a tensor that stayed on the first.

        What cannot run there for another reason is not judged: there are no numbers there, so that
        Python which asks for one (`.item()`, `if mask.any()`) has to fail. Nor are weights that
        torch does not find, which do not move either: other checks say so.
        """
        for case, _, observed in self.group(group):
            self.came_back(case, observed)
            error = observed.error
            if error and error.verb != "move":
                raise Wrong(why_it_raised(self.attempt, self.name, case, error))
            if error and error.type == TwoDevices.__name__:
                left = observed.facts.get("moved", {}).get("left")
                at = f"{self.attempt.place(error.line)}: " if error.line else ""
                self.wrong("fact", at + stays_behind(left), case=case)

    def refuses(self, group: str, problem: str, errors: Collection[str] = REFUSALS) -> None:
        """What the solution refuses is refused there: an object not made, a call not answered.

        errors: the kinds that are fine. What refuses everything earns nothing for it.
        """
        for case, expected, observed in self.group(group):
            self.came_back(case, observed)
            error, verb = observed.error, expected.error.verb if expected.error else "construct"
            if error and (error.missing or (error.is_unwritten and not error.text)):
                raise Wrong(why_it_raised(self.attempt, self.name, case, error))
            if error and error.verb == verb and not error.is_refusal(verb, errors):
                self.wrong("fact", refused_otherwise(error.type, errors), case=case)
            if error is None or error.verb != verb:
                self.wrong("fact", problem, case=case)
        others = [
            seen for seen in self.seen if not (seen.case.group == group or seen.expected.error)
        ]
        if others and all(is_refused(seen.observed) for seen in others):
            self.wrong("fact", "it cannot be made at all", case=others[0].case)
        if others and all(seen.observed.error for seen in others):
            self.wrong("fact", "it refuses everything", case=others[0].case)

    def drops_entries(self, group: str, twice: bool = False) -> None:
        """The runs `dropped` and `again` came out of `plain` by inverted dropout of single entries.

        Entries are counted on the reference. Each is dropped on its own: nothing that another one,
        another row, part, slice or run did may show in it. The case names the argument that is the
        rate. twice: the halves (of each part, where the case has parts) hold the same entries.
        """
        totals: list[float] = []
        for case, expected, observed in self.answered(group):
            runs = [self.result(case, r, expected, observed) for r in ("dropped", "again")]
            plain = self.result(case, "plain", expected, observed)
            plain = undropped(plain, runs[0], expected, dropout.rate(case))
            p, halves = dropout.rate(case), 2 if twice else 1
            filled = (expected.tensors["plain"].abs() > 1e-12) & (plain.abs() > 1e-12)
            if 2 * filled.sum() < (expected.tensors["plain"].abs() > 1e-12).sum():
                said = ALREADY if lost_in(plain, expected) else NOT_THERE
                self.wrong("values", said, case=case, actual=plain)
            behaviours = [(run, dropout.behaviour(plain, run)) for run in runs]
            problem = REPEATED.get(dropout.repeats(case, plain, *runs))
            if problem and all(0 < behaviour.zeros < 1 for _, behaviour in behaviours):
                self.wrong("fact", problem, case=case, actual=runs[0])
            for run, behaviour in behaviours:
                if not dropout.looks_like(behaviour, p, int(filled.sum()) // halves):
                    said = ALREADY if lost_in(plain, expected) else dropout.sentence(behaviour, p)
                    self.wrong("fact", said, case=case, actual=run)
            entries = dropout.once(case, filled, halves)
            drawn = dropout.chances(
                torch.stack([dropout.once(case, run != 0, halves) for run in runs]), entries, p
            )
            if (dim := dropout.dependence(drawn, entries, p)) is not None:
                which = "other calls" if dim == 0 else "another one"
                self.wrong("fact", TOGETHER.format(which), case=case, actual=runs[0])
            totals += dropout.deviations(drawn, entries, p)
        if not dropout.counts_by_chance(totals):
            self.wrong("fact", COUNTED, case=case)

    def drops_something(self, group: str) -> None:
        """In training something is dropped: who does nothing earns nothing for it. Raises Wrong."""
        for case, expected, observed in self.answered(group):
            plain, dropped = (
                self.result(case, r, expected, observed) for r in ("plain", "dropped")
            )
            if not ((plain != 0) & (dropped == 0)).any():
                said = "in training nothing is dropped at all"
                self.wrong("fact", said, case=case, actual=dropped)

    def drops_gradients(self, group: str, name: str) -> None:
        """Gradients of `dropped` pass where an entry was kept, scaled like it, and nowhere else.

        name: the argument whose entries are dropped.
        """
        self.drops_something(group)
        for case, expected, observed in self.answered(group):
            dropped = self.result(case, "dropped", expected, observed)
            plain = self.result(case, "plain", expected, observed)
            plain = undropped(plain, dropped, expected, dropout.rate(case))
            gradient = self.result(case, f"gradient.{name}", expected, observed)
            passed = gradient.double() * plain
            if not torch.allclose(passed, dropped.double(), rtol=1e-3, atol=1e-6):
                if lost_in(plain, expected):
                    self.wrong("fact", ALREADY, case=case, actual=plain)
                problem = f"the gradient for `{name}` is not that of the entries that were kept"
                self.wrong("values", problem, case=case, actual=gradient)

    def agrees_on_keys(self, group: str, *keys: str) -> None:
        """The dicts returned have these keys with the reference's values (tuples or lists)."""
        for case, expected, observed in self.answered(group):
            got, want = (plain(seen.value("result")) for seen in (observed, expected))
            if not isinstance(got, dict) or not isinstance(want, dict):
                came = f"the result is {shown(observed, 'result')}"
                self.wrong("values", and_asked(came, "a dict is asked for"), case=case)
            if all(got.get(key) == want[key] and are_whole(got[key]) for key in keys):
                continue
            said = plain(observed.values["result"]["json"])
            told = said if isinstance(said, dict) else {}
            for key in keys:
                if got.get(key) != want[key]:
                    value = told.get(key, "…") if key in got else "missing"
                    self.wrong("values", f"`{key}` is {said_for_sizes(value)}", case=case)
                if not are_whole(got[key]):
                    problem = f"`{key}` is {told.get(key, '…')}; sizes are whole numbers"
                    self.wrong("values", problem, case=case)

    def keeps_order(self, group: str) -> None:
        """The dicts returned have the reference's keys in its order."""
        for case, expected, observed in self.answered(group):
            got, want = (plain(seen.value("result")) for seen in (observed, expected))
            if not isinstance(got, dict) or not isinstance(want, dict) or list(got) != list(want):
                told = plain(observed.values.get("result", {}).get("json"))
                problem = keys_differ(
                    names_of(told), names_of(want), self.attempt.references.hidden
                )
                self.wrong("fact", problem, case=case)

    def result(
        self, case: Case, name: str, expected: Observation, observed: Observation
    ) -> torch.Tensor:
        """One result, which has at least the shape of the reference. Raises Wrong if not."""
        actual, reference = observed.tensors.get(name), expected.tensors[name]
        if actual is not None and actual.shape == reference.shape:
            return actual
        kind = "absent" if actual is None else "shape"
        problem = describe(kind, name, case, reference, observed)
        self.wrong(kind, problem, case=case, actual=actual, expected=reference)

    def wrong(
        self,
        kind: str,
        problem: str,
        *,
        case: Case,
        where: str = "",
        actual: torch.Tensor | None = None,
        expected: torch.Tensor | None = None,
        differs: torch.Tensor | None = None,
        remarks: tuple[str, ...] = (),
        texts: tuple[str, str] | None = None,
        changes: str = "",
    ) -> NoReturn:
        """Raise Wrong, with the expected values only where the case is public."""
        if outside := read_outside(self.attempt.loaded, self.name, case).removeprefix("; "):
            remarks = (outside, *remarks)
        hidden = self.attempt.references.hidden
        called, problem = spoken(case, hidden), without_insides(problem, self._insides)
        told = Diagnosis(
            Kind(kind), problem, called, where, case.name, actual, None, remarks, changes
        )
        if hidden:
            raise Wrong(told)
        raise Wrong(PublicDiagnosis(**vars(told), expected=expected, differs=differs, texts=texts))


def places(gap: Disagreement, actual: torch.Tensor | None) -> str:
    """Where a result is wrong, or NaN."""
    if gap.kind == "nan" and actual is not None:
        return where_nan(actual.isnan())
    return "" if gap.differs is None else where_they_differ(gap.differs)


def is_one_number(tensor: torch.Tensor) -> bool:
    """Whether all entries are the same, as a single one always is."""
    return bool((tensor == tensor.flatten()[:1]).all())


def undropped(
    plain: torch.Tensor, dropped: torch.Tensor, expected: Observation, p: float
) -> torch.Tensor:
    """What entries were dropped of at a rate p: what the run without dropout gives.

    Or what it should give, where that is what was dropped of and only the run without is wrong.
    """
    right, kept = expected.tensors["plain"].to(plain), dropped != 0
    yours, due = (
        torch.allclose((1 - p) * dropped[kept], one.to(dropped)[kept], rtol=1e-4, atol=1e-6)
        for one in (plain, right)
    )
    return right if due and not yours else plain


def lost_in(plain: torch.Tensor, expected: Observation) -> bool:
    """Whether entries are 0 in the run without dropout that are not 0 in the reference's."""
    return bool(((expected.tensors["plain"].abs() > 1e-12) & (plain == 0)).any())


def is_refused(observed: Observation) -> bool:
    """Whether a case ended where an object was to be made."""
    return observed.error is not None and observed.error.verb == "construct"


def is_within(name: str) -> bool:
    """Whether a tensor lies within a value of another type, and is judged with that."""
    return "[" in name


def refused_otherwise(given: str, errors: Collection[str]) -> str:
    """That something was refused with an error of another kind."""
    asked = "a ValueError, or an assert," if set(errors) == REFUSALS else " or ".join(errors)
    return f"it is refused with {given}; {asked} is asked for"


NOT_THERE = "without dropout most of the entries are missing that could be dropped"
ALREADY = "where nothing is to be dropped, some entries are 0 already"
TOGETHER = (
    "what happens to an entry depends on {}; each entry of each call is dropped by a chance of "
    "its own"
)
COUNTED = (
    "always the same number of entries is dropped; by chance it is sometimes more, sometimes less"
)
# Where the line is known that does it, it takes the place of the first words.
CHANGED = "it changes the input `{}` in place; whoever called it still needs it"
ALTERED = "it changes `{}` itself; after the call that should hold what it held before"
REPEATED = {
    "calls": "every call drops the same entries, whatever the seed; each call should draw anew",
    "slices": "entries are dropped together, a row or a slice at a time; "
    "each entry is dropped on its own",
}


def stays_behind(left: object) -> str:
    """What to do about a tensor that is not where the module and its input are."""
    name = left if isinstance(left, str) and left.replace(".", "").isidentifier() else ""
    if name.startswith("self."):
        return (
            f"`{name}` stays on the CPU when the module is moved to another device, such as a GPU; "
            "register it as a buffer, and it goes along"
        )
    return (
        f"{f'`{name}`' if name else 'a tensor'} is made on the CPU, wherever the module and its "
        "input are; make it on the input's device (`device=`), or once, as a buffer"
    )


NO_PARAMETER = (
    "`{}` is a plain tensor and no nn.Parameter: an optimiser does not find it, so it never learns"
)
NO_BUFFER = {
    "parameters": "`{}` is a parameter, as what is learned; a buffer is asked for",
    "attributes": "`{}` is a plain attribute, which torch neither moves nor saves. "
    "A buffer is asked for",
    "nowhere": "the module keeps no buffer named `{}`",
}


def parameters_differ(want: dict, got: dict) -> str | None:
    """One sentence on how a module's parameters differ from those asked for."""
    missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
    if missing:
        there = ", ".join(f"`{name}`" for name in sorted(got)[:8]) or "none"
        return f"the module has no parameter `{missing[0]}`; it has {there}"
    if extra:
        return f"the module has a parameter `{extra[0]}` that is not asked for"
    for name in want:
        if got[name] != want[name]:
            shape = got[name][0] if isinstance(got[name], list) and got[name] else None
            if shape == want[name][0]:
                return f"parameter `{name}` does not learn, and is asked to: `requires_grad`"
            asked = told_shape(want[name][0])
            return f"parameter `{name}` has shape {told_shape(shape)}; {asked} is asked for"
    return None


def told_shape(told: object) -> str:
    """A shape that a learner's process claims, as far as it may be told; `?` where it is none."""
    return spoken_shape(told) if isinstance(told, list) else "?"


def describe(
    kind: str, name: str, case: Case, expected: torch.Tensor, observed: Observation
) -> str:
    """What is wrong, in words, with a result that disagrees in this way."""
    what, actual = spoken_result(name, case), observed.tensors.get(name)
    if actual is None:
        return absent(name, case, observed)
    if kind == "shape":
        size, asked = spoken_size(actual), spoken_shape(expected.shape)
        return f"{what} has {size} where {asked} is asked for{axes_of_one(actual, expected)}"
    if kind == "nan":
        return f"{what} contains NaN"
    return f"{what} {NOT_THE_VALUES}"


def spoken_size(tensor: torch.Tensor) -> str:
    """Return a result's shape in words.

    >>> spoken_size(torch.ones(3, 2)), spoken_size(torch.ones(0, 2))
    ('shape (3, 2)', 'no entries')
    """
    return f"shape {spoken_shape(tensor.shape)}" if tensor.numel() else "no entries"


def axes_of_one(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """What became of dimensions of size 1, where the shapes differ in nothing else.

    >>> axes_of_one(torch.ones(4, 3), torch.ones(1, 4, 3))
    '; a dimension of size 1 is gone'
    """
    if is_squeezed(actual, expected):
        return "; a dimension of size 1 is gone"
    return "; a dimension of size 1 is too many" if is_squeezed(expected, actual) else ""


def absent(name: str, case: Case, observed: Observation) -> str:
    """What came in the place of a tensor, in words."""
    whole, _, part = name.partition(".")
    parent, _, place = name.rpartition(".")
    if place.isdigit() and parent in observed.tensors:
        return f"{spoken_result(parent, case)} is one tensor; a tuple of several is asked for"
    if part.isdigit() and whole in observed.values and name not in observed.values:
        came = f"{spoken_result(whole, case)} is {shown(observed, whole)}"
        return and_asked(came, "a tuple of several is asked for")
    return f"{spoken_result(name, case)} is {shown(observed, name)}{asked_for(observed, name)}"


def came_otherwise(name: str, observed: Observation) -> bool:
    """Whether tensors came in a tensor's place, in one or in parts: there is none to compare."""
    whole = name.partition(".")[0]
    return any(other == whole or other.startswith(f"{name}.") for other in observed.tensors)


def spoken_result(name: str, case: Case) -> str:
    """How a result of a case is called in a sentence: never by a name that only we know."""
    if is_within(name):
        return f"`{name}`"
    for step in case.steps:
        if step["verb"] == "read" and f"{name}.".startswith(f"{step['as']}."):
            return part_of(name.removeprefix(step["as"]), f"`{step['as']}`")
        if step.get("printed") == name:
            return "what it prints"
    whole, _, part = name.partition(".")
    if whole == "gradient":
        return f"{OF_A_GRADIENT} `{part}`"
    if whole == "afterwards":
        return f"`{part}`, after the call,"
    verbs = {step["as"]: step["verb"] for step in case.steps if "as" in step}
    if kept := OF_PARAMETERS.get(verbs.get(whole, "")):
        return f"{kept} `{part}`{of_which_object(whole, case)}"
    return part_of(part, f"the result{of_which_call(whole, case)}")


def of_which_object(name: str, case: Case) -> str:
    """Whose parameters were kept under a name, and since when, where a learner has a name for it.

    Where they were looked at before, what has got other weights by now is told too.
    """
    at = next(n for n, step in enumerate(case.steps) if step.get("as") == name)
    looked, owner = case.steps[at], passed_as(case, case.steps[at]["on"])
    if not owner:
        return "" if name in ("module", "grad") else f" of `{name}`"
    alike = [n for n in range(at) if is_look_at(looked["on"], case.steps[n])]
    since = case.steps[alike[-1] : at] if alike else ()
    loaded = [passed_as(case, step["on"]) for step in since if step["verb"] == "load"]
    return f" of `{owner}`" + "".join(f", after `{other}` got other weights," for other in loaded)


def is_look_at(handle: str, step: dict) -> bool:
    """Whether a step keeps what an object is made of."""
    return step["verb"] == "describe" and step["on"] == handle


OF_PARAMETERS = {"describe": "the parameter", "gradients": "the gradient of the parameter"}


def not_the_same(name: str, case: Case) -> str:
    """That a result should have been another one's equal, and what alone was different."""
    twins = {step["as"] for step in case.steps if step["verb"] == "duplicate"}
    calls = {step["as"]: step for step in case.steps if step["verb"] == "call"}
    call = calls.get(name.partition(".")[0], {})
    if call.get("on") in twins:
        return (
            "a deep copy, and a module that the copy's state is loaded into, give different results"
        )
    if call.get("no_grad"):
        return f"{spoken_result(name, case)} is another one inside `torch.no_grad()`"
    what = "how its inputs lie in memory" if call.get("scattered") else "what changed"
    said = f"{spoken_result(name, case)} is not what it was before"
    return f"{said}; {what} should make no difference"


def without_insides(problem: str, insides: set[str]) -> str:
    """A sentence in which what is inside a stand-in is not called by its name there.

    >>> without_insides("it has no parameter `rows.0.mix.w`; it has `w`", {"w"})
    'it lacks a weight of `rows.0.mix` (is all it needs handed on to it?); it has `w`'
    >>> without_insides("the gradient for `mix.w` is missing", {"w"})
    'the gradient for a weight of `mix` is missing'
    """
    for name in insides:
        inside = rf"`([\w.]+)\.{re.escape(name)}`"
        lost = rf"\bhas no parameter {inside}(, so this could not be given its values)?"
        problem = re.sub(
            lost, r"lacks a weight of `\1` (is all it needs handed on to it?)", problem
        )
        problem = re.sub(rf"\bparameter {inside}", r"weight of `\1`", problem)
        problem = re.sub(inside, r"a weight of `\1`", problem)
    return re.sub(r"(a weight of `[\w.]+`)(?:, \1)+", r"\1", problem)


def part_of(path: str, whole: str) -> str:
    """`the first part of …` for the path `0` in a result, `[1][0]` of it for a part of a part.

    >>> part_of("0", "the result"), part_of("1.0", "the result")
    ('the first part of the result', '`[1][0]` of the result')
    """
    places = [int(place) for place in path.split(".") if place.isdigit()]
    if len(places) < 2:
        return "".join(f"the {counted_off(place)} part of " for place in places) + whole
    return f"`{''.join(f'[{place}]' for place in places)}` of {whole}"


def of_which_call(name: str, case: Case) -> str:
    """Which of a case's calls gave a result, and in what mode; nothing where there is but one."""
    modes, calls = "", {}
    for step in case.steps:
        if step["verb"] == "mode":
            modes = ", in training" if step["training"] else ", in evaluation"
        elif step["verb"] == "call":
            calls[step["as"]] = modes
    if len(calls) < 2 or name not in calls:
        return ""
    which, mode = counted_off(list(calls).index(name)), calls[name]
    return f" of the {which} call{mode}" + "," * bool(mode)


def counted_off(place: int) -> str:
    """`first` for 0, and so on."""
    return COUNTED_OFF[place] if place < len(COUNTED_OFF) else f"{place + 1}th"


COUNTED_OFF = ("first", "second", "third", "fourth", "fifth")


def shown(observed: Observation, name: str) -> str:
    """What came back where something else was asked for."""
    if name.startswith("gradient."):
        return NO_WAY_BACK
    parts = sum(other.startswith(f"{name}.") for other in observed.tensors)
    if parts:
        return f"a tuple or list of {parts} tensor{'s' * (parts > 1)}"
    value = observed.values.get(name) or observed.values.get(name.split(".")[0])
    if value is None:
        return "missing"
    told = value.get("json")
    if value.get("type") == "NoneType":
        called = "changed" in observed.facts.get(name.split(".")[0], {})
        return "None: does it end in a `return` with a value?" if called else "None"
    if kind(told) == "dict":
        return f"a dict with the keys {', '.join(names_of(plain(told)))[:200]}"
    if str(value.get("type")).endswith(" tensor"):  # one that cannot be stored as plain numbers
        return f"a {value.get('type')}"
    if kind(told) in ("none", "unjudged"):
        return f"an object of type {value.get('type')}"
    return f"{value_shown(told)[:200]} ({value.get('type')})"


def keys_differ(told: list[str], want: list[str], hidden: bool) -> str:
    """A sentence about a dict's keys. On a hidden case a right key may be a part of the answer."""
    asked = f"asked for are {', '.join(want)}"
    if hidden and not set(want) <= set(told):
        asked = "these, or their order, are not right"
    return f"the keys are {', '.join(told) or 'missing'}; {asked}"


def said_for_sizes(value: object) -> str:
    """What stands under a key in place of sizes, as far as it may be told.

    >>> said_for_sizes([2, 6]), said_for_sizes("(b, n)"), said_for_sizes("…")
    ('(2, 6)', "the text '(b, n)', and no sizes", 'not what it should be')
    """
    if not any(map(str.isalnum, str(value))):
        return "not what it should be"
    if isinstance(value, str) and value != "missing":
        return f"the text {value!r}, and no sizes"
    return str(tuple(value) if isinstance(value, list) else value)


def are_whole(sizes: Iterable[object]) -> bool:
    """Whether sizes are whole numbers, and no truths or floats that equal them."""
    return all(type(size) is int for size in sizes)


def names_of(value: object) -> list[str]:
    """The keys of a dict; of anything else none."""
    return list(value) if isinstance(value, dict) else []


def and_asked(came: str, asked: str) -> str:
    """What came, and what is asked for; nothing more where that ends in a question."""
    return came if came.endswith("?") else f"{came}; {asked}"


def asked_for(observed: Observation, name: str) -> str:
    """That a tensor should have come, where something else did."""
    other = observed.values.get(name, {}).get("type", "NoneType") != "NoneType" and "." not in name
    parts = any(result.startswith(f"{name}.") for result in observed.tensors)
    return "; one tensor is asked for" if other or parts else ""


def is_no_parameter(weight: str, seen: Iterable[Seen]) -> bool:
    """Whether a module keeps a weight as a plain tensor, as far as any case tells."""
    return any(
        weight in observed.fact(name, "attributes", default=[])
        for _, _, observed in seen
        for name in observed.facts
    )
