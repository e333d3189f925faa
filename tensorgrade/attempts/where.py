"""The line where an exercise goes wrong, on public cases: for known mistakes and for others.

The cases run in a process that has seen no hidden case, so a line says nothing about hidden cases.
"""

import difflib
import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain

import torch

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome, strings
from ..exchange.references import References, Seen
from ..exchange.traces import read_trace
from ..judging.names import own_name
from ..judging.submitted_text import SubmittedText
from ..judging.where import Compared, Where, tells, where_wrong
from ..recognition.edits import EditError
from ..recognition.fingerprints import Names, agrees
from ..sources.program import Program
from .attempt import Answer, once
from .recognized import mistakes
from .side import Side, Solution

DEFINES = ("class ", "def ", "async ", "@")
FEW = 2  # cases that show the line of a known mistake; each more costs 5 % of a submission's time
Entry = tuple[Case, Observation]  # a case with the right result


@once
def where(answer: Answer, raised: bool) -> Where | None:
    """Return where an exercise goes wrong; None if that is not known.

    raised: look only at cases that end in an error; otherwise at those whose error, if any, has no
    line.
    """
    public = answer.attempt.public
    if public is None or answer.attempt.loaded.status != Outcome.LOADED:
        return None
    entries = sorted(traced(answer, public), key=has_size_one)
    # A case that loads no weights may differ only because the learner draws them in another order.
    with_weights = [one for one in entries if one[0].weights]
    stages = stages_on(answer, with_weights or entries)
    # Weights that could not be loaded cause all other faults.
    if not raised or any(one.observed.fact("load", "misshapen", default={}) for one in stages):
        stages.sort(key=lambda one: not without_weights(one.case, one.observed))
    innocent: set[int] = set()  # lines of other values in right results: they show another method
    for seen in stages:
        if unloaded := without_weights(seen.case, seen.observed):
            if made := line_making_one_of(answer, seen, unloaded):
                return Where(made)
            continue  # it ran with other weights, so its values show nothing
        error = seen.observed.error
        # If `raised` is False, a case with an error counts only if the error has no line.
        if raised != bool(error and (raised or error.line is not None)):
            continue
        compared = compare(answer, seen, public)
        if compared.trace.cut or (error and (error.verb != "call" or not error.line)):
            continue
        line = next(iter(compared.trace.raised), error.line) if error else None
        found = where_wrong(compared, line, answer.attempt.source.place)
        if found is None:
            innocent |= compared.lines_of_other_values()
        elif found.line == 0 or (answer.is_own_line(found.line) and found.line not in innocent):
            return found
    told = (strings(one.observed.fact("load", "unexpected", default=[])) for one in stages)
    unasked = dict.fromkeys(chain.from_iterable(told), False)
    line = line_making_one_of(answer, stages[0], unasked) if unasked and not raised else 0
    return Where(line) if line else None


def has_size_one(entry: Entry) -> bool:
    """Return True if a case passes the integer 1: there, a wrong reshape may change nothing."""
    passed = (step.arguments.values() for step in entry[0].steps)
    return any(type(value) is int and value == 1 for values in passed for value in values)


def stages_on(answer: Answer, entries: list[Entry]) -> list[Seen]:
    """Return the results of public cases that request intermediate values."""
    observed = answer.run_public([case for case, _ in entries])
    return [Seen(*entry, one) for entry, one in zip(entries, observed, strict=True)]


def traced(answer: Answer, public: References) -> list[Entry]:
    """Return the public cases of the exercise that request intermediate values."""
    return [one for one in public.traced_cases if one[0].exercise == answer.name]


def compare(answer: Answer, seen: Seen, public: References) -> Compared:
    """Return the comparison of the exercise's values on a public case with the solution's."""
    trace = read_trace(seen.observed).attributed_to(answer.is_own_line)
    return Compared(seen, trace, public.traces[seen.case.id])


# --- known mistakes ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """The solution with known mistakes. edited: its lines that the solution does not have."""

    program: Program
    text: SubmittedText
    edited: frozenset[int]


