"""Questions about a learner's own code, with answers that running the code gives.

A question is asked only if exactly one of its options is right. `proof` holds what is needed to
compute the answer again.
"""

import ast
import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from random import Random
from typing import Any

import torch

from ..attempts.attempt import Attempt
from ..attempts.naming import run
from ..attempts.public_side import read_trace
from ..exchange.cases import Case, spoken, spoken_shape
from ..exchange.observation import Observation
from ..exchange.traces import with_stages
from .variants import definition, edits_on, is_mistake, is_odd, plain

FEWEST_OPTIONS, MOST_OPTIONS = 3, 4
MOST_TRIED, MOST_LINES, MOST_CASES, ENOUGH_KEPT = 120, 10, 3, 3
CLEAR, EQUAL = 1e-3, 1e-9  # values differ above CLEAR, and are equal below EQUAL
UNSET = re.compile(r"\bempty(_like|_strided|_permuted)?\(|\bnew_empty|Tensor\(|\bresize_")
NO_NAMES = "none of them"


@dataclass(frozen=True)
class Question:
    """A question about one exercise of one learner.

    options: the possible answers. right: the index of the right one. place, code: the line that the
    question is about. proof: the kind's own data, to compute the answer again.
    """

    exercise: str
    kind: str
    text: str
    options: tuple[str, ...]
    right: int
    place: str = ""
    code: str = ""
    proof: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def letter(self) -> str:
        """Return the letter of the right option."""
        return "abcdefgh"[self.right]


def questions_on(attempt: Attempt, exercise: str, chance: Random, most: int = 3) -> list[Question]:
    """Return up to `most` questions on an exercise that passes its public checks.

    The attempt has public cases and runs learner code in another process.
    """
    asker = Asker(attempt, exercise, chance)
    found: dict[str, Question] = {}
    in_vain = []
    for make in asker.kinds():
        if len(found) == most or make in in_vain:
            continue
        if question := make():
            found.setdefault(f"{question.place} {question.options[question.right]}", question)
        else:
            in_vain.append(make)
    attempt.lab.close()
    return list(found.values())


