"""Deduct points for a mistake only once, even if later exercises call the wrong exercise.

A course may have right answers that call earlier exercises (graders/from_earlier/). They run in
this process. If one calls an earlier exercise that is wrong in the learner's file, a process with
the learner's code computes that call. If the learner's later exercise gives the same results as
such a right answer, it is right.

Only intermediate values of a right answer are sent, never its result. They go to a fresh process
after all judged results have been collected, and nothing that this process says is reported. Cases
of the earlier exercise itself are mixed in. If the process answers them differently now, none of
its answers are used.

A class cannot be called across processes. Instead, the course may have a substitute (`stand_ins/`
in that folder). It replaces the wrong class in a fresh process, where the later exercise runs and
is judged again.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ..exchange.cases import Case, record
from ..exchange.observation import Observation, Outcome
from ..exchange.references import Seen
from ..judging.diagnosis import Diagnosis, Finding, Kind
from ..judging.tensor_comparison import disagreement
from ..messages.verdicts import EarlierIsWrong
from ..recognition.signatures import imprint
from ..runner.source import Source
from ..runner.step import Step
from ..sources.program import Program
from .attempt import Attempt, ExerciseAttempt
from .checking import check_results
from .lab import Lab
from .points import never_made, sums, with_deduction
from .recognized import mistakes
from .results import CheckResult, Results, Rule, State, state_of

FOLDER, STAND_INS = "from_earlier", "stand_ins"
NEW_FOR_EACH_OLD = 4  # calls, on average, for each earlier case that is repeated among them


def deduct_once(attempt: Attempt, results: Results) -> Results:
    """Return results in which a mistake costs points once.

    If this cannot be tried out, as in a self-check without the solution, only the message about the
    earlier exercise is added.
    """
    results = dict(results)
    for exercise in attempt.chapter.exercises:
        name, checks = exercise.name, results.get(exercise.name, [])
        called = attempt.called_before(name)
        wrong = [one for one in called if state_of(results.get(one, [])) == State.WRONG]
        part = attempt.exercises[name]
        if not wrong or part.given_code or state_of(checks) != State.WRONG:
            continue
        part.inherited = {m for one in wrong for m in mistakes(attempt.exercises[one])}
        if never_made(part.claimed):  # only substitutes show which exercise is at fault
            part.inherited = set()
        right = bool(mistakes(part)) and part.inherited.issuperset(mistakes(part))
        right = right or agrees_with_own(part, wrong)
        stand_ins = stand_ins_for(attempt, wrong)
        if not right and stand_ins:
            checks, right = better_of_both(part, checks, stand_ins)
        root = attempt.exercises[wrong[0]].excused_by or wrong[0]
        part.excused_by = root if right else ""
        part.noted = None if right else EarlierIsWrong(root)
        results[name] = [noted(check, root, right) for check in checks]
    return results


def noted(check: CheckResult, root: str, right: bool) -> CheckResult:
    """Return a failed check with a note about the earlier exercise.

    It keeps all its points if the earlier exercise is the only cause.
    """
    if check.finding is None or check.passed:
        return check
    diagnosis, said = check.finding.diagnosis, EarlierIsWrong(root)
    if right:
        told = Diagnosis(Kind.FACT, said, diagnosis.describe_call, case=diagnosis.case)
        finding = Finding(check.asks, told)
        return replace(check, earned_points=check.points, rule=Rule.EARLIER, finding=finding)
    return replace(check, finding=replace(check.finding, earlier=said))


def agrees_with_own(part: ExerciseAttempt, wrong: list[str]) -> bool:
    """Return True if the exercise does as well as a right answer that calls the wrong exercises.

    It must pass each check that such a right answer passes. One of the course's right answers is
    enough. Without the solution or on public cases, return False.
    """
    pairs = part.attempt.pairs()
    if pairs is None:
        return False
    solution = Source(pairs.sources.text, f"{part.attempt.chapter.name}.py")
    ways = sorted((part.attempt.own.folder / FOLDER / part.attempt.chapter.name).glob("*.py"))
    return any(is_right_with_own(part, solution, way, wrong) for way in ways)


def is_right_with_own(part: ExerciseAttempt, solution: Source, way: Path, wrong: list[str]) -> bool:
    """Return True if the exercise does as well as one right answer with the wrong exercises.

    way: the file of that right answer. wrong: the names of the wrong earlier exercises.
    """
    helpers = Helpers(part.attempt, wrong)
    try:
        seen = seen_with_helpers(part, helpers, expected_with(part, solution, way, helpers))
    finally:
        part.attempt.lab.end(helpers.program)
    if not seen or not all(has_expected_signature(part, one) for one in seen):
        return False
    # If a right answer with these helpers fails a check too, the helpers are at fault.
    theirs = [one._replace(observed=one.expected) for one in seen]
    own, best = (passed_checks(part, which) for which in (seen, theirs))
    return all(mine or not possible for mine, possible in zip(own, best, strict=True))


def stand_ins_for(attempt: Attempt, wrong: list[str]) -> dict[str, str]:
    """Return the sources of right exercises that replace the wrong ones, by name.

    They are for exercises that cannot be called across processes, such as a class. The result is
    empty if the course lacks a substitute for one of them. An excused exercise is not replaced:
    it is right once the exercises that it calls are replaced.
    """
    roots = [name for name in wrong if not attempt.exercises[name].excused_by]
    folder = attempt.own.folder / FOLDER / attempt.chapter.name / STAND_INS
    paths = {name: folder / f"{name}.py" for name in roots}
    if not attempt.references.hidden or not all(path.exists() for path in paths.values()):
        return {}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items()}


def seen_with_stand_ins(part: ExerciseAttempt, stand_ins: dict[str, str]) -> list[Seen]:
    """Return the results of the learner's exercise together with these substitutes."""
    program = part.attempt.program.with_stand_ins(stand_ins)
    try:
        return part.attempt.run_all_cases(part.name, program)
    finally:
        part.attempt.lab.end(program)


