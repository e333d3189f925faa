"""First effects: what known mistakes change first in the solution, on public cases.

The solution runs with the mistakes and shows it: a value that no right answer has, an error, or a
part of a module. Grading looks for the learner's line that does the same (mistake_lines.py).

A build stores the effects of each mistake, because they are the same for every learner. There are
too many pairs of mistakes; grading makes the effects of those that it finds.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..exchange.references import References, Seen
from ..exchange.traces import Stage, Trace, read_trace
from ..judging.find_divergence import find_divergence
from ..judging.right_values import close, tells
from ..judging.submitted_text import SubmittedText
from ..judging.trace_comparison import Comparison
from ..messages.divergence import ShouldComeBack
from ..recognition.edits import place_of
from .divergence import without_weights

CALL = re.compile(r"([\w.]+)\(")
SIZE = re.compile(r"\.shape\b|\.size\(|\blen\(")


@dataclass(frozen=True)
class FirstEffect:
    """The first changes that known mistakes cause on one case.

    values: for each edited line, its values that no right answer has. named: by name, the value
    that an edited line stores under that name and the solution does not. raises: the types of
    errors on edited lines.
    """

    values: tuple[tuple[torch.Tensor, ...], ...] = ()
    named: dict[str, torch.Tensor] = field(default_factory=dict)
    raises: tuple[str, ...] = ()


@dataclass(frozen=True)
class FirstEffects:
    """The first changes that known mistakes cause in the solution.

    by_case: the effects by case id, for cases that show any. made: the attributes of `self` that
    edited lines of `__init__` assign; empty if the mistakes change a result or raise an error,
    because that shows their lines. texts: the code of edited lines that the solution does not have.
    placed: True if the first wrong value of the edited solution is on an edited line, so that a
    learner's first wrong value shows the mistake's line too. calls: the functions that only the
    edited lines call; empty if a traced value changes.
    """

    by_case: dict[str, FirstEffect] = field(default_factory=dict)
    made: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    placed: bool = False
    calls: frozenset[str] = frozenset()

    def as_json(self) -> dict:
        """Return the effects in their stored form."""
        cases = {
            case: {
                "values": [[one.tolist() for one in line] for line in effect.values],
                "named": {name: one.tolist() for name, one in effect.named.items()},
                "raises": list(effect.raises),
            }
            for case, effect in self.by_case.items()
        }
        return {
            "cases": cases,
            "made": list(self.made),
            "texts": sorted(self.texts),
            "placed": self.placed,
            "calls": sorted(self.calls),
        }


def read_effects(stored: dict) -> FirstEffects:
    """Return effects from their stored form."""
    cases = {
        case: FirstEffect(
            tuple(tuple(map(torch.tensor, line)) for line in told["values"]),
            {name: torch.tensor(one) for name, one in told["named"].items()},
            tuple(told["raises"]),
        )
        for case, told in stored["cases"].items()
    }
    return FirstEffects(
        cases,
        tuple(stored["made"]),
        frozenset(stored["texts"]),
        stored["placed"],
        frozenset(stored["calls"]),
    )


class Run(NamedTuple):
    """The results of the solution with a mistake on one case.

    seen: observed with the mistake. right: observed without it.
    """

    seen: Seen
    right: Observation
    reference: Trace

    @property
    def is_loaded(self) -> bool:
        """True if all parameters received the case's weights. Otherwise values show nothing."""
        return not without_weights(self.seen.case, self.seen.observed)


class Runnable(NamedTuple):
    """The solution, with or without mistakes: its text, and a function that runs cases on it."""

    text: str
    run: Callable[[list[Case]], list[Observation]]


