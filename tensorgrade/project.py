"""A course's own files: where they are, and the course that they describe.

Names, seed and limits come from `course_config.py`, titles, exercises and hints from the lessons,
and checks with their points from the grader files: `graders/<chapter>/<exercise>.py` has the cases,
checks and mistakes of an exercise.
"""

import ast
import hashlib
import importlib
import re
import runpy
import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from traceback import extract_tb
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

from .course import (
    ISOLATIONS,
    SUBMIT_AS,
    Chapter,
    Check,
    Course,
    CourseError,
    Exercise,
    Rules,
    Settings,
    each,
)

if TYPE_CHECKING:  # which imports torch
    from .sources.program import Program

CONFIG = "course_config.py"
TITLE = re.compile(r"^# # (.+)$", re.MULTILINE)
EXERCISE = re.compile(r"^# %%.*\bexercise=\"(\w+)\".*", re.MULTILINE)
# A cell of lesson text with an exercise's hints, or with the chapter's ending.
TOLD = re.compile(
    r"^# %%.*\b(?:hints=\"(\w+)\"|ending=true).*\n((?:#(?! ?%%).*\n?)*)", re.MULTILINE
)
HINT = re.compile(r"^\s*\d+\.\s+", re.MULTILINE)
LIKE, POINTS = re.compile(r'\blike="(\w*)"'), re.compile(r"\bpoints=(\d+(?:\.\d+)?)\b")


@dataclass(frozen=True)
class Project:
    """An instructor's checkout: the course's own folders below one root."""

    root: Path

    def __reduce__(self) -> tuple:  # a copy in another process reads the files again
        return Project, (self.root,)

    @cached_property
    def course(self) -> Course:
        """Return the course that `course_config.py` describes."""
        return load_config(self.root / CONFIG)

    @property
    def exercises(self) -> Path:
        return self.root / "exercises"

    @property
    def graders(self) -> Path:
        return self.root / "graders"

    def solution(self, chapter: str) -> Path:
        """Return the path of a chapter's literate source."""
        return self.root / "solutions" / f"{chapter}.py"

    @cached_property
    def stages(self) -> dict[str, str]:
        """Return the course's terms for intermediate values, by the local name of the value."""
        there = (self.graders / "stages.py").exists()
        return dict(import_from(self.graders, "stages").STAGES) if there else {}

    @cached_property
    def drawn(self) -> dict[tuple[str, str, bool], list]:
        """Return the cache of drawn cases, by chapter, exercise, and True for hidden ones."""
        return {}

    def program(self, chapter: str, source: str, filename: str | None = None) -> "Program":
        """Return a chapter's source as a program, with the substitutes that the course adds."""
        from .sources.program import Program, Source, read_given  # which imports torch

        chapters = [c.name for c in self.course.chapters]
        given, rebind = read_given(self.exercises, chapter, chapters)
        text = Source(source, filename or f"{chapter}.py")
        own = self.course.chapter(chapter)
        names = {exercise.name: "" for exercise in own.exercises}
        return Program(chapter, text, given, rebind, names, own.parameters)

    def grader(self, chapter: str, exercise: str) -> ModuleType:
        """Import the file with the cases and checks that judge an exercise, and its mistakes."""
        like = self.course.chapter(chapter).exercise(exercise).like
        return import_from(self.graders, f"{chapter}.{like or exercise}")


