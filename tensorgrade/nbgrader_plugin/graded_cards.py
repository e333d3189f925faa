"""A verdict as a card for feedback pages. Nothing in it was ever an expected value.

A verdict of hidden graders holds points, a status, names of mistakes and one sentence.
"""

from jinja2 import Environment

STATES = {
    "passed": ("✓ right", "#2e7d32"),
    "partial": ("◐ partly right", "#8a5a00"),
    "failed": ("✗ wrong", "#b00020"),
    "not_attempted": ("○ not written yet", "#5f6368"),
    "error": ("✗ ends in an error", "#b00020"),
    "timeout": ("✗ does not come to an end", "#b00020"),
    "killed": ("✗ was ended", "#b00020"),
}
TEMPLATE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<div style="border:1px solid #c8ccd0;border-left:6px solid {{ colour }};border-radius:4px;\
padding:10px 14px;max-width:900px;background:#ffffff;color:#202124;font:14px/1.45 sans-serif">
<div style="font-size:15px"><b style="color:{{ colour }}">{{ state }}</b>
&nbsp;<code style="background:none;color:inherit">{{ exercise }}</code>
<span style="color:#5f6368">&nbsp;{{ points(earned) }} of {{ points(most) }} points</span></div>
{% if message != "Right." %}
<div style="margin-top:6px">{{ message }}</div>
{% endif %}
{% if mistakes %}
<div style="margin-top:6px;color:#5f6368">recognised: {{ mistakes | join(", ") }}</div>
{% endif %}
{% if isolation == "none" %}
<div style="margin-top:6px;color:#8a5a00">graded without isolation</div>
{% endif %}
</div>
""")


def graded_card(verdict: dict | None, earned: float, most: float, message: str) -> str:
    """The HTML of a card, from a row of `results.jsonl`; None where the course has no such exercise."""
    told = verdict or {"status": "not_attempted", "exercise": "", "mistakes": [], "isolation": ""}
    state, colour = STATES[told["status"]]
    return TEMPLATE.render(
        state=state,
        colour=colour,
        exercise=told["exercise"],
        earned=earned,
        most=most,
        message=message,
        mistakes=told["mistakes"],
        isolation=told["isolation"],
        points="{:g}".format,
    )
