"""The checks that a test can make on one exercise of an attempt. Each raises Wrong or passes.

def test_values(attempt):
    \"\"\"Every row is divided by its sum.\"\"\"
    attempt.normalise.agrees("values")
"""

from collections.abc import Collection, Iterable
from itertools import filterfalse
from typing import NoReturn

import torch
from torch import nn

from ..exchange.cases import Case, passed_as, spoken
from ..exchange.observation import REFUSALS, Observation, Outcome, strings
from ..exchange.references import Seen
from ..exchange.values import kind, plain
from ..exchange.values import shown as value_shown
from ..messages import checks as say
from ..messages import results as naming
from ..messages.message import Message, Plain
from ..recognition import dropout
from ..recognition.imprints import echoed, results_in
from ..recognition.operations import arithmetic, grows
from ..recognition.singletons import is_squeezed
from ..runner.second_device import TwoDevices
from .agreement import Disagreement, disagreement, where_nan, where_they_differ
from .diagnosis import Diagnosis, Kind, PublicDiagnosis, Wrong
from .judged import JudgedAttempt
from .remarks import remarks
from .unanswered import holder_of, lost_weights, read_outside, why_it_ended, why_it_raised
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
                self.wrong("values", say.TooManyResults(got, most), case=case)

    def compare_value(
        self, case: Case, name: str, expected: Observation, observed: Observation, strict: bool
    ) -> None:
        """A value that is no tensor against the reference. Raises Wrong where they disagree."""
        gap = ValueJudge(expected, observed, self.attempt.tolerances, strict).gap(name)
        if gap is None:
            return
        if not gap.steps and observed.value(name) is None:
            came = say.CameInstead(self.result_name(name, case), shown(observed, name))
            self.wrong("values", came, case=case, texts=side_by_side(gap))
        if gap.tensors:
            self.compare(
                case, gap.expected["tensor"], expected.tensors[gap.expected["tensor"]], observed
            )
        hidden = self.attempt.references.hidden
        what = naming.Quoted(name + gap.place) if gap.place else self.result_name(name, case)
        problem = said_in_secret(gap, what) if hidden else said_in_public(gap, what)
        texts = side_by_side(gap)
        self.wrong("values", problem, case=case, where=self.right_in, texts=texts)

    def has_types(self, case: Case, expected: Observation, observed: Observation) -> None:
        """Tensors come in a list where a list is asked for, in a tuple where that is."""
        for name, facts in expected.facts.items():
            got = observed.facts.get(name, {}).get("type")
            if f"{name}.0" in expected.tensors and got != facts.get("type"):
                what = self.result_name(name, case)
                self.wrong("values", say.WrongContainer(what, str(got), facts["type"]), case=case)

    def compare(self, case: Case, name: str, expected: torch.Tensor, observed: Observation) -> None:
        """One result against the reference. Raises Wrong where they disagree."""
        actual = observed.tensors.get(name)
        gap = disagreement(actual, expected, self.attempt.tolerances)
        if gap is None:
            return
        if lost := lost_weights(case, observed, self._insides):
            self.wrong("fact", lost, case=case)
        whole, _, weight = name.partition(".")
        if actual is None and whole == "gradient" and is_no_parameter(weight, self.seen):
            problem = say.PlainTensor(self.weight_name(weight))
            self.wrong("absent", problem, case=case, expected=expected)
        self.wrong(
            gap.kind,
            self.disagrees(gap.kind, name, case, expected, observed),
            case=case,
            where=None if gap.differs is None else self.right_in or places(gap, actual),
            actual=actual,
            expected=None if actual is None and came_otherwise(name, observed) else expected,
            differs=gap.differs,
            remarks=self._mixed_up(case, name, actual)
            or remarks(case, actual, expected, self.attempt.references.hidden),
        )

    def _mixed_up(self, case: Case, name: str, actual: torch.Tensor | None) -> tuple[Message, ...]:
        """Return a remark on a result that is another one of the case; on public cases only."""
        if self.attempt.references.hidden or actual is None or actual.unique().numel() < 2:
            return ()
        right = next(seen.expected.tensors for seen in self.seen if seen.case.id == case.id)
        whole = name.partition(".")[0]
        meant = (
            other
            for other in sorted(right, key=lambda other: other.partition(".")[0] != whole)
            if other != name and not disagreement(actual, right[other], self.attempt.tolerances)
        )
        return tuple(say.IsAnotherResult(self.result_name(other, case)) for other in meant)[:1]

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
    def right_in(self) -> Message | None:
        """Return in which cases the values are right; None if there is no pattern."""
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
                    self.wrong("fact", say.ChangesInput(changed[0]), case=case)
                altered = strings(observed.fact(name, "altered", default=[]))
                if objects and altered:
                    self.wrong("fact", say.ChangesInput(altered[0], itself=True), case=case)

    def something_came_back(self, case: Case, expected: Observation, observed: Observation) -> None:
        """Doing nothing changes no input either, and earns nothing. Raises Wrong."""
        for name in expected.tensors:
            if name.startswith("gradient.") or is_within(name):
                continue
            result = self.result(case, name, expected, observed)
            if echoed(case, result) and not echoed(case, expected.tensors[name]):
                said = say.HandedBack(self.result_name(name, case))
                self.wrong("values", said, case=case, actual=result)
        judge = ValueJudge(expected, observed, self.attempt.tolerances)
        for name in expected.values:
            want, got = expected.value(name), observed.value(name)
            if not judge.same_type(want, got):
                self.compare_value(case, name, expected, observed, strict=False)
            if hands_back(case, got) and not hands_back(case, want):
                self.wrong("values", say.HandedBack(self.result_name(name, case)), case=case)

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
                    self.wrong(gap.kind, self.not_the_same(name, case), case=case, actual=other)
            judge = ValueJudge(observed, observed, self.attempt.tolerances)
            for name in expected.values:
                pair = observed.value("result"), observed.value(name)
                if judge.between(*pair, pair):
                    self.wrong("values", self.not_the_same(name, case), case=case)

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
                weight = self.weight_name(name.removeprefix(module + "."))
                if not start.isfinite().all() or is_one_number(start):
                    self.wrong("values", say.StartsWithOneNumber(weight), case=case)
                other, before = starts.setdefault(name, (reference, start))
                if torch.equal(before, start) and not torch.equal(other, reference):
                    self.wrong("values", say.SetsASeed(weight), case=case)

    def keeps_dtype(self, group: str) -> None:
        """Results, and all parts of them, have the dtype of the reference."""
        for case, expected, observed in self.answered(group):
            for name in results_in(expected):
                want = expected.tensors[name].dtype
                got = self.result(case, name, expected, observed).dtype
                if got != want:
                    what = self.result_name(name, case)
                    self.wrong("fact", say.WrongDtype(what, str(got), str(want)), case=case)

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
            raise Wrong(Diagnosis(Kind.FACT, Plain(problem), share=share))

    def does_not_grow(self, group: str, problem: str) -> None:
        """The call named `many` needs no more operations than the one named `few`.

        Both must have come to numbers of the right shape: what computes nothing has no loop either.
        """
        for case, expected, observed in self.answered(group):
            results = {
                name: self.result(case, name, expected, observed) for name in expected.tensors
            }
            if nan := [name for name, result in results.items() if result.isnan().any()]:
                self.wrong("nan", say.ContainsNaN(self.result_name(nan[0], case)), case=case)
            few, many = (observed.fact(r, "operations", default={}) for r in ("few", "many"))
            if grows(few, many) or not arithmetic(few):
                said = say.GrowingOperations(Plain(problem), arithmetic(few), arithmetic(many))
                self.wrong("fact", said, case=case)

    def has_parameters(self, group: str, module: str = "module") -> None:
        """Exactly the parameters of the reference: names, shapes, and that they can learn."""
        for case, expected, observed in self.answered(group):
            want = expected.facts[module]["parameters"]
            got = observed.fact(module, "parameters", default={})
            if problem := self.parameters_differ(want, got):
                self.wrong("fact", problem, case=case)

    def has_buffer(self, group: str, name: str) -> None:
        """A tensor of that name is a buffer: no parameter and no plain attribute."""
        for case, expected, observed in self.answered(group):
            place = observed.home("module", name)
            if place != "buffers":
                self.wrong("fact", say.NoBuffer(name, place), case=case)
            want = expected.facts["module"]["buffers"][name][0]
            got = next(iter(observed.fact("module", "buffers", name, default=[])), None)
            # (1, n, n) serves as well as (n, n).
            if not isinstance(got, list) or got[-len(want) :] != want:
                self.wrong(
                    "fact", say.BufferShape(name, claimed_shape(got), tuple(want)), case=case
                )

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
                place = self.attempt.place(error.line) if error.line else ""
                self.wrong("fact", say.StaysOnCPU(dotted_name(left), place), case=case)

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
                asked = () if set(errors) == REFUSALS else tuple(errors)
                self.wrong("fact", say.RefusedOtherwise(error.type, asked), case=case)
            if error is None or error.verb != verb:
                self.wrong("fact", problem, case=case)
        others = [
            seen for seen in self.seen if not (seen.case.group == group or seen.expected.error)
        ]
        if others and all(is_refused(seen.observed) for seen in others):
            self.wrong("fact", say.CannotBeMade(), case=others[0].case)
        if others and all(seen.observed.error for seen in others):
            self.wrong("fact", say.RefusesEverything(), case=others[0].case)

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
                lost = lost_in(plain, expected)
                said = say.AlreadyZero() if lost else say.NotEnoughToDrop()
                self.wrong("values", said, case=case, actual=plain)
            behaviours = [(run, dropout.behaviour(plain, run)) for run in runs]
            problem = REPEATED.get(dropout.repeats(case, plain, *runs))
            if problem and all(0 < behaviour.zeros < 1 for _, behaviour in behaviours):
                self.wrong("fact", problem, case=case, actual=runs[0])
            for run, behaviour in behaviours:
                if not dropout.looks_like(behaviour, p, int(filled.sum()) // halves):
                    lost = lost_in(plain, expected)
                    problem = say.AlreadyZero() if lost else dropout.sentence(behaviour, p)
                    self.wrong("fact", problem, case=case, actual=run)
            entries = dropout.once(case, filled, halves)
            drawn = dropout.chances(
                torch.stack([dropout.once(case, run != 0, halves) for run in runs]), entries, p
            )
            if (dim := dropout.dependence(drawn, entries, p)) is not None:
                self.wrong("fact", say.DroppedTogether(calls=dim == 0), case=case, actual=runs[0])
            totals += dropout.deviations(drawn, entries, p)
        if not dropout.counts_by_chance(totals):
            self.wrong("fact", say.AlwaysAsMany(), case=case)

    def drops_something(self, group: str) -> None:
        """In training something is dropped: who does nothing earns nothing for it. Raises Wrong."""
        for case, expected, observed in self.answered(group):
            plain, dropped = (
                self.result(case, r, expected, observed) for r in ("plain", "dropped")
            )
            if not ((plain != 0) & (dropped == 0)).any():
                self.wrong("fact", say.NothingDropped(), case=case, actual=dropped)

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
                    self.wrong("fact", say.AlreadyZero(), case=case, actual=plain)
                self.wrong("values", say.GradientOfDropped(name), case=case, actual=gradient)

    def agrees_on_keys(self, group: str, *keys: str) -> None:
        """The dicts returned have these keys with the reference's values (tuples or lists)."""
        for case, expected, observed in self.answered(group):
            got, want = (plain(seen.value("result")) for seen in (observed, expected))
            if not isinstance(got, dict) or not isinstance(want, dict):
                came = say.CameInstead(naming.Result(), shown(observed, "result"), "a dict")
                self.wrong("values", came, case=case)
            if all(got.get(key) == want[key] and are_whole(got[key]) for key in keys):
                continue
            said = plain(observed.values["result"]["json"])
            told = said if isinstance(said, dict) else {}
            for key in keys:
                if got.get(key) != want[key]:
                    value = told.get(key, "…") if key in got else "missing"
                    self.wrong("values", say.KeyIs(key, said_for_sizes(value)), case=case)
                if not are_whole(got[key]):
                    there = str(told.get(key, "…"))
                    self.wrong("values", say.NotIntegers(key, there), case=case)

    def keeps_order(self, group: str) -> None:
        """The dicts returned have the reference's keys in its order."""
        for case, expected, observed in self.answered(group):
            got, want = (plain(seen.value("result")) for seen in (observed, expected))
            if not isinstance(got, dict) or not isinstance(want, dict) or list(got) != list(want):
                told = plain(observed.values.get("result", {}).get("json"))
                keys, asked = tuple(names_of(told)), tuple(names_of(want))
                # On a hidden case a right key may be a part of the answer.
                secret = self.attempt.references.hidden and not set(asked) <= set(keys)
                self.wrong("fact", say.WrongKeys(keys, () if secret else asked), case=case)

    def result(
        self, case: Case, name: str, expected: Observation, observed: Observation
    ) -> torch.Tensor:
        """One result, which has at least the shape of the reference. Raises Wrong if not."""
        actual, reference = observed.tensors.get(name), expected.tensors[name]
        if actual is not None and actual.shape == reference.shape:
            return actual
        kind = "absent" if actual is None else "shape"
        problem = self.disagrees(kind, name, case, reference, observed)
        self.wrong(kind, problem, case=case, actual=actual, expected=reference)

    def disagrees(
        self, kind: str, name: str, case: Case, expected: torch.Tensor, observed: Observation
    ) -> Message:
        """Return what is wrong with a result that disagrees in this way."""
        what, actual = self.result_name(name, case), observed.tensors.get(name)
        if actual is None:
            return self.absent(name, case, observed)
        if kind == "shape":
            axis = axis_of_one(actual, expected)
            return say.WrongShape(what, tuple(actual.shape), tuple(expected.shape), axis)
        return say.ContainsNaN(what) if kind == "nan" else say.NotTheValues(what)

    def absent(self, name: str, case: Case, observed: Observation) -> Message:
        """Return what came in the place of a tensor."""
        whole, _, part = name.partition(".")
        parent, _, place = name.rpartition(".")
        if place.isdigit() and parent in observed.tensors:
            return say.CameInstead(self.result_name(parent, case), say.OneTensor(), SEVERAL)
        if part.isdigit() and whole in observed.values and name not in observed.values:
            return say.CameInstead(self.result_name(whole, case), shown(observed, whole), SEVERAL)
        other = observed.values.get(name, {}).get("type", "NoneType") != "NoneType"
        parts = any(result.startswith(f"{name}.") for result in observed.tensors)
        asked = "one tensor" if (other and "." not in name) or parts else ""
        return say.CameInstead(self.result_name(name, case), shown(observed, name), asked)

    def parameters_differ(self, want: dict, got: dict) -> Message | None:
        """Return how a module's parameters differ from those asked for; None if they do not."""
        missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
        if missing:
            there = tuple(map(self.weight_name, sorted(got)[:MOST_NAMES]))
            return say.MissingParameter(self.weight_name(missing[0]), there)
        if extra:
            return say.ExtraParameter(self.parameter(extra[0]))
        for name in (name for name in want if got[name] != want[name]):
            shape = got[name][0] if isinstance(got[name], list) and got[name] else None
            if shape == want[name][0]:
                return say.DoesNotLearn(self.parameter(name))
            asked = tuple(want[name][0])
            return say.ParameterShape(self.parameter(name), claimed_shape(shape), asked)
        return None

    def not_the_same(self, name: str, case: Case) -> Message:
        """Return that a result should have equalled another one, and what alone was different."""
        twins = {step["as"] for step in case.steps if step["verb"] == "duplicate"}
        calls = {step["as"]: step for step in case.steps if step["verb"] == "call"}
        call = calls.get(name.partition(".")[0], {})
        if call.get("on") in twins:
            return say.CopyDiffers()
        what = self.result_name(name, case)
        if call.get("no_grad"):
            return say.DiffersWithoutGradients(what)
        return say.NotTheSame(what, scattered=bool(call.get("scattered")))

    def result_name(self, name: str, case: Case) -> Message:
        """Return what a result of a case is called: never a name that learners have not seen."""
        if is_within(name):
            return naming.Quoted(name)
        for step in case.steps:
            if step["verb"] == "read" and f"{name}.".startswith(f"{step['as']}."):
                return part_of(name.removeprefix(step["as"]), naming.Quoted(step["as"]))
            if step.get("printed") == name:
                return naming.Printed()
        whole, _, part = name.partition(".")
        if whole == "gradient":
            return naming.GradientOf(self.weight_name(part))
        if whole == "afterwards":
            return naming.AfterCall(part)
        verbs = {step["as"]: step["verb"] for step in case.steps if "as" in step}
        if verbs.get(whole) in ("describe", "gradients"):
            owner, reloaded = owner_of(whole, case)
            gradient = verbs[whole] == "gradients"
            return naming.KeptParameter(self.parameter(part), gradient, owner, reloaded)
        return part_of(part, naming.Result(*call_of(whole, case)))

    def weight_name(self, name: str) -> naming.WeightName:
        """Return a parameter's name, or what it is inside of if learners have not seen its name."""
        return naming.WeightName(name, holder_of(name, self._insides))

    def parameter(self, name: str) -> naming.Parameter:
        """Return the same with the word `parameter`."""
        return naming.Parameter(name, holder_of(name, self._insides))

    def wrong(
        self,
        kind: str,
        problem: Message | str,
        *,
        case: Case,
        where: Message | None = None,
        actual: torch.Tensor | None = None,
        expected: torch.Tensor | None = None,
        differs: torch.Tensor | None = None,
        remarks: tuple[Message, ...] = (),
        texts: tuple[str, str] | None = None,
    ) -> NoReturn:
        """Raise Wrong, with the expected values only if the case is public.

        problem: a message, or a sentence of the course's own checks.
        """
        if outside := read_outside(self.attempt.loaded, self.name, case):
            remarks = (outside, *remarks)
        hidden = self.attempt.references.hidden
        problem = Plain(problem) if isinstance(problem, str) else problem
        told = Diagnosis(
            Kind(kind), problem, spoken(case, hidden), where, case.name, actual, None, remarks
        )
        if hidden:
            raise Wrong(told)
        raise Wrong(PublicDiagnosis(**vars(told), expected=expected, differs=differs, texts=texts))


def places(gap: Disagreement, actual: torch.Tensor | None) -> Message | None:
    """Return where a result is wrong, or NaN."""
    if gap.kind == "nan" and actual is not None:
        return where_nan(actual.isnan())
    return None if gap.differs is None else where_they_differ(gap.differs)


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


SEVERAL = "a tuple of several"
MOST_NAMES = 8  # of a module's parameters, in one sentence
REPEATED = {"calls": say.SameDropsInEveryCall(), "slices": say.WholeSlicesDropped()}


def dotted_name(left: object) -> str:
    """Return a name that a learner's process claims; nothing if it is none."""
    return left if isinstance(left, str) and left.replace(".", "").isidentifier() else ""


def claimed_shape(told: object) -> tuple | None:
    """Return a shape that a learner's process claims; None if it is none."""
    return tuple(told) if isinstance(told, list) else None


def axis_of_one(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return what became of a dimension of size 1, if the shapes differ in nothing else.

    >>> axis_of_one(torch.ones(4, 3), torch.ones(1, 4, 3))
    'gone'
    """
    if is_squeezed(actual, expected):
        return "gone"
    return "too many" if is_squeezed(expected, actual) else ""


def came_otherwise(name: str, observed: Observation) -> bool:
    """Whether tensors came in a tensor's place, in one or in parts: there is none to compare."""
    whole = name.partition(".")[0]
    return any(other == whole or other.startswith(f"{name}.") for other in observed.tensors)


def owner_of(name: str, case: Case) -> tuple[str, tuple[str, ...]]:
    """Return whose parameters a result holds, and what got other weights since the last look.

    The owner is what a learner calls the object; nothing for the only object of a case.
    """
    at = next(n for n, step in enumerate(case.steps) if step.get("as") == name)
    looked = case.steps[at]
    owner = passed_as(case, looked["on"])
    if not owner:
        return "" if name in ("module", "grad") else name, ()
    before = [n for n in range(at) if is_look_at(looked["on"], case.steps[n])]
    since = case.steps[before[-1] : at] if before else ()
    return owner, tuple(passed_as(case, step["on"]) for step in since if step["verb"] == "load")


def is_look_at(handle: str, step: dict) -> bool:
    """Return True if a step keeps what an object is made of."""
    return step["verb"] == "describe" and step["on"] == handle


def part_of(path: str, whole: Message) -> Message:
    """Return what a part of a result is called; the result itself for an empty path.

    >>> part_of("1.0", naming.Result())
    PartOf(whole=Result(call=None, mode=''), places=(1, 0))
    """
    places = tuple(int(place) for place in path.split(".") if place.isdigit())
    return naming.PartOf(whole, places) if places else whole


def call_of(name: str, case: Case) -> tuple[int | None, str]:
    """Return which of several calls gave a result, and in what mode; (None, "") if there is one."""
    mode, modes = "", {}
    for step in case.steps:
        if step["verb"] == "mode":
            mode = "training" if step["training"] else "evaluation"
        elif step["verb"] == "call":
            modes[step["as"]] = mode
    if len(modes) < 2 or name not in modes:
        return None, ""
    return list(modes).index(name), modes[name]


def shown(observed: Observation, name: str) -> Message:
    """Return what came back instead of what is asked for."""
    if name.startswith("gradient."):
        return say.NoGradient()
    if parts := sum(other.startswith(f"{name}.") for other in observed.tensors):
        return say.SeveralTensors(parts)
    value = observed.values.get(name) or observed.values.get(name.split(".")[0])
    if value is None:
        return say.NothingCame()
    told, of_type = value.get("json"), str(value.get("type"))
    if of_type == "NoneType":
        return say.NoneReturned("changed" in observed.facts.get(name.split(".")[0], {}))
    if kind(told) == "dict":
        return say.DictWithKeys(tuple(map(str, names_of(plain(told)))))
    if of_type.endswith(" tensor"):
        return say.SomeTensor(of_type)
    if kind(told) in ("none", "unjudged"):
        return say.SomeObject(of_type)
    return say.SomeValue(value_shown(told), of_type)


def said_for_sizes(value: object) -> Message:
    """Return what stands under a key in place of sizes, as far as it may be shown.

    >>> said_for_sizes([2, 6]), said_for_sizes("…")
    (OtherSizes(value='(2, 6)'), NotAsItShouldBe())
    """
    if not any(map(str.isalnum, str(value))):
        return say.NotAsItShouldBe()
    if isinstance(value, str) and value != "missing":
        return say.TextForSizes(value)
    return say.OtherSizes(str(tuple(value) if isinstance(value, list) else value))


def are_whole(sizes: Iterable[object]) -> bool:
    """Whether sizes are whole numbers, and no truths or floats that equal them."""
    return all(type(size) is int for size in sizes)


def names_of(value: object) -> list[str]:
    """The keys of a dict; of anything else none."""
    return list(value) if isinstance(value, dict) else []


def is_no_parameter(weight: str, seen: Iterable[Seen]) -> bool:
    """Whether a module keeps a weight as a plain tensor, as far as any case tells."""
    return any(
        weight in observed.fact(name, "attributes", default=[])
        for _, _, observed in seen
        for name in observed.facts
    )
