"""A build from its first complaint to its last: look through, make, write, prove."""

from collections.abc import Callable
from dataclasses import dataclass

from ...project import Project
from ...views.words import plural
from ..kept import keep_proved
from ..proofs.complaints import complaints, proofs_of_a_release
from ..proofs.slips import slips
from .derive import derive
from .made_parts import Tell, Wish
from .reference_files import without_pairs


@dataclass(frozen=True)
class Built:
    """How a build came out. said: its last line. wrong: what is not as it should be."""

    said: str = ""
    wrong: tuple[str, ...] = ()


def rebuild(project: Project, wish: Wish, tell: Tell, wrote: Callable[[str], object]) -> Built:
    """Make and write what is missing or stale.

    wrote: is told of every file that was written. Raises CourseError where something cannot be
    made.
    """
    if wrong := slips(project):
        return Built(wrong=tuple(wrong))
    files = derive(project, wish, tell)
    for file in files:
        if not file.fresh():
            file.write()
            wrote(str(file.path.relative_to(project.root)))
    wrong = complaints(project, files)
    built = Built(last_line(project, wish, len(files)), tuple(wrong))
    if not wrong and not wish.exercises:
        keep_proved(project.root, built.said, not without_pairs(project))
    return built


def check(project: Project, tell: Tell) -> Built:
    """Make everything anew, pairs of mistakes too, and compare; write nothing."""
    if wrong := slips(project):
        return Built(wrong=tuple(wrong))
    files = derive(project, Wish(anew=True, pairs=True), tell)
    wrong = complaints(project, files) + proofs_of_a_release(project)
    return Built(f"{len(files)} derived files are fresh; every exercise is proved.", tuple(wrong))


def exercises_of(project: Project, names: list[str]) -> frozenset[str]:
    """The exercises that are named, or that are in the chapters that are. Raises CourseError."""
    chapters = {chapter.name: chapter for chapter in project.course.chapters}
    found: set[str] = set()
    for name in names:
        if name in chapters:
            found |= {exercise.name for exercise in chapters[name].exercises}
        else:
            found.add(project.course.exercise(name)[1].name)
    return frozenset(found)


def last_line(project: Project, wish: Wish, files: int) -> str:
    """What a build says at its end, where nothing is wrong."""
    if wish.exercises:
        names = ", ".join(sorted(wish.exercises))
        return f"{names}: fresh and proved. Other exercises were left as they are."
    said = f"{files} derived files are fresh; every exercise is proved."
    if lacking := without_pairs(project):
        some = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        said += (
            f"\nPairs of mistakes are still to be made for {plural(len(lacking), 'exercise')} "
            f"({some}): `tensorgrade build --pairs`, before a release."
        )
    return said
