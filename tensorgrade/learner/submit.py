"""Check all chapters, print what is missing, and write the files for the course system."""

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..attempts.results import Results, State, state_of
from ..course import Chapter, CourseError
from ..sources.submitted_files import SubmittedFiles
from ..views.points import Checked, earned
from ..views.words import in_tenths, path_here, plural
from .checker import Checker
from .kit import Kit


@dataclass(frozen=True)
class Part:
    """One chapter to submit: its file and its checks.

    left_out: the other of a script and a notebook, if that is begun too.
    """

    chapter: Chapter
    path: Path
    results: Results
    left_out: Path | None


def submit(kit: Kit, chapters: list[str], console: Console) -> None:
    """Check the chapters (default: those that are begun) and write the files to upload.

    Raises CourseError if nothing is begun, or if a named chapter has no file.
    """
    course = kit.course
    asked = [course.chapter_called(name) or course.chapter(name) for name in chapters]
    with Checker(kit) as checker:
        found = [part_of(kit, checker, one, bool(asked)) for one in asked or course.chapters]
    parts = [part for part in found if part]
    if not parts:
        raise CourseError("no chapter is begun, so there is nothing to submit")
    for part in parts:
        print_part(console, part)
    console.print(Text.assemble("\nTo upload: ", (path_here(write(kit, parts)), "bold")))


def part_of(kit: Kit, checker: Checker, chapter: Chapter, asked: bool) -> Part | None:
    """Return a chapter's part of the submission; None if it is not begun and was not asked for.

    Of a script and a notebook, the one with more points counts. Raises CourseError if a chapter
    that was asked for has no file.
    """
    found: dict[Path, Results] = {}
    script, notebook = kit.path(chapter.name), kit.notebook(chapter.name)
    if script.is_file():
        found[script] = checker.check(chapter.name)
    if notebook.is_file():
        files = SubmittedFiles("you", chapter.name, notebook.name, notebook.read_bytes())
        found[notebook] = checker.check_file(chapter.name, files)
    if not found and asked:
        raise kit.missing(chapter.name)
    begun = [
        path
        for path, results in found.items()
        if any(state_of(checks) != State.TO_DO for checks in results.values())
    ]
    among = begun or (list(found) if asked else [])
    if not among:
        return None
    best = max(among, key=lambda path: earned(*found[path].values()))
    return Part(chapter, best, found[best], next((one for one in begun if one != best), None))


def print_part(console: Console, part: Part) -> None:
    """Print a chapter's line, and what is wrong, not written or left out."""
    points = f"{in_tenths(earned(*part.results.values()))} of {part.chapter.points:g} points"
    console.print(Text.assemble((part.chapter.title, "bold"), f"  {points}"))
    by_state: dict[str, list[str]] = {}
    for name, checks in part.results.items():
        if state_of(checks) != State.DONE:
            standing = Checked(part.chapter.exercise(name), checks).standing
            by_state.setdefault(standing, []).append(name)
    told = [
        f"{plural(len(names), 'exercise')} {s}: {', '.join(names)}" for s, names in by_state.items()
    ]
    if part.left_out:
        told.append(f"{part.left_out.name} earns no more than {part.path.name} and is left out.")
    for line in told:
        console.print(f"  {line}", style="yellow", markup=False)


def write(kit: Kit, parts: list[Part]) -> Path:
    """Write the files in the form that the course asks for; return the archive or the folder."""
    form, name = kit.course.submit_as, f"{kit.course.name}-submission"
    if form == "files":
        folder = kit.root / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for part in parts:
            shutil.copy2(part.path, folder)
        return folder
    archive = kit.root / f"{name}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for part in parts:
            inside = f"{part.chapter.name}/" if form == "chapters" else ""
            file.write(part.path, f"{inside}{part.path.name}")
    return archive
