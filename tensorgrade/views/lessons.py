"""Write the lessons as one page for a browser: text, formulas, pictures and the progress.

The page is complete in itself: its scripts are inside, and it loads nothing from a network. Without
scripts it can still be read.
"""

import html
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from ..attempts.results import Results, State
from ..course import Chapter, Course, CourseError, Exercise
from .formulas import BLOCK, in_mathml
from .pages import VIEWS, pages_in
from .summary import checked_in, first_to_work_on

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
    """A piece of a lesson: `text` as HTML, or `code`; with an exercise's stub, the exercise."""

    text: str = ""
    code: str = ""
    exercise: Exercise | None = None


def notebook_of(root: Path, chapter: str) -> Path:
    """Return the path of a chapter's notebook, in the kit or in a course's checkout.

    Raises CourseError if there is none.
    """
    in_kit, built = root / "notebooks", root / "release" / chapter
    for folder in (in_kit, built):
        if (folder / f"{chapter}.ipynb").is_file():
            return folder / f"{chapter}.ipynb"
    raise CourseError(
        f"there is no {in_kit}/{chapter}.ipynb to read; go to the course's folder first"
    )


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
        (chapter, list(blocks_of(notebook_of(root, chapter.name), chapter)))
        for chapter in course.chapters
    ]
    checked = {n: checked_in(folder, course, n, checks) for n, checks in by_exercise.items()}
    # The script NAME.js replaces the still picture NAME.png of a lesson.
    pictures = sorted((root / "exercises" / "pictures").glob("*.js"))
    scripts = [path.read_text(encoding="utf-8") for path in (VIEWS / "lessons.js", *pictures)]
    return TEMPLATE.render(
        course=course,
        chapters=chapters,
        checked=checked,
        own={name: one.code for name, one in checked.items() if one.state == State.DONE},
        minutes={chapter.name: minutes(blocks) for chapter, blocks in chapters},
        shapes=cheat_sheet(chapters),
        first=first_to_work_on(course, by_exercise),
        version=version,
        script=Markup("\n".join(scripts)),
    )


def write_lessons(course: Course, root: Path, by_exercise: Results, folder: Path) -> Path:
    """Write the page into the kit's or the course's folder, and return its path."""
    out = root / "lessons.html"
    out.write_text(lessons_page(course, root, by_exercise, folder), encoding="utf-8")
    return out


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
    return [(c, named) for c, rows in found if (named := [row for row in rows if row[1]])]


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


def blocks_of(notebook: Path, chapter: Chapter) -> Iterator[Block]:
    """Yield the blocks of a chapter, without the cells that are useful only in a notebook."""
    exercises = {exercise.name: exercise for exercise in chapter.exercises}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source, name = "".join(cell["source"]), cell["metadata"].get("nbgrader", {}).get("grade_id")
        if cell["cell_type"] == "markdown":
            yield Block(text=as_html(source, cell.get("attachments", {})))
        elif name in exercises:
            yield Block(code=source, exercise=exercises[name])
        elif name and name.startswith("imports"):
            yield Block(code=source)


def folded(answers: re.Match) -> str:
    """Return a paragraph of answers, (1) … (2) …, folded and with a line for each."""
    lines = re.sub(r"\s(?=\([2-9]\) )", "</p><p>", answers[1])
    return f"<details><summary>Answers</summary><p>{lines}</p></details>"


def as_html(lesson: str, attachments: dict[str, dict[str, str]]) -> str:
    """Convert a lesson's Markdown to HTML, with MathML formulas and embedded pictures."""
    formulas: list[str] = []

    def put(formula: str) -> str:
        formulas.append(formula)
        word = PLACEHOLDER.format(len(formulas) - 1)
        return f"\n\n{word}\n\n" if formula.startswith(f"<math{BLOCK}") else word

    text = MARKDOWN.render(in_mathml(lesson, put))
    text = PICTURE.sub(
        r'<div class="picture">\1</div><figure class="try" data-picture="\2" hidden></figure>', text
    )
    text = ANSWERS.sub(folded, text)
    for number, formula in enumerate(formulas):
        text = text.replace(PLACEHOLDER.format(number), formula)
    for name, content in attachments.items():
        ((kind, data),) = content.items()
        encoded = html.escape("".join(data))
        text = text.replace(f'"attachment:{name}"', f'"data:{kind};base64,{encoded}"')
    return Markup(re.sub(r"<table>.*?</table>", r'<div class="wide">\g<0></div>', text, flags=re.S))