@once
def line_of_mistakes(answer: Answer) -> int | None:
    """Return the line of the recognized mistakes; None if it is not certain.

    That is the line that makes the same attribute in `__init__` as the dearest one, or that
    computes the same wrong value as the solution with the mistakes, or else the only line with the
    same code.
    """
    side, names = answer.attempt.side.public, mistakes(answer)
    solution = answer.attempt.side.solution
    if side is None or solution is None or not names:
        return None
    if not solution.sources[answer.name].edits.keys() >= {*names}:
        return None
    made = solution_with(solution, answer.name, names)
    dearest = made if len(names) == 1 else solution_with(solution, answer.name, names[:1])
    if line := line_making_the_same(answer, dearest):
        return line
    if not answer.right_versions:  # a wrong earlier exercise makes values of public cases wrong too
        entries = telling_cases(answer, names, side)
        both = zip(stages_on(answer, entries), results_of(made, solution, entries), strict=True)
        lines = Counter(line_on(answer, *pair, made.edited, side.references) for pair in both)
        del lines[0]
        if lines:  # simple cases, such as with size 1, may mislead
            return max(lines, key=lambda line: (lines[line], -line))
    return line_with_the_same_code(answer, made)


def telling_cases(answer: Answer, names: Names, side: Side) -> list[Entry]:
    """Return FEW traced public cases, first those on which one of these mistakes shows.

    Results that hold one number only show nothing.
    """
    known = side.known(answer.name)
    prints = [known.singles[name] for name in names if name in known.singles]

    def shows(entry: Entry) -> bool:
        if not any(map(tells, entry[1].tensors.values())):
            return False
        return any(not agrees(one, entry[0].name, known.right) for one in prints)

    return sorted(traced(answer, side.references), key=lambda entry: not shows(entry))[:FEW]


def solution_with(solution: Solution, exercise: str, names: Names) -> Made:
    """Return the solution with known mistakes.

    The dearest mistake stands for all if they change the same piece of the solution.
    """
    try:
        program = solution.made(exercise, names)
    except EditError:
        program = solution.made(exercise, names[:1])
    before, text = map(SubmittedText, (solution.sources[exercise].text, program.text.text))
    matcher = difflib.SequenceMatcher(None, before.lines, text.lines, autojunk=False)
    # If lines are missing, the line that follows counts.
    edited = frozenset(
        line
        for kind, _, _, first, last in matcher.get_opcodes()
        if kind != "equal"
        for line in range(first + 1, max(last, first + 1) + 1)
    )
    return Made(program, text, edited)


def results_of(made: Made, solution: Solution, entries: list[Entry]) -> list[Seen]:
    """Run the solution with known mistakes on public cases."""
    observed = solution.lab.run(made.program, [case for case, _ in entries])
    solution.lab.end(made.program)
    return [Seen(*entry, one) for entry, one in zip(entries, observed, strict=True)]


def line_on(
    answer: Answer, seen: Seen, theirs: Seen, edited: frozenset[int], public: References
) -> int:
    """Return the line that does what the mistakes do on a case; 0 if none is found.

    theirs: the result of the solution with the mistakes.
    """
    if error := seen.observed.error:
        line = answer.attempt.submitted.with_source_line(error).line or 0
        other = theirs.observed.error
        same = other and other.type == error.type and other.line in edited
        return line if same and answer.is_own_line(line) else 0
    if unloaded := without_weights(seen.case, seen.observed):
        return line_making_one_of(answer, seen, unloaded)
    if [line for _, line in lines_of_changes(theirs.observed) if line in edited]:
        changes = lines_of_changes(seen.observed)  # the mistake is to overwrite an input
        return next((line for _, line in changes if answer.is_own_line(line)), 0)
    compared = compare(answer, seen, public)
    values = wrong_values(theirs, edited, public)
    if (at := compared.holding(values)) is None:
        return 0
    lost = compared.first_wrong([at])
    return compared.stages[at if lost is None else lost].line


