"""Whose notebooks are whose, whatever folders are called.

nbgrader takes the name of a folder for a pattern: the notebooks of `x?y` are then those of `xzy`
too, `[x]` has none, and a name with a line break ends the grading of a class.
"""

import os
from glob import escape as literally
from glob import glob

from nbgrader.converters.base import BaseConverter
from traitlets.config import Configurable


def take_names_literally(converter: Configurable | None) -> None:
    """Have a converter that has looked for notebooks keep to the folders that they lie in."""
    if not isinstance(converter, BaseConverter):
        return
    course, pattern_of = converter.coursedir, converter._format_source
    for folder in glob(pattern_of(course.assignment_id, course.student_id)):
        own = glob(os.path.join(literally(folder), f"{course.notebook_id}.ipynb"))
        converter.assignments |= {folder: own} if own else {}

    def any_name(assignment: str, student: str, escape: bool = False) -> str:
        pattern: str = pattern_of(assignment, student, escape)
        return f"(?s){pattern}" if escape else pattern  # a dot stands for a line break too

    converter._format_source = any_name
