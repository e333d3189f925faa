"""Sections of a class, from the roster: which learners a teaching assistant works with."""

import re

from ..course import CourseError
from ..sources.submitted_files import escaped
from .roster import Roster

COLUMNS = ("section", "sections", "groups")  # of Canvas and Classroom 50, Gradescope, and Moodle


def learners_in(roster: Roster, section: str) -> frozenset[str]:
    """Return the learners of a section as rows name them; empty for "". Raises CourseError."""
    if not section:
        return frozenset()
    if not roster.rows:
        raise CourseError("--section needs the class list; give it with --roster")
    column = next((name for name in COLUMNS if name in roster.columns), "")
    if not column:
        there = ", ".join(roster.header)
        raise CourseError(f"the roster has no column {' or '.join(COLUMNS)}; it has {there}")
    own = []
    for folder, row in roster.by_folder().items():
        whole = row[column].casefold().strip()
        # Canvas joins the sections of one learner with commas and `and`.
        parts = re.split(r"\s*[,;|]\s*(?:and\s+)?|\s+and\s+", whole)
        if section.casefold() in (whole, *parts):
            own.append(folder)
    if not own:
        known = sorted({row[column] for row in roster.rows if row[column]})
        raise CourseError(f"the roster has no section {section}; it has {', '.join(known)}")
    return frozenset(map(escaped, own))
