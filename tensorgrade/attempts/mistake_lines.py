"""Find the line of a known mistake in a learner's text, on public cases.

The solution with the mistake runs in this process and shows what the mistake changes first: a value
that no right answer has, an error, or a part of a module. The learner's line that produces the same
is the line of the mistake. If no line does, there is none to report: the first wrong value of an
answer may well be on a later line.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import torch

from ..exchange.observation import Observation
from ..exchange.references import References, Seen
from ..exchange.traces import Stage, Trace, read_trace
from ..judging.divergence import Divergence
from ..judging.find_divergence import find_divergence
from ..judging.right_values import close, tells
from ..judging.submitted_text import SubmittedText
from ..judging.trace_comparison import TURNS, Comparison
from ..judging.wrong_value import described, misnamed
from ..messages.divergence import ShouldComeBack
from ..recognition.fingerprints import Names
from ..recognition.mistakes import place_of
from .attempt import ExerciseAttempt, cached_for_file
from .details.in_text import plain_fact
from .divergence import (
    UnloadedWeights,
    counted_lines,
    divergence,
    line_making_one_of,
    public_stages,
    without_weights,
)
from .pairs import Pairs
from .recognized import mistakes

CALL = re.compile(r"([\w.]+)\(")
RETURNS_NAMES = re.compile(r"return [\w, ()]+$")
MOST_EFFECTS = 50  # sets of mistakes of a chapter that are cached, with about 0.4 MB each
SIZE = re.compile(r"\.shape\b|\.size\(|\blen\(")


@dataclass(frozen=True)
class FirstEffect:
    """The first changes that known mistakes cause on one case.

    values: (edited line, value) for values that no right answer has. named: by name, the value that
    an edited line stores under that name and the solution does not. raises: the type of an error on
    an edited line; empty if there is none.
    """

    values: tuple[tuple[int, torch.Tensor], ...] = ()
    named: dict[str, torch.Tensor] = field(default_factory=dict)
    raises: str = ""


class Run(NamedTuple):
    """The results of the solution with the mistakes on one public case.

    seen: observed with the mistakes. right: observed without them. traces: the reference traces.
    """

    seen: Seen
    right: Observation
    traces: tuple[Trace, ...]

    @property
    def unloaded(self) -> UnloadedWeights:
        """The parameters that could not receive the case's weights. If any, values show nothing."""
        return without_weights(self.seen.case, self.seen.observed)


class FirstEffects:
    """The first changes that known mistakes cause in the solution, on public cases.

    It is the same for every learner. The cases run when it is created; everything else is computed
    when it is needed. edited: see `edited_lines`. texts: see `new_lines`.
    """

    def __init__(self, pairs: Pairs, public: References, exercise: str, names: Names):
        wrong, right = pairs.made(exercise, names), pairs.made(exercise, ())
        entries = [one for one in public.traced_cases if one[0].exercise == exercise]
        cases = [case for case, _ in entries]
        self.runs = [
            Run(Seen(case, asked, one), other, public.traces[case.id])
            for (case, asked), one, other in zip(
                entries, wrong.run(cases), right.run(cases), strict=True
            )
        ]
        self.exercise, self.before = exercise, right.source.text
        self.text = SubmittedText(wrong.source.text)
        self.edited = edited_lines(self.before, self.text.text)
        self.texts = new_lines(self.before, self.text, self.edited)
        if self.texts and all(map(SIZE.search, self.texts)):
            self.edited |= users_of_sizes(self.runs, self.edited)

    @cached_property
    def by_case(self) -> dict[str, FirstEffect]:
        """The first effects, by case id, if there are any."""
        loaded = (run for run in self.runs if not run.unloaded)
        found = {run.seen.case.id: effect_on(run, self.edited) for run in loaded}
        return {case: effect for case, effect in found.items() if effect}

    @cached_property
    def made(self) -> tuple[str, ...]:
        """The attributes of `self` that edited lines of `__init__` assign.

        Empty if the mistakes change a result or raise an error, because that shows their lines.
        """
        loaded = [run for run in self.runs if not run.unloaded]
        quiet = all(not run.seen.observed.error and has_right_results(run) for run in loaded)
        return tuple(attributes(self.text, self.edited)) if quiet else ()

    @cached_property
    def placed(self) -> bool:
        """True if the first wrong value of the edited solution is on an edited line.

        Then the first wrong value of a learner's code shows the mistake's line too.
        """
        return any(map(self.is_placed, self.runs))

    def is_placed(self, run: Run) -> bool:
        """Return True if the first wrong value of a case is on an edited line.

        If an argument is itself the right result, any line counts. If weights have a wrong shape,
        the line that creates their part counts.
        """
        if run.unloaded:
            first, last = place_of(self.text.text, self.exercise)
            misshapen = (
                name.partition(".")[0] for name, shape in run.unloaded if shape is not None
            )
            lines = range(first + 1, last + 1)
            made = (self.text.making(f"self.{owner}", lines) for owner in misshapen)
            return next(made, 0) in self.edited
        if run.seen.observed.error:
            return False
        found = find_divergence(run.seen, read_trace(run.seen.observed), run.traces)
        return bool(found and (found.line in self.edited or isinstance(found.what, ShouldComeBack)))

    @cached_property
    def calls(self) -> frozenset[str]:
        """The functions that only the edited lines call; empty if a traced value changes.

        For example, no traced case uses dropout, so a changed dropout changes no traced value.
        """
        return frozenset() if self.by_case else new_calls(self.before, self.texts)


