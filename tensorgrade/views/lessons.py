"""Write the lessons as one page for a browser: text, formulas, pictures and the progress.

The page is complete in itself: it has no script, and loads nothing from a network.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from markupsafe import Markup

from ..attempts.results import CheckResult, State, first_failure, state_of
from ..course import Chapter, Course, CourseError, Exercise
from .formulas import in_mathml
from .note import Note
from .points import Results, earned
from .summary import first_to_work_on
from .words import in_tenths

PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters["in_tenths"] = in_tenths
TEMPLATE = PAGES.get_template("lessons.html")
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
MARKS = {State.DONE: "✓", State.WRONG: "✗", State.TO_DO: "○"}
SCREENS = {"large": 80, "small": 38}  # columns
PLACEHOLDER = "formula{}formula"


@dataclass(frozen=True)
class Block:
    """A piece of a lesson: `text` as HTML, or `code`; for an exercise its code and its state.

    notes: the note on the first failed check, by the class of screens it is laid out for.
    """

    text: str = ""
    code: str = ""
    exercise: Exercise | None = None
    state: State | None = None
    points: float = 0
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """Return one sign for the state; an empty string if nothing was checked."""
        return MARKS[self.state] if self.state else ""


def notebook_of(root: Path, chapter: str) -> Path:
    """Return the path of a chapter's notebook, in the kit or in a course's checkout.

    Raises CourseError if there is none.
    """
    places = (
        root / "notebooks" / f"{chapter}.ipynb",
        root / "release" / chapter / f"{chapter}.ipynb",
    )
    for path in places:
        if path.is_file():
            return path
    raise CourseError(f"there is no {places[0]} to read; go to the course's folder first")


def lessons_page(course: Course, root: Path, by_exercise: Results) -> str:
    """Return the page as HTML.

    root: the kit's or the course's folder. by_exercise: the results of the checks, if any.

    Raises CourseError if a notebook is missing.
    """
    chapters = [
        (chapter, list(blocks_of(notebook_of(root, chapter.name), chapter, by_exercise)))
        for chapter in course.chapters
    ]
    done = {chapter.name: finished(chapter, by_exercise) for chapter in course.chapters}
    first = first_to_work_on(course, by_exercise)
    return TEMPLATE.render(
        course=course, chapters=chapters, done=done, checked=bool(by_exercise), first=first
    )


def finished(chapter: Chapter, by_exercise: Results) -> int:
    """Return the number of a chapter's exercises that are done."""
    known = [by_exercise[e.name] for e in chapter.exercises if e.name in by_exercise]
    return sum(state_of(checks) == State.DONE for checks in known)


def blocks_of(notebook: Path, chapter: Chapter, by_exercise: Results) -> Iterator[Block]:
    """Yield the blocks of a chapter, without the cells that are useful only in a notebook."""
    exercises = {exercise.name: exercise for exercise in chapter.exercises}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source, name = "".join(cell["source"]), cell["metadata"].get("nbgrader", {}).get("grade_id")
        if cell["cell_type"] == "markdown":
            yield Block(text=as_html(source, cell.get("attachments", {})))
        elif name in exercises:
            yield exercise_block(exercises[name], source, by_exercise.get(name, []))
        elif name and name.startswith("imports"):
            yield Block(code=source)


def exercise_block(exercise: Exercise, stub: str, checks: list[CheckResult]) -> Block:
    """Return the block of an exercise."""
    state = state_of(checks) if checks else None
    return Block("", stub, exercise, state, earned(checks), notes_on(checks))


def notes_on(checks: list[CheckResult]) -> dict[str, str]:
    """Return the note on a wrong exercise, by screen; nothing if it is done or still to do."""
    first = first_failure(checks) if state_of(checks) == State.WRONG else None
    if first is None or first.finding is None:
        return {}
    note = Note(first.finding)
    return {screen: note.plain(width) for screen, width in SCREENS.items()}


def as_html(lesson: str, attachments: dict[str, dict[str, str]]) -> str:
    """Convert a lesson's Markdown to HTML, with MathML formulas and embedded pictures."""
    formulas: list[str] = []

    def put(formula: str, shown: bool) -> str:
        formulas.append(formula)
        word = PLACEHOLDER.format(len(formulas) - 1)
        return f"\n\n{word}\n\n" if shown else word

    text = MARKDOWN.render(in_mathml(lesson, put))
    text = re.sub(r"<p>(<img [^>]*>)</p>", r'<div class="wide picture">\1</div>', text)
    for number, formula in enumerate(formulas):
        text = text.replace(PLACEHOLDER.format(number), formula)
    for name, content in attachments.items():
        ((kind, data),) = content.items()
        text = text.replace(f'"attachment:{name}"', f'"data:{kind};base64,{"".join(data)}"')
    return Markup(re.sub(r"<table>.*?</table>", r'<div class="wide">\g<0></div>', text, flags=re.S))
