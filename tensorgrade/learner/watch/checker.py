"""Run the public tests on a chapter again and again in one session, without restarting anything.

Learner code runs in another process. That process is killed if the code does not return.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ...attempts.attempt import Attempt
from ...attempts.lab import Lab
from ...attempts.maker import AttemptMaker
from ...attempts.results import CheckResult, Results
from ...attempts.scoring import results_on
from ...attempts.setup import Setup
from ...course import Course, Limits
from ...history import remember
from ...judging.diagnosis import Kind
from ...runner.facts import parts
from ...sandbox.own_code import fork_server
from ...sandbox.processes import ForkServer
from ...views.summary import State, left_out, state_of

PATIENCE = 3.0  # time limit in seconds for loading a file, and for each call


class WatchMaker(AttemptMaker):
    """A maker that runs learner code in a separate process, so that it can stop endless loops."""

    def lab(self, chapter: str) -> Lab:
        """Return a lab without a sandbox, because public cases need none."""
        return Lab(self.warm_up(), self.limits, own=True)

    def warm_up(self) -> ForkServer:
        """Return the process that runs learner code or forks children for it. Raises NotStarted."""
        if self.warm is None:
            self.warm = fork_server(self.limits)
        return self.warm

    @property
    def limits(self) -> Limits:
        """Return the course's limits with shorter times, because the learner is waiting."""
        return replace(self.course.limits, load_seconds=PATIENCE, case_seconds=PATIENCE)


def check_all(tests: Path, folder: Path) -> tuple[Course, Results]:
    """Return the course, and the results of the checks on every chapter in a folder."""
    checker, results = Checker(tests, folder), Results()
    try:
        for chapter in checker.course.chapters:
            if checker.path(chapter.name).exists():
                results |= checker.check(chapter.name)[0]
    finally:
        checker.close()
    return checker.course, results


DEFINED = re.compile(r"(?:@|def |class |async def )")
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Pieces:
    """A file's definitions by name, and its other statements.

    lines: the line on which each piece begins, by definition name or by the statement's text.
    """

    definitions: dict[str, str]
    loose: list[str]
    lines: dict[str, int]

    @classmethod
    def of(cls, text: str) -> "Pieces":
        """Split a text into its pieces.

        >>> found = Pieces.of("import torch\\ndef f(x): return x")
        >>> found.definitions, found.loose
        ({'f': 'def f(x): return x'}, ['import torch'])
        >>> found.lines
        {'import torch': 1, 'f': 2}
        """
        found, at = cls({}, [], {}), 0
        for names, part in parts(text):
            at = max(text.find(part, at), at)
            if DEFINED.match(part) and len(names) == 1 and names[0] not in found.definitions:
                key = names[0]
                found.definitions[key] = part
            else:
                key = part
                found.loose.append(part)
            found.lines[key] = text.count("\n", 0, at) + 1
        return found

    def reached_from(self, before: "Pieces") -> set[str] | None:
        """Return the definitions that changed, and those that use a changed definition.

        Return None if another statement changed or uses a changed definition, because that can
        affect every definition.

        >>> now = Pieces.of("def f(): return 2\\ndef g(): return f()\\ndef h(): return 3")
        >>> sorted(now.reached_from(Pieces.of("def f(): return 1\\n" + now.definitions["g"])))
        ['f', 'g', 'h']
        """
        then, now = before.definitions, self.definitions
        reached = {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}
        if self.loose != before.loose or speaks_of(reached, *self.loose):
            return None
        while further := {n for n in now.keys() - reached if speaks_of(reached, now[n])}:
            reached |= further
        return reached

    def reaches(self, names: set[str]) -> set[str]:
        """Return these names, and the names of all definitions that they use.

        >>> sorted(Pieces.of("def f(): return 2\\ndef g(): return f()").reaches({"g"}))
        ['f', 'g']
        """
        found, left = set(names), list(names)
        while left:
            spoken = set(WORD.findall(self.definitions.get(left.pop(), ""))) & {*self.definitions}
            left += spoken - found
            found |= spoken
        return found


def speaks_of(names: set[str], *texts: str) -> bool:
    """Return True if one of the names occurs as a word in one of the texts."""
    return any(not names.isdisjoint(WORD.findall(text)) for text in texts)


def cut_short(checks: list[CheckResult]) -> bool:
    """Return True if a check was cut off, which a busy machine can cause: try it again."""
    kinds = {check.finding.diagnosis.kind for check in checks if check.finding}
    return not kinds.isdisjoint({Kind.TIMEOUT, Kind.KILLED, Kind.UNREACHED})


class Checker:
    """The checks of a course, kept in memory. `folder` holds the learner's files."""

    def __init__(self, tests: Path, folder: Path):
        torch.set_num_threads(1)
        self.maker, self.folder = WatchMaker(Setup(tests)), folder
        self.course = self.maker.course
        self.maker.warm_up()  # before this process has threads, which make forking unsafe
        self.before: dict[str, tuple[Pieces, Results]] = {}  # by chapter: the last check

    def path(self, chapter: str) -> Path:
        """Return the path of the learner's file for a chapter."""
        return self.folder / f"{chapter}.py"

    def check(self, chapter: str) -> tuple[Results, list[str]]:
        """Check a chapter's current file. Return the checks, and notes on code that cannot run.

        The checks are grouped by exercise. Results that no change can affect are reused.
        """
        attempt = self.maker.attempt(chapter, self.path(chapter))
        now = Pieces.of(attempt.source.text)
        try:
            known = self.still_known(attempt, now)
            left = [name for name in attempt.exercises if name not in known]
            left = left or list(attempt.exercises)[:1]  # the file may fail to load by now
            checked = results_on(attempt, *left)
            self.before[chapter] = now, known | checked
            remember(self.maker.tests, self.folder, known | checked)
            return known | checked, left_out(attempt)
        finally:
            attempt.lab.close()

    def still_known(self, attempt: Attempt, now: Pieces) -> Results:
        """Return the earlier checks of the exercises that no change since then can affect.

        A failed check is not reused if lines moved, if it was cut short, or if a definition that
        runs again uses the exercise: its message could contradict the new ones.
        """
        before, results = self.before.get(attempt.chapter.name, (now, {}))
        reached = now.reached_from(before)
        if reached is None:
            return {}
        asked = {n: {n, *attempt.references.asked_by_name(n)} for n in attempt.exercises}
        known = {n: checks for n, checks in results.items() if asked[n].isdisjoint(reached)}
        called = now.reaches(set().union(*(asked[n] for n in asked.keys() - known.keys())))
        moved = {name for name, _ in now.lines.items() ^ before.lines.items()}
        return {
            name: checks
            for name, checks in known.items()
            if state_of(checks) == State.DONE
            or (moved <= reached and name not in called and not cut_short(checks))
        }

    def close(self) -> None:
        """Close the fork server."""
        self.maker.close()
