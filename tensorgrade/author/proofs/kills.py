"""Mutation testing: how many generated mistakes lose points, and the messages about them.

The mutants are small edits of right answers. A mutant that behaves like the right answer it was
made from is not a mistake. An oracle decides this: it compares both on randomly drawn calls (uses),
not on the course's cases.
"""

import ast
import random
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import torch

from ...attempts.attempt import Attempt, ExerciseAttempt
from ...attempts.maker import AttemptMaker
from ...attempts.pipeline import verdict
from ...attempts.results import CheckResult, first_failure
from ...attempts.setup import Setup
from ...course import CourseError
from ...exchange.cases import Case, seed_for
from ...exchange.observation import Observation, Outcome
from ...processes import side_by_side
from ...project import Project
from ...recognition.imprints import without_floats
from ...recognition.mistakes import Mistake, make
from ...sources.submission import Source
from ...testing.collected import CollectedTests
from .figures import share
from .kill_matrix import table
from .made_attempts import Form, right_forms
from .mutants import Mutant, mutants, sample

USES, AT_ONCE = 200, 20


@dataclass(frozen=True)
class Trial:
    """A mutant with the oracle's verdict and its row.

    equivalent: True if the oracle found no difference between the mutant and its original. raised:
    True if the line in the row is only the place where Python raised an error or time ran out.
    besides: (first line, last line) of each other reported place: the code around the line, and the
    lines that produce the values it reads.
    """

    mutant: Mutant
    equivalent: bool
    row: dict
    raised: bool = False
    besides: tuple[tuple[int, int], ...] = ()

    @property
    def killed(self) -> bool:
        """Return True if the mutant lost points."""
        return self.row["points"] < self.row["max_points"]


@dataclass(frozen=True)
class Kills:
    """The trials of one exercise. in_all: the number of its mutants, tried or not."""

    exercise: str
    in_all: int
    trials: list[Trial]

    @property
    def mistakes(self) -> list[Trial]:
        """Return the trials whose mutants are not equivalent."""
        return [trial for trial in self.trials if not trial.equivalent]

    @property
    def survivors(self) -> list[Trial]:
        return [trial for trial in self.mistakes if not trial.killed]


def measure_exercises(
    project: Project, measured: Callable[[str, str, str], Kills], only: Collection[str]
) -> list[Kills]:
    """Measure each exercise, or each of the named ones, in parallel.

    measured: `kills_of` or `unnamed_of` with their number of trials and seed. Raise CourseError
    for an unknown exercise.
    """
    for name in only:
        project.course.exercise(name)
    asked = [
        (chapter.name, exercise.name)
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        if not only or exercise.name in only
    ]
    with side_by_side(None, warnings.simplefilter, "ignore") as pool:
        jobs = [pool.submit(measured, str(project.root), *names) for names in asked]
        return [job.result() for job in jobs]


def kills_of(root: str, chapter: str, exercise: str, right: str, count: int, seed: int) -> Kills:
    """Return the trials of one exercise's mutants, run on one thread.

    right: a folder with `right_answers/` and `right_edits/`.
    """
    torch.set_num_threads(1)
    project = Project(Path(root))
    names = {one.name for one in project.course.chapter(chapter).exercises}
    forms = right_forms(project, chapter, exercise, Path(right))
    every = [mutant for form in forms for mutant in mutants(form, names - {exercise})]
    bench = Bench(project, chapter, exercise)
    try:
        trials = [bench.try_out(mutant) for mutant in sample(every, count, seed)]
    finally:
        bench.close()
    return Kills(exercise, len(every), trials)


def unnamed_of(root: str, chapter: str, exercise: str, count: int, seed: int) -> Kills:
    """Return the trials of one exercise's known mistakes without their names, run on one thread."""
    torch.set_num_threads(1)
    project = Project(Path(root))
    known = [one for one in project.mistakes if exercise in one.edits]
    bench = Bench(project, chapter, exercise)
    drawn = random.Random(seed).sample(known, min(count, len(known)))
    try:
        trials = [bench.try_unnamed(mistake) for mistake in drawn]
    finally:
        bench.close()
    return Kills(exercise, len(known), trials)


