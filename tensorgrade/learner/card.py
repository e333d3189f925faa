"""Format a check's outcome as a card: plain HTML with embedded pictures, for any notebook."""

from pathlib import Path

import torch
from markupsafe import Markup

from ..attempts.results import State
from ..judging.diagnosis import Diagnosis
from ..views.comparison import digits_for, labelled
from ..views.pages import pages_in
from ..views.points import how_earned, standing
from ..views.words import in_tenths
from .notebook import Checked
from .pictures import as_image, draw_heatmaps

STATES = {
    State.DONE: ("✓", "#2e7d32"),
    State.WRONG: ("✗", "#b00020"),
    State.TO_DO: ("○", "#5f6368"),
}
TEMPLATE = pages_in(Path(__file__).parent).get_template("card.html")


class Card:
    """A check's outcome, shown as HTML in a notebook and as plain sentences anywhere else."""

    def __init__(self, checked: Checked):
        self.checked = checked

    @property
    def points(self) -> str:
        """Return a line that explains the points."""
        return how_earned(self.checked.results, self.checked.exercise.points)

    def __repr__(self) -> str:
        checked = self.checked
        points = f"{in_tenths(checked.points)} of {checked.exercise.points:g} points"
        title = f"{checked.exercise.name}: {standing(checked.results)}, {points}"
        return f"{title}: {self.points}.\n\n{checked.note}" if checked.note else title

    def _repr_html_(self) -> str:
        checked, note = self.checked, self.checked.note
        mark, colour = STATES[checked.state]
        diagnosis = note.finding.diagnosis if note else None
        return TEMPLATE.render(
            checked=checked,
            to_fix=note is not None and note.finding.is_to_fix,
            told=note,
            labelled=labelled(diagnosis) if diagnosis else [],
            state=checked.state,
            standing=standing(checked.results),
            mark=mark,
            colour=colour,
            points=self.points,
            picture=Markup(picture_of(diagnosis)) if diagnosis else "",
        )


def picture_of(diagnosis: Diagnosis) -> str:
    """Draw expected and actual values with the differences framed; empty if there is no picture."""
    expected, actual = diagnosis.expected, diagnosis.actual
    if expected is None or actual is None or expected.shape != actual.shape or not expected.numel():
        return ""
    differs = diagnosis.differs if diagnosis.differs is not None else expected != actual
    at = telling_matrix(differs)
    place = f"[{', '.join(map(str, at))}]" if at else ""
    names = f"expected{place}", f"yours{place}"
    pictured = dict(zip(names, (expected[at], actual[at]), strict=True))
    digits = digits_for(expected[differs], actual[differs], least=2)
    figure = draw_heatmaps(pictured, marks={names[1]: differs[at]}, digits=digits)
    return as_image(figure, "expected and actual values, differences framed")


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