class Asker:
    """A maker of questions on one exercise. Each method makes a question of one kind, or None."""

    def __init__(self, attempt: Attempt, exercise: str, chance: Random):
        self.attempt, self.exercise, self.chance = attempt, exercise, chance
        run(attempt, [exercise])
        self.text = attempt.source.text
        self.plain = plain(self.text, exercise)
        calls = attempt.references.of(exercise)
        self.cases = [(case, right) for case, right in calls if is_simple(case, right)]

    def kinds(self) -> list[Callable[[], Question | None]]:
        """Return the methods to try, in this order.

        If the code makes uninitialized tensors, an edit may leave them unset. Then the result is
        what happened to be in memory, and only a question on shapes has a certain answer.
        """
        called = self.attempt.loaded.calls.get(self.exercise, ())
        if any(UNSET.search(plain(self.text, name)) for name in (self.exercise, *called)):
            return [self.shape, self.shape]
        return [self.leak, self.gradients, self.shape, self.same, self.shape, self.same]

    def run(self, *cases: Case, text: str = "") -> list[Observation]:
        """Run cases on the learner's text, or on a changed one."""
        own, lab = self.attempt.program, self.attempt.lab
        program = own.with_text(text) if text else own
        try:
            return lab.run(program, list(cases))
        finally:
            if text:
                lab.end(program)

    def some_cases(self) -> list[tuple[Case, Observation]]:
        """Return a few simple cases in random order."""
        return self.chance.sample(self.cases, min(MOST_CASES, len(self.cases)))

    def asked(
        self, kind: str, text: str, right: str, wrong: list[str], line: int, **proof: Any
    ) -> Question | None:
        """Return a question with shuffled options; None if the wrong ones are too few."""
        others = [one for one in dict.fromkeys(wrong) if one != right][: MOST_OPTIONS - 1]
        if len(others) < FEWEST_OPTIONS - 1:
            return None
        options = [right, *others]
        self.chance.shuffle(options)
        place = self.attempt.place(line) if line else ""
        code = self.text.split("\n")[line - 1].strip() if line else ""
        at = options.index(right)
        return Question(self.exercise, kind, text, tuple(options), at, place, code, proof)

    def shape(self) -> Question | None:
        """Ask for the shape of a value on a line."""
        for case, _ in self.some_cases():
            steps = read_trace(self.run(with_stages(case))[0])
            found: dict[tuple[int, str], set] = {}
            for line, name, size in steps:
                found.setdefault((line, name), set()).add(size)
            once = {key: sizes.pop() for key, sizes in found.items() if len(sizes) == 1}
            clear = [key for key, size in once.items() if self.is_assigned(*key, size)]
            self.chance.shuffle(clear)
            for line, name in clear:
                size = once[line, name]
                wrong = [*self.shapes_by_slip(case, line, name), *other_shapes(size)]
                shown = [spoken_shape(one) for one in wrong]
                text = f"In the call `{spoken(case, hidden=False)}`: what is the shape of `{name}`"
                text = f"{text} after this line has run?"
                more = {"case": case.name, "at": line, "name": name}
                if question := self.asked("shape", text, spoken_shape(size), shown, line, **more):
                    return question
        return None

    def is_assigned(self, line: int, name: str, size: object) -> bool:
        """Return True if a line of the exercise itself gives a name a tensor with dimensions."""
        own = any(a <= line <= b for a, b in self.attempt.exercises[self.exercise].own_lines)
        code = self.text.split("\n")[line - 1] if own else ""
        given = re.match(rf"\s*(?:[\w\s,]*,\s*)?{re.escape(name)}\b[^=()]*=[^=]", code)
        return bool(given) and isinstance(size, tuple) and len(size) > 1

    def shapes_by_slip(self, case: Case, line: int, name: str) -> list[tuple[int, ...]]:
        """Return the shapes that the value has after small edits of its line."""
        lab, program = self.attempt.lab, self.attempt.program
        tries = lab.tries(program, self.exercise, line, with_stages(case), 0, 20)
        steps = [one for _, seen in tries for one in read_trace(seen)]
        sizes = [size for at, named, size in steps if (at, named) == (line, name)]
        return [size for size in dict.fromkeys(sizes) if isinstance(size, tuple) and size]

    def leak(self) -> Question | None:
        """Ask which of two edits lets a result depend on later rows of the input."""
        for case, _ in self.some_cases():
            later = with_other_end(case)
            if later is None or leaks(*self.run(case, later)) is not False:
                continue
            pair = self.two_edits(case, later)
            if pair is None:
                return None
            (bad, bad_line), (good, good_line) = pair
            edits = [(bad, bad_line), (good, good_line)]
            self.chance.shuffle(edits)
            right = f"only edit {1 + edits.index((bad, bad_line))}"
            shown = [f"edit {n}: {self.told(*one)}" for n, one in enumerate(edits, 1)]
            now = dict(later.passed_tensors)
            changed = [name for name, tensor in case.passed_tensors if now[name] is not tensor]
            names = " and ".join(f"`{name}`" for name in changed)
            text = (
                f"In the call `{spoken(case, hidden=False)}`, only the last row of {names} is "
                "changed. With which of these edits do earlier rows of the result change too?"
                f"\n{shown[0]}\n{shown[1]}"
            )
            wrong = [f"only edit {n}" for n in (1, 2)] + ["both edits", "neither edit"]
            more = {"case": case.name, "leaks": bad, "safe": good}
            return self.asked("leak", text, right, wrong, 0, **more)
        return None

    def two_edits(self, case: Case, later: Case) -> tuple[tuple, tuple] | None:
        """Return an edit that leaks and one that does not, each as (text, line)."""
        before = self.run(case)[0]
        found: dict[bool, tuple[str, int]] = {}
        for edit, seen, other in islice(self.edits(case, later), MOST_TRIED):
            leak = leaks(seen, other)
            if leak is None or leak in found or not clearly_differ(before, seen):
                continue
            if self.told(edit.definition, edit.line):
                found[leak] = edit.text, edit.line
            if len(found) == 2:
                return found[True], found[False]
        return None

    def edits(self, *cases: Case) -> Iterator[tuple]:
        """Yield edits with their results on cases, known mistakes first in each portion."""
        case = cases[0]
        right = next(right for one, right in self.cases if one is case)
        prints = list(self.attempt.fingerprints.by_exercise.get(self.exercise, []))
        for some in edits_on(self.attempt, self.exercise, cases, self.chance):
            yield from sorted(
                some, key=lambda one: not is_mistake(self.attempt, prints, case, right, one[1])
            )

    def told(self, edited: str, line: int) -> str:
        """Describe an edit of one line: its place, before and after; "" for any other edit."""
        after = plain(edited, self.exercise)
        pairs = [
            one
            for one in difflib.ndiff(self.plain.split("\n"), after.split("\n"))
            if one[0] in "+-"
        ]
        if len(pairs) != 2 or [one[0] for one in pairs] != ["-", "+"]:
            return ""
        old, new = (one[2:].strip() for one in pairs)
        if is_odd(old, new):
            return ""
        return f"{self.attempt.place(line)}, `{old}` becomes `{new}`"

    def gradients(self) -> Question | None:
        """Ask which gradients change if a line is removed, or get lost if it is detached."""
        entries = self.attempt.references.of(self.exercise)
        for case, _ in (one for one in entries if len(one[0].calls) == 1):
            if not case.calls[0].options.get("gradient"):
                continue
            before = gradients_in(self.run(case)[0])
            if not 2 <= len(before) <= 8:
                continue
            lines = list(self.edited_lines())
            self.chance.shuffle(lines)
            for line, text, removed in lines[:MOST_LINES]:
                seen = self.run(case, text=text)[0]
                if seen.error or not seen.tensors:
                    continue
                after = gradients_in(seen)
                changed = changed_gradients(before, after, lost=not removed)
                if changed is None:
                    continue
                return self.about_gradients(case, line, text, removed, list(before), changed)
        return None

    def about_gradients(
        self, case: Case, line: int, text: str, removed: bool, names: list[str], changed: list[str]
    ) -> Question | None:
        """Return the question on a line, with other sets of names as wrong options."""
        sets = [names, [], [one for one in names if one not in changed]]
        sets += [[one] for one in self.chance.sample(names, len(names))]
        sets += [sorted({*changed} ^ {one}) for one in self.chance.sample(names, len(names))]
        wrong = [in_words(names, one) for one in sets]
        what = (
            "This line is removed. The code still runs. Which of these gradients change?"
            if removed
            else "The value on this line gets `.detach()` at its end. Which of these no longer "
            "get a gradient?"
        )
        text_of_call = f"In the call `{spoken(case, hidden=False)}`, the result is differentiated "
        asked = f"{text_of_call}with respect to {', '.join(names)}. {what}"
        more = {"case": case.name, "edited": text, "removed": removed, "changed": changed}
        return self.asked("gradients", asked, in_words(names, changed), wrong, line, **more)

    def edited_lines(self) -> Iterator[tuple[int, str, bool]]:
        """Yield (line, text, True) without a simple assignment, and with its value detached."""
        node, lines = definition(self.text, self.exercise), self.text.split("\n")
        for one in ast.walk(node) if node else ():
            match one:
                case ast.Assign(targets=[ast.Name(id=name)], lineno=at, end_lineno=end) if (
                    at == end
                ):
                    pad = lines[at - 1][: one.col_offset]
                    if pad.strip():
                        continue
                    value = ast.unparse(one.value)
                    for new, removed in (("pass", True), (f"{name} = ({value}).detach()", False)):
                        edited = [*lines[: at - 1], f"{pad}{new}", *lines[at:]]
                        yield at, "\n".join(edited), removed

    def same(self) -> Question | None:
        """Ask after which of three edits the result of a call is still the same."""
        for case, _ in self.some_cases():
            before = self.run(case)[0]
            kept: list[tuple[str, int]] = []
            changed: list[tuple[str, int]] = []
            for edit, seen in islice(self.edits(case), MOST_TRIED):
                if len(kept) >= ENOUGH_KEPT and len(changed) >= MOST_OPTIONS - 1:
                    break
                only_copies = edit.text.count(".clone()") > self.text.count(".clone()")
                same = is_same(before, seen) and not only_copies  # which makes a dull question
                if not same and (
                    len(changed) >= MOST_OPTIONS - 1 or not clearly_differ(before, seen)
                ):
                    continue
                if self.told(edit.definition, edit.line):
                    (kept if same else changed).append((edit.text, edit.line))
            if kept and len(changed) > 1:
                right, wrong = self.chance.choice(kept), changed[: MOST_OPTIONS - 1]
                text = f"After which of these edits does `{spoken(case, hidden=False)}` still give"
                return self.asked(
                    "same",
                    f"{text} the same result?",
                    self.told(*right),
                    [self.told(*one) for one in wrong],
                    0,
                    case=case.name,
                    same=right[0],
                    other=[one[0] for one in wrong],
                )
        return None