def better_of_both(
    part: ExerciseAttempt, checks: list[CheckResult], stand_ins: dict[str, str]
) -> tuple[list[CheckResult], bool]:
    """Return the checks that count, and True if all checks pass with substitutes.

    If something is wrong even with substitutes, it is this exercise's own mistake, and only that
    counts. Some learners work around their wrong earlier exercise, so the first results count if
    they earn as many points: substitutes must not cost points.
    """
    first, earned = (part.claimed, part.inherited), sums(with_deduction(part, checks))[0]
    part.judge_by(seen_with_stand_ins(part, stand_ins), stand_ins)
    part.inherited = set()
    beside = check_results(part.attempt, part.name)[part.name]
    right = all(check.passed for check in beside)
    if right or sums(with_deduction(part, beside))[0] <= earned:
        part.judge_by(first[0])
        part.inherited = first[1]
        return checks, right
    return beside, False


def has_expected_signature(part: ExerciseAttempt, seen: Seen) -> bool:
    """Return True if the results of a case have the expected signature."""
    own = part.attempt.own.signatures
    wanted, got = (
        imprint(seen.case, seen.expected, one, own) for one in (seen.expected, seen.observed)
    )
    return wanted.matches(got)


def passed_checks(part: ExerciseAttempt, seen: list[Seen]) -> list[bool]:
    """Return a bool for each check of an exercise: True if it passes on these results."""
    kept, part.seen = part.seen, seen
    try:
        return [check.passed for check in check_results(part.attempt, part.name)[part.name]]
    finally:
        part.seen = kept


@dataclass
class Helpers:
    """A learner's earlier exercises, called in a fresh process."""

    attempt: Attempt
    names: list[str]
    asked: bool = False  # True once one of them has been called
    inconsistent: bool = False  # True if one of them gave a different result than before

    def __post_init__(self) -> None:
        self.program = replace(self.attempt.program)
        self.known = [seen for name in self.names for seen in self.attempt.exercises[name].claimed]

    def ask(self, name: str, arguments: dict, gradient: Any = None) -> Observation:
        """Return the result of an earlier exercise.

        The call has its own thread, so that its operations do not count as those of the right
        answer.
        """
        with ThreadPoolExecutor(1) as apart:
            return apart.submit(self.ask_here, name, arguments, gradient).result()

    def ask_here(self, name: str, arguments: dict, gradient: Any) -> Observation:
        """Call an earlier exercise from this thread; at random, first repeat an earlier case."""
        self.asked = True
        if secrets.randbelow(NEW_FOR_EACH_OLD) == 0:
            self.repeat_a_case()

        asked = Step("call", name, arguments={"gradient": gradient, "named": arguments})
        (observed,) = self.attempt.lab.run(self.program, [record(name, "asked", [asked])])
        return observed

    def repeat_a_case(self) -> None:
        """Run one of the exercises' own cases again, and record if its result differs."""
        old = secrets.choice(self.known)
        (now,) = self.attempt.lab.run(self.program, [old.case])
        self.inconsistent |= not same(old.observed, now, self.attempt)


def same(before: Observation, now: Observation, attempt: Attempt) -> bool:
    """Return True if two runs of one case gave the same results, including the places of NaN."""
    if (before.status, bool(before.error)) != (now.status, bool(now.error)):
        return False
    if before.tensors.keys() != now.tensors.keys():
        return False
    close = attempt.tolerances
    return all(
        tensor.shape == now.tensors[name].shape
        and torch.equal(tensor.isnan(), now.tensors[name].isnan())
        and not disagreement(tensor.nan_to_num(), now.tensors[name].nan_to_num(), close)
        for name, tensor in before.tensors.items()
    )


