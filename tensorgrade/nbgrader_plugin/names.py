"""Make nbgrader find the right notebooks for every folder name.

nbgrader treats a folder's name as a pattern. Then the notebooks of `xzy` also count for `x?y`,
`[x]` has none, and a name with a line break stops the grading of the whole class.
"""

import os
from glob import escape as literally
from glob import glob

from nbgrader.converters.base import BaseConverter
from traitlets.config import Configurable


def take_names_literally(converter: Configurable | None) -> None:
    """Make a converter use each folder's own notebooks only.

    It must have searched for notebooks already. None, or another kind of object, is ignored.
    """
    if not isinstance(converter, BaseConverter):
        return
    course, pattern_of = converter.coursedir, converter._format_source
    for folder in glob(pattern_of(course.assignment_id, course.student_id)):
        own = glob(os.path.join(literally(folder), f"{course.notebook_id}.ipynb"))
        converter.assignments |= {folder: own} if own else {}

    def any_name(assignment: str, student: str, escape: bool = False) -> str:
        pattern: str = pattern_of(assignment, student, escape)
        return f"(?s){pattern}" if escape else pattern  # a dot also matches a line break

    converter._format_source = any_name
