"""Make a find-the-bug exercise for one mistake from code that the learner has already passed.

An edit of the learner's code counts if its results have the mistake's fingerprint. So the kit needs
no solution and no wrong version of one.
"""

import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from ...attempts.attempt import Attempt
from ...attempts.results import State, state_of
from ...attempts.scoring import results_on
from ...course import CourseError
from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...practice.variants import (
    Variant,
    edits_on,
    imprint_of,
    in_other_form,
    is_mistake,
    plain,
    slips_on,
    variant,
    with_definition,
)
from ...recognition.fingerprints import Fingerprint
from ...recognition.imprints import Imprint
from ...runner.facts import changes
from ...runner.source import Source
from ...views.summary import Results
from ..kit import Kit
from ..watch.checker import Checker

SECONDS, MATCHES = 6.0, 2  # for one exercise: time to search, edits to prove
SECONDS_OF_AN_ITEM = 40.0
MOST_CHANGED = 10  # parts of the code that a repair may always change


@dataclass(frozen=True)
class Item:
    """A find-the-bug exercise.

    mistake, message: what is wrong. definition: the code to repair. base: the chapter's text with
    the right definition. line: the first changed line of the definition.
    """

    mistake: str
    message: str
    chapter: str
    exercise: str
    definition: str
    base: str
    line: int


class Workshop:
    """Makes items from a kit, and judges repairs. Learner code runs in another process."""

    def __init__(self, kit: Kit, chance: random.Random):
        self.kit, self.chance = kit, chance
        self.checker = Checker(kit.exercises, kit.exercises)
        self.searches: dict[tuple[str, str], Search] = {}

    def item(self, mistake: str, named_in: str, passed: list[str]) -> Item | None:
        """Return an item for a mistake; None if it fits no exercise that is passed.

        named_in: the exercise in which the mistake was made. Others come first.
        """
        others = sorted((name for name in passed if name != named_in), key=self.effort)
        until = time.monotonic() + SECONDS_OF_AN_ITEM
        for name in [*others, *([named_in] if named_in in passed else [])]:
            if time.monotonic() > until:
                return None
            if found := self.item_in(name, mistake, self.base(name, name == named_in)):
                return found
        return None

    def effort(self, exercise: str) -> float:
        """Return a random sort key, smaller for short definitions, which are searched faster."""
        text = self.kit.text(self.kit.course.exercise(exercise)[0].name)
        return len(plain(text, exercise)) * self.chance.uniform(0.3, 1)

    def base(self, exercise: str, same: bool) -> str:
        """Return a chapter's text. same: write the exercise in another form, so that it is new."""
        chapter, _ = self.kit.course.exercise(exercise)
        text = self.kit.text(chapter.name)
        return in_other_form(text, exercise) if same else text

    def item_in(self, exercise: str, mistake: str, text: str) -> Item | None:
        """Return an item in one exercise, proved by running it; None if there is none."""
        chapter = self.kit.course.exercise(exercise)[0].name
        search = self.search(chapter, exercise, text)
        prints = self.prints(chapter, exercise, mistake)
        entry = case_with(search.attempt, exercise, prints)
        if entry is None or not search.own or not search.passes:
            return None
        known = [one.imprints[entry[0].name] for one in prints if entry[0].name in one.imprints]
        try:
            found = list(islice(search.matching(entry, known), MATCHES))
        finally:
            search.attempt.lab.close()
        for one in found:
            if message := self.proved(chapter, exercise, mistake, one.text):
                line = first_difference(search.own, one.definition)
                return Item(mistake, message, chapter, exercise, one.definition, search.base, line)
        return None

    def search(self, chapter: str, exercise: str, text: str) -> "Search":
        """Return the search in one exercise of a text. What it has tried serves all mistakes."""
        key = exercise, text
        if key not in self.searches:
            attempt = self.attempt(chapter, text)
            self.searches[key] = search = Search(attempt, exercise, self.chance)
            search.passes = bool(search.own) and self.passes(chapter, exercise, search.base)
        return self.searches[key]

    def prints(self, chapter: str, exercise: str, mistake: str) -> list[Fingerprint]:
        """Return a mistake's fingerprints in an exercise; [] also for a find-the-bug exercise."""
        if exercise in self.checker.maker.references(chapter).bugs:
            return []
        known = self.checker.maker.side(chapter).fingerprints.by_exercise
        return [one for one in known.get(exercise, []) if one.mistakes == (mistake,)]

    def attempt(self, chapter: str, text: str) -> Attempt:
        """Return a version of the learner's chapter as an attempt."""
        path = self.kit.path(chapter)
        return self.checker.maker.attempt_from_source(chapter, Source(text, str(path)))

    def results(self, chapter: str, exercise: str, text: str) -> Results:
        """Run the checks of one exercise on a version of the chapter."""
        attempt = self.attempt(chapter, text)
        try:
            return results_on(attempt, exercise)
        finally:
            attempt.lab.close()

    def passes(self, chapter: str, exercise: str, text: str) -> bool:
        """Return True if a version of the chapter passes the checks of an exercise."""
        results = self.results(chapter, exercise, text).get(exercise, [])
        return bool(results) and state_of(results) == State.DONE

    def proved(self, chapter: str, exercise: str, mistake: str, text: str) -> str:
        """Return the mistake's message if a text fails its checks and has that name; "" if not."""
        results = self.results(chapter, exercise, text).get(exercise, [])
        findings = [one.finding for one in results if one.finding and one.finding.mistakes]
        named = {name for one in findings for name in one.mistakes}
        return next((one.mistakes[mistake] for one in findings if named == {mistake}), "")

    def repaired(self, item: Item, file: str) -> tuple[Results, bool]:
        """Return the checks on the repair in a file, and True if it changes no more than needed.

        Raises CourseError if there is none.
        """
        if not (definition := plain(file, item.exercise)):
            why = "or it is not valid Python"
            raise CourseError(f"the file no longer defines {item.exercise}, {why}")
        text = with_definition(item.base, item.exercise, definition)
        results = self.results(item.chapter, item.exercise, text)
        return results, is_small(item, definition)

    def close(self) -> None:
        """End the process that runs learner code."""
        self.checker.close()