def is_simple(case: Case, right: Observation) -> bool:
    """Return True if a case has one call with comparable values and no error."""
    return case.signature == "values" and len(case.calls) == 1 and not right.error


def other_shapes(size: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return shapes that could be mistaken for one: permuted, with a dimension more or less.

    >>> other_shapes((2, 3))
    [(3, 2), (2, 2), (3, 3), (2,), (3,), (1, 2, 3)]
    """
    turned = list(permutations(size))[1:4] if len(size) < 5 else [size[::-1]]
    square = [(*size[:-1], size[-2]), (*size[:-2], size[-1], size[-1])]
    return [one for one in [*turned, *square, size[:-1], size[1:], (1, *size)] if one != size]


def with_other_end(case: Case) -> Case | None:
    """Return a case with another last row in its tensors; None if none of them has rows.

    Rows are along dimension -2 in tensors of floats with two dimensions or more, and along the last
    dimension in tensors of integers.
    """
    tensors = dict(case.tensors)
    keys = {
        value["tensor"]: None
        for step in case.calls
        for value in step.arguments.values()
        if isinstance(value, dict) and set(value) == {"tensor"}
    }
    floats = [key for key in keys if tensors[key].is_floating_point() and tensors[key].dim() > 1]
    rows = tensors[floats[0]].shape[-2] if floats else 0
    for key in floats:
        if tensors[key].shape[-2] == rows > 1:
            tensors[key] = tensors[key].clone()
            tensors[key][..., -1, :] = 1.7 - 0.6 * tensors[key][..., -1, :]
    for key in () if floats else keys:
        one = tensors[key]
        if one.dtype == torch.int64 and one.dim() > 1 and one.shape[-1] > 1 and one.max() > 0:
            tensors[key] = one.clone()
            tensors[key][..., -1] = (one[..., -1] + 1) % (one.max() + 1)
    changed = any(tensors[key] is not case.tensors[key] for key in keys)
    return replace(case, tensors=tensors) if changed else None


def leaks(one: Observation, other: Observation) -> bool | None:
    """Return True if rows before the last one differ between two results.

    None if the results cannot be compared, if not even the last row differs, or if the difference
    may be rounding.
    """
    first, second = one.tensors.get("result"), other.tensors.get("result")
    if first is None or second is None or first.shape != second.shape or first.dim() < 2:
        return None
    if not first.is_floating_point() or first.shape[-2] < 2 or not first.numel():
        return None
    if first.isnan().any():
        return None
    apart = (first - second).abs()
    if not apart[..., -1, :].max() > CLEAR:
        return None
    before = apart[..., :-1, :].max()
    return None if EQUAL < before < CLEAR else bool(before >= CLEAR)


def is_same(one: Observation, other: Observation) -> bool:
    """Return True if two results agree in every value."""
    return (
        one.tensors.keys() == other.tensors.keys()
        and all(alike(tensor, other.tensors[name]) for name, tensor in one.tensors.items())
        and one.values == other.values
    )


def alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return True if two tensors have the same shape, dtype and values."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(torch.allclose(one.double(), other.double(), rtol=0, atol=EQUAL))


def clearly_differ(one: Observation, other: Observation) -> bool:
    """Return True if two results differ in a shape, or in a value by more than rounding."""
    first, second = one.tensors.get("result"), other.tensors.get("result")
    if first is None or second is None:
        return False
    if first.shape != second.shape:
        return True
    return bool((first.double() - second.double()).abs().max() > CLEAR) if first.numel() else False


def gradients_in(seen: Observation) -> dict[str, torch.Tensor]:
    """Return the gradients in an observation, by the names of inputs and parameters."""
    prefix = "gradient."
    return {k.removeprefix(prefix): t for k, t in seen.tensors.items() if k.startswith(prefix)}


def changed_gradients(
    before: dict[str, torch.Tensor], after: dict[str, torch.Tensor], lost: bool
) -> list[str] | None:
    """Return the names whose gradients change, or get lost; None if that is not clear.

    lost: ask for gradients that become zero or are missing.
    """
    changed = []
    for name, one in before.items():
        if not one.numel():
            return None
        other = after.get(name)
        other = torch.zeros_like(one) if other is None or other.shape != one.shape else other
        size, apart = one.abs().max(), (one - other).abs().max()
        there = other.abs().max()
        if bool(one.isnan().any() | other.isnan().any()) or EQUAL < apart < CLEAR:
            return None
        if lost and (size < CLEAR or EQUAL < there < CLEAR):
            return None
        if there <= EQUAL if lost else apart >= CLEAR:
            changed.append(name)
    return changed


def in_words(names: list[str], chosen: list[str]) -> str:
    """Return names in their usual order, or that there are none.

    >>> in_words(["x", "W.weight"], ["W.weight", "x"]), in_words(["x"], [])
    ('x, W.weight', 'none of them')
    """
    return ", ".join(name for name in names if name in chosen) or NO_NAMES