def first_effects(
    exercise: str, public: References, right: Runnable, wrong: Runnable
) -> FirstEffects:
    """Return the first effects of the mistakes in a wrong version of an exercise."""
    entries = [one for one in public.traced_cases if one[0].exercise == exercise]
    cases = [case for case, _ in entries]
    runs = [
        Run(Seen(case, asked, one), other, public.traces[case.id])
        for (case, asked), one, other in zip(
            entries, wrong.run(cases), right.run(cases), strict=True
        )
    ]
    loaded, text = [run for run in runs if run.is_loaded], SubmittedText(wrong.text)
    edited = edited_lines(right.text, wrong.text)
    texts = new_lines(right.text, text, edited)
    if texts and all(map(SIZE.search, texts)):
        edited |= users_of_sizes(runs, edited)
    effects = {run.seen.case.id: effect_on(run, edited) for run in loaded}
    by_case = {case: effect for case, effect in effects.items() if effect}
    quiet = all(not run.seen.observed.error and has_right_results(run) for run in loaded)
    return FirstEffects(
        by_case,
        tuple(attributes(text, edited)) if quiet else (),
        texts,
        any(is_placed(run, exercise, text, edited) for run in runs),
        # For example, no traced case uses dropout, so a changed dropout changes no traced value.
        frozenset() if by_case else new_calls(right.text, texts),
    )


def is_placed(run: Run, exercise: str, text: SubmittedText, edited: dict[int, int]) -> bool:
    """Return True if the first wrong value of a case is on an edited line.

    If an argument is itself the right result, any line counts. If weights have a wrong shape, the
    line that creates their part counts.
    """
    if unloaded := without_weights(run.seen.case, run.seen.observed):
        first, last = place_of(text.text, exercise)
        misshapen = (name.partition(".")[0] for name, shape in unloaded if shape is not None)
        lines = range(first + 1, last + 1)
        made = (text.making(f"self.{owner}", lines) for owner in misshapen)
        return next(made, 0) in edited
    if run.seen.observed.error:
        return False
    found = find_divergence(run.seen, read_trace(run.seen.observed), run.reference)
    return bool(found and (found.line in edited or isinstance(found.what, ShouldComeBack)))


def users_of_sizes(runs: list[Run], edited: dict[int, int]) -> dict[int, int]:
    """Return {line: line} for the line of the first wrong value, if edited lines only change sizes.

    Return {} if edited lines compute a tensor, or if cases show several lines. In that case it is
    not clear which of them uses the size.
    """
    traces = [(run, read_trace(run.seen.observed)) for run in runs]
    if any(stage.line in edited for _, trace in traces for stage in trace.stages):
        return {}
    found = (find_divergence(run.seen, trace, run.reference) for run, trace in traces)
    lines = {one.line for one in found if one and one.line and not one.since}
    return {line: line for line in lines} if len(lines) == 1 else {}


def new_lines(before: str, text: SubmittedText, edited: dict[int, int]) -> frozenset[str]:
    """Return the code of the edited lines that the text before the edits does not have.

    Lines such as `pass` are in many texts and do nothing.
    """
    known = {line.strip() for line in before.splitlines()}
    lines = {text.code(line).strip() for line in edited} - known
    return frozenset(line for line in lines if "=" in line or "(" in line)


def new_calls(before: str, lines: frozenset[str]) -> frozenset[str]:
    """Return the functions that edited lines call and the original lines do not.

    Torch functions that the original text calls anywhere are left out, because a learner may call
    them rightly.

    >>> new_calls("y = f(x)\\nreturn y", frozenset(["y = f(x.detach())"]))
    frozenset({'detach'})
    """
    known = [line.strip() for line in before.splitlines()]
    elsewhere = {name for name in map(short, CALL.findall(before)) if "." not in name}
    found: set[str] = set()
    for line in lines:
        similar = "".join(difflib.get_close_matches(line, known, n=1))
        new = set(CALL.findall(line)) - set(CALL.findall(similar))
        found |= set(map(short, new)) - elsewhere
    return frozenset(found)


def edited_lines(before: str, after: str) -> dict[int, int]:
    """Return the lines of `after` that differ from `before`, each with its change's first line.

    Lines are counted from 1. If lines are missing, the line that follows counts. If lines replace
    the same number of lines, each is a separate change.

    >>> edited_lines("a\\nb\\nc\\nd", "a\\nx\\nd"), edited_lines("a\\nb", "x\\ny")
    ({2: 2}, {1: 1, 2: 2})
    """
    pair = before.splitlines(), after.splitlines()
    found: dict[int, int] = {}
    matcher = difflib.SequenceMatcher(None, *pair, autojunk=False)
    for kind, old, end, first, last in matcher.get_opcodes():
        if kind != "equal":
            one_to_one = end - old == last - first
            for line in range(first + 1, max(last, first + 1) + 1):
                found[line] = line if one_to_one else first + 1
    return found


