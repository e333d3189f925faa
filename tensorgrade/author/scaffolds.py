"""New courses, chapters and exercises, and a sample class of invented learners.

Each new part starts with a working sample to overwrite, from templates/. The class shows what
grading looks like: its files are made of the solutions and known mistakes, and say so.
"""

import builtins
import keyword
import random
import re
import secrets
from itertools import chain, count
from pathlib import Path

from ..cells import Cell, marked, read_lesson
from ..course import Chapter, CourseError
from ..project import Project
from ..recognition.edits import make
from .lessons import MARKS, lesson_of, right_code, without_solutions
from .mistakes import known

TEMPLATES = Path(__file__).parent / "templates"
ENDING = "\n# %% [markdown] ending=true\n"
CHAPTERS = re.compile(r"chapters=\((.*?)\n? *\),", re.DOTALL)
FIRST_CHAPTER = "ch1_first_steps"
SAMPLE = "scaled"  # the exercise of a new chapter
IMPORTED = {"torch", "nn", "math"}  # names that lessons import


def new_course(folder: Path, title: str) -> list[Path]:
    """Write a course with one chapter and return its files.

    Raise CourseError if the folder is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise CourseError(f"{folder} is there already, and not empty")
    name = re.sub(r"\W+", "_", folder.resolve().name).strip("_") or "course"
    plain = " ".join((title or name).split()).replace("\\", "").replace('"', "'")
    words = {"name": name, "title": plain, "seed": str(secrets.randbits(128))}
    words |= {"chapter": FIRST_CHAPTER, "exercise": SAMPLE}
    written = []
    for template in sorted((TEMPLATES / "course").rglob("*.txt")):
        place = template.relative_to(TEMPLATES / "course").with_suffix("")
        place = Path(".gitignore") if place.name == "gitignore" else place
        written.append(write_new(folder / place, template, words))
    return written + new_chapter(Project(folder), FIRST_CHAPTER)


def new_chapter(project: Project, name: str) -> list[Path]:
    """Write a chapter with one exercise and return the files, including `course_config.py`.

    Raise CourseError if the name is not allowed, if the lesson exists, or if the config has no
    list of chapters.
    """
    lesson, config = project.solution(checked(name)), project.root / "course_config.py"
    listed, taken = with_chapter(config, name), exercises_in(project)
    title = heading(re.sub(r"^ch\d+_", "", name))
    written = [write_new(lesson, TEMPLATES / "lesson.py.txt", {"title": title})]
    numbered = (f"{SAMPLE}_{number}" for number in count(2))
    free = next(one for one in chain([SAMPLE], numbered) if one not in taken)
    written += write_exercise(project, name, free, "function")
    config.write_text(listed, encoding="utf-8")
    return [*written, config]


def new_exercise(project: Project, chapter: str, name: str, kind: str) -> list[Path]:
    """Add an exercise at the end of a chapter and return its two files.

    kind: `function`, `class` or `values`. Raise CourseError if there is no such chapter, or if the
    name is taken or not allowed.
    """
    project.course.chapter(chapter)  # raises CourseError if it does not exist
    if checked(name) in exercises_in(project):
        raise CourseError(f"there is an exercise {name} already; each needs a name of its own")
    if hasattr(builtins, name) or name in IMPORTED:
        raise CourseError(f"{name} is something else in Python, which learners' code would lose")
    return write_exercise(project, chapter, name, kind)


def write_exercise(project: Project, chapter: str, name: str, kind: str) -> list[Path]:
    """Write the grader file, and the lesson's part before its ending, with solution and hints."""
    words = {"name": name, "heading": heading(name)}
    folder, lesson = TEMPLATES / "exercise", project.solution(chapter)
    grader = project.graders / chapter / f"{name}.py"
    write_new(grader, folder / f"{kind}.grader.txt", words)
    written = filled(folder / f"{kind}.lesson.txt", words).rstrip()
    before, ending, after = lesson.read_text(encoding="utf-8").partition(ENDING)
    text = f"{before.rstrip()}\n{written}\n{ending}{after}"
    lesson.write_text(text, encoding="utf-8")
    return [lesson, grader]