class Search:
    """The edits of one exercise, with what each does on a case. Each edit is tried once.

    own: the definition, laid out plainly. base: the chapter's text with it. passes: True if that
    passes the checks.
    """

    def __init__(self, attempt: Attempt, exercise: str, chance: random.Random):
        self.attempt, self.exercise, self.chance = attempt, exercise, chance
        self.text = attempt.source.text
        self.own = plain(self.text, exercise)
        self.base = with_definition(self.text, exercise, self.own) if self.own else ""
        self.passes = False
        # By case: the edits that were tried, and those that were not.
        self.tried: dict[str, list[Tried]] = {}
        self.untried: dict[str, Iterator[Tried]] = {}

    def matching(self, entry: tuple[Case, Observation], known: list[Imprint]) -> Iterator[Variant]:
        """Yield the edits with one of these imprints on a case, for SECONDS at most."""
        until = time.monotonic() + SECONDS
        for one in self.all(*entry):
            if any(imprint.matches(one.imprint) for imprint in known):
                found = variant(self.text, one.definition, self.exercise, one.line)
                if found:
                    yield found
            if time.monotonic() > until:
                return

    def all(self, case: Case, right: Observation) -> Iterator["Tried"]:
        """Yield the edits that were tried on a case, then try the others."""
        tried = self.tried.setdefault(case.name, [])
        yield from tried
        untried = self.untried.setdefault(case.name, self.new(case, right))
        for one in untried:
            tried.append(one)
            yield one

    def new(self, case: Case, right: Observation) -> Iterator["Tried"]:
        """Try the edits on a case."""
        own = self.attempt.own.signatures
        tries = edits_on(self.attempt, self.exercise, [case], self.chance)
        for edit, seen in chain.from_iterable(tries):
            if got := imprint_of(case, right, seen, own):
                yield Tried(edit.definition, edit.line, got)
        for definition, seen in slips_on(self.attempt, self.exercise, case):
            if got := imprint_of(case, right, seen, own):
                yield Tried(definition, 0, got)


@dataclass(frozen=True)
class Tried:
    """An edit that was tried: the changed definition, its line and its imprint on a case."""

    definition: str
    line: int
    imprint: Imprint


def is_small(item: Item, definition: str) -> bool:
    """Return True if a repair changes about as much as undoing the mistake."""
    given = {item.exercise: item.definition}
    undone = changes(plain(item.base, item.exercise), given)[item.exercise]
    return changes(definition, given).get(item.exercise, math.inf) <= max(MOST_CHANGED, undone)


def case_with(
    attempt: Attempt, exercise: str, prints: list[Fingerprint]
) -> tuple[Case, Observation] | None:
    """Return a case on which a mistake gives other values than a right answer, and no error."""
    for case, right in attempt.references.of(exercise):
        if case.signature != "values" or right.error:
            continue
        known = [one.imprints[case.name] for one in prints if case.name in one.imprints]
        differs = known and not is_mistake(attempt, prints, case, right, right)
        if differs and not any(one.is_error for one in known):
            return case, right
    return None


def first_difference(before: str, after: str) -> int:
    """Return the first line that differs between two texts, counted from 1.

    >>> first_difference("a\\nb", "a\\nc")
    2
    """
    pairs = zip(before.split("\n"), after.split("\n"), strict=False)
    equal = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    return (min(before.count("\n"), after.count("\n")) if equal is None else equal) + 1
