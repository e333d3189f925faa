"""Write pages in which no code of a learner runs: no script, no handler, no embedded page.

`CleanPages` writes the learners' feedback. nbconvert's own exporter writes the formgrader's pages;
`course_config.py` configures it to use `CleanOutputs` and `clean_markdown`.
"""

import re
import time
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters import Highlight2HTML
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

from ..instructor.points_breakdown import points as said
from .names import take_names_literally
from .sanitize import PICTURES, is_picture, member, read_notebook, resources_of, text_of

TAGS = set(
    "a abbr b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img "
    "ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th "
    "thead tr tt u ul var".split()
)
ATTRIBUTES = {"title", "align", "colspan", "rowspan", "start", "width", "height"}
# Classes of coloured code. Any other class, or an id, could imitate a part of the page.
CODE_CLASS = re.compile(r"highlight|[a-z][a-z0-9]?")
LINKS = {"a": {"href"}, "img": {"src", "alt"}}
PROTOCOLS = {"http", "https", "mailto", "data"}
# The styles that a verdict's card uses.
STYLES = CSSSanitizer(
    {"background", "border", "border-left", "border-radius", "color", "font", "font-size"}
    | {"margin-top", "max-width", "padding"}
)


class CleanPages(HTMLExporter):
    """An exporter for nbgrader's feedback pages that cleans the HTML of learners' text."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.filters = FILTERS | self.filters
        take_names_literally(self.parent)

    def from_filename(
        self, filename: str, resources: dict | None = None, **_: object
    ) -> tuple[Any, dict[str, Any]]:
        """Return the page of one graded notebook."""
        path = Path(filename)
        notebook = read_notebook(path, with_outputs=True)
        return self.from_notebook_node(notebook, resources_of(path, resources))

    def _init_preprocessors(self) -> None:
        super()._init_preprocessors()
        self.register_preprocessor(CleanOutputs, enabled=True)


class CleanOutputs(Preprocessor):
    """A preprocessor that keeps only the outputs that display something."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Replace the outputs of one cell."""
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(clean_output, cell.outputs) if output]
            add_points_breakdown(cell, resources.get("nbgrader") or {})
        return cell, resources


def add_points_breakdown(cell: NotebookNode, page: dict) -> None:
    """Add the steps from graded to final points to a card, if a penalty or a person changed them.

    page: nbgrader's sums of the notebook. The penalty is a share of every cell's points.
    """
    score, most = (cell.metadata.get("nbgrader", {}).get(name) for name in ("score", "points"))
    cards = [output for output in cell.outputs if "text/html" in output.get("data", {})]
    if score is None or len(cards) != 1:
        return
    penalty, left = page.get("late_penalty") or 0.0, page.get("score") or 0.0
    less = score * penalty / (left + penalty) if penalty else 0.0
    found = number_in(cards[0].data.get("text/plain", ""))
    by_hand = f" Changed to {score:g}." if found is not None and abs(found - score) > 0.005 else ""
    late = f" Late penalty: {said(round(less, 2))} less." if less else ""
    if by_hand or late:
        first = score if found is None else found
        told = f"Graded: {first:g} of {said(most)}.{by_hand}{late}"
        told += f" What counts: {round(score - less, 2):g} of {said(most)}."
        cards[0].data["text/html"] += f'<div style="margin-top:6px">{escape(told)}</div>'


def number_in(text: str) -> float | None:
    """Return the number in a graded cell's output; None if there is none."""
    try:
        return float(text)
    except ValueError:
        return None


LONGEST_TEXT = 10_000  # longest cell text in characters that is rendered
SECONDS_OF_TEXT = 5.0  # processor time for the text of a page; later cells are plain text
MOST_TAGS = 50_000  # HTML tags in the text of a page; later cells are plain text
SPENT, TAGGED = "seconds of text", "tags of text"


