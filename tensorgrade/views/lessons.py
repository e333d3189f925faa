"""Write the lessons as one page for a browser: text, formulas, pictures and the progress.

The page is complete in itself: its scripts are inside, and it loads nothing from a network. Without
scripts it can still be read.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from ..attempts.results import CheckResult, Results, State, state_of
from ..course import Chapter, Course, CourseError, Exercise
from ..judging.diagnosis import PublicDiagnosis
from ..runner.edits import definition_of
from ..runner.syntax import first_line
from .comparison import LEGEND, Pair, labelled, pair_of
from .formulas import in_mathml
from .note import Sections
from .pages import VIEWS, pages_in
from .points import earned, how_earned, standing
from .summary import first_to_work_on, note_on

MARKS = {State.DONE: "✓", State.WRONG: "✗", State.TO_DO: "○"}
PLACEHOLDER = "formula{}formula"
PICTURE = re.compile(r'<p>(<img src="attachment:([\w-]+)\.png"[^>]*>)</p>')
ANSWERS = re.compile(r"<p><strong>Answers?[.:]</strong>(.*?)</p>", re.S)
WORDS_A_MINUTE = 180
SHAPES = re.compile(r"^( +)Shapes:\n((?:\1 .*\n)+)", re.M)


def coloured(code: str, language: str = "python", _: str = "") -> Markup:
    """Return Python code as HTML, with a class for each kind of word; other code unchanged."""
    if language != "python":
        return Markup.escape(code)
    return Markup(highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))


MARKDOWN = MarkdownIt("commonmark", {"html": False, "highlight": coloured}).enable("table")
PAGES = pages_in()
PAGES.filters["coloured"] = coloured
TEMPLATE = PAGES.get_template("lessons.html")


@dataclass(frozen=True)
class Block:
    """A piece of a lesson: `text` as HTML, or `code`; for an exercise its code and its state.

    own: the learner's code, if the exercise is done. came_about: how its points came about. told:
    the note on the first failed check. labelled, pair: the expected and the actual texts, shapes or
    values in it. standing: the state in words.
    """

    text: str = ""
    code: str = ""
    own: str = ""
    exercise: Exercise | None = None
    state: State | None = None
    points: float = 0
    came_about: str = ""
    told: Sections | None = None
    labelled: list[tuple[str, str]] = field(default_factory=list)
    pair: Pair | None = None
    standing: str = ""

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
    course: Course,
    root: Path,
    by_exercise: Results,
    folder: Path = Path("exercises"),
    version: int | None = None,
) -> str:
    """Return the page as HTML.

    root: the kit's or the course's folder. by_exercise: the results of the checks, if any. folder:
    the learner's files. version: the number of a page that is served and reloads; None for a file.

    Raises CourseError if a notebook is missing.
    """
    chapters = [
        (chapter, list(blocks_of(notebook_of(root, chapter.name), chapter, by_exercise, folder)))
        for chapter in course.chapters
    ]
    done = {chapter.name: finished(chapter, by_exercise) for chapter in course.chapters}
    states = {name: state_of(checks) for name, checks in by_exercise.items()}
    first = first_to_work_on(course, by_exercise)
    return TEMPLATE.render(
        course=course,
        chapters=chapters,
        done=done,
        states=states,
        marks=MARKS,
        minutes={chapter.name: minutes(blocks) for chapter, blocks in chapters},
        shapes=cheat_sheet(chapters),
        checked=bool(by_exercise),
        first=first,
        legend=LEGEND[True],
        version=version,
        script=scripts(root / "exercises" / "pictures"),
    )


def scripts(pictures: Path) -> Markup:
    """Return the page's own script and those of the course's interactive pictures.

    The script NAME.js replaces the still picture NAME.png of a lesson.
    """
    paths = [VIEWS / "lessons.js", *sorted(pictures.glob("*.js"))]
    return Markup("\n".join(path.read_text(encoding="utf-8") for path in paths))


def minutes(blocks: list[Block]) -> int:
    """Return the minutes that it takes to read a chapter, without writing its exercises."""
    text = " ".join(re.sub(r"<[^>]+>", " ", block.text) + block.code for block in blocks)
    return math.ceil(len(text.split()) / WORDS_A_MINUTE)


def cheat_sheet(chapters: list[tuple[Chapter, list[Block]]]) -> list[tuple[Chapter, list]]:
    """Return the chapters with their exercises' names and the shapes that the docstrings name."""
    found = [
        (chapter, [(b.exercise.name, shapes_in(b.code)) for b in blocks if b.exercise])
        for chapter, blocks in chapters
    ]
    named = [(chapter, [row for row in rows if row[1]]) for chapter, rows in found]
    return [(chapter, rows) for chapter, rows in named if rows]


