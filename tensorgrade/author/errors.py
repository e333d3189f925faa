"""Errors in a course's files that can be found before any of its code runs on a case.

The checks are cheap. They report all errors together, each as a sentence with file and line.
"""

import ast
import inspect
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import torch

from ..cells import marked, read_lesson
from ..course import Call, Chapter, CourseError, Exercise
from ..exchange.cases import Case
from ..exchange.text import LONGEST_MESSAGE
from ..judging.checked import CheckedExercise
from ..judging.checks import ENGINE_CHECKS, CourseChecks, load_checks
from ..project import Project, error_at, syntax_of
from ..recognition.edits import EditError, make
from ..recognition.signatures import signature_of
from ..runner.syntax import DEFINITIONS
from ..views.formulas import unknown_commands
from . import cases_of
from .lessons import BUG, REGION, bug_of, names_used
from .mistakes import Mistake, every_mistake, known, written_in

WHO = {True: "graders", False: "learners"}  # whose the hidden cases are, and the public ones
FEWEST_HINTS = 2
LONGEST_OF_TWO = (LONGEST_MESSAGE - 1) // 2  # of a message, because a row has to hold two
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
    found += mistake_errors(mistakes)
    for chapter in chapters:
        found += chapter_errors(project, chapter)
        for exercise in chapter.exercises:
            found += file_errors(project, chapter.name, exercise, own)
    return list(dict.fromkeys(found))


def mistake_errors(mistakes: list[Mistake]) -> Iterator[str]:
    """Yield a sentence for each mistake with a long message, or with the name of another one."""
    places: dict[str, str] = {}
    for one in mistakes:
        if (length := len(one.message)) > LONGEST_OF_TWO:
            most = f"{LONGEST_OF_TWO} are the most"
            yield f"{one.place}: {one.name}: its message has {length} characters; {most}"
        if places.setdefault(one.name, one.place) != one.place:
            yield (
                f"{one.place}: another mistake is named {one.name}, in {places[one.name]}; one of "
                "several exercises belongs in graders/mistakes.py, once"
            )


def chapter_errors(project: Project, chapter: Chapter) -> Iterator[str]:
    """Yield the problems in a chapter's lesson."""
    path = project.solution(chapter.name)
    cells = read_lesson(path)
    written = marked(cells, "exercise")
    for one in unknown_commands(path.read_text(encoding="utf-8")):
        yield f"{path}: no formula can have {one} in it"
    for name in sorted(marked(cells, "hints").keys() - written.keys()):
        yield f"{path}: there are hints for {name}, which is not an exercise"
    for exercise in chapter.exercises:
        for said in exercise_errors(exercise, written[exercise.name].source):
            yield f"{path}: {exercise.name}{said}"
        if not (exercise.like or known(project, exercise.name)):
            yield f"{path}: {exercise.name} has no known mistake, so nothing proves its checks"
    taught = [exercise.name for exercise in chapter.exercises]
    for name in sorted(names_used(syntax_of(path), taught) & (written.keys() - set(taught))):
        yield f"course_config.py: {name} is off, and other exercises of {path} use it"


def exercise_errors(exercise: Exercise, source: str) -> Iterator[str]:
    """Yield the problems in the source of an exercise's cell."""
    if len(exercise.hints) < FEWEST_HINTS:
        yield f" has fewer than {FEWEST_HINTS} hints"
    defined = [one for one in ast.parse(source).body if isinstance(one, DEFINITIONS)]
    definitions = [one for one in defined if one.name == exercise.name]
    if not definitions:
        yield ": its cell defines nothing of that name"
    elif not any(map(ast.get_docstring, definitions)):
        yield " has no docstring"
    if not REGION.search(source):
        yield " has no ### BEGIN SOLUTION … ### END SOLUTION"
    if exercise.like and not BUG.search(source):
        yield ": no line of its solution has `### BUG: the wrong line`"
    if BUG.search(source) and not exercise.like:
        yield ": only find-the-bug exercises have `### BUG: the wrong line`"


def file_errors(
    project: Project, chapter: str, exercise: Exercise, own: CourseChecks
) -> Iterator[str]:
    """Yield the problems of a grader file. An error that ends the checks early is the last one."""
    path = project.graders / chapter / f"{exercise.like or exercise.name}.py"
    try:
        module, before = project.grader(chapter, exercise.name), chance()
        if not callable(getattr(module, "cases", None)):
            close = get_close_matches("cases", vars(module), 1, 0.5)
            raise CourseError("there is no cases(draw)" + (f", but {close[0]}" if close else ""))
        cases = {side: cases_of(project, chapter, exercise.name, side) for side in WHO}
        place = f"{path}:{module.cases.__code__.co_firstlineno}"
        if chance() != before:
            yield (
                f"{place}: cases(draw) uses random numbers that differ in each build; draw them "
                "with normal(…), weights(…) or draw.chance(…)"
            )
        for side, who in WHO.items():
            yield from (f"{place}: {said}" for said in wrong_cases(cases[side], who, own))
        groups = {side: {case.group for case in some} for side, some in cases.items()}
        for check in exercise.checks:
            asked = groups if check.points else {False: groups[False]}  # the others are learners'
            for call in check.calls:
                yield from (f"{path}:{check.line}: {said}" for said in wrong_call(call, asked, own))
        if exercise.like:
            bug_of(project, chapter, exercise.name)
        source = project.solution(chapter).read_text(encoding="utf-8")
        for one in [] if exercise.like else written_in(module):
            try:
                make(source, exercise.name, one.edits)
            except EditError as error:
                yield f"{one.place}: {one.name} in {exercise.name}: {error}"
    except Exception as error:
        yield from error_at(project.graders, error, f"{path}: ").splitlines()


def wrong_cases(cases: list[Case], who: str, own: CourseChecks) -> Iterator[str]:
    """Yield sentences about missing or duplicate cases of a side, and unknown signatures."""
    if not cases:
        yield f"cases(draw) returns no case for {who}"
    for name, times in Counter(case.name for case in cases).items():
        if times > 1:
            yield f"{times} cases are named {name!r}"
    for case in cases:
        try:
            signature_of(case, own.signatures)
        except CourseError as error:
            yield str(error)


def wrong_call(call: Call, groups: dict[bool, set[str]], own: CourseChecks) -> Iterator[str]:
    """Yield what is wrong with a call: its name, its arguments, or a group without cases.

    groups: the groups of the graders' cases (True) and of the learners' (False).
    """
    checks = ENGINE_CHECKS | own.checks | {"answered": CheckedExercise.answered}
    if call.name not in checks:
        close = get_close_matches(call.name, checks, 1)
        yield f"there is no check {call.name}" + (f"; is it {close[0]}?" if close else "")
        return
    try:
        bound = inspect.signature(checks[call.name]).bind(None, *call.arguments, **call.settings)
    except TypeError as error:
        yield f"{call.name}: {error}"
        return
    bound.apply_defaults()
    for group in filter(None, (bound.arguments.get("group"), *bound.arguments.get("groups", ()))):
        for who in (WHO[side] for side, there in groups.items() if group not in there):
            yield f"{call.name} asks for cases in the group {group!r}, and {who} have none"


def chance() -> tuple:
    """Return the states of torch's and Python's random generators, which change with each draw."""
    return torch.get_rng_state().tolist(), random.getstate()
