"""Exercises in which a mistake is to be found: which one it is this term, and what learners get.

Nothing that learners have says which one: it is drawn by a keyed hash of the course's seed.
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
LONGEST = MOST_CHANGED * 2 // 3  # of the shortest repair: others have to fit as well


def bugs_of(project: Project, chapter: str) -> dict[str, str]:
    """By exercise, the code that is given to be mended this term."""
    names = [exercise.name for exercise in project.course.chapter(chapter).exercises]
    return {
        name: bug_with(project, chapter, name, drawn(project, chapter, name))
        for name in names
        if project.bug(chapter, name)
    }


def drawn(project: Project, chapter: str, exercise: str) -> Mistake:
    """The mistake that the seed draws for an exercise."""
    chance = Random(seed_for(project.course.seed or 0, "bug", exercise))
    return chance.choice(candidates(project, chapter, exercise))


def candidates(project: Project, chapter: str, exercise: str) -> list[Mistake]:
    """The known mistakes that may be in what is given, by name; none for any other exercise.

    Raises CourseError where one is no known mistake. No fingerprint is made of them: it would tell
    learners which one it is.
    """
    bug = project.bug(chapter, exercise)
    among = bug.among if bug else {}
    messages = {one.name: one.message for one in project.mistakes}
    if strange := sorted(among.keys() - messages.keys()):
        raise CourseError(f"{exercise}: {strange[0]}, among its bugs, is no known mistake")
    return [Mistake(n, messages[n], {exercise: (edit,)}) for n, edit in sorted(among.items())]


def bug_with(project: Project, chapter: str, exercise: str, mistake: Mistake) -> str:
    """The code that is given with one mistake in it, and what it needs, without comments.

    Raises CourseError where it needs another exercise, or where mending it takes a rewrite.
    """
    right = project.solution(chapter).read_text(encoding="utf-8")
    needed = reached(ast.parse(make(right, exercise, [mistake])), [exercise])
    others = set().union(*map(bound_by, needed)) & set(EXERCISE.findall(right)) - {exercise}
    if others:
        raise CourseError(f"{chapter}: {exercise} is given with a bug, and calls {min(others)}")
    text = "\n".join(map(ast.unparse, needed))
    if (least := changes(right, {exercise: text})[exercise]) > LONGEST:
        raise CourseError(
            f"{exercise}: to mend {mistake.name} takes {least} parts of the syntax tree; "
            f"{LONGEST} are the most"
        )
    return text


def shown(cell: str, exercise: str, mistake: Mistake) -> str:
    """An exercise's cell as learners get it, with a mistake in it."""
    return MARKS.sub("", make(cell, exercise, [mistake]) + "\n").rstrip("\n")
