"""Errors in a course's files that can be found before any of its code runs on a case.

The checks are cheap. They report all errors together, each as a sentence with file and line.
"""

import ast
import inspect
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property

import torch
from nbformat import NotebookNode

from ..course import Call, Chapter, CourseError, Exercise
from ..exchange.cases import Case
from ..exchange.text import LONGEST_MESSAGE
from ..judging.checked import CheckedExercise
from ..judging.checks import ENGINE_CHECKS
from ..judging.course_checks import CourseChecks, load_checks
from ..project import EXERCISE, Project, error_at, hints_in, syntax_of
from ..recognition.edits import EditError, make
from ..recognition.reaching import bound_by, reached
from ..recognition.signatures import signature_of
from ..views.formulas import unknown_commands
from . import cases_of
from .lessons import REGION, Script, given_code, read_script
from .mistakes import Mistake, every_mistake, fitting, known, shared_mistakes, written_in

FEWEST_HINTS = 2
LONGEST_OF_TWO = (LONGEST_MESSAGE - 1) // 2  # a row has to hold two messages
# Learner code sees numbers that are derived from the seed. An attacker who tries all short seeds
# until one of them gives those numbers knows every hidden case.
SMALLEST_SEED = 1 << 64
GUESSABLE = "course_config.py: the seed can be guessed; take one of 20 digits or more, at random"


def course_errors(project: Project, chapters: Sequence[Chapter]) -> list[str]:
    """Return one sentence for each problem in the files of these chapters."""
    try:
        own, mistakes = load_checks(project.graders), every_mistake(project)
    except Exception as error:
        return error_at(project.graders, error).splitlines()
    found = [GUESSABLE] if (project.course.seed or 0) < SMALLEST_SEED else []
    found += mistake_errors(project, mistakes)
    for chapter in chapters:
        script = read_script(project.solution(chapter.name))
        found += chapter_errors(project, chapter, script) + needed_but_off(project, chapter, script)
        for exercise in chapter.exercises:
            found += ExerciseFile(project, chapter.name, exercise, own).errors()
    return list(dict.fromkeys(found))


def mistake_errors(project: Project, mistakes: list[Mistake]) -> Iterator[str]:
    """Yield a sentence for each mistake with a wrong message or name, or without a place.

    A message is too long if two of that length do not fit into a row.
    """
    places: dict[str, str] = {}
    for one in mistakes:
        begun, length = f"{one.place}: {one.name}", len(one.message)
        if not one.message.strip():
            yield f"{begun}: its message is empty; learners read it"
        if length > LONGEST_OF_TWO:
            yield f"{begun}: its message has {length} characters; {LONGEST_OF_TWO} are the most"
        if places.setdefault(one.name, one.place) != one.place:
            yield (
                f"{one.place}: another mistake is named {one.name}, in {places[one.name]}; put one "
                "that several exercises have into graders/mistakes.py, once"
            )
    shared, fitted = shared_mistakes(project), set()
    for chapter in project.course.chapters:
        source = project.solution(chapter.name).read_text("utf-8")
        for name in EXERCISE.findall(source):
            fitted |= {one.name for one in fitting(shared, source, name)}
    for one in shared:
        if one.name not in fitted:
            yield f"{one.place}: {one.name} fits no exercise: no solution has its text exactly once"


def chapter_errors(project: Project, chapter: Chapter, script: Script) -> list[str]:
    """Return the problems in a chapter's lesson."""
    path = project.solution(chapter.name)
    text = path.read_text(encoding="utf-8")
    found = [f"{path}: no formula can have {one} in it" for one in unknown_commands(text)]
    strange = [name for name in hints_in(text) if name and name not in script.exercises]
    found += [f"{path}: there are hints for {name}, which is not an exercise" for name in strange]
    for exercise in chapter.exercises:
        is_tried = known(project, exercise.name) or exercise.like
        said = exercise_errors(exercise, script.exercises.get(exercise.name), bool(is_tried))
        found += [f"{path}: {exercise.name}{one}" for one in said]
    return found


def exercise_errors(exercise: Exercise, cell: NotebookNode | None, known: bool) -> Iterator[str]:
    """Yield the problems of an exercise in a lesson. known: True if it has a known mistake."""
    if len(exercise.hints) < FEWEST_HINTS:
        yield f" has fewer than {FEWEST_HINTS} hints"
    if not known:
        yield " has no known mistake, so nothing proves that its checks work"
    body = ast.parse(cell.source).body if cell else []
    definitions = [one for one in body if getattr(one, "name", "") == exercise.name]
    if not definitions:
        yield ": its cell defines nothing of that name"
    elif not any(map(ast.get_docstring, definitions)):
        yield " has no docstring"
    if cell and not REGION.search(cell.source):
        yield " has no ### BEGIN SOLUTION … ### END SOLUTION"
    if cell and bool(exercise.like) != ("given" in cell.metadata):
        which = (
            "no line of its solution has" if exercise.like else "only find-the-bug exercises have"
        )
        yield f": {which} `### BUG: the wrong line`"


