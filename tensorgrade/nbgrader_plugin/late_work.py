"""The deduction for late work in nbgrader's gradebook, by the same rule as everywhere else."""

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Dict

from ..lateness import Lateness


class LateWork(LateSubmissionPlugin):
    """The course's own rule; nbgrader's `penalty_method = "zero"` keeps its meaning."""

    lateness = Dict({}, help="The rule for late work in course_config.py.").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points that a notebook loses for being late; None if it loses none."""
        if self.penalty_method == "zero":
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        lost = Lateness(**self.lateness).share_lost(total_seconds_late)
        return round(lost * score, 6) or None
