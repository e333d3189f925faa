"""The checks that a test can make on one exercise of an attempt. Each raises Wrong or passes.

    def test_values(attempt):
        \"\"\"softmax gives the exponentials over their sum.\"\"\"
        attempt.softmax.agrees("values")
"""

import torch

from ..cases import Case, spoken, spoken_shape
from ..diagnosis import Diagnosis, OpenDiagnosis, Wrong
from ..observation import Observation
from . import dropout
from .agreement import Disagreement, disagreement
from .digest import halves_agree, home, is_refusal, rate, repeats
from .lost_weights import lost_weights
from .operations import arithmetic, grows, uses
from .places import where_they_differ
from .remarks import remarks
from .unanswered import is_unwritten, why_unanswered


class Checks:
    """Mixed into an exercise's attempt, which has `seen`, `name`, and the `attempt` it is of."""

    def group(self, group: str) -> list[tuple[Case, Observation, Observation]]:
        """The cases of a group, each with what is expected and what was seen."""
        found = [entry for entry in self.seen if entry[0].group == group]
        assert found, f"{self.name} has no cases in the group {group!r}"
        return found

    def answered(self, group: str) -> list[tuple[Case, Observation, Observation]]:
        """The cases of a group. Raises Wrong where one got no answer, or an error instead."""
        for case, _, observed in self.group(group):
            if observed.status != "answered" or observed.error:
                raise Wrong(why_unanswered(self, case, observed))
        return self.group(group)

    def agrees(self, group: str, only: str = "") -> None:
        """Every result of every case in the group agrees with the reference.

        only: judge results whose name starts so (`gradient` for gradients alone).
        """
        for case, expected, observed in self.answered(group):
            for name in sorted(expected.tensors):
                if name.startswith(only):
                    self.compare(case, name, expected.tensors[name], observed)
            for name, value in expected.values.items():
                if observed.values.get(name) != value:
                    self.wrong("values", f"the result is {shown(observed, name)}", case=case)
        if not only:
            self.gives_no_more(group)

    def gives_no_more(self, group: str) -> None:
        """No more results come back than the reference gives: unpacking them would fail."""
        for case, expected, observed in self.answered(group):
            most, got = (sum(name.startswith("result.") for name in (*seen.tensors, *seen.values))
                         for seen in (expected, observed))
            if got > most:
                self.wrong("values", f"{got} results come back; {most} are asked for", case=case)

    def compare(self, case: Case, name: str, expected, observed: Observation) -> None:
        """One result against the reference. Raises Wrong where they disagree."""
        actual = observed.tensors.get(name)
        found = disagreement(actual, expected, self.attempt.tolerances)
        if found is None:
            return
        said, where = describe(found, name, actual, expected, observed)
        if lost := lost_weights(observed):
            self.wrong("fact", lost, case=case)
        self.wrong(found.kind, said, case=case, where=where, actual=actual, expected=expected,
                   differs=found.differs,
                   remarks=remarks(case, actual, expected, self.attempt.references.hidden))

    def keeps_inputs(self, *groups: str) -> None:
        """No call of any of these groups changed a tensor that it was given, and each gave a result."""
        for case, expected, observed in (entry for group in groups for entry in self.answered(group)):
            self.something_came_back(case, expected, observed)
            for name in observed.facts:
                if changed := observed.fact(name, "changed", default=[]):
                    said = f"it changes its input `{changed[0]}` in place; whoever called it still needs it"
                    self.wrong("fact", said, case=case)

    def something_came_back(self, case: Case, expected: Observation, observed: Observation) -> None:
        """Doing nothing changes no input either, and earns nothing. Raises Wrong."""
        results = [name for name in expected.tensors if not name.startswith("gradient.")]
        if not any(name in observed.tensors for name in results):
            said, _ = describe(Disagreement("absent"), results[0], None, None, observed)
            self.wrong("absent", said, case=case)

    def keeps_dtype(self, group: str) -> None:
        """Results have the dtype of the reference."""
        for case, expected, observed in self.answered(group):
            want = expected.tensors["result"].dtype
            got = self.result(case, "result", expected, observed).dtype
            if got != want:
                self.wrong("fact", f"the result is {got}; {want} is asked for", case=case)

    def avoids(self, group: str, calls: set[str], said: str) -> None:
        """None of these calls was made in a watched call."""
        for case, _, observed in self.answered(group):
            if uses(observed.fact("result", "operations", default={}), calls):
                self.wrong("fact", said, case=case)

    def does_not_grow(self, group: str, said: str) -> None:
        """The call named `many` needs no more operations than the one named `few`.

        Both must have come to numbers of the right shape: what computes nothing has no loop either.
        """
        for case, expected, observed in self.answered(group):
            results = {name: self.result(case, name, expected, observed) for name in expected.tensors}
            if nan := [name for name, result in results.items() if result.isnan().any()]:
                self.wrong("nan", f"{spoken_result(nan[0])} contains NaN", case=case)
            few, many = (observed.fact(r, "operations", default={}) for r in ("few", "many"))
            if grows(few, many) or not arithmetic(few):
                said = f"{said} ({arithmetic(few)} operations became {arithmetic(many)})"
                self.wrong("fact", said, case=case)

    def has_parameters(self, group: str, module: str = "module") -> None:
        """Exactly the parameters of the reference: names, shapes, and that they can learn."""
        for case, expected, observed in self.answered(group):
            want = expected.facts[module]["parameters"]
            got = observed.fact(module, "parameters", default={})
            if said := parameters_differ(want, got):
                self.wrong("fact", said, case=case)

    def has_buffer(self, group: str, name: str) -> None:
        """A tensor of that name is a buffer: no parameter and no plain attribute."""
        for case, expected, observed in self.answered(group):
            place = home(observed, "module", name)
            if place != "buffers":
                self.wrong("fact", BUFFER_SAID[place].format(name), case=case)
            want = expected.facts["module"]["buffers"][name][0]
            got = next(iter(observed.fact("module", "buffers", name, default=[])), None)
            if not isinstance(got, list) or got[-len(want):] != want:  # (1, n, n) serves as well as (n, n)
                said = f"the buffer `{name}` has shape {got}; {want} is asked for"
                self.wrong("fact", said, case=case)

    def refuses(self, group: str, said: str) -> None:
        """Construction fails with a message of the learner's own (ValueError or AssertionError)."""
        for case, _, observed in self.group(group):
            error = observed.error or {}
            unwritten = error and is_unwritten(error) and not error["text"]
            if observed.status != "answered" or error.get("missing") or unwritten:
                raise Wrong(why_unanswered(self, case, observed))
            if error.get("verb") == "construct" and not is_refusal(error):
                said = f"it is refused with {error['type']}; a ValueError, or an assert, is asked for"
            if not is_refusal(observed.error):
                self.wrong("fact", said, case=case)

    def sees_no_future(self, group: str) -> None:
        """Two inputs differ from some token on: results before it stay, and after it change."""
        for case, expected, observed in self.answered(group):
            before, after = (self.result(case, r, expected, observed) for r in ("before", "after"))
            first, second = (t for name, t in sorted(case.tensors.items()) if name.endswith(".x"))
            cut = int((first != second).any(dim=-1).any(dim=0).nonzero()[0])
            if not torch.allclose(before[:, :cut].double(), after[:, :cut].double(), rtol=1e-4, atol=1e-6):
                said = f"changing only the tokens from {cut} on changes results before them: they see the future"
                self.wrong("values", said, case=case, actual=after)
            if torch.equal(before[:, cut:], after[:, cut:]):
                self.wrong("values", f"changing the tokens from {cut} on changes nothing at all", case=case)

    def drops_weights(self, group: str) -> None:
        """The runs `dropped` and `again` came out of `plain` by inverted dropout of single entries.

        Each run and each row (sequence, head) must have lost entries of its own.
        """
        for case, expected, observed in self.answered(group):
            plain, *runs = (self.result(case, r, expected, observed) for r in ("plain", "dropped", "again"))
            p, entries = rate(case), int((plain.abs() > 1e-12).sum())
            seen = [dropout.behaviour(plain, run) for run in runs]
            said = REPEATS_SAID.get(repeats(case, observed))
            if said and all(0 < run.zeros < 1 for run in seen):
                self.wrong("fact", said, case=case, actual=runs[0])
            for run, found in zip(runs, seen):
                if not dropout.looks_like(found, p, entries):
                    self.wrong("fact", dropout.sentence(found, p), case=case, actual=run)

    def drops_gradients(self, group: str) -> None:
        """Gradients of `dropped` pass where an entry was kept, scaled like it, and nowhere else."""
        for case, expected, observed in self.answered(group):
            plain, dropped = (self.result(case, r, expected, observed) for r in ("plain", "dropped"))
            if not (dropped == 0).any():
                self.wrong("fact", "in training nothing is dropped at all", case=case, actual=dropped)
            gradient = self.result(case, "gradient.attn_weights", expected, observed)
            if not torch.allclose(gradient.double() * plain, dropped.double(), rtol=1e-3, atol=1e-6):
                said = "the gradient for `attn_weights` is not that of the entries that were kept"
                self.wrong("values", said, case=case, actual=gradient)

    def drops_both_halves(self, group: str) -> None:
        """`drops_weights`, and what is dropped is a weight, not a value or an output.

        The values are two identity matrices side by side, so the result holds the attention
        weights twice, and both halves must have lost the same entries.
        """
        for case, expected, observed in self.answered(group):
            dropped = self.result(case, "dropped", expected, observed)
            if dropped.isnan().any():
                self.wrong("nan", "in training the result contains NaN", case=case, actual=dropped)
            if not halves_agree(dropped):
                said = "what is dropped is not an attention weight: a dropped weight takes all of a value with it"
                self.wrong("fact", said, case=case, actual=dropped)
        self.drops_weights(group)

    def agrees_on_keys(self, group: str, *keys: str) -> None:
        """The dicts returned have these keys with the reference's values (tuples or lists)."""
        for case, expected, observed in self.answered(group):
            got = observed.values.get("result", {}).get("json")
            if not isinstance(got, dict):
                self.wrong("values", f"the result is {shown(observed, 'result')}; a dict is asked for", case=case)
            for key in keys:
                if got.get(key) != expected.values["result"]["json"][key]:
                    self.wrong("values", f"`{key}` is {got.get(key, 'missing')}", case=case)
                if not all(type(size) is int for size in got[key]):
                    self.wrong("values", f"`{key}` is {got[key]}; sizes are whole numbers", case=case)

    def keeps_order(self, group: str) -> None:
        """The dicts returned have the reference's keys in its order."""
        for case, expected, observed in self.answered(group):
            got = observed.values.get("result", {}).get("json")
            want = list(expected.values["result"]["json"])
            if not isinstance(got, dict) or list(got) != want:
                said = f"the keys are {', '.join(got) if isinstance(got, dict) else 'missing'}; asked for are {', '.join(want)}"
                self.wrong("fact", said, case=case)

    def result(self, case: Case, name: str, expected: Observation, observed: Observation):
        """One result, which has at least the shape of the reference. Raises Wrong if not."""
        actual = observed.tensors.get(name)
        if actual is None or actual.shape != expected.tensors[name].shape:
            kind = "absent" if actual is None else "shape"
            said, _ = describe(Disagreement(kind), name, actual, expected.tensors[name], observed)
            self.wrong(kind, said, case=case, actual=actual, expected=expected.tensors[name])
        return actual

    def wrong(self, kind: str, said: str, *, case: Case, expected=None, differs=None, **details):
        """Raise Wrong, with the expected values only where the case is public."""
        details |= {"kind": kind, "said": said, "called": spoken(case)}
        if self.attempt.references.hidden:
            raise Wrong(Diagnosis(**details))
        raise Wrong(OpenDiagnosis(**details, expected=expected, differs=differs))


