"""Find-the-bug exercises: the code that learners get, read from the lesson's text.

Nothing in the learners' files reveals the bug.
"""

import ast
import re
from pathlib import Path

from ...attempts.attempt import MOST_CHANGED
from ...course import CourseError
from ...course_sources import EXERCISE
from ...project import Project
from ...recognition.reaching import bound_by, reached
from ...runner.facts import changes

# A line of a solution, and the wrong line that learners get in its place.
BUG = re.compile(r"^([ \t]*)(.*?)[ \t]*### BUG: (.*)$", re.MULTILINE)
LONGEST = MOST_CHANGED * 2 // 3  # for the shortest repair, so that longer ones are allowed too


def with_bug(source: str) -> str:
    """Return the source with every line that is marked as a bug replaced by the wrong line.

    >>> with_bug("    return x + y  ### BUG: return x - y")
    '    return x - y'
    """
    return BUG.sub(r"\1\3", source)


def bugs_of(project: Project, chapter: str, exercise: str) -> dict[str, str]:
    """Return the given code of a find-the-bug exercise, by its name; {} for other exercises."""
    is_bug = project.course.chapter(chapter).exercise(exercise).like
    return {exercise: given_code(project.solution(chapter), exercise)} if is_bug else {}


def given_code(path: Path, exercise: str) -> str:
    """Return the code of a find-the-bug exercise, and the code that it needs, without comments.

    path: the lesson. Raise CourseError if it needs another exercise, or if even the shortest repair
    is a rewrite.
    """
    right = path.read_text(encoding="utf-8")
    needed = reached(ast.parse(with_bug(right)), [exercise])
    others = set().union(*map(bound_by, needed)) & set(EXERCISE.findall(right)) - {exercise}
    if others:
        raise CourseError(f"{path}: {exercise} is given with a bug, and calls {min(others)}")
    text = "\n".join(map(ast.unparse, needed))
    if (least := changes(right, {exercise: text})[exercise]) > LONGEST:
        raise CourseError(
            f"{path}: fixing {exercise} changes {least} parts of the syntax tree; "
            f"at most {LONGEST} are allowed"
        )
    return text
