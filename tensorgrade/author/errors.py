"""Errors in a course's files that can be found before any of its code runs on a case.

The checks are cheap. They report all errors together, each as a sentence with file and line.
"""

import ast
import inspect
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import torch
from nbformat import NotebookNode

from ..course import Call, Chapter, CourseError, Exercise
from ..exchange.text import LONGEST_MESSAGE
from ..judging.checked import CheckedExercise
from ..judging.checks import ENGINE_CHECKS, CourseChecks, load_checks
from ..project import EXERCISE, Project, error_at, hints_in, syntax_of
from ..recognition.edits import EditError, make, reached
from ..recognition.signatures import signature_of
from ..runner.syntax import bound_names
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
            found += file_errors(project, chapter.name, exercise, own)
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
        name for statement in reached(syntax_of(path), taught) for name in bound_names(statement)
    }
    return [
        f"course_config.py: {name} is off, and other exercises of {path} use it"
        for name in sorted(off & needed)
    ]


def file_errors(
    project: Project, chapter: str, exercise: Exercise, own: CourseChecks
) -> Iterator[str]:
    """Yield the problems of a grader file. An error that ends the checks early is the last one."""
    path = project.graders / chapter / f"{exercise.like or exercise.name}.py"
    try:
        yield from wrong_cases(project, chapter, exercise.name, path, own)
        cases = {side: cases_of(project, chapter, exercise.name, side) for side in (True, False)}
        groups = {side: {case.group for case in some} for side, some in cases.items()}
        for check in exercise.checks:
            asked = groups if check.points else {False: groups[False]}  # the others are learners'
            for call in check.calls:
                yield from (f"{path}:{check.line}: {said}" for said in wrong_call(call, asked, own))
        yield from wrong_mistakes(project, chapter, exercise)
    except Exception as error:
        yield from error_at(project.graders, error, f"{path}: ").splitlines()


def wrong_cases(
    project: Project, chapter: str, exercise: str, path: Path, own: CourseChecks
) -> Iterator[str]:
    """Yield sentences about missing, random or duplicate cases, and unknown signatures."""
    module = project.grader(chapter, exercise)
    if not callable(getattr(module, "cases", None)):
        close = get_close_matches("cases", vars(module), 1, 0.5)
        raise CourseError(
            f"{path}: there is no cases(draw)" + (f", but {close[0]}" if close else "")
        )
    place, before = f"{path}:{module.cases.__code__.co_firstlineno}", chance()
    drawn = {
        who: cases_of(project, chapter, exercise, who == "graders")
        for who in ("graders", "learners")
    }
    if chance() != before:
        yield (
            f"{place}: cases(draw) uses random numbers that do not come from the "
            "course's seed, so each build has other cases; draw them with normal(…), "
            "weights(…) or draw.chance(…)"
        )
    for who, cases in drawn.items():
        if not cases:
            yield f"{place}: cases(draw) returns no case for {who}"
        for name, times in Counter(case.name for case in cases).items():
            if times > 1:
                yield f"{place}: {times} cases are named {name!r}"
        for case in cases:
            try:
                signature_of(case, own.signatures)
            except CourseError as error:
                yield f"{place}: {error}"


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
    asked = filter(None, (bound.arguments.get("group"), *bound.arguments.get("groups", ())))
    for group in asked:
        for hidden in (side for side, there in groups.items() if group not in there):
            who = "graders" if hidden else "learners"
            yield f"{call.name} asks for cases in the group {group!r}, and {who} have none"


def wrong_mistakes(project: Project, chapter: str, exercise: Exercise) -> Iterator[str]:
    """Yield sentences about edits that do not fit."""
    lesson = project.solution(chapter)
    if exercise.like:
        given_code(lesson, exercise.name)
        return
    for one in written_in(project.grader(chapter, exercise.name)):
        try:
            make(lesson.read_text(encoding="utf-8"), exercise.name, one.edits)
        except EditError as error:
            yield f"{one.place}: {one.name} in {exercise.name}: {error}"


def chance() -> tuple:
    """Return the states of torch's and Python's random generators, which change with each draw."""
    return torch.get_rng_state().tolist(), random.getstate()