REPEATS_SAID = {
    "calls": "every call drops the same entries, whatever the seed; each call should draw anew",
    "slices": "the same places are dropped in every row, sequence or head; each entry is dropped on its own",
}
BUFFER_SAID = {
    "parameters": "`{}` is a parameter; an optimiser would try to learn it. A buffer is asked for",
    "attributes": "`{}` is a plain attribute, which torch neither moves nor saves. A buffer is asked for",
    "nowhere": "the module keeps no buffer named `{}`",
}


def parameters_differ(want: dict, got: dict) -> str | None:
    """One sentence on how a module's parameters differ from those asked for."""
    missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
    if missing:
        found = f"; it has {', '.join(f'`{name}`' for name in sorted(got)[:8])}" if got else "; it has none"
        return f"the module has no parameter `{missing[0]}`{found}"
    if extra:
        return f"the module has a parameter `{extra[0]}` that is not asked for"
    for name in want:
        if got[name] != want[name]:
            shape = got[name][0] if isinstance(got[name], list) and got[name] else "?"
            return f"parameter `{name}` has shape {shape} or does not learn; {want[name][0]} is asked for"
    return None


def describe(
    found: Disagreement, name: str, actual, expected, observed: Observation
) -> tuple[str, str]:
    """(what is wrong, where) in words, for a result that disagrees."""
    what = spoken_result(name)
    if found.kind == "absent":
        return f"{what} is {shown(observed, name)}{asked_for(observed, name)}", ""
    if found.kind == "shape":
        return (
            f"{what} has shape {spoken_shape(actual.shape)} where "
            f"{spoken_shape(expected.shape)} is asked for"
        ), ""
    where = where_they_differ(found.differs)
    if found.kind == "nan":
        return f"{what} contains NaN", where
    return f"{what} has the right shape but not the right values", where


