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
    """A preprocessor that shows raw cells as text, so that a page has no HTML but our cards."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Escape a raw cell, which would be shown as it is."""
        if cell.cell_type == "raw":
            cell.source = escape(cell.source)
        return cell, resources


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