def effect_on(run: Run, edited: dict[int, int]) -> FirstEffect | None:
    """Return what the mistakes change first on a case, if an edited line does it."""
    if error := run.seen.observed.error:
        return FirstEffect(raises=(error.type,)) if error.line in edited else None
    trace = read_trace(run.seen.observed)
    compared = Comparison(run.seen, trace, run.reference)
    told = [at for at, stage in enumerate(trace.stages) if is_telling(stage)]
    wrong = {at for at in told if not compared.matches[at]}
    first = [at for at in sorted(wrong) if trace.stages[at].line in edited]
    first = [at for at in first if wrong.isdisjoint(compared.ancestors(at))]
    certain = [at for at in first if not compared.passes[at]]  # others may belong to another method
    chosen = only_one_line([(trace.stages[at].line, at) for at in certain or first], edited)
    stages = [trace.stages[at] for at in chosen]
    values: dict[int, list[torch.Tensor]] = {}
    for stage in stages:
        if stage.value is not None:
            values.setdefault(stage.line, []).append(stage.value)
    named = dict(renamed(trace, read_trace(run.right), edited))
    lines = tuple(map(tuple, values.values()))
    return FirstEffect(lines, named) if lines or named else None


def only_one_line(found: list[tuple[int, int]], edited: dict[int, int]) -> list[int]:
    """Return the places from (line, place) pairs, without changes that occur on several lines.

    If a change has new values on several lines, some of them may belong to another correct method.
    edited: by line, the first line of its change.
    """
    lines = Counter(edited[line] for line in {line for line, _ in found})
    return [at for line, at in found if lines[edited[line]] == 1]


def is_telling(stage: Stage) -> bool:
    """Return True if a value is specific: different numbers, or one that is not an integer."""
    value = stage.value
    if value is None or not value.numel():
        return False
    return tells(value) or (value.numel() == 1 and float(value) % 1 != 0)


def renamed(
    trace: Trace, asked: Trace, edited: dict[int, int]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield (name, value) on edited lines if the solution gives the name other values only.

    trace: of the solution with the mistakes. asked: of the solution itself.
    """
    known: dict[str, list[torch.Tensor]] = {}
    for stage in asked.stages:
        for name in stage.names:
            known.setdefault(name, []).extend([] if stage.value is None else [stage.value])
    for stage in trace.stages:
        value = stage.value
        if stage.line in edited and value is not None and is_telling(stage):
            for name in stage.names:
                if known.get(name) and not any(is_same(value, one) for one in known[name]):
                    yield name, value


def has_right_results(run: Run) -> bool:
    """Return True if the mistakes change no result of a case."""
    yours, asked = run.seen.observed.tensors, run.right.tensors
    names = [name for name in asked if not name.startswith("stage.")]
    return all(name in yours and is_same(yours[name], asked[name]) for name in names)


def attributes(text: SubmittedText, edited: dict[int, int]) -> Iterator[str]:
    """Yield the attributes of `self` that edited lines of `__init__` assign."""
    for line in sorted(edited):
        target, sign, _ = text.code(line).partition("=")
        if sign and text.is_making(line) and target.strip().startswith("self."):
            yield target.strip().removeprefix("self.").partition(":")[0].strip()


def is_same(value: torch.Tensor | None, other: torch.Tensor) -> bool:
    """Return True if two values are equal up to rounding and dimensions of size 1."""
    if value is None:
        return False
    value, other = value.squeeze().double(), other.squeeze().double()
    if value.shape != other.shape or not torch.equal(value.isnan(), other.isnan()):
        return False
    return close(value.masked_fill(value.isnan(), 0), other.masked_fill(other.isnan(), 0))


def short(name: str) -> str:
    """Return the name of a called function without its module.

    >>> short("nn.functional.dropout"), short("self.dropout")
    ('dropout', 'self.dropout')
    """
    return name if name.startswith("self.") else name.rpartition(".")[2]