def with_chapter(config: Path, name: str) -> str:
    """Return the text of a `course_config.py` with one more chapter.

    Raise CourseError if it lists no chapters.
    """
    text = config.read_text(encoding="utf-8")
    found = CHAPTERS.search(text)
    if found is None:
        raise CourseError(f"{config} has no chapters=(…), to which {name} could be added")
    before = found[1].rstrip()
    comma = "," if before and not before.endswith(",") else ""
    listed = f'chapters=({before}{comma}\n        "{name}",\n    ),'
    return text[: found.start()] + listed + text[found.end() :]


def exercises_in(project: Project) -> list[str]:
    """Return the names of all exercises, even in lessons that the config does not list."""
    lessons = sorted((project.root / "solutions").glob("*.py"))
    return [name for path in lessons for name in marked(read_lesson(path), "exercise")]


def checked(name: str) -> str:
    """Return the name. Raise CourseError if it is not a valid ASCII name in Python."""
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
        raise CourseError(f"{name!r} cannot be a name in Python: letters, digits and _, no more")
    return name


def heading(name: str) -> str:
    """Return a name as a heading: `scaled_rows` as `Scaled rows`."""
    return name[:1].upper() + name[1:].replace("_", " ")


def filled(template: Path, words: dict[str, str]) -> str:
    """Return a template with its placeholders filled in."""
    text = template.read_text(encoding="utf-8")
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


def write_new(path: Path, template: Path, words: dict[str, str]) -> Path:
    """Write a new file from a template and return its path. Raise CourseError if it exists."""
    if path.exists():
        raise CourseError(f"{path} is there already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(filled(template, words), encoding="utf-8")
    return path


# --- a sample class ---------------------------------------------------------------------------

HEADER = "# An invented learner of the sample class, made of solutions and known mistakes.\n\n"
NAMES = (
    "ada amina anton bao carla chidi dara elif emil farid freya gita hana hugo ines ivo jana jonas "
    "kaito kira lars leila mara mateo mina nadia noor olek otis pia quang rosa sami sofia tariq "
    "uma vera wanda xin yara zeno zoe"
).split()
RETURN = "\n    return "  # the first one of a text is that of its first function
# Faults that show how errors are handled: a text of one learner's chapter, and what replaces it.
TROUBLE = {
    "syntax error": ("\ndef ", "\ndef ("),
    "endless loop": (RETURN, f"\n    while True:\n        pass{RETURN}"),
    "missing package": ("\n", "\nimport a_package_that_is_not_there\n"),
    "ends the process": (RETURN, f"\n    import os\n    os._exit(0){RETURN}"),
    "waits for input": ("\n", "\nname = input('Who are you? ')\n"),
    "not UTF-8": ("\n", "\n# caf\udce9\n"),
}


def write_sample_class(project: Project, folder: Path, learners: int) -> int:
    """Write `<student>/<chapter>/<chapter>.py` for each learner and return the number of files."""
    chance, troubles = random.Random(1), iter(TROUBLE.values())
    chapters = project.course.chapters
    for number in range(learners):
        student, skill = student_name(number), chance.random()
        for chapter in chapters:
            text = HEADER + invented_file(project, chapter, skill, chance)
            if number % 5 == 4 and chapter == chapters[number % len(chapters)]:
                text = text.replace(*next(troubles, ("", "")), 1)
            path = folder / student / chapter.name / f"{chapter.name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return learners * len(chapters)


def student_name(number: int) -> str:
    """Return a name for the n-th learner, with a number from the second round on."""
    name = NAMES[number % len(NAMES)]
    return name if number < len(NAMES) else f"{name}{number // len(NAMES) + 1}"


def invented_file(project: Project, chapter: Chapter, skill: float, chance: random.Random) -> str:
    """Return a learner's file for a chapter, without lesson text. skill: from 0 to 1.

    Each exercise is right, or has a known mistake, or is still to do.
    """

    def written(cell: Cell) -> str:
        right = right_code(cell.source)
        if not (name := cell.marks.get("exercise")):
            return right
        drawn, mistakes = chance.random(), known(project, name)
        if drawn < 0.45 + 0.5 * skill or not mistakes:
            return right
        if drawn > 0.93 + 0.07 * skill:
            return without_solutions(right)
        return make(right, name, chance.choice(mistakes).edits)

    cells = lesson_of(project, chapter)
    code = [written(c) for c in cells if not c.is_text and "active" not in c.marks]
    return MARKS.sub("", "\n\n\n".join(code) + "\n")