@cached_for_file
def place_of_mistakes(part: ExerciseAttempt) -> Divergence | None:
    """Return the line of the recognized mistakes and its stage; None if it is not certain."""
    pairs, public = part.attempt.pairs(), part.attempt.public()
    if pairs is None or public is None:
        return None
    known = pairs.sources.edits.get(part.name, {})
    names = tuple(name for name in mistakes(part) if name in known)
    if not names:
        return None
    if (part.name, names) not in pairs.first_effects:
        if len(pairs.first_effects) >= MOST_EFFECTS:
            pairs.first_effects.clear()
        pairs.first_effects[part.name, names] = FirstEffects(pairs, public, part.name, names)
    found = pairs.first_effects[part.name, names]
    if found.by_case and (place := most_frequent(places(part, found, public))):
        return place
    if place := place_in_making(part, found.made) or same_line(part, found.texts):
        return place
    _, faulty_line = plain_fact(part) or (None, None)  # such as a result that is not stored
    if faulty_line:
        return Divergence(faulty_line)
    return first_wrong_line(part) if found.placed else only_call(part, found.calls)


def first_wrong_line(part: ExerciseAttempt) -> Divergence | None:
    """Return the line of the first wrong value if it is certain that the value was computed there.

    A range of lines counts if values before it are right, or if it has only two lines.

    On a line such as `return one, other`, the values were computed before. It counts only if the
    divergence names the value that is due there.
    """
    found = divergence(part, False)
    if found is None or (found.until > found.line + 1 and not found.reached):
        return None
    returns = RETURNS_NAMES.match(part.attempt.submitted.code(found.line).strip())
    return None if returns and not found.stage else found


def places(part: ExerciseAttempt, found: FirstEffects, public: References) -> Iterator[Divergence]:
    """Yield the place that each case shows, for cases that show one."""
    for seen in public_stages(part, public):
        effect = found.by_case.get(seen.case.id)
        if effect and (place := place_on(part, seen, effect, public.traces[seen.case.id])):
            yield place


def most_frequent(found: Iterable[Divergence]) -> Divergence | None:
    """Return the place that most cases show; simple cases, such as with size 1, may mislead."""
    known = [*found]
    lines = Counter(place.line for place in known)
    return max(known, key=lambda place: (lines[place.line], -place.line), default=None)


def place_on(
    part: ExerciseAttempt, seen: Seen, effect: FirstEffect, traces: tuple[Trace, ...]
) -> Divergence | None:
    """Return the learner's line that does what the mistakes do on a case; None if unknown."""
    if error := seen.observed.error:
        line = part.attempt.submitted.with_source_line(error).line
        same = error.type == effect.raises and line and part.is_own_line(line)
        return Divergence(line) if same and line else None
    if without_weights(seen.case, seen.observed):
        return line_making_one_of(part, seen, without_weights(seen.case, seen.observed))
    trace = read_trace(seen.observed).attributed_to(part.is_own_line)
    compared = Comparison(seen, trace, traces)
    at = first_same_value(trace, effect)
    if at is None and (named := first_named(trace, effect)) is not None:
        lost = compared.first_lost([named])
        at = named if lost is None else lost
    if at is None:
        return None
    # For example, a layer that should compute one result computes another one.
    other = misnamed(compared, at)
    if other and compared.stages[other].line:
        at = other
    else:
        at = moved_before(compared, scaled_before(compared, at))
    return Divergence(trace.stages[at].line, described(compared, at).stage)


def scaled_before(compared: Comparison, at: int) -> int:
    """Return the index of the first value before a wrong one that is a right value times a factor.

    If there is none, return the index of the wrong value itself.

    A value may be scaled before or after it is masked. A factor on the path to a right value is no
    mistake.
    """
    before = [one for one in compared.ancestors(at) if compared.stages[one].line]
    right = [one for one in before if compared.matches[one]]
    fine = {one for made in right for one in compared.ancestors(made)}
    values = (
        (one, compared.stages[one].value)
        for one in before
        if not compared.matches[one] and one not in fine
    )
    scaled = (one for one, value in values if value is not None and compared.right.multiples(value))
    return next(scaled, at)


def moved_before(compared: Comparison, at: int) -> int:
    """Return the index of the value that a wrong one only copies with its dimensions moved.

    Repeating a tensor and moving its dimensions can be done in either order.
    """
    stage = compared.stages[at]
    while stage.operation in TURNS and len(stage.inputs) == 1:
        before = stage.inputs[0]
        if compared.matches[before] or not compared.stages[before].line:
            break
        at, stage = before, compared.stages[before]
    return at


