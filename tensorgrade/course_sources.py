"""Read a course from its own files.

Names, seed and limits come from `course_config.py`, titles and exercises from the lessons, and
checks with their points from the grader files. This module also finds the course's own commands.
"""

import ast
import re
import runpy
from collections.abc import Collection
from dataclasses import replace
from math import isfinite
from pathlib import Path
from traceback import extract_tb
from types import FunctionType

from .course import (
    ISOLATIONS,
    OLD_LEVELS,
    SUBMIT_AS,
    Chapter,
    Check,
    Course,
    CourseError,
    Exercise,
    Settings,
    each,
)
from .grader_files import grader_path, import_from, parameters_in, syntax_of, text_in

TITLE = re.compile(r"^# # (.+)$", re.MULTILINE)
EXERCISE = re.compile(r"^# %%.*\bexercise=\"(\w+)\"", re.MULTILINE)
CELL = re.compile(r"^# %%.*\bexercise=\"(\w+)\".*", re.MULTILINE)
LIKE, POINTS = re.compile(r'\blike="(\w*)"'), re.compile(r"\bpoints=(\d+(?:\.\d+)?)\b")
AS_BUG = '`like="other" points=4`'
CHECKS = "CHECKS"


def load_course(folder: Path) -> Course:
    """Return the course of a folder of checks.

    Read `course.json` in it, or else `course_config.py` in the folder above. Raises CourseError.
    """
    public, config = folder / "course.json", folder.parent / "course_config.py"
    if public.exists():
        return Course.from_json(public.read_text(encoding="utf-8"))
    if config.exists():
        return load_config(config)
    raise CourseError(f"there is neither {public} nor {config}")