def wrong_values(seen: Seen, edited: frozenset[int], public: References) -> list[torch.Tensor]:
    """Return what the mistakes compute: the values of edited lines that no right answer has."""
    if seen.observed.error or without_weights(seen.case, seen.observed):
        return []
    trace, reference = read_trace(seen.observed), public.traces[seen.case.id]
    compared = Compared(seen, trace, reference, slices=False)
    return [
        stage.value
        for stage, known in zip(compared.stages, compared.known, strict=True)
        if known is False and stage.line in edited and stage.value is not None
    ]


def line_making_the_same(answer: Answer, made: Made) -> int:
    """Return the line of `__init__` that assigns an attribute as an edited line does; or 0."""
    own, lines = answer.attempt.submitted, counted_lines(answer)
    for line in sorted(made.edited):
        target = re.match(r"\s*self\.(\w+)\s*[=:]", made.text.code(line))
        if target and made.text.is_making(line):
            found = own.making(f"self.{target[1]}", lines)
            if own.is_making(found):
                return found
    return 0


def line_with_the_same_code(answer: Answer, made: Made) -> int | None:
    """Return the only line of the learner's definition with the code of an edited line."""
    own = answer.attempt.submitted
    texts = {made.text.code(line).strip() for line in made.edited} - {""}
    found = [line for line in counted_lines(answer) if own.code(line).strip() in texts]
    return found[0] if len(found) == 1 else None


# --- weights that could not be loaded ---------------------------------------------------------


def without_weights(case: Case, seen: Observation) -> dict[str, bool]:
    """Return the parameters that could not receive a case's weights; True for a wrong shape.

    Others are missing, or shared with another one.
    """
    misshapen: dict = seen.fact("load", "misshapen", default={})
    missing: list = seen.fact("load", "missing", default=[])
    tied: dict = seen.fact("load", "tied", default={})
    told = dict.fromkeys(misshapen, True)
    told |= dict.fromkeys([*strings(missing), *[*tied][:1]], False)
    asked = case.weights
    return {name: wrong for name, wrong in told.items() if name in asked}


def line_making_one_of(answer: Answer, seen: Seen, unloaded: dict[str, bool]) -> int:
    """Return the line that creates a part with a weight of a wrong shape; 0 if none is found.

    If all shapes are right, return the line of the only part whose weights did not load.
    """
    parts = {name.partition(".")[0] for name in unloaded}
    misshapen = [name for name, wrong in unloaded.items() if wrong]
    chosen = misshapen or ([*unloaded] if len(parts) == 1 else [])
    if not chosen:
        return 0
    owner = own_name(chosen[0], seen.observed).partition(".")[0]
    return answer.attempt.submitted.making(f"self.{owner}", counted_lines(answer))


def counted_lines(answer: Answer) -> list[int]:
    """Return the lines that define the exercise, without an older definition that is replaced."""
    text, spans = answer.attempt.submitted, answer.own_lines
    starts = [n for n, (first, _) in enumerate(spans) if text.code(first).startswith(DEFINES)]
    spans = spans[starts[-1] :] if starts else spans
    return [line for first, last in spans for line in range(first, last + 1)]


def lines_of_changes(seen: Observation) -> list[tuple[str, int]]:
    """Return (name, line) of arguments that are still changed after a call, as reported.

    >>> facts = {"changed_at": {"x": 3, "y": 5}, "changed": ["x"]}
    >>> lines_of_changes(Observation(facts={"result": facts}))
    [('x', 3)]
    """
    found = []
    for facts in filter(lambda facts: isinstance(facts, dict), seen.facts.values()):
        told, left = facts.get("changed_at"), (facts.get("changed"), facts.get("altered"))
        stays = [name for names in left if isinstance(names, list) for name in names]
        pairs = told.items() if isinstance(told, dict) else ()
        known = [(name, at) for name, at in pairs if type(at) is int]
        found += [(name, at) for name, at in known if name in stays or "changed" not in facts]
    return found
