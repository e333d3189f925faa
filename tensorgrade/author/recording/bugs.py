"""Find-the-bug exercises: this term's mistake in each, and the code that learners get.

Nothing in the learners' files reveals the mistake: a keyed hash of the course's seed draws it.
"""

import ast
import re
from random import Random

from ...attempts.given_code import MOST_CHANGED
from ...course import CourseError
from ...course_sources import EXERCISE
from ...exchange.cases import seed_for
from ...project import Project
from ...recognition.mistakes import Mistake, make
from ...runner.changes import changes
from ..reaching import bound_by, reached

MARKS = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*\n", re.MULTILINE)
LONGEST = MOST_CHANGED * 2 // 3  # for the shortest repair, so that longer ones are allowed too


def bugs_of(project: Project, chapter: str) -> dict[str, str]:
    """Return the given code of each find-the-bug exercise this term, by exercise."""
    names = [exercise.name for exercise in project.course.chapter(chapter).exercises]
    return {
        name: bug_with(project, chapter, name, drawn(project, chapter, name))
        for name in names
        if project.bug(chapter, name)
    }


def drawn(project: Project, chapter: str, exercise: str) -> Mistake:
    """Return the mistake that the seed draws for an exercise."""
    chance = Random(seed_for(project.course.seed or 0, "bug", exercise))
    return chance.choice(candidates(project, chapter, exercise))


def candidates(project: Project, chapter: str, exercise: str) -> list[Mistake]:
    """Return the mistakes that the given code may contain; empty for other exercises.

    Raise CourseError if one of them is not a known mistake. They get no fingerprints, because a
    fingerprint would reveal the mistake to learners.
    """
    bug = project.bug(chapter, exercise)
    among = bug.among if bug else {}
    messages = {one.name: one.message for one in project.mistakes}
    if strange := sorted(among.keys() - messages.keys()):
        raise CourseError(f"{exercise}: {strange[0]}, among its bugs, is not a known mistake")
    return [Mistake(n, messages[n], {exercise: (edit,)}) for n, edit in sorted(among.items())]


def bug_with(project: Project, chapter: str, exercise: str, mistake: Mistake) -> str:
    """Return the given code with one mistake in it, and the code that it needs, without comments.

    Raise CourseError if it needs another exercise, or if even the shortest repair is a rewrite.
    """
    right = project.solution(chapter).read_text(encoding="utf-8")
    needed = reached(ast.parse(make(right, exercise, [mistake])), [exercise])
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
    return MARKS.sub("", make(cell, exercise, [mistake]) + "\n").rstrip("\n")