def shapes_in(stub: str) -> list[tuple[str, str]]:
    """Return the names and shapes in a docstring's section "Shapes", each up to its semicolon.

    >>> shapes_in("    Shapes:\\n        x, y: (n, d); rows\\n        result: (n,)\\n")
    [('x, y', '(n, d)'), ('result', '(n,)')]
    """
    found = SHAPES.search(stub)
    if not found:
        return []
    indent = min(len(line) - len(line.lstrip()) for line in found[2].splitlines())
    entries = re.sub(rf"\n {{{indent + 1},}}", " ", found[2])  # continued lines
    rows = (line.strip().partition(": ") for line in entries.splitlines())
    return [(name, text.partition(";")[0].rstrip(".")) for name, colon, text in rows if colon]


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
        return Block("", stub, "", exercise)
    state, points, came_about = (
        state_of(checks),
        earned(checks),
        how_earned(checks, exercise.points),
    )
    if state != State.WRONG:
        own = own_code(path, exercise.name) if state == State.DONE else ""
        return Block("", stub, own, exercise, state, points, came_about)
    note, said = note_on(exercise.name, checks, path), standing(checks)
    diagnosis = note.finding.diagnosis
    public = diagnosis if isinstance(diagnosis, PublicDiagnosis) else None
    values = (labelled(public), pair_of(public)) if public else ([], None)
    return Block("", stub, "", exercise, state, points, came_about, note.sections, *values, said)


def own_code(path: Path, name: str) -> str:
    """Return the learner's definition of a name; "" if there is none."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    node = definition_of(text, name, 0)
    if node is None:
        return ""
    return "\n".join(text.split("\n")[first_line(node) - 1 : node.end_lineno])


def folded(answers: re.Match) -> str:
    """Return a paragraph of answers, (1) … (2) …, folded and with a line for each."""
    lines = re.sub(r"\s(?=\([2-9]\) )", "</p><p>", answers[1])
    return f"<details><summary>Answers</summary><p>{lines}</p></details>"


def as_html(lesson: str, attachments: dict[str, dict[str, str]]) -> str:
    """Convert a lesson's Markdown to HTML, with MathML formulas and embedded pictures."""
    formulas: list[str] = []

    def put(formula: str, shown: bool) -> str:
        formulas.append(formula)
        word = PLACEHOLDER.format(len(formulas) - 1)
        return f"\n\n{word}\n\n" if shown else word

    text = MARKDOWN.render(in_mathml(lesson, put))
    text = PICTURE.sub(
        r'<div class="picture">\1</div><figure class="try" data-picture="\2" hidden></figure>', text
    )
    text = ANSWERS.sub(folded, text)
    for number, formula in enumerate(formulas):
        text = text.replace(PLACEHOLDER.format(number), formula)
    for name, content in attachments.items():
        ((kind, data),) = content.items()
        text = text.replace(f'"attachment:{name}"', f'"data:{kind};base64,{"".join(data)}"')
    return Markup(re.sub(r"<table>.*?</table>", r'<div class="wide">\g<0></div>', text, flags=re.S))