def find_project(start: Path | None = None) -> Project:
    """Return the project around a folder. Raises CourseError if there is none."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG).exists():
            return Project(folder)
    raise CourseError(f"there is no {CONFIG} in {start} or above it")


# --- reading a course -------------------------------------------------------------------------


def load_course(folder: Path) -> Course:
    """Return the course of a folder of checks.

    Read `course.json` in it, or else `course_config.py` in the folder above. Raises CourseError.
    """
    public, config = folder / "course.json", folder.parent / CONFIG
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
    except Exception as error:
        raise CourseError(error_at(path, error, f"{path}: ")) from None
    if not isinstance(named.get("COURSE"), Settings):
        raise CourseError(f"{path} has no COURSE = Settings(…)")
    return resolve(named["COURSE"], path.parent)


def resolve(settings: Settings, root: Path) -> Course:
    """Combine the settings with the data in the files below the root. Raises CourseError."""
    refuse_wrong_settings(settings)
    lessons = {name: exercise_cells(root, name) for name in settings.chapters}
    written = [exercise for cells in lessons.values() for exercise in cells]
    for twice in (name for name, times in Counter(written).items() if times > 1):
        where = (chapter for chapter, cells in lessons.items() if twice in cells)
        raise CourseError(f"two exercises are named {twice}, in {' and '.join(where)}")
    if strange := sorted({*settings.points, *settings.off} - {*written}):
        raise CourseError(f"{CONFIG} names {strange[0]}, which is not an exercise")
    chapters = each(lambda name: read_chapter(root, name, settings, lessons[name]), lessons)
    rules = {one.name: getattr(settings, one.name) for one in fields(Rules)}
    data = (settings.name, settings.title, tuple(chapters), settings.tolerances, settings.seed)
    return Course(*data, **rules)


def refuse_wrong_settings(settings: Settings) -> None:
    """Raise CourseError if a setting has a wrong type or value."""
    if type(settings.seed) is not int:
        raise CourseError(f"seed in {CONFIG} is {settings.seed!r}; it must be an integer")
    for name in ("chapters", "off", "packages"):
        listed: object = getattr(settings, name)
        if isinstance(listed, str):
            raise CourseError(f'{name} in {CONFIG} needs a comma: {name}=("{listed}",)')
    chapters = list(settings.chapters)
    if twice := [name for name in chapters if chapters.count(name) > 1]:
        raise CourseError(f"{CONFIG} lists the chapter {twice[0]} twice")
    if wrong := settings.lateness.complaints(chapters):
        raise CourseError(f"lateness in {CONFIG}: {'; '.join(wrong)}")
    if settings.submit_as not in SUBMIT_AS:
        raise CourseError(f"submit_as in {CONFIG} must be one of {', '.join(SUBMIT_AS)}")
    if settings.isolation not in ISOLATIONS:
        raise CourseError(f"isolation in {CONFIG} must be one of {', '.join(ISOLATIONS)}")
    if settings.scheme and (wrong := settings.scheme.complaints(chapters)):
        raise CourseError(f"scheme in {CONFIG}: {'; '.join(wrong)}")


def exercise_cells(root: Path, chapter: str) -> list[str]:
    """Return the exercises in a lesson, also those that are off. Raises CourseError."""
    lesson = root / "solutions" / f"{chapter}.py"
    if not lesson.exists():
        known = (path.stem for path in sorted(lesson.parent.glob("*.py")))
        behind = next((one for one in known if chapter.startswith(one)), "")
        meant = f'; is a comma missing behind "{behind}"?' if behind else ""
        raise CourseError(f"{lesson} is missing{meant}")
    return EXERCISE.findall(text_in(lesson))


def read_chapter(root: Path, name: str, settings: Settings, cells: Collection[str]) -> Chapter:
    """Read a chapter: its title and exercises from the lesson, their checks from the graders."""
    lesson, graders = root / "solutions" / f"{name}.py", root / "graders"
    text = text_in(lesson)
    title = TITLE.search(text)
    if title is None:
        raise CourseError(f"{lesson} has no heading (`# # …`) to take the chapter's title from")
    for path in sorted((graders / name).glob("*.py")):
        if path.stem not in cells:
            raise CourseError(f"{path} judges an exercise that {lesson} does not have")
    parameters, hints = parameters_in(syntax_of(lesson)), hints_in(text)

    def read(cell: re.Match) -> Exercise:
        exercise = cell[1]
        like, points = given_in(lesson, cell, cells)
        checks = read_checks(graders, name, like or exercise)
        total = round(sum(one.points for one in checks), 6)
        most = points_of(exercise, settings.points.get(exercise, points or total))
        own = {n: asked for n, asked in parameters.items() if n.split(".")[0] == exercise}
        if total != most:
            checks = tuple(replace(one, points=one.points * most / total) for one in checks)
        return Exercise(exercise, most, hints.get(exercise, ()), own, checks, like)

    taught = (cell for cell in EXERCISE.finditer(text) if cell[1] not in settings.off)
    exercises = tuple(each(read, taught))
    _, *ending = hints.get("", [""])
    due = settings.lateness.shown_deadline(name)
    return Chapter(name, title[1], exercises, " ".join(ending), due)


def hints_in(text: str) -> dict[str, tuple[str, ...]]:
    """Return the items of each exercise's numbered list of hints, each on one line.

    The text of the chapter's ending is under "", its heading apart.

    >>> hints_in('# %% [markdown] hints="area"\\n# 1. Look at\\n#    the axes.\\n# 2. Sum.\\n')
    {'area': ('Look at the axes.', 'Sum.')}
    """
    found = {}
    for name, cell in TOLD.findall(text):
        said = re.sub("^# ?", "", cell, flags=re.MULTILINE)
        items = HINT.split(said) if name else said.split("\n", 1)
        found[name] = tuple(filter(None, (" ".join(item.split()) for item in items)))
    return found


def given_in(lesson: Path, cell: re.Match, exercises: Collection[str]) -> tuple[str, float]:
    """Return the exercise whose checks judge a find-the-bug exercise, and its points.

    Return ("", 0) for other exercises. cell: the line that starts the exercise's cell. Raises
    CourseError if one of the two is missing or wrong.
    """
    like, points = LIKE.search(cell[0]), POINTS.search(cell[0])
    if not like and not points:
        return "", 0
    if not like or not points:
        place = f"{lesson}:{cell.string[: cell.start()].count(chr(10)) + 1}"
        raise CourseError(f'{place}: a find-the-bug exercise needs both, `like="other" points=4`')
    if like[1] not in exercises or like[1] == cell[1]:
        raise CourseError(
            f"{lesson}: {cell[1]} is like {like[1]}, which is no exercise of the lesson"
        )
    return like[1], float(points[1])


def read_checks(graders: Path, chapter: str, exercise: str) -> tuple[Check, ...]:
    """Return the CHECKS of a grader file. Raises CourseError if there are none with points."""
    path = graders / chapter / f"{exercise}.py"
    if not path.exists():
        raise CourseError(f"{path} is missing: it judges the exercise {exercise} of {chapter}")
    try:
        checks = getattr(import_from(graders, f"{chapter}.{exercise}"), "CHECKS", None)
    except Exception as error:
        raise CourseError(error_at(graders, error, f"{path}: ")) from error
    if not isinstance(checks, list) or not all(isinstance(one, Check) for one in checks):
        raise CourseError(f"{path}: write CHECKS = [check(…), …]")
    if not any(one.points for one in checks):
        raise CourseError(f"{path}: no check of {exercise} is worth any points")
    return tuple(checks)


def points_of(exercise: str, wanted: object) -> float:
    """Return an exercise's points with the digits of a verdict. Raises CourseError if not > 0."""
    if not isinstance(wanted, int | float) or not isfinite(wanted):
        raise CourseError(f"{CONFIG} gives {wanted!r} points to {exercise}; give it a number")
    if wanted <= 0:
        raise CourseError(f"{CONFIG} gives {wanted:g} points to {exercise}; give it some")
    points = round(wanted, 6)
    return int(points) if points == int(points) else points