def first_same_value(trace: Trace, effect: FirstEffect) -> int | None:
    """Return the index of the first of the effect's values that a line of the learner computes.

    None if there is none.

    If one edited line computes several values but the learner computes them on different lines,
    they are ignored, because some may belong to another correct method. So are the parts of a
    tensor that a loop iterates over, because every loop over it has them.
    """
    own = [
        at
        for at, stage in enumerate(trace.stages)
        if stage.line and not stage.inside and stage.operation != "unbind"
    ]
    by_line: dict[int, set[int]] = {}
    for line, value in effect.values:
        same = (at for at in own if is_same(trace.stages[at].value, value))
        by_line.setdefault(line, set()).update(islice(same, 1))
    found = (
        min(places)
        for places in by_line.values()
        if len({trace.stages[at].line for at in places}) == 1
    )
    return min(found, default=None)


def first_named(trace: Trace, effect: FirstEffect) -> int | None:
    """Return the index of the first value that has a name as in `effect.named`, or None."""
    found = (
        at
        for at, stage in enumerate(trace.stages)
        for name, value in effect.named.items()
        if stage.line and not stage.inside and name in stage.names and is_same(stage.value, value)
    )
    return next(found, None)


def is_same(value: torch.Tensor | None, other: torch.Tensor) -> bool:
    """Return True if two values are equal up to rounding and dimensions of size 1."""
    if value is None:
        return False
    value, other = value.squeeze().double(), other.squeeze().double()
    if value.shape != other.shape or not torch.equal(value.isnan(), other.isnan()):
        return False
    return close(value.masked_fill(value.isnan(), 0), other.masked_fill(other.isnan(), 0))


def place_in_making(part: ExerciseAttempt, made: tuple[str, ...]) -> Divergence | None:
    """Return the line of `__init__` that assigns the first of these attributes found, or None."""
    text, lines = part.attempt.submitted, counted_lines(part)
    line = next(filter(None, (text.making(f"self.{name}", lines) for name in made)), 0)
    return Divergence(line) if line and text.is_making(line) else None


def same_line(part: ExerciseAttempt, texts: frozenset[str]) -> Divergence | None:
    """Return the only line of the learner's definition with the code of an edited line, if any."""
    text = part.attempt.submitted
    known = set(map(in_loop, texts))
    found = [line for line in counted_lines(part) if in_loop(text.code(line).strip()) in known]
    return Divergence(found[0]) if len(found) == 1 else None


def in_loop(code: str) -> str:
    """Return the code of a line without the name of a loop's variable.

    >>> in_loop("for j in range(0, n, size):")
    'for _ in range(0, n, size):'
    """
    return re.sub(r"^for \w+ in ", "for _ in ", code)


def only_call(part: ExerciseAttempt, names: frozenset[str]) -> Divergence | None:
    """Return the only line, outside `__init__`, that calls one of these functions, if any."""
    text = part.attempt.submitted
    found = [
        line
        for line in counted_lines(part)
        if not text.is_making(line)
        and not names.isdisjoint(map(short, CALL.findall(text.code(line))))
    ]
    return Divergence(found[0]) if len(found) == 1 else None


def users_of_sizes(runs: list[Run], edited: dict[int, int]) -> dict[int, int]:
    """Return {line: line} for the line of the first wrong value, if edited lines only change sizes.

    Return {} if edited lines compute a tensor, or if cases show several lines. In that case it is
    not clear which of them uses the size.
    """
    traces = [(run, read_trace(run.seen.observed)) for run in runs]
    if any(stage.line in edited for _, trace in traces for stage in trace.stages):
        return {}
    found = (find_divergence(run.seen, trace, run.traces) for run, trace in traces)
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


def short(name: str) -> str:
    """Return the name of a called function without its module.

    >>> short("nn.functional.dropout"), short("self.dropout")
    ('dropout', 'self.dropout')
    """
    return name if name.startswith("self.") else name.rpartition(".")[2]


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
        return FirstEffect(raises=error.type) if error.line in edited else None
    trace = read_trace(run.seen.observed)
    compared = Comparison(run.seen, trace, run.traces)
    told = [at for at, stage in enumerate(trace.stages) if is_telling(stage)]
    wrong = {at for at in told if not compared.matches[at]}
    first = [at for at in sorted(wrong) if trace.stages[at].line in edited]
    first = [at for at in first if wrong.isdisjoint(compared.ancestors(at))]
    certain = [at for at in first if not compared.passes[at]]  # others may belong to another method
    chosen = only_one_line([(trace.stages[at].line, at) for at in certain or first], edited)
    stages = [trace.stages[at] for at in chosen]
    values = [(stage.line, stage.value) for stage in stages if stage.value is not None]
    named = dict(renamed(trace, read_trace(run.right), edited))
    return FirstEffect(tuple(values), named) if values or named else None


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