class Bench:
    """A bench that grades mutants of one exercise, and compares them with right answers."""

    def __init__(self, project: Project, chapter: str, exercise: str):
        self.chapter, self.exercise = project.course.chapter(chapter), exercise
        self.maker = AttemptMaker(Setup(project.graders, "none"))
        self.collected = CollectedTests(project.graders)
        self.uses = uses_by_chance(project, chapter, exercise)
        self.solution = project.solution(chapter).read_text(encoding="utf-8")
        self.folder = project.solution(chapter).parent
        self.right: dict[str, list[Observation]] = {}

    def try_out(self, mutant: Mutant) -> Trial:
        """Grade one mutant, in a child process because its loops may never finish."""
        return self.graded(self.attempt(mutant.source), mutant, self.gives_the_same(mutant))

    def try_unnamed(self, mistake: Mistake) -> Trial:
        """Grade one known mistake with graders that have no fingerprint under its name."""
        source = make(self.solution, self.exercise, [mistake])
        form = Form(self.chapter.name, self.exercise, "the solution", self.solution)
        lines = edited_lines(self.solution, source)
        mutant = Mutant(form, "known mistake", lines, "", mistake.name, source)
        attempt, names = self.attempt(source), {mistake.name, mistake.same_as}
        prints = attempt.fingerprints.by_exercise[self.exercise]
        left = [one for one in prints if names.isdisjoint(one.mistakes)]
        attempt.fingerprints = replace(attempt.fingerprints, by_exercise={self.exercise: left})
        return self.graded(attempt, mutant, equivalent=False)

    def graded(self, attempt: Attempt, mutant: Mutant, equivalent: bool) -> Trial:
        """Grade an attempt and return the trial."""
        results = self.collected.results(attempt, self.exercise)
        (asked,) = [e for e in self.chapter.exercises if e.name == self.exercise]
        part = getattr(attempt, self.exercise)
        row, raised = verdict("", asked, part, results).row(), ended_in_error(part, results)
        attempt.backend.close()
        return Trial(mutant, equivalent, row, raised, other_places_reported(results))

    def attempt(self, source: str) -> Attempt:
        """Return an attempt for a text, with the solution's companion files."""
        named = Source(source, f"{self.chapter.name}.py")
        return self.maker.attempt_from_source(self.chapter.name, named, self.folder)

    def gives_the_same(self, mutant: Mutant) -> bool:
        """Return True if a mutant matches its original on every use, or the solution on every use.

        Both count because a right form may round differently from the solution, or draw its random
        numbers in another order.
        """
        right = [self.answers(mutant.form.source), self.answers(self.solution)]
        backend = self.attempt(mutant.source).backend
        try:
            for at in range(0, USES, AT_ONCE):
                seen = backend.run(self.uses[at : at + AT_ONCE])
                right = [one for one in right if all(map(same, one[at : at + AT_ONCE], seen))]
                if not right:
                    return False
            return True
        finally:
            backend.close()

    def answers(self, source: str) -> list[Observation]:
        """Return the observations of a right answer on the uses, and cache them."""
        if source not in self.right:
            backend = self.attempt(source).backend
            self.right[source] = backend.run(self.uses)
            backend.close()
        return self.right[source]

    def close(self) -> None:
        """End the process from which mutants are run."""
        self.maker.close()


def edited_lines(before: str, after: str) -> tuple[int, int]:
    """Return the first and the last line of a text that differ from the text before it.

    >>> edited_lines("a b c d".replace(" ", "\\n"), "a x y d".replace(" ", "\\n"))
    (2, 3)
    """
    old, new = before.splitlines(), after.splitlines()
    same = [
        sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
        for a, b in ((old, new), (old[::-1], new[::-1]))
    ]
    first = same[0] + 1
    return first, max(first, len(new) - same[1])


def ended_in_error(part: ExerciseAttempt, results: list[CheckResult]) -> bool:
    """Return True if the result is a timeout, or an error without an earlier wrong value."""
    first = first_failure(results)
    if any(seen.observed.status == Outcome.TIMEOUT for seen in part.seen):
        return True
    if not first or not first.finding:
        return False
    found = first.finding.find_divergence()
    return not (found and found.said) and first.finding.diagnosis.error is not None


def other_places_reported(results: list[CheckResult]) -> tuple[tuple[int, int], ...]:
    """Return the first and last lines of the reported places other than the line itself."""
    first = first_failure(results)
    found = first.finding.find_divergence() if first and first.finding else None
    if not found or not found.said:
        return ()
    lines = [line for _, line in found.reads] + [found.unused] * bool(found.unused)
    return (found.stretch, *((line - 1, line + 1) for line in lines))


def uses_by_chance(project: Project, chapter: str, exercise: str) -> list[Case]:
    """Return valid uses of an exercise, drawn by its grader file; the same ones every time."""
    draw = getattr(project.grader(chapter, exercise), "anything", None)
    if draw is None:
        raise CourseError(f"graders/{chapter}/{exercise}.py has no function `anything(chance)`")
    chance = random.Random(seed_for(0, "uses", exercise))
    return [draw(chance).recorded(exercise, number) for number in range(USES)]


def same(expected: Observation, observed: Observation) -> bool:
    """Return True if two answers agree in their values, their kinds and their side effects."""
    if observed.status != Outcome.ANSWERED or bool(expected.error) != bool(observed.error):
        return False
    if expected.error and observed.error:
        return expected.error.verb == observed.error.verb
    if expected.tensors.keys() != observed.tensors.keys():
        return False
    (words, floats), (others, more) = plain_values(expected), plain_values(observed)
    pairs = [(expected.tensors[name], observed.tensors[name]) for name in expected.tensors]
    return (
        words == others
        and all(alike(*pair) for pair in [(floats, more), *pairs])
        and side_effects(expected) == side_effects(observed)
    )


