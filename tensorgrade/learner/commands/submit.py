"""Check all chapters, print what is missing, and write the files for the course system."""

import shutil
import zipfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jinja2 import Environment
from rich.console import Console
from rich.text import Text

from ...attempts.results import State, state_of
from ...attempts.scoring import results_on
from ...course import Chapter, CourseError
from ...sources.submitted_files import SubmittedFiles
from ...views.points import earned, standing
from ...views.summary import Results
from ...views.words import in_tenths, path_here, plural
from ..kit import Kit
from ..watch.checker import Checker

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Submission: {{ course.title }}</title>
<style>
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.5rem; }
th, td { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid #8884; }
</style>
<h1>{{ course.title }}</h1>
<p>Made by <code>tensorgrade submit</code> on {{ at }}. These are the results of the public checks.
The grade comes from hidden tests with other inputs.</p>
{% for one in parts %}
<h2>{{ one.chapter.title }}: {{ one.points | in_tenths }} of {{ one.chapter.points | in_tenths }} \
points</h2>
<p>File: <code>{{ one.path.name }}</code></p>
<table><tr><th>Exercise</th><th>State</th><th>Points</th></tr>
{% for name, checks in one.results.items() %}
<tr><td>{{ name }}</td><td>{{ state(checks) }}</td><td>{{ earned(checks) | in_tenths }}</td></tr>
{% endfor %}
</table>
{% if one.left_out %}<p>{{ one.left_out }}</p>{% endif %}
{% endfor %}
</html>
"""


@dataclass(frozen=True)
class Part:
    """One chapter to submit: its file and its checks.

    left_out: a sentence on the other of a script and a notebook; "" if that is not begun.
    """

    chapter: Chapter
    path: Path
    results: Results
    left_out: str

    @property
    def points(self) -> float:
        """Return the points that the public checks give."""
        return sum(map(earned, self.results.values()))

    def in_state(self, state: State) -> list[str]:
        """Return the names of the exercises in a state."""
        return [name for name, checks in self.results.items() if state_of(checks) == state]


def submit(kit: Kit, chapters: list[str], console: Console) -> None:
    """Check the chapters (default: those that are begun) and write the archive and a page.

    Raises CourseError if nothing is begun, or if a named chapter has no file.
    """
    course = kit.course
    asked = [course.chapter_called(name) or course.chapter(name) for name in chapters]
    asked = asked or list(course.chapters)
    gone = [chapter.name for chapter in asked if not candidates(kit, chapter.name)]
    if gone and (chapters or len(gone) == len(asked)):
        raise kit.missing(gone[0])
    checker = Checker(kit.exercises, kit.exercises)
    try:
        found = [part_of(kit, checker, chapter, bool(chapters)) for chapter in asked]
    finally:
        checker.close()
    parts = [part for part in found if part]
    if not parts:
        raise CourseError("no chapter is begun, so there is nothing to submit")
    for part in parts:
        print_part(console, part)
    written = write(kit, parts)
    page = kit.root / "submission.html"
    page.write_text(page_of(kit, parts), encoding="utf-8")
    console.print(Text.assemble("\nTo upload: ", (path_here(written), "bold")))
    console.print(f"A summary to keep: {path_here(page)}")


def part_of(kit: Kit, checker: Checker, chapter: Chapter, asked: bool) -> Part | None:
    """Return a chapter's part of the submission; None if it is not begun and was not asked for."""
    found = [(path, checks(checker, chapter.name, path)) for path in candidates(kit, chapter.name)]
    if not found:
        return None
    path, results = max(found, key=lambda one: sum(map(earned, one[1].values())))
    if not asked and not is_begun(results):
        return None
    others = [other.name for other, theirs in found if other != path and is_begun(theirs)]
    left_out = f"{others[0]} earns no more than {path.name} and is left out." if others else ""
    return Part(chapter, path, results, left_out)


def is_begun(results: Results) -> bool:
    """Return True if an exercise is no longer to do."""
    return any(state_of(checks) != State.TO_DO for checks in results.values())


def candidates(kit: Kit, chapter: str) -> list[Path]:
    """Return the script and the notebook of a chapter, if they exist; the script comes first."""
    paths = (kit.path(chapter), kit.notebook(chapter))
    return [path for path in paths if path.is_file()]


def checks(checker: Checker, chapter: str, path: Path) -> Results:
    """Return the checks on a script or a notebook, by exercise."""
    if path.suffix == ".py":
        return checker.check(chapter)[0]
    submitted_files = SubmittedFiles("you", chapter, path.name, path.read_bytes())
    attempt = checker.maker.attempt_from_source(chapter, submitted_files)
    try:
        return results_on(attempt)
    finally:
        attempt.lab.close()


def print_part(console: Console, part: Part) -> None:
    """Print a chapter's line, and what is wrong, not written or left out."""
    points = f"{in_tenths(part.points)} of {part.chapter.points:g} points"
    console.print(Text.assemble((part.chapter.title, "bold"), f"  {points}"))
    states = {name: standing(part.results[name]) for name in part.in_state(State.WRONG)}
    wrong = [name for name, state in states.items() if state == State.WRONG]
    to_do = part.in_state(State.TO_DO)
    for said, names in (("still wrong", wrong), ("not written", to_do)):
        if names:
            shown = ", ".join(names)
            console.print(f"  {plural(len(names), 'exercise')} {said}: {shown}", style="yellow")
    for name in [name for name in states if name not in wrong]:
        console.print(f"  {name}: {states[name]}", style="yellow", markup=False)
    if part.left_out:
        console.print(f"  {part.left_out}", style="yellow", markup=False)


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


def page_of(kit: Kit, parts: list[Part]) -> str:
    """Return the summary page."""
    pages = Environment(autoescape=True, trim_blocks=True)
    pages.filters["in_tenths"] = in_tenths
    at = f"{datetime.now():%Y-%m-%d %H:%M}"
    told = {"course": kit.course, "parts": parts, "at": at}
    return pages.from_string(PAGE).render(**told, state=standing, earned=earned)