def load_config(path: Path) -> Course:
    """Return the course of a `course_config.py`. Raises CourseError if its files do not match."""
    if not path.exists():
        raise CourseError(f"there is no {path}; run the command in the folder of a course")
    try:
        named = runpy.run_path(str(path), run_name=path.stem)
    except SyntaxError as error:
        raise CourseError(f"{path}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        lines = [f.lineno for f in extract_tb(error.__traceback__) if f.filename == str(path)]
        place = f"{path}:{lines[-1]}" if lines else path
        raise CourseError(f"{place}: {type(error).__name__}: {error}") from None
    if not isinstance(named.get("COURSE"), Settings):
        raise CourseError(f"{path} has no COURSE = Settings(…)")
    return resolve(named["COURSE"], path.parent)


def resolve(settings: Settings, root: Path) -> Course:
    """Combine the settings with the data in the files below the root. Raises CourseError."""
    if type(settings.seed) is not int:
        raise CourseError(f"seed in course_config.py is {settings.seed!r}; it must be an integer")
    for name in ("chapters", "off", "packages"):
        listed: object = getattr(settings, name)
        if isinstance(listed, str):
            raise CourseError(f'{name} in course_config.py needs a comma: {name}=("{listed}",)')
    if twice := [name for name in settings.chapters if settings.chapters.count(name) > 1]:
        raise CourseError(f"course_config.py lists the chapter {twice[0]} twice")
    check_names(root, settings.chapters)
    chapters = tuple(each(lambda name: read_chapter(root, name, settings), settings.chapters))
    names = {exercise.name for chapter in chapters for exercise in chapter.exercises}
    names |= set(settings.off) & {name for one in settings.chapters for name in written(root, one)}
    if strange := sorted({*settings.points, *settings.off} - names):
        raise CourseError(f"course_config.py names {strange[0]}, which is not an exercise")
    if wrong := settings.lateness.complaints(list(settings.chapters)):
        raise CourseError(f"lateness in course_config.py: {'; '.join(wrong)}")
    if settings.submit_as not in SUBMIT_AS:
        raise CourseError(f"submit_as in course_config.py must be one of {', '.join(SUBMIT_AS)}")
    if settings.isolation not in (*ISOLATIONS, *OLD_LEVELS):
        raise CourseError(f"isolation in course_config.py must be one of {', '.join(ISOLATIONS)}")
    scheme = settings.scheme
    if scheme and (wrong := scheme.complaints(list(settings.chapters))):
        raise CourseError(f"scheme in course_config.py: {'; '.join(wrong)}")
    return Course(
        settings.name,
        settings.title,
        chapters,
        settings.tolerances,
        settings.limits,
        settings.isolation,
        settings.seed,
        settings.lateness,
        scheme,
        settings.packages,
        settings.submit_as,
        settings.solutions_in_kit,
    )


def written(root: Path, chapter: str) -> list[str]:
    """Return the exercises in a lesson, including those that are off."""
    return EXERCISE.findall(text_in(root / "solutions" / f"{chapter}.py"))


def check_names(root: Path, chapters: Collection[str]) -> None:
    """Raise CourseError if a lesson is missing, or if two exercises have the same name."""
    lessons = root / "solutions"
    for name in chapters:
        if not (lessons / f"{name}.py").exists():
            known = (path.stem for path in sorted(lessons.glob("*.py")))
            behind = next((one for one in known if name.startswith(one)), "")
            meant = f'; is a comma missing behind "{behind}"?' if behind else ""
            raise CourseError(f"{lessons / name}.py is missing{meant}")
    there = [(exercise, chapter) for chapter in chapters for exercise in written(root, chapter)]
    names = [exercise for exercise, _ in there]
    for twice in (name for name in names if names.count(name) > 1):
        where = dict.fromkeys(chapter for exercise, chapter in there if exercise == twice)
        raise CourseError(f"two exercises are named {twice}, in {' and '.join(where)}")


def read_chapter(root: Path, name: str, settings: Settings) -> Chapter:
    """Read a chapter: its title and exercises from the lesson, their checks from the graders."""
    lesson, graders = root / "solutions" / f"{name}.py", root / "graders"
    text = text_in(lesson)
    title, cells = TITLE.search(text), {found[1]: found for found in CELL.finditer(text)}
    if title is None:
        raise CourseError(f"{lesson} has no heading (`# # …`) to take the chapter's title from")
    for path in sorted((graders / name).glob("*.py")):
        if path.stem not in cells:
            raise CourseError(f"{path} judges an exercise that {lesson} does not have")
    taught = [exercise for exercise in cells if exercise not in settings.off]
    stubs = parameters_in(lesson)

    def read(exercise: str) -> Exercise:
        like, points = given_in(lesson, text, cells[exercise], cells)
        checks = read_checks(graders, name, like or exercise)
        most = plain(points_of(exercise, checks, settings.points, points))
        return Exercise(
            exercise,
            most,
            parameters=stubs.get(exercise, {}),
            checks=worth(checks, most),
            like=like,
        )

    exercises = tuple(each(read, taught))
    return Chapter(name, title[1], exercises, due=settings.lateness.shown_deadline(name))


def given_in(
    lesson: Path, text: str, cell: re.Match, exercises: Collection[str]
) -> tuple[str, float]:
    """Return the exercise whose checks judge a find-the-bug exercise, and its points.

    Return ("", 0) for other exercises. cell: the line that starts the exercise's cell. Raises
    CourseError if one of the two is missing or wrong.
    """
    like, points = LIKE.search(cell[0]), POINTS.search(cell[0])
    if not like and not points:
        return "", 0
    place = f"{lesson}:{text[: cell.start()].count(chr(10)) + 1}"
    if not like or not points:
        raise CourseError(f"{place}: a find-the-bug exercise needs both, {AS_BUG}")
    if like[1] not in exercises or like[1] == cell[1]:
        raise CourseError(
            f"{place}: {cell[1]} is like {like[1]}, which is no exercise of the lesson"
        )
    return like[1], float(points[1])


def read_checks(graders: Path, chapter: str, exercise: str) -> tuple[Check, ...]:
    """Return the CHECKS of a grader file. Raises CourseError if there are none with points."""
    path = grader_path(graders, chapter, exercise)
    if not path.exists():
        raise CourseError(f"{path} is missing: it judges the exercise {exercise} of {chapter}")
    try:
        checks = getattr(import_from(graders, f"{chapter}.{exercise}"), CHECKS, None)
    except Exception as error:
        raise CourseError(told_at(path, error)) from error
    if not isinstance(checks, list) or not all(isinstance(one, Check) for one in checks):
        raise CourseError(f"{path}: write {CHECKS} = [check(…), …]")
    if not any(one.points for one in checks):
        raise CourseError(f"{path}: no check of {exercise} is worth any points")
    return tuple(checks)


def points_of(
    exercise: str, checks: tuple[Check, ...], settings: dict[str, float], given: float
) -> float:
    """Return an exercise's points: from the settings, from its cell, or the sum of its checks.

    given: the points in the cell of a find-the-bug exercise. Raises CourseError.
    """
    wanted = settings.get(exercise, given or sum(one.points for one in checks))
    if not isinstance(wanted, int | float) or not isfinite(wanted):
        said = f"course_config.py gives {wanted!r} points to {exercise}; give it a number"
        raise CourseError(said)
    if wanted <= 0:
        raise CourseError(f"course_config.py gives {wanted:g} points to {exercise}; give it some")
    return wanted


def worth(checks: tuple[Check, ...], most: float) -> tuple[Check, ...]:
    """Return the checks with points that add up to the exercise's points."""
    total = round(sum(one.points for one in checks), 6)
    if total == most:
        return checks
    return tuple(replace(one, points=one.points * most / total) for one in checks)


def plain(points: float) -> float:
    """Round points to the digits of a verdict, and to an integer if they are one."""
    points = round(points, 6)
    return int(points) if points == int(points) else points


def own_commands(start: Path) -> dict[str, Path]:
    """Return the course's own commands by name: `exercises/commands/NAME.py`, here or above.

    No command is run for this. Files whose names begin with an underscore are not commands.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "exercises" / "course.json").is_file():
            found = (folder / "exercises" / "commands").glob("[!_]*.py")
            return {path.stem.replace("_", "-"): path for path in sorted(found)}
    return {}


def described_command(path: Path) -> str:
    """Return the first line of a command's docstring, read without running the command."""
    try:
        functions = [node for node in syntax_of(path).body if isinstance(node, ast.FunctionDef)]
    except (CourseError, ValueError, OSError) as error:
        return f"Broken: {str(error).replace(f'{path.parent}/', '')}"
    said = [ast.get_docstring(node) or "" for node in functions if node.name == path.stem]
    return said[0].partition("\n")[0] if said else f"Broken: it defines no function {path.stem}."


def load_command(path: Path) -> FunctionType:
    """Import the function of a command, named like its file; the file may import its neighbours.

    Raises CourseError with one sentence for every problem.
    """
    try:
        function = getattr(import_from(path.parent, path.stem), path.stem, None)
    except Exception as error:
        raise CourseError(told_at(path, error)) from error
    if not isinstance(function, FunctionType):
        raise CourseError(f"{path} defines no function {path.stem}")
    return function


def told_at(path: Path, error: Exception) -> str:
    """Describe an error in one sentence: the last line below `exercises/`, type and message."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}"
    lines = extract_tb(error.__traceback__)
    ours = [line for line in lines if path.parents[1] in Path(line.filename).parents]
    place = f"{ours[-1].filename}:{ours[-1].lineno}" if ours else str(path)
    if isinstance(error, CourseError):
        return f"{place}: {error}"
    return f"{place}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
