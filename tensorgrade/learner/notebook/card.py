"""Format a check's outcome as a card: plain HTML with embedded pictures, for any notebook."""

from pathlib import Path

import torch
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from ...attempts.results import State
from ...judging.diagnosis import Diagnosis, Finding, PublicDiagnosis
from ...messages.message import render, sentence
from ...views.comparison import shape_of
from ...views.note import Note, shortly
from ...views.words import in_tenths, with_code
from ..pictures import as_image, draw_heatmaps
from .checking import Checked

STATES = {
    State.DONE: ("✓", "#2e7d32"),
    State.WRONG: ("✗", "#b00020"),
    State.TO_DO: ("○", "#5f6368"),
}
PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters["with_code"] = with_code
TEMPLATE = PAGES.get_template("card.html")


class Card:
    """A check's outcome, shown as HTML in a notebook and as plain text anywhere else."""

    def __init__(self, checked: Checked):
        self.checked = checked

    def __repr__(self) -> str:
        first = self.checked.first
        title = f"{self.checked.state}: {self.checked.exercise.name}"
        return title if first is None else f"{title}\n\n{Note(first)}"

    def _repr_html_(self) -> str:
        checked, first = self.checked, self.checked.first
        mark, colour = STATES[checked.state]
        return TEMPLATE.render(
            checked=checked,
            first=first,
            sentence=sentence,
            state=checked.state,
            mark=mark,
            colour=colour,
            passed=sum(result.passed for result in checked.results),
            facts=facts_of(first) if first else [],
            picture=Markup(picture_of(first.diagnosis)) if first else "",
        )


def facts_of(first: Finding) -> list[tuple[str, str]]:
    """Return the facts about a failed check as labels and sentences, without empty ones."""
    diagnosis = first.diagnosis
    facts = [
        ("asked for", first.asks),
        ("called", diagnosis.called),
        ("problem", render(diagnosis.problem)),
        ("where", render(diagnosis.where)),
        *shapes_of(diagnosis),
        ("your code prints", shortly(first.said())),
    ]
    return [(name, value) for name, value in facts if value]


def shapes_of(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Return the expected and the actual shapes, or the differing texts if there are any."""
    if not isinstance(diagnosis, PublicDiagnosis):
        return []
    if diagnosis.texts:
        return list(zip(("expected", "yours"), diagnosis.texts, strict=True))
    if diagnosis.expected is None:
        return []
    return [("expected", shape_of(diagnosis.expected)), ("yours", shape_of(diagnosis.actual))]


def picture_of(diagnosis: Diagnosis) -> str:
    """Draw expected and actual values with the differences framed; empty if there is no picture."""
    if not isinstance(diagnosis, PublicDiagnosis):
        return ""
    expected, actual = diagnosis.expected, diagnosis.actual
    if expected is None or actual is None or expected.shape != actual.shape or not expected.numel():
        return ""
    differs = diagnosis.differs if diagnosis.differs is not None else expected != actual
    at = telling_matrix(differs)
    place = f"[{', '.join(map(str, at))}]" if at else ""
    names = f"expected{place}", f"yours{place}"
    pictured = dict(zip(names, (expected[at], actual[at]), strict=True))
    figure = draw_heatmaps(pictured, marks={names[1]: differs[at]})
    return as_image(figure, f"expected and actual values of {diagnosis.called}, differences framed")


def telling_matrix(differs: torch.Tensor) -> tuple[int, ...]:
    """Return the leading indices of the first matrix that has a difference.

    >>> telling_matrix(torch.tensor([[[False, False]], [[False, True]]]))
    (1,)
    """
    leading = differs.shape[: max(0, differs.ndim - 2)]
    if not leading or not differs.any():
        return (0,) * len(leading)
    return tuple(differs.flatten(len(leading)).any(-1).nonzero()[0].tolist())


class Points(float):
    """Points out of a maximum: a float that a notebook shows as a sentence."""

    most: float

    def __new__(cls, earned: float, most: float) -> "Points":
        made = super().__new__(cls, earned)
        made.most = most
        return made

    def _repr_html_(self) -> str:
        return f"<b>{in_tenths(self)} of {self.most:g}</b> points by the public checks"
