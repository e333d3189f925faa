"""A check's outcome as a small card: plain HTML that any notebook shows, with pictures inside."""

import torch
from jinja2 import Environment
from markupsafe import Markup

from ..diagnosis import Diagnosis, OpenDiagnosis
from ..pictures import as_image, draw_heatmaps
from ..views.comparison import shape_of
from ..views.note import note
from .checking import Checked

STATES = {"done": ("✓", "#2e7d32"), "wrong": ("✗", "#b00020"), "to do": ("○", "#5f6368")}
TEMPLATE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
{% macro ladder(hints, number) %}
<details style="margin:6px 0 0 {{ 0 if number == 1 else 16 }}px">
<summary style="cursor:pointer">{{ "A hint" if number == 1 else "Another hint" }}</summary>
<div style="margin:4px 0 0 16px">{{ hints[0] }}</div>
{% if hints[1:] %}{{ ladder(hints[1:], number + 1) }}{% endif %}
</details>
{% endmacro %}
<div style="border:1px solid #c8ccd0;border-left:6px solid {{ colour }};border-radius:4px;\
padding:10px 14px;max-width:900px;background:#ffffff;color:#202124;font:14px/1.45 sans-serif">
<div style="font-size:15px"><b style="color:{{ colour }}">{{ mark }}
{{ checked.state }}</b> &nbsp;<code style="background:none;color:inherit">{{ checked.exercise.name }}</code>
<span style="color:#5f6368">&nbsp;{{ passed }} of {{ checked.results | length }} checks pass</span></div>
{% if checked.state == "to do" %}
<div style="margin-top:6px">Write your answer in the cell above, run that cell, then run this one again.</div>
{% elif first %}
{% for name, message in checked.mistakes.items() %}
{% if loop.first %}
<div style="margin-top:6px"><b>{{ message }}</b> <span style="color:#5f6368">({{ name }})</span></div>
{% elif loop.index == 2 %}
<div style="margin-top:4px">There is a second thing; it can wait until this one is right.</div>
{% endif %}
{% endfor %}
<table style="margin:8px 0;border-collapse:collapse;border:none;text-align:left;color:inherit">
{% for name, value in facts %}
<tr style="background:none"><td style="padding:1px 12px 1px 0;color:#5f6368;text-align:left;vertical-align:top">\
{{ name }}</td><td style="padding:1px 0;text-align:left;white-space:pre-wrap">{{ value }}</td></tr>
{% endfor %}
</table>
{{ picture }}
{% endif %}
{% if checked.state != "to do" %}
<details style="margin-top:6px"><summary style="cursor:pointer">All checks</summary>
<ul style="list-style:none;margin:4px 0 0 16px;padding:0">
{% for result in checked.results %}
<li>{{ "✓" if result.passed else "✗" }} {{ result.said }}</li>
{% endfor %}
</ul></details>
{% endif %}
{% if checked.state != "done" and checked.exercise.hints %}{{ ladder(checked.exercise.hints, 1) }}{% endif %}
</div>
""")


class Card:
    """Shows itself as HTML in a notebook, and as plain text anywhere else."""

    def __init__(self, checked: Checked):
        self.checked = checked

    def __repr__(self) -> str:
        first = self.checked.first
        head = f"{self.checked.state}: {self.checked.exercise.name}"
        return (
            head
            if first is None
            else f"{head}\n\n{note(first.said, first.diagnosis, self.checked.mistakes)}"
        )

    def _repr_html_(self) -> str:
        checked, first = self.checked, self.checked.first
        mark, colour = STATES[checked.state]
        return TEMPLATE.render(
            checked=checked,
            first=first,
            mark=mark,
            colour=colour,
            passed=sum(result.passed for result in checked.results),
            facts=facts_of(first, checked) if first else [],
            picture=Markup(picture_of(first.diagnosis)) if first else "",
        )


def facts_of(first, checked: Checked) -> list[tuple[str, str]]:
    """What is known about a failed check, as labels and sentences; what is empty is left out."""
    diagnosis = first.diagnosis
    facts = [
        ("asked for", first.said),
        ("called", diagnosis.called),
        ("problem", checked.source.relocate(diagnosis.said)),
        ("where", diagnosis.where),
        *shapes_of(diagnosis),
    ]
    return [(name, value) for name, value in facts if value]


def shapes_of(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """The expected shape and the learner's own, where a tensor was asked for."""
    if not isinstance(diagnosis, OpenDiagnosis) or diagnosis.expected is None:
        return []
    return [("expected", shape_of(diagnosis.expected)), ("yours", shape_of(diagnosis.actual))]


def picture_of(diagnosis: Diagnosis) -> str:
    """Expected and actual values side by side, with the differences framed; or nothing."""
    expected, actual = getattr(diagnosis, "expected", None), diagnosis.actual
    if expected is None or actual is None or expected.shape != actual.shape or not expected.numel():
        return ""
    differs = diagnosis.differs if diagnosis.differs is not None else expected != actual
    at = telling_matrix(differs)
    place = f"[{', '.join(map(str, at))}]" if at else ""
    names = f"expected{place}", f"yours{place}"
    pictured = dict(zip(names, (expected[at], actual[at])))
    figure = draw_heatmaps(pictured, marks={names[1]: differs[at]})
    return as_image(figure, f"expected and actual values of {diagnosis.called}, differences framed")


def telling_matrix(differs: torch.Tensor) -> tuple[int, ...]:
    """Where in the leading dimensions the first matrix stands that holds a difference.

    >>> telling_matrix(torch.tensor([[[False, False]], [[False, True]]]))
    (1,)
    """
    leading = differs.shape[: max(0, differs.ndim - 2)]
    if not leading or not differs.any():
        return (0,) * len(leading)
    return tuple(differs.flatten(len(leading)).any(-1).nonzero()[0].tolist())