def spoken_result(name: str) -> str:
    """How a result is called in a sentence."""
    if name.startswith("gradient."):
        return f"the gradient for `{name.removeprefix('gradient.')}`"
    if name.startswith("result."):
        return f"part {int(name.removeprefix('result.')) + 1} of the result"
    return "the result" if name == "result" else f"`{name}`"


def shown(observed: Observation, name: str) -> str:
    """What came back where something else was asked for."""
    if name.startswith("gradient."):
        return "missing: nothing that is differentiable leads from there to the result"
    parts = sum(found.startswith(f"{name}.") for found in observed.tensors)
    if parts:
        return f"a tuple or list of {parts} tensor{'s' * (parts > 1)}"
    value = observed.values.get(name) or observed.values.get(name.split(".")[0])
    if value is None:
        return "missing"
    if value.get("type") == "NoneType":
        return "None: is there a `return`?"
    if isinstance(value.get("json"), dict):
        return f"a dict with the keys {', '.join(value['json'])[:200]}"
    if value.get("json") is None:
        return f"an object of type {value.get('type')}"
    return f"{str(value['json'])[:200]} ({value.get('type')})"


def asked_for(observed: Observation, name: str) -> str:
    """That a tensor should have come, where something else did."""
    other = observed.values.get(name, {}).get("type", "NoneType") != "NoneType" and "." not in name
    parts = any(found.startswith(f"{name}.") for found in observed.tensors)
    return "; one tensor is asked for" if other or parts else ""
