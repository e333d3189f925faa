"""Write the lessons as one page for a browser: text, formulas, pictures and the progress.

The page is complete in itself: it has no script, and loads nothing from a network.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from ..attempts.results import CheckResult, State, state_of
from ..course import Chapter, Course, CourseError, Exercise
from ..judging.diagnosis import PublicDiagnosis
from .comparison import LEGEND, Pair, labelled, pair_of
from .formulas import in_mathml
from .note import Sections
from .pages import pages_in
from .points import Results, earned, how_earned
from .summary import first_to_work_on, note_on

TEMPLATE = pages_in().get_template("lessons.html")
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
MARKS = {State.DONE: "✓", State.WRONG: "✗", State.TO_DO: "○"}
PLACEHOLDER = "formula{}formula"


@dataclass(frozen=True)
class Block:
    """A piece of a lesson: `text` as HTML, or `code`; for an exercise its code and its state.

    came_about: how its points came about. told: the note on the first failed check. labelled,
    pair: the expected and the actual texts, shapes or values in it.
    """

    text: str = ""
    code: str = ""
    exercise: Exercise | None = None
    state: State | None = None
    points: float = 0
    came_about: str = ""
    told: Sections | None = None
    labelled: list[tuple[str, str]] = field(default_factory=list)
    pair: Pair | None = None

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


def lessons_page(
    course: Course, root: Path, by_exercise: Results, folder: Path = Path("exercises")
) -> str:
    """Return the page as HTML.

    root: the kit's or the course's folder. by_exercise: the results of the checks, if any. folder:
    the learner's files.

    Raises CourseError if a notebook is missing.
    """
    chapters = [
        (chapter, list(blocks_of(notebook_of(root, chapter.name), chapter, by_exercise, folder)))
        for chapter in course.chapters
    ]
    done = {chapter.name: finished(chapter, by_exercise) for chapter in course.chapters}
    first = first_to_work_on(course, by_exercise)
    return TEMPLATE.render(
        course=course,
        chapters=chapters,
        done=done,
        checked=bool(by_exercise),
        first=first,
        legend=LEGEND[True],
    )


def finished(chapter: Chapter, by_exercise: Results) -> int:
    """Return the number of a chapter's exercises that are done."""
    known = [by_exercise[e.name] for e in chapter.exercises if e.name in by_exercise]
    return sum(state_of(checks) == State.DONE for checks in known)


def blocks_of(
    notebook: Path, chapter: Chapter, by_exercise: Results, folder: Path
) -> Iterator[Block]:
    """Yield the blocks of a chapter, without the cells that are useful only in a notebook."""
    exercises = {exercise.name: exercise for exercise in chapter.exercises}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source, name = "".join(cell["source"]), cell["metadata"].get("nbgrader", {}).get("grade_id")
        if cell["cell_type"] == "markdown":
            yield Block(text=as_html(source, cell.get("attachments", {})))
        elif name in exercises:
            path = folder / f"{chapter.name}.py"
            yield exercise_block(exercises[name], source, by_exercise.get(name, []), path)
        elif name and name.startswith("imports"):
            yield Block(code=source)


def exercise_block(exercise: Exercise, stub: str, checks: list[CheckResult], path: Path) -> Block:
    """Return the block of an exercise. path: the learner's file."""
    if not checks:
        return Block("", stub, exercise)
    state, points, came_about = (
        state_of(checks),
        earned(checks),
        how_earned(checks, exercise.points),
    )
    if state != State.WRONG:
        return Block("", stub, exercise, state, points, came_about)
    note = note_on(exercise.name, checks, path)
    diagnosis = note.finding.diagnosis
    public = diagnosis if isinstance(diagnosis, PublicDiagnosis) else None
    values = (labelled(public), pair_of(public)) if public else ([], None)
    return Block("", stub, exercise, state, points, came_about, note.sections, *values)


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