def rendered(context: Context, source: str, render: Callable[[], str]) -> str:
    """Render a cell's text as HTML; show it as plain text if that fails or takes too long.

    Some texts of a megabyte take hours to render, and the rest of the class would wait. Rendering
    also fails for some texts, such as those with a missing picture. nbconvert parses the
    whole page again, which takes longer than to render it if there are many tags.
    """
    page = context.get("resources") or {}
    spent, tags = page.get(SPENT) or 0.0, page.get(TAGGED) or 0
    began = time.process_time()
    try:
        if len(source) <= LONGEST_TEXT and spent < SECONDS_OF_TEXT and tags < MOST_TAGS:
            html = render()
            page[TAGGED] = tags + html.count("<")
            return html
    except Exception:  # renderers fail in many ways
        pass
    finally:
        page[SPENT] = spent + time.process_time() - began
    return f"<pre>{escape(source)}</pre>"


@pass_context
def clean_markdown(context: Context, source: str) -> str:
    """Convert Markdown to clean HTML. Cleaning comes last, because links only appear in HTML."""
    return rendered(context, source, lambda: clean(renderer().markdown2html(context, source)))


@pass_context
def coloured_code(
    context: Context, source: str, language: str | None = None, metadata: dict | None = None
) -> str:
    """Convert code to HTML with coloured words."""
    return rendered(context, source, lambda: colours()(source, language, metadata))


def as_it_is(html: str) -> str:
    """Return HTML unchanged; nbconvert's own filter for old notebook servers is slow."""
    return html


FILTERS = {
    "markdown2html": clean_markdown,
    "highlight_code": coloured_code,
    "strip_files_prefix": as_it_is,
}


@cache
def renderer() -> HTMLExporter:
    """Return the converter from Markdown to HTML."""
    return HTMLExporter()


@cache
def colours() -> Highlight2HTML:
    """Return the converter from code to HTML."""
    return Highlight2HTML(pygments_lexer="python")


def clean(html: str, styled: bool = False) -> str:
    """Remove everything from HTML that is active or could imitate the page around it."""
    return bleach.clean(
        html,
        tags=TAGS,
        attributes=allowed_in_cards if styled else allowed,
        protocols=PROTOCOLS,
        css_sanitizer=STYLES,
    )


def allowed(tag: str, name: str, value: str) -> bool:
    """Return True if an attribute may stay.

    Pictures must be embedded. Loading one from elsewhere would show its owner who reads the page.
    """
    if name == "class":
        return all(map(CODE_CLASS.fullmatch, value.split()))
    if (tag, name) == ("img", "src"):
        return value.strip().startswith(PICTURE_DATA)
    if name in LINKS.get(tag, ()):
        return not value.strip().lower().startswith("data:")
    return name in ATTRIBUTES


def allowed_in_cards(tag: str, name: str, value: str) -> bool:
    """Return True if an attribute may stay in our own cards, which have styles."""
    return name == "style" or allowed(tag, name, value)


PICTURE_DATA = tuple(f"data:{kind};base64," for kind in PICTURES)


def clean_output(output: object) -> NotebookNode | None:
    """Return an output of a kind that only displays something; None for any other kind."""
    kind = member(output, "output_type")
    if kind == "stream":
        name = "stderr" if member(output, "name") == "stderr" else "stdout"
        return NotebookNode(output_type=kind, name=name, text=text_of(member(output, "text")))
    if kind not in ("execute_result", "display_data"):
        return None
    data = member(output, "data")
    shown = {k: v for k in PICTURES if is_picture(v := member(data, k))}
    for name, clean_text in (("text/plain", text_of), ("text/html", clean_card)):
        if told := member(data, name):
            shown[name] = clean_text(told)
    made = NotebookNode(output_type=kind, data=NotebookNode(shown), metadata=NotebookNode())
    if kind == "execute_result":
        made.execution_count = None
    return made


def clean_card(told: object) -> str:
    """Clean the HTML of an output. The styles of our own cards stay."""
    return clean(text_of(told), styled=True)
