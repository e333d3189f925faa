"""New courses, chapters and exercises. Each starts with a working sample to overwrite.

The samples are in templates/.
"""

import builtins
import keyword
import re
import secrets
from itertools import chain, count
from pathlib import Path

from ..cells import marked, read_lesson
from ..course import CourseError
from ..project import Project

TEMPLATES = Path(__file__).parent / "templates"
ENDING = "\n# %% [markdown] ending=true\n"
CHAPTERS = re.compile(r"chapters=\((.*?)\n?( *)\),", re.DOTALL)
FIRST_CHAPTER = "ch1_first_steps"
KINDS = {"function": "scaled", "class": "Offset", "values": "counted"}  # with a sample's name
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
    words |= {"chapter": FIRST_CHAPTER, "exercise": KINDS["function"]}
    written = []
    for template in sorted((TEMPLATES / "course").rglob("*.txt")):
        place = template.relative_to(TEMPLATES / "course").with_suffix("")
        if place.name == "gitignore":
            place = Path(".gitignore")
        written.append(write_new(folder / place, filled(template, words)))
    return written + new_chapter(Project(folder), FIRST_CHAPTER)


def new_chapter(project: Project, name: str) -> list[Path]:
    """Write a chapter with one exercise and return the files, including `course_config.py`.

    Raise CourseError if the name is not allowed, if the lesson exists, or if the config has no
    list of chapters.
    """
    lesson = project.solution(checked(name))
    if lesson.exists():
        raise CourseError(f"{lesson} is there already")
    config = project.root / "course_config.py"
    listed = with_chapter(config, name)
    words = {"title": heading(re.sub(r"^ch\d+_", "", name))}
    written = [write_new(lesson, filled(TEMPLATES / "lesson.py.txt", words))]
    sample, taken = KINDS["function"], exercises_in(project)
    numbered = (f"{sample}_{number}" for number in count(2))
    free = next(one for one in chain([sample], numbered) if one not in taken)
    written += write_exercise(project, name, free, "function")
    config.write_text(listed, encoding="utf-8")
    return [*written, config]


def new_exercise(project: Project, chapter: str, name: str, kind: str) -> list[Path]:
    """Add an exercise at the end of a chapter and return its two files. kind: one of KINDS.

    Raise CourseError if there is no such chapter, or if the name is taken or not allowed.
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
    write_new(grader, filled(folder / f"{kind}.grader.txt", words))
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
    before += "," if before and not before.endswith(",") else ""
    listed = f'chapters=({before}\n        "{name}",\n    ),'
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


def write_new(path: Path, text: str) -> Path:
    """Write a new file and return its path. Raise CourseError if it exists."""
    if path.exists():
        raise CourseError(f"{path} is there already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
