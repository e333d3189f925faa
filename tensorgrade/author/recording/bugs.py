"""Find-the-bug exercises: the mistake in each, and the code that learners get.

Nothing in the learners' files reveals the mistake.
"""

import ast
import re

from ...attempts.given_code import MOST_CHANGED
from ...course import CourseError
from ...course_sources import EXERCISE
from ...project import Project
from ...recognition.edits import make
from ...runner.facts import changes
from ..mistakes import Mistake, every_mistake
from ..reaching import bound_by, reached

MARKS = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*\n", re.MULTILINE)
LONGEST = MOST_CHANGED * 2 // 3  # for the shortest repair, so that longer ones are allowed too


def bugs_of(project: Project, chapter: str) -> dict[str, str]:
    """Return the given code of each find-the-bug exercise, by exercise."""
    names = [exercise.name for exercise in project.course.chapter(chapter).exercises]
    mistakes = {name: mistake_given(project, chapter, name) for name in names}
    return {n: given_code(project, chapter, n, one) for n, one in mistakes.items() if one}


def mistake_given(project: Project, chapter: str, exercise: str) -> Mistake | None:
    """Return the mistake in the given code; None for other exercises.

    Raise CourseError if it is not a known mistake. It gets no fingerprint, because a fingerprint
    would reveal the mistake to learners.
    """
    bug = project.bug(chapter, exercise)
    if bug is None:
        return None
    for known in every_mistake(project):
        if known.name == bug.mistake:
            return Mistake(known.name, known.message, (bug.edit,))
    raise CourseError(f"{exercise}: its bug, {bug.mistake}, is not a known mistake")


def given_code(project: Project, chapter: str, exercise: str, mistake: Mistake) -> str:
    """Return the code that learners get, and the code that it needs, without comments.

    Raise CourseError if it needs another exercise, or if even the shortest repair is a rewrite.
    """
    right = project.solution(chapter).read_text(encoding="utf-8")
    needed = reached(ast.parse(make(right, exercise, mistake.edits)), [exercise])
    others = set().union(*map(bound_by, needed)) & set(EXERCISE.findall(right)) - {exercise}
    if others:
        raise CourseError(f"{chapter}: {exercise} is given with a bug, and calls {min(others)}")
    text = "\n".join(map(ast.unparse, needed))
    if (least := changes(right, {exercise: text})[exercise]) > LONGEST:
        raise CourseError(
            f"{exercise}: fixing {mistake.name} changes {least} parts of the syntax tree; "
            f"at most {LONGEST} are allowed"
        )
    return text


def shown(cell: str, exercise: str, mistake: Mistake) -> str:
    """Return an exercise's cell as learners get it, with a mistake in it."""
    return MARKS.sub("", make(cell, exercise, mistake.edits) + "\n").rstrip("\n")