class RemoteCall(torch.autograd.Function):
    """An operation for autograd that computes an earlier exercise in the learner's process.

    Its backward pass requests the gradients from that process too.
    """

    @staticmethod
    def forward(
        ctx: Any, remote: "RemoteExercise", plain: dict, names: tuple, *tensors: torch.Tensor
    ) -> Any:
        ctx.question = remote, plain, names
        ctx.save_for_backward(*tensors)
        results = remote.results(plain | dict(zip(names, tensors, strict=True)))
        ctx.mark_non_differentiable(*(r for r in results if not r.is_floating_point()))
        return results[0] if len(results) == 1 else tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        remote, plain, names = ctx.question
        tensors = dict(zip(names, ctx.saved_tensors, strict=True))
        asked = gradients[0] if len(gradients) == 1 else gradients
        found = remote.helpers.ask(remote.name, plain | tensors, asked).tensors
        return None, None, None, *(found.get(f"gradient.{n}") for n in names)


@dataclass(frozen=True)
class RemoteExercise:
    """A callable that replaces an earlier exercise in a right answer. It is called by keyword.

    right: the solution's function. It runs in this process, and its result must have the same sizes
    as the learner's.
    """

    helpers: Helpers
    name: str
    right: Callable

    def __call__(self, **arguments: Any) -> Any:
        tensors = {k: v for k, v in arguments.items() if isinstance(v, torch.Tensor)}
        plain = {k: v for k, v in arguments.items() if k not in tensors}
        return RemoteCall.apply(self, plain, tuple(tensors), *tensors.values())

    def results(self, arguments: dict) -> list[torch.Tensor]:
        """Return the tensors of the result. Raises RuntimeError if their sizes are wrong."""
        observed = self.helpers.ask(self.name, arguments)
        found = [t for n, t in sorted(observed.tensors.items()) if n.split(".")[0] == "result"]
        right = self.right(**arguments)
        wanted = [right] if isinstance(right, torch.Tensor) else [*right]
        if observed.status != Outcome.ANSWERED or list(map(sizes, found)) != [*map(sizes, wanted)]:
            raise RuntimeError("the earlier exercise gives nothing of the right size")
        return found


def sizes(tensor: torch.Tensor) -> list[int]:
    """Return the sizes of a tensor in sorted order, without ones."""
    return sorted(size for size in tensor.shape if size != 1)


def expected_with(
    part: ExerciseAttempt, solution: Source, way: Path, helpers: Helpers
) -> list[Observation]:
    """Return a right answer's results on every case of an exercise, with the learner's helpers."""
    lab, chapter = Lab(None, part.attempt.course.limits), part.attempt.chapter.name
    source = Source(way.read_text(encoding="utf-8"), way.name)
    asker = Program(chapter, source)
    right, module = vars(lab.module(Program(chapter, solution))), vars(lab.module(asker))
    if part.name not in module:
        return []
    for exercise in part.attempt.chapter.exercises:
        name = exercise.name
        if name in helpers.names:
            module[name] = RemoteExercise(helpers, name, right[name])
        elif module.get(name) is None:
            module[name] = right[name]
    asked = [seen.case for seen in part.seen if is_computed(seen.case)]
    given = iter(lab.run(asker, asked))
    if helpers.asked:
        helpers.repeat_a_case()  # at least once
    return [next(given) if is_computed(seen.case) else seen.expected for seen in part.seen]


def is_computed(case: Case) -> bool:
    """Return True if a case computes numbers; cases on a second device compute nothing."""
    return not any(step.verb == "move" for step in case.steps)


def seen_with_helpers(
    part: ExerciseAttempt, helpers: Helpers, expected: list[Observation]
) -> list[Seen]:
    """Return the results of all cases, expecting what a right answer gives with the helpers.

    Return [] if that proves nothing: no helper was called, a helper was inconsistent, more than
    half of the cases have no numbers on either side, or values show too little.

    If neither side has numbers to compare on a case (because of an error or NaN), the case counts
    as right.
    """
    if helpers.inconsistent or not helpers.asked or not expected:
        return []
    pairs = list(zip(part.seen, expected, strict=True))
    empty = [has_no_numbers(one.observed) and has_no_numbers(want) for one, want in pairs]
    if 2 * sum(empty) > len(pairs) or any(map(shows_too_little, part.seen, expected)):
        return []
    return [
        Seen(one.case, one.expected, one.expected) if left_out else one._replace(expected=want)
        for (one, want), left_out in zip(pairs, empty, strict=True)
    ]


def has_no_numbers(observed: Observation) -> bool:
    """Return True if a case ended in an error or has NaN in its results."""
    return bool(observed.error) or any(bool(t.isnan().any()) for t in observed.tensors.values())


def shows_too_little(seen: Seen, with_helpers: Observation) -> bool:
    """Return True if the values expected with the helpers show too little to be compared.

    This is so if all entries of a tensor are the same number, or if there is no gradient, unless
    the solution's own values are like that too.
    """
    right = seen.expected.tensors
    gradients = [any(n.startswith("gradient.") for n in t) for t in (right, with_helpers.tensors)]
    return gradients == [True, False] or any(
        is_even(tensor) and not is_even(right.get(name, tensor))
        for name, tensor in with_helpers.tensors.items()
    )


def is_even(tensor: torch.Tensor) -> bool:
    """Return True if all entries of a tensor are the same number."""
    return tensor.numel() > 0 and bool((tensor == tensor.flatten()[0]).all())
