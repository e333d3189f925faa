"""An instructor's page on one verdict. It shows hidden cases with their expected values."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..cases import Case, spoken
from ..diagnosis import OpenDiagnosis
from ..grading.explain import Explanation
from ..judging.agreement import disagreement
from ..judging.remarks import remarks
from ..judging.unanswered import raised
from ..observation import Observation
from ..recognition import nearly
from .comparison import comparison

SHOWN = 3  # cases that differ, with their values


def print_explanation(console: Console, found: Explanation) -> None:
    """The verdict, the checks, every case, and the mistakes that come nearest."""
    print_verdict(console, found)
    print_checks(console, found)
    print_cases(console, found)
    if found.verdict.status != "passed" and found.part.attempt.loaded.status == "loaded":
        print_nearest(console, found)


def print_verdict(console: Console, found: Explanation) -> None:
    """What grading says now, and what is on record where that differs."""
    verdict = found.verdict
    console.print(Text(f"{verdict.student}, {verdict.exercise}: {verdict.status}, "
                       f"{verdict.points:g} of {verdict.max_points:g} points", "bold"))
    console.print(Padding(Text(verdict.message), (0, 2)))
    console.print(Text(f"  mistakes recognised: {', '.join(verdict.mistakes) or 'none'}; isolation: {verdict.isolation}"))
    old = found.recorded
    if old and (old["points"], old["status"]) != (verdict.points, verdict.status):
        console.print(Text(f"  on record: {old['status']}, {old['points']:g} points", "bold red"))


def print_checks(console: Console, found: Explanation) -> None:
    """Each hidden test, its points, and why it failed."""
    console.print(Text("\nChecks", "bold"))
    for check in found.checks:
        mark, style = ("✓", "green") if check.passed else ("✗", "bold red")
        console.print(Text.assemble((f"  {mark} ", style), f"{check.points:>4g}  {check.said}"))
        if check.diagnosis is not None:
            said = "; ".join(filter(None, (check.diagnosis.said, check.diagnosis.where)))
            console.print(Padding(Text(said, "dim"), (0, 2, 0, 10)))


def print_cases(console: Console, found: Explanation) -> None:
    """One line for each case; below the first that differ, both sides' values."""
    console.print(Text("\nCases", "bold"))
    left = SHOWN
    for case, expected, observed in found.part.seen:
        wrong = differences(found, case, expected, observed)
        state = how_it_went(case, observed, wrong)
        mark, style = ("✓", "green") if state == "as expected" else ("✗", "bold red")
        console.print(Text.assemble((f"  {mark} ", style), f"{case.name}: {state}"))
        if wrong and left:
            left -= 1
            print_difference(console, wrong[0])


def differences(found: Explanation, case: Case, expected: Observation, observed: Observation) -> list[OpenDiagnosis]:
    """The results of a case that disagree with the reference. Dropout's pattern is left out."""
    if observed.status != "answered" or (observed.error and case.signature != "error"):
        return []
    wrong = []
    for name, tensor in sorted(expected.tensors.items()):
        actual = observed.tensors.get(name)
        gap = disagreement(actual, tensor, found.part.attempt.tolerances)
        if gap and case.signature in ("values", "structure"):
            wrong.append(OpenDiagnosis(
                gap.kind, name, spoken(case), actual=actual, expected=tensor, differs=gap.differs,
                remarks=remarks(case, actual, tensor, hidden=False)))
    return wrong


def how_it_went(case: Case, observed: Observation, wrong: list) -> str:
    """One case in a few words."""
    if observed.status != "answered":
        return observed.status
    if observed.error and case.signature != "error":
        return raised(observed.error)
    if wrong:
        return "differs in " + ", ".join(d.said for d in wrong)
    return "as expected" if case.signature in ("values", "structure") else f"judged by its {case.signature}"


def print_difference(console: Console, wrong: OpenDiagnosis) -> None:
    """What was called, and both sides."""
    lines = [Text(f"called  {wrong.called}", "dim"), *(Text(f"- {said}") for said in wrong.remarks)]
    for line in [*lines, *comparison(wrong, console.width - 8, console.color_system is not None)]:
        console.print(Padding(line, (0, 2, 0, 6)))


def print_nearest(console: Console, found: Explanation) -> None:
    """The known mistakes that match on most cases, and where they do not."""
    near_ones = nearly(found.part.name, found.part.seen, found.part.attempt.fingerprints)
    cases, near_ones = len(found.part.seen), [near for near in near_ones if near.matched]
    console.print(Text("\nNearest known mistakes" if near_ones else "\nNo known mistake comes near it", "bold"))
    for near in near_ones:
        names = " + ".join(near.mistakes)
        missed = f"; not on {', '.join(near.differs[:3])}" + (" …" if near.differs[3:] else "") if near.differs else ""
        console.print(Padding(Text(f"{near.matched} of {cases} cases  {names}{missed}"), (0, 2)))
