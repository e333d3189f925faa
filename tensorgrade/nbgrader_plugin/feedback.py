"""Write the pages that nbgrader shows: no script, no handler, nothing from another host.

A graded notebook has no outputs but our cards, so what is left is the learner's text. It is
rendered without any HTML of its own. nbconvert's filter cleans HTML after it is made, which keeps
what imitates a page, and it rests on bleach, which is no longer developed.
"""

import re
from html import escape
from typing import Any

from jinja2 import DictLoader, pass_context
from jinja2.runtime import Context
from nbconvert.exporters import HTMLExporter
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

from ..instructor.rules import points as said
from ..views.lessons import as_html, coloured

NO_MATHJAX = DictLoader({"mathjax.html.j2": "{% macro mathjax() %}{% endmacro %}"})
PICTURES = (["image/png"], ["image/jpeg"], ["image/gif"])
# Loading a picture would show its owner who reads the page.
ELSEWHERE = re.compile(r'<img src="(?!data:image/(?:png|jpeg|gif);)[^"]*"')
LONGEST_TEXT = 10_000  # characters of a cell's text that is rendered; some take minutes


class CleanPages(HTMLExporter):
    """An exporter for feedback pages that load nothing: their formulas are MathML."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(extra_loaders=[NO_MATHJAX], **settings)


class OnlyCards(Preprocessor):
    """A preprocessor that leaves cells nothing to show but their text and our cards."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Make raw cells code, and add to a card what has become of its points."""
        if cell.cell_type == "code":
            add_points_breakdown(cell, resources.get("nbgrader") or {})
        elif cell.cell_type == "raw":
            cell.source = escape(cell.source)
        return cell, resources


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
    """Convert Markdown to HTML with MathML formulas. HTML in it is shown as text."""
    attached = (context.get("cell") or {}).get("attachments", {}).items()
    try:
        if len(source) <= LONGEST_TEXT:
            pictures = {name: kinds for name, kinds in attached if [*kinds] in PICTURES}
            return ELSEWHERE.sub("<img", as_html(source, pictures))
    except Exception:  # odd text can make a renderer fail
        pass
    return f"<pre>{escape(source)}</pre>"


def coloured_code(source: str, language: str | None = None, metadata: dict | None = None) -> str:
    """Convert code to HTML with coloured words."""
    code = coloured(source) if len(source) <= LONGEST_TEXT else escape(source)
    return f'<div class="highlight"><pre>{code}</pre></div>'


def as_it_is(html: str) -> str:
    """Return HTML unchanged; nbconvert's own filter for old notebook servers is slow."""
    return html
