"""Clean the pages that nbgrader shows: no script, no handler, nothing from another host.

A graded notebook has no outputs but our cards, so what is left to clean is the learner's text.
"""

import re
import time
from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import DictLoader, pass_context
from jinja2.runtime import Context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters import Highlight2HTML
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode

from ..instructor.points_breakdown import points as said
from ..views.formulas import in_mathml

NO_MATHJAX = DictLoader({"mathjax.html.j2": "{% macro mathjax() %}{% endmacro %}"})
PLACEHOLDER = "formula{}formula"
TAGS = bleach.ALLOWED_TAGS | set(
    "br caption dd del details div dl dt h1 h2 h3 h4 h5 h6 hr img kbd p pre s samp small span sub "
    "summary sup table tbody td tfoot th thead tr u var".split()
)
ATTRIBUTES = {"title", "align", "colspan", "rowspan", "start", "width", "height"}
LINKS = {("a", "href"), ("img", "alt")}
# Classes of coloured code. Any other class, or an id, could imitate a part of the page.
CODE_CLASS = re.compile(r"highlight|[a-z][a-z0-9]?")
PICTURE = re.compile(r"\s*data:image/(png|jpeg|gif);base64,")
# The styles that a verdict's card uses.
STYLES = CSSSanitizer(
    {"background", "border", "border-left", "border-radius", "color", "font", "font-size"}
    | {"margin-top", "max-width", "padding"}
)
LONGEST_TEXT = 10_000  # characters of a cell's text that is rendered
SECONDS_OF_TEXT = 5.0  # processor time for the text of a page; later cells are plain text
SPENT = "seconds of text"


class CleanPages(HTMLExporter):
    """An exporter for feedback pages that load nothing: their formulas are MathML."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(extra_loaders=[NO_MATHJAX], **settings)


class CleanOutputs(SanitizeHTML):
    """nbconvert's cleaning of outputs. Text cells are cleaned after they are rendered."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Clean the outputs of a cell, and add to a card what has become of its points."""
        if cell.cell_type == "code":
            cell.outputs = self.sanitize_code_outputs(cell.outputs)
            add_points_breakdown(cell, resources.get("nbgrader") or {})
        return cell, resources

    def sanitize_html_tags(self, html_str: str) -> str:
        """Clean the HTML of an output. The styles of our own cards stay."""
        return clean(html_str, styled=True)


def add_points_breakdown(cell: NotebookNode, page: dict) -> None:
    """Add the steps from graded to final points to a card, if a penalty or a person changed them.

    page: nbgrader's sums of the notebook. The penalty is a share of every cell's points.
    """
    score, most = (cell.metadata.get("nbgrader", {}).get(name) for name in ("score", "points"))
    cards = [output.data for output in cell.outputs if "text/html" in output.get("data", {})]
    if score is None or len(cards) != 1:
        return
    penalty, left = page.get("late_penalty") or 0.0, page.get("score") or 0.0
    less = score * penalty / (left + penalty) if penalty else 0.0
    first = float(cards[0]["text/plain"])
    by_hand = f" Changed to {score:g}." if abs(first - score) > 0.005 else ""
    late = f" Late penalty: {said(round(less, 2))} less." if less else ""
    if by_hand or late:
        told = f"Graded: {first:g} of {said(most)}.{by_hand}{late}"
        told += f" What counts: {round(score - less, 2):g} of {said(most)}."
        cards[0]["text/html"] += f'<div style="margin-top:6px">{escape(told)}</div>'


@pass_context
def clean_markdown(context: Context, source: str) -> str:
    """Convert Markdown to clean HTML with MathML formulas."""
    to_html = renderer().markdown2html
    return bounded(
        context, source, lambda: with_formulas(source, lambda text: to_html(context, text))
    )


@pass_context
def coloured_code(
    context: Context, source: str, language: str | None = None, metadata: dict | None = None
) -> str:
    """Convert code to HTML with coloured words."""
    colours = Highlight2HTML(pygments_lexer="python")
    return bounded(context, source, lambda: colours(source, language, metadata))


def bounded(context: Context, source: str, render: Callable[[], str]) -> str:
    """Render a cell's text as HTML; show it as plain text if that fails or takes too long.

    Some texts of a megabyte take hours to render, and the rest of the class would wait.
    """
    page = context.get("resources") or {}
    spent, began = page.get(SPENT) or 0.0, time.process_time()
    try:
        if len(source) <= LONGEST_TEXT and spent < SECONDS_OF_TEXT:
            return render()
    except Exception:  # renderers fail in many ways
        pass
    finally:
        page[SPENT] = spent + time.process_time() - began
    return f"<pre>{escape(source)}</pre>"


def with_formulas(source: str, render: Callable[[str], str]) -> str:
    """Render a text, clean it, and then put its formulas into it as MathML.

    Cleaning comes after rendering, because links appear only in HTML.
    """
    formulas: list[str] = []

    def put(formula: str, shown: bool) -> str:
        formulas.append(formula)
        return PLACEHOLDER.format(len(formulas) - 1)

    html = clean(render(in_mathml(source, put)))
    for number, formula in enumerate(formulas):
        html = html.replace(PLACEHOLDER.format(number), formula)
    return html


def as_it_is(html: str) -> str:
    """Return HTML unchanged; nbconvert's own filter for old notebook servers is slow."""
    return html


@cache
def renderer() -> HTMLExporter:
    """Return the converter from Markdown to HTML."""
    return HTMLExporter()


def clean(html: str, styled: bool = False) -> str:
    """Remove everything from HTML that is active or could imitate the page around it."""

    def allowed(tag: str, name: str, value: str) -> bool:
        if name == "class":
            return all(map(CODE_CLASS.fullmatch, value.split()))
        if (tag, name) == ("img", "src"):  # loading one would show its owner who reads the page
            return bool(PICTURE.match(value))
        is_link = (tag, name) in LINKS and not value.strip().lower().startswith("data:")
        return is_link or name in ATTRIBUTES or (styled and name == "style")

    return bleach.clean(
        html,
        tags=TAGS,
        attributes=allowed,
        protocols=[*bleach.ALLOWED_PROTOCOLS, "data"],
        css_sanitizer=STYLES,
    )
