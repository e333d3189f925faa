"""A course as its own files tell it: names, seed and limits from `course_config.py`, titles and
exercises from the lessons, points from the tests."""

import re
import runpy
from pathlib import Path

from .course import Chapter, Course, CourseError, Exercise, Settings
from .grader_files import grader_path, points_in

TITLE = re.compile(r"^# # (.+)$", re.MULTILINE)
EXERCISE = re.compile(r"^# %%.*\bexercise=\"(\w+)\"", re.MULTILINE)


def load_course(folder: Path) -> Course:
    """The course of a folder of tests: its `course.json`, or what the project above it says."""
    public, config = folder / "course.json", folder.parent / "course_config.py"
    if public.exists():
        return Course.from_json(public.read_text(encoding="utf-8"))
    if config.exists():
        return load_config(config)
    raise CourseError(f"there is neither {public} nor {config}")


def load_config(path: Path) -> Course:
    """The course that a `course_config.py` names. Raises CourseError where its files do not fit."""
    settings = runpy.run_path(str(path), run_name=path.stem)["COURSE"]
    return resolve(settings, path.parent)


def resolve(settings: Settings, root: Path) -> Course:
    """The settings with everything that the files below the root say."""
    chapters = tuple(read_chapter(root, name, settings.points) for name in settings.chapters)
    names = {exercise.name for chapter in chapters for exercise in chapter.exercises}
    if strange := sorted(settings.points.keys() - names):
        raise CourseError(f"course_config.py gives points to {strange[0]}, which is no exercise")
    if wrong := settings.lateness.complaints(list(settings.chapters)):
        raise CourseError(f"lateness in course_config.py: {'; '.join(wrong)}")
    return Course(
        settings.name,
        settings.title,
        chapters,
        settings.tolerances,
        settings.limits,
        settings.isolation,
        settings.seed,
        settings.lateness,
    )


def read_chapter(root: Path, name: str, points: dict[str, float]) -> Chapter:
    """A chapter: its title and exercises from the lesson, their points from the graders."""
    lesson, graders = root / "solutions" / f"{name}.py", root / "graders"
    if not lesson.exists():
        raise CourseError(f"{lesson} is missing")
    text = lesson.read_text(encoding="utf-8")
    title, exercises = TITLE.search(text), EXERCISE.findall(text)
    if title is None:
        raise CourseError(f"{lesson} has no heading (`# # …`) to take the chapter's title from")
    for path in sorted((graders / name).glob("*.py")):
        if path.stem not in exercises:
            raise CourseError(f"{path} judges an exercise that {lesson} does not have")
    return Chapter(
        name,
        title[1],
        tuple(read_exercise(graders, name, exercise, points) for exercise in exercises),
    )


def read_exercise(graders: Path, chapter: str, name: str, points: dict[str, float]) -> Exercise:
    """An exercise, worth what its tests add up to, or what the settings say instead."""
    path = grader_path(graders, chapter, name)
    if not path.exists():
        raise CourseError(f"{path} is missing: it judges the exercise {name} of {chapter}")
    shares = points_in(path, name)
    wanted = points.get(name, shares)
    if wanted <= 0:
        raise CourseError(f"course_config.py gives {wanted:g} points to {name}; give it some")
    return Exercise(name, plain(wanted), shares=plain(shares))


def plain(points: float) -> float:
    """Points without a needless `.0`, and without more digits than a verdict keeps."""
    points = round(points, 6)
    return int(points) if points == int(points) else points