def needed_but_off(project: Project, chapter: Chapter, script: Script) -> list[str]:
    """Return the exercises that are off this term although others of the chapter use them."""
    taught = [exercise.name for exercise in chapter.exercises]
    path, off = project.solution(chapter.name), script.exercises.keys() - set(taught)
    needed = {
        name for statement in reached(syntax_of(path), taught) for name in bound_by(statement)
    }
    return [
        f"course_config.py: {name} is off, and other exercises of {path} use it"
        for name in sorted(off & needed)
    ]


class ExerciseFile:
    """A grader file to be checked."""

    def __init__(self, project: Project, chapter: str, exercise: Exercise, own: CourseChecks):
        self.project, self.chapter, self.exercise, self.own = project, chapter, exercise, own
        self.path = project.graders / chapter / f"{exercise.like or exercise.name}.py"

    def errors(self) -> list[str]:
        """Return the problems in the file. If an error ends the checks early, return it as well."""
        found: list[str] = []
        try:
            for look in (self.wrong_cases, self.wrong_checks, self.wrong_mistakes):
                found.extend(look())
        except Exception as error:
            found += error_at(self.project.graders, error, f"{self.path}: ").splitlines()
        return found

    def wrong_cases(self) -> Iterator[str]:
        """Yield sentences about missing, random or duplicate cases, and unknown signatures."""
        module = self.project.grader(self.chapter, self.exercise.name)
        if not callable(getattr(module, "cases", None)):
            close = get_close_matches("cases", vars(module), 1, 0.5)
            raise CourseError(
                f"{self.path}: there is no cases(draw)" + (f", but {close[0]}" if close else "")
            )
        line = module.cases.__code__.co_firstlineno
        before, _ = chance(), self.cases
        if chance() != before:
            yield (
                f"{self.path}:{line}: cases(draw) uses random numbers that do not come from the "
                "course's seed, so each build has other cases; draw them with normal(…), "
                "weights(…) or draw.chance(…)"
            )
        for hidden, cases in self.cases.items():
            if not cases:
                who = "graders" if hidden else "learners"
                yield f"{self.path}:{line}: cases(draw) returns no case for {who}"
            for name, times in Counter(case.name for case in cases).items():
                if times > 1:
                    yield f"{self.path}:{line}: {times} cases are named {name!r}"
            for case in cases:
                try:
                    signature_of(case, self.own.signatures)
                except CourseError as error:
                    yield f"{self.path}:{line}: {error}"

    @cached_property
    def cases(self) -> dict[bool, list[Case]]:
        """Return the cases for graders (True) and for learners (False)."""
        names = (self.chapter, self.exercise.name)
        return {hidden: cases_of(self.project, *names, hidden) for hidden in (True, False)}

    def wrong_checks(self) -> Iterator[str]:
        """Yield a sentence on each call of a check that cannot be made on the exercise's cases."""
        for check in self.exercise.checks:
            for call in check.calls:
                for said in self.wrong_call(call, (True, False) if check.points else (False,)):
                    yield f"{self.path}:{check.line}: {said}"

    def wrong_call(self, call: Call, sides: tuple[bool, ...]) -> Iterator[str]:
        """Yield what is wrong with a call: its name, its arguments, or a group without cases.

        sides: True for the graders' cases, False for the learners'.
        """
        checks = ENGINE_CHECKS | self.own.checks | {"answered": CheckedExercise.answered}
        if call.name not in checks:
            close = get_close_matches(call.name, checks, 1)
            yield f"there is no check {call.name}" + (f"; is it {close[0]}?" if close else "")
            return
        try:
            bound = inspect.signature(checks[call.name]).bind(
                None, *call.arguments, **call.settings
            )
        except TypeError as error:
            yield f"{call.name}: {error}"
            return
        bound.apply_defaults()
        for group in (bound.arguments.get("group"), *bound.arguments.get("groups", ())):
            for hidden in sides if group else ():
                if group not in {case.group for case in self.cases[hidden]}:
                    who = "graders" if hidden else "learners"
                    yield f"{call.name} asks for cases in the group {group!r}, and {who} have none"

    def wrong_mistakes(self) -> Iterator[str]:
        """Yield sentences about edits that do not fit."""
        source = self.project.solution(self.chapter).read_text(encoding="utf-8")
        if self.exercise.like:
            given_code(self.project.solution(self.chapter), self.exercise.name)
            return
        for one in written_in(self.project.grader(self.chapter, self.exercise.name)):
            try:
                make(source, self.exercise.name, one.edits)
            except EditError as error:
                yield f"{one.place or self.path}: {one.name} in {self.exercise.name}: {error}"


def chance() -> tuple:
    """Return the states of torch's and Python's random generators, which change with each draw."""
    return torch.get_rng_state().tolist(), random.getstate()