def plain_values(seen: Observation) -> tuple[str, torch.Tensor]:
    """Return the values that are not tensors: a text with ~ for each float, and the floats.

    Because of the ~, 2.0 does not equal 2.
    """
    floats: list[float] = []
    told = {
        name: (value["type"], without_floats(value["json"], floats))
        for name, value in seen.values.items()
    }
    return repr(told), torch.tensor(floats, dtype=torch.float64)


def alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return True if two tensors are equal apart from rounding."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    relative = 1e-4 if one.dtype == torch.float32 else 1e-6
    return torch.allclose(one.double(), other.double(), relative, relative / 100, equal_nan=True)


def side_effects(seen: Observation) -> dict:
    """Return the side effects of a call: changed inputs, and parameters and buffers with shapes."""
    left = ("changed", "parameters", "buffers", "missing", "misshapen", "unexpected")
    return {
        name: {key: facts[key] for key in left if key in facts}
        for name, facts in seen.facts.items()
    }


# A message that says that something is wrong, but not what: learners cannot act on it.
GENERIC = "the right shape but not the right values"
TOLD = ("named", "repaired", "placed", "wide", "raised", "observed", "nothing", "false")


def kind_of_message(trial: Trial) -> str:
    """Return which of the kinds in TOLD describes the message for a mutant that lost points.

    named: the message names a mistake. It takes a reader to judge whether the name is right.
    repaired: a small edit of the reported line makes everything right.
    placed: the line is at most one line from the edit, or begins the statement with the edit.
    wide: the edit is in a reported stretch of code, or next to a line that is reported as the
    source of a value.
    raised: the line is elsewhere, and the message says that Python raised an error or that time ran
    out there. The cause is somewhere else.
    false: the message says that values diverge on a line, but the edit is elsewhere.
    observed: the message describes the wrong result without a line.
    nothing: the message says only that the result is wrong.
    """
    row, (first, last) = trial.row, trial.mutant.lines
    if row["mistakes"]:
        return "named"
    if row.get("sure") in ("repaired", "placed"):
        line = row.get("line") or 0
        near = first - 1 <= line <= last + 1 or line == statement_at(trial.mutant.source, first)
        if near or row["sure"] == "repaired":
            return row["sure"]
        if any(begin <= last and first <= end for begin, end in trial.besides):
            return "wide"
        return "raised" if trial.raised else "false"
    return "nothing" if row["message"].endswith(f"{GENERIC}.") else "observed"


def statement_at(source: str, line: int) -> int:
    """Return the first line of the innermost simple statement at a line.

    A simple statement contains no other statements.

    >>> statement_at("x = [\\n  1,\\n  2]", 3)
    1
    """
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    plain = [node for node in nodes if not hasattr(node, "body")]
    spans = [(n.lineno, n.end_lineno or n.lineno) for n in plain]
    return max((first for first, last in spans if first <= line <= last), default=line)


COLUMNS = ("exercise", "in all", "tried", "equivalent", "killed", "share", *TOLD)


def report(kills: list[Kills], sentences: int, seed: int) -> str:
    """Return a table by exercise, the survivors, and a number of randomly drawn messages."""
    every = [trial for one in kills for trial in one.trials]
    rows = [figures_of(one) for one in [*kills, Kills("all", sum(k.in_all for k in kills), every)]]
    unfair = [trial for trial in every if trial.equivalent and trial.killed]
    lost = [trial for one in kills for trial in one.mistakes if trial.killed]
    drawn = random.Random(seed).sample(lost, min(sentences, len(lost)))
    parts = [
        table(COLUMNS, rows),
        share("generated mistakes killed", [t.killed for k in kills for t in k.mistakes]),
        *described("survived", [trial for one in kills for trial in one.survivors]),
        *described(
            "lost points, though no random call distinguishes it from a right answer", unfair
        ),
        *described("drawn by chance, to be read", drawn),
    ]
    return "\n".join(parts)


def figures_of(kills: Kills) -> tuple:
    """Return one row of the table."""
    killed = [trial for trial in kills.mistakes if trial.killed]
    said = [kind_of_message(trial) for trial in killed]
    percent = 100 * len(killed) / max(1, len(kills.mistakes))
    equivalent = len(kills.trials) - len(kills.mistakes)
    counts = (kills.in_all, len(kills.trials), equivalent, len(killed), f"{percent:.1f} %")
    return (kills.exercise, *counts, *(said.count(kind) for kind in TOLD))


def described(title: str, trials: list[Trial]) -> list[str]:
    """Return a title, and two lines for each trial: the edit, and the learner's message."""
    return [f"\n{title}: {len(trials)}"] * bool(trials) + [
        f"  {trial.row['exercise']}: {trial.mutant}\n"
        f"      {kind_of_message(trial)}: {trial.row['message']}"
        for trial in trials
    ]