def parameters_in(module: ast.Module) -> dict[str, list[str]]:
    """Return the parameters of a file's definitions, by callable: `f`, `Layer`, `Layer.forward`.

    Of a class, these are its public methods, and its `__init__` under its own name.
    """
    found: dict[str, list[str]] = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = names_of(node.args)
        elif isinstance(node, ast.ClassDef):
            for one in (one for one in node.body if isinstance(one, ast.FunctionDef)):
                called = node.name if one.name == "__init__" else f"{node.name}.{one.name}"
                if one.name == "__init__" or not one.name.startswith("_"):
                    found[called] = names_of(one.args)[1:]  # without `self`
    return found


def names_of(arguments: ast.arguments) -> list[str]:
    """Return the names of parameters, in their order."""
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


# --- Python files of a course -----------------------------------------------------------------


def import_from(folder: Path, module: str) -> ModuleType:
    """Import a module of a folder, such as `ch1_x.normalise`; it may import its neighbours.

    The folder becomes a package with a unique name. So two courses in one process do not get each
    other's files, and nothing is added to the path. No bytecode is written: Python would take it
    for that of a file of the same size that is saved again in the same second.
    """
    package = package_of(folder)
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package, "A folder of graders.")
        sys.modules[package].__path__ = [str(folder)]
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.import_module(f"{package}.{module}")
    finally:
        sys.dont_write_bytecode = before


def package_of(folder: Path) -> str:
    """Return the package name for a folder's modules."""
    return f"graders_{hashlib.sha256(bytes(folder.resolve())).hexdigest()[:12]}"


def text_in(path: Path) -> str:
    """Return the text of a file of the course. Raises CourseError if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise CourseError(f"{path}:{line}: this is not UTF-8; save the file in UTF-8") from None


def syntax_of(path: Path) -> ast.Module:
    """Return a file's syntax tree. Raises CourseError if it is not valid Python."""
    return parsed(text_in(path), path)


def parsed(text: str, path: Path) -> ast.Module:
    """Return a text's syntax tree. Raises CourseError with the file's name if that fails."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise CourseError(f"{path}:{error.lineno}: {error.msg}") from None


def error_at(place: Path, error: BaseException, otherwise: str = "") -> str:
    """Return an error as a sentence that begins with the last line that was run of a course's file.

    place: the file, or the folder of the files. otherwise: the beginning if none of them was run.
    """
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}"
    inside = [f for f in extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(place)]
    begun = f"{inside[-1].filename}:{inside[-1].lineno}: " if inside else otherwise
    if isinstance(error, CourseError):  # most of them name their file
        return str(error) if str(place.parent) in str(error) else f"{begun}{error}"
    said, _, _ = str(error).partition("\n")
    return f"{begun}{type(error).__name__}: {said}"


# --- a course's own commands ------------------------------------------------------------------


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
        raise CourseError(error_at(path.parents[1], error, f"{path}: ")) from error
    if not isinstance(function, FunctionType):
        raise CourseError(f"{path} defines no function {path.stem}")
    return function
