"""The grading engine: it knows tensors, pytest, nbgrader and sandboxes, and no course's subject."""

from .marker import check, exercise, for_learners, signature

__all__ = ["check", "exercise", "for_learners", "signature"]
