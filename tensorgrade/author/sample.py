"""A sample class of synthetic learners, generated from the solutions and the known mistakes.

It shows what grading looks like. Every file says that it is generated.
"""

import random
from collections.abc import Callable
from pathlib import Path

from ..cells import read_lesson
from ..course import Chapter
from ..project import Project
from ..recognition.edits import make, place_of
from .lessons import MARKS, right_code, without_solutions
from .mistakes import known

HEADER = (
    "# An invented learner of the sample class, generated from solutions and known mistakes.\n\n"
)
NAMES = (
    "ada amina anton bao carla chidi dara elif emil farid freya gita hana hugo ines ivo jana jonas "
    "kaito kira lars leila mara mateo mina nadia noor olek otis pia quang rosa sami sofia tariq "
    "uma vera wanda xin yara zeno zoe"
).split()
RETURN = "\n    return "  # the first one of a text is that of its first function
# Files that show how errors are handled. Each replaces one learner's chapter.
TROUBLE: dict[str, Callable[[str], str]] = {
    "syntax error": lambda text: text.replace("\ndef ", "\ndef (", 1),
    "endless loop": lambda text: text.replace(
        RETURN, f"\n    while True:\n        pass{RETURN}", 1
    ),
    "missing package": lambda text: "import a_package_that_is_not_there\n" + text,
    "ends the process": lambda text: text.replace(
        RETURN, f"\n    import os\n    os._exit(0){RETURN}", 1
    ),
    "waits for input": lambda text: "name = input('Who are you? ')\n" + text,
    "not UTF-8": lambda text: text + "# caf\udce9\n",
}


def write_sample_class(project: Project, folder: Path, learners: int, seed: int = 1) -> int:
    """Write `<student>/<chapter>/<chapter>.py` for each learner and return the number of files."""
    chance, written = random.Random(seed), 0
    troubles, chapters = iter(TROUBLE.values()), project.course.chapters
    for number in range(learners):
        student, skill = student_name(number), chance.random()
        for chapter in chapters:
            text = HEADER + invented_file(project, chapter, skill, chance)
            if number % 5 == 4 and chapter == chapters[number % len(chapters)]:
                spoil = next(troubles, str)
                text = spoil(text)
            path = folder / student / chapter.name / f"{chapter.name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
            written += 1
    return written


def student_name(number: int) -> str:
    """Return a name for the n-th learner, with a number from the second round on."""
    name = NAMES[number % len(NAMES)]
    return name if number < len(NAMES) else f"{name}{number // len(NAMES) + 1}"


def invented_file(project: Project, chapter: Chapter, skill: float, chance: random.Random) -> str:
    """Return a learner's file for a chapter, without lesson text. skill: from 0 to 1.

    Each exercise is right, or has a known mistake, or is still to do.
    """
    cells = read_lesson(project.solution(chapter.name))
    code = [right_code(c.source) for c in cells if not c.is_text and "active" not in c.marks]
    text = "\n\n\n".join(code) + "\n"
    for name in (exercise.name for exercise in chapter.exercises):
        drawn, mistakes = chance.random(), known(project, name)
        if drawn < 0.45 + 0.5 * skill or not mistakes:
            continue
        if drawn > 0.93 + 0.07 * skill:
            text = undone(text, name)
        else:
            text = make(text, name, chance.choice(mistakes).edits)
    return MARKS.sub("", text)


def undone(text: str, exercise: str) -> str:
    """Return the text with one exercise reset to its stub."""
    first, last = place_of(text, exercise)
    lines = text.splitlines()
    stub = without_solutions("\n".join(lines[first:last]))
    return "\n".join([*lines[:first], stub, *lines[last:]]) + "\n"
