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
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from traceback import extract_tb
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

import msgspec

from .cells import Cell, marked, read_lesson, text_in
from .course import Chapter, Check, Course, CourseError, Exercise, Rules, Settings, each

if TYPE_CHECKING:  # which imports torch
    from .sources.program import Program

CONFIG, PUBLIC = "course_config.py", "exercises/course.json"  # in a course's, or a kit's, folder
TITLE = re.compile(r"^# (.+)", re.MULTILINE)
HINT = re.compile(r"^\s*\d+\.\s+", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Project:
    """One reading of an instructor's checkout: the course's own folders below one root.

    What is read or drawn is cached for this object. Another one reads the files again.
    """

    root: Path

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

    def program(self, chapter: str, source: str) -> "Program":
        """Return a chapter's source as a program, with the substitutes that the course adds."""
        from .sources.program import Program, Source, read_given  # which imports torch

        chapters = [c.name for c in self.course.chapters]
        given, rebind = read_given(self.exercises, chapter, chapters)
        text = Source(source, f"{chapter}.py")
        own = self.course.chapter(chapter)
        names = {exercise.name: "" for exercise in own.exercises}
        return Program(chapter, text, given, rebind, names, own.parameters)

    def grader(self, chapter: str, exercise: str) -> ModuleType:
        """Import the file with the cases and checks that judge an exercise, and its mistakes."""
        like = self.course.chapter(chapter).exercise(exercise).like
        return import_from(self.graders, f"{chapter}.{like or exercise}")


def folder_with(*files: str, start: Path | None = None) -> Path | None:
    """Return the nearest folder with one of these files, here or above; None if there is none."""
    start = (start or Path.cwd()).resolve()
    places = (start, *start.parents)
    return next((one for one in places if any((one / file).is_file() for file in files)), None)


def find_project(start: Path | None = None) -> Project:
    """Return the project around a folder. Raises CourseError if there is none."""
    if root := folder_with(CONFIG, start=start):
        return Project(root)
    raise CourseError(f"there is no {CONFIG} in {start or Path.cwd()} or above it")


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
    lessons = {n: read_lesson(root / "solutions" / f"{n}.py") for n in settings.chapters}
    chapter_of: dict[str, str] = {}
    for name, cells in lessons.items():
        for exercise in (one.marks["exercise"] for one in cells if "exercise" in one.marks):
            if other := chapter_of.get(exercise):
                raise CourseError(f"two exercises are named {exercise}, in {other} and {name}")
            chapter_of[exercise] = name
    if strange := sorted({*settings.points, *settings.off} - chapter_of.keys()):
        raise CourseError(f"{CONFIG} names {strange[0]}, which is not an exercise")
    chapters = each(lambda name: read_chapter(root, name, settings, lessons[name]), lessons)
    rules = {one.name: getattr(settings, one.name) for one in fields(Rules)}
    data = (settings.name, settings.title, tuple(chapters), settings.tolerances, settings.seed)
    return Course(*data, **rules)


def refuse_wrong_settings(settings: Settings) -> None:
    """Raise CourseError if a setting has a wrong type or value."""
    try:
        msgspec.convert(asdict(settings), Settings)
    except msgspec.ValidationError as error:
        comma = '; a list of one needs a comma: ("name",)' if "`array`" in str(error) else ""
        raise CourseError(f"{CONFIG}: {error} of COURSE{comma}") from None
    chapters = list(settings.chapters)
    if twice := [name for name in chapters if chapters.count(name) > 1]:
        raise CourseError(f"{CONFIG} lists the chapter {twice[0]} twice")
    for name, rule in (("lateness", settings.lateness), ("scheme", settings.scheme)):
        if rule and (wrong := rule.complaints(chapters)):
            raise CourseError(f"{name} in {CONFIG}: {'; '.join(wrong)}")


def read_chapter(root: Path, name: str, settings: Settings, cells: list[Cell]) -> Chapter:
    """Read a chapter: its title and exercises from the lesson, their checks from the graders."""
    lesson, graders = root / "solutions" / f"{name}.py", root / "graders"
    exercises, hints = marked(cells, "exercise"), marked(cells, "hints")
    title = next(filter(None, (TITLE.search(cell.source) for cell in cells if cell.is_text)), None)
    if title is None:
        raise CourseError(f"{lesson} has no heading (`# # …`) to take the chapter's title from")
    for path in sorted((graders / name).glob("*.py")):
        if path.stem not in exercises:
            raise CourseError(f"{path} judges an exercise that {lesson} does not have")
    parameters = parameters_in(syntax_of(lesson))

    def read(exercise: str) -> Exercise:
        like, points = given_in(lesson, exercises, exercise)
        checks = read_checks(graders, name, like or exercise)
        total = round(sum(one.points for one in checks), 6)
        most = round(settings.points.get(exercise, points or total), 6)
        most = int(most) if most == int(most) else most
        own = {n: asked for n, asked in parameters.items() if n.split(".")[0] == exercise}
        if total != most:
            checks = tuple(replace(one, points=one.points * most / total) for one in checks)
        items = HINT.split(hints[exercise].source) if exercise in hints else ()
        told = tuple(filter(None, (" ".join(item.split()) for item in items)))
        return Exercise(exercise, most, told, own, checks, like)

    taught = tuple(each(read, (one for one in exercises if one not in settings.off)))
    endings = [one.source.partition("\n")[2] for one in marked(cells, "ending").values()]
    ending, due = " ".join("".join(endings).split()), settings.lateness.shown_deadline(name)
    return Chapter(name, title[1], taught, ending, due)


def given_in(lesson: Path, cells: dict[str, Cell], exercise: str) -> tuple[str, float]:
    """Return the exercise whose checks judge a find-the-bug exercise, and its points.

    Return ("", 0) for other exercises. cells: of all exercises. Raises CourseError if one of the
    two is missing or wrong.
    """
    cell = cells[exercise]
    like, points = cell.marks.get("like", ""), cell.marks.get("points", "")
    if bool(like) != bool(points):
        raise CourseError(
            f'{lesson}:{cell.line}: a find-the-bug exercise needs both, `like="other" points=4`'
        )
    if like and (like not in cells or like == exercise):
        raise CourseError(f"{lesson}: {exercise} is like {like}, which is no exercise of it")
    return like, float(points or 0)


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
                if one.name == "__init__":
                    found[node.name] = names_of(one.args)[1:]  # without `self`
                elif not one.name.startswith("_"):
                    found[f"{node.name}.{one.name}"] = names_of(one.args)[1:]
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
    root = folder_with(PUBLIC, start=start)
    found = (root / "exercises" / "commands").glob("[!_]*.py") if root else ()
    return {path.stem.replace("_", "-"): path for path in sorted(found)}


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
